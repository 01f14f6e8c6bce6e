"""Manifests and reviews that commands get, and what they answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.admission.reviews import asked
from tests.command import ROOT, draguard, findings
from tests.structured import claim_manifest

Write = Callable[..., Path]
"""Writes files, and returns their folder."""
CLAIM = """\
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata:
  name: claim
  namespace: default
spec:
  resourceClassName: gpu.example.com
"""
CLAIM_V1 = claim_manifest()
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: pod
spec:
  containers:
  - name: container
    image: image
    resources:
      claims:
      - name: gpu
  resourceClaims:
  - name: gpu
"""
OLD_POD = POD + "    source:\n      resourceClaimName: claim\n"
NEW_POD = POD + "    resourceClaimName: claim\n"


def rules(*arguments: str | Path, stdin: str = "") -> list[tuple[str, str]]:
    return [(each["rule"], each["field"]) for each in findings("validate", *arguments, stdin=stdin)]


def levels(*arguments: str, stdin: str) -> list[tuple[str, str]]:
    return [(finding["level"], finding["rule"]) for finding in findings("validate", *arguments, "-", stdin=stdin)]


def fixed(text: str, *options: str, name: str = "a.yaml", tmp_path: Path) -> str:
    """Return the contents of a file after --fix."""
    file = tmp_path / name
    file.write_bytes(text.encode())
    done = draguard("validate", "--fix", *options, file)
    assert "Traceback" not in done.err
    return file.read_bytes().decode()


UNSAFE = "--unsafe-fixes"


def write(folder: Path, text: str, name: str = "b.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def guarded(how: str, text: str, folder: Path) -> tuple[Path, Path]:
    """Write a file that is not to be replaced; return it, and what names it: itself if read-only, or a link to it."""
    file, other = write(folder, text, f"{how}.yaml"), folder / f"other-{how}.yaml"
    if how == "read-only":
        file.chmod(0o444)
        return file, file
    (other.symlink_to if how == "link" else other.hardlink_to)(file)
    return file, other


def review(uid: str, spec: dict[str, Any] | None = None, **request: Any) -> dict[str, Any]:
    """Make the review of a pre-scheduled pod, or of a pod with this spec."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"nodeName": "node-1", "resourceClaims": [{"name": "gpu"}]} if spec is None else spec,
    }
    return asked(pod, uid=uid, **request)


EXAMPLES = ROOT / "examples" / "simulate"
DEPLOYMENT, CLUSTER = EXAMPLES / "deployment.yaml", EXAMPLES / "cluster.yaml"


def simulated(*arguments: str | Path, command: str = "simulate") -> list[dict[str, Any]]:
    done = draguard(command, "--output", "json", *arguments)
    found: list[dict[str, Any]] = json.loads(done.out)
    return found
