"""10,000 manifests beside CSafeLoader alone, start-up beside bare Python: python -m benchmarks.manifests."""

from __future__ import annotations

import compileall
import contextlib
import io
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import yaml

import webhook
from benchmarks.timing import interleaved
from webhook.cli import main as draguard

DOCUMENTS = 10_000
FILES = 1_000
START_UPS = 60
SCRIPT = str(Path(sys.executable).with_name("draguard"))
START_UP_AIM = 50
EXAMPLES = Path(__file__).parents[1] / "examples" / "v1"

METADATA = """\
kind: ResourceClaim
metadata:
  name: claim-{number}
  namespace: default
  labels:
    app.kubernetes.io/name: cats
"""
CLAIM = f"""\
apiVersion: resource.k8s.io/v1alpha2
{METADATA}spec:
  resourceClassName: resource.example.com
  allocationMode: WaitForFirstConsumer
  parametersRef:
    apiGroup: cats.resource.example.com
    kind: ClaimParameters
    name: large-black-cat-claim-parameters
"""
SELECTING = f"""\
apiVersion: resource.k8s.io/v1
{METADATA}spec:
  devices:
    requests:
    - name: cat
      exactly:
        deviceClassName: cats.example.com
        selectors:
        - cel:
            expression: device.attributes["cats.example.com"].breed == "breed-{{number}}"
"""
"""A claim whose selector differs from all others."""

REQUEST = f"""\
{METADATA}spec:
  devices:
    requests:
    - name: cat
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: pod-{number}
  namespace: default
spec:
  containers:
  - name: app
    image: registry.example.com/app:1
    resources:
      claims:
      - name: cat
  resourceClaims:
  - name: cat
    resourceClaimName: claim-{number}
"""
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata:
  name: slice-{number}
spec:
  driver: cats.example.com
  nodeName: node-{number}
  pool:
    name: node-{number}
    generation: 1
    resourceSliceCount: 1
  devices:
"""
DEVICE = """\
  - name: cat-{device}
    attributes:
      breed:
        string: large-black
      number:
        int: {device}
      id:
        string: cat-{{number}}-{device}
    capacity:
      weight:
        value: 40Gi
"""
IN_THE_NEWEST = "      exactly:\n        deviceClassName: cats.example.com\n"
OTHERS = {
    "v1 claims without selectors": f"apiVersion: resource.k8s.io/v1\n{REQUEST}{IN_THE_NEWEST}",
    "v1beta2 claims, each with a warning": f"apiVersion: resource.k8s.io/v1beta2\n{REQUEST}{IN_THE_NEWEST}",
    "v1beta1 claims, each with a warning": (
        f"apiVersion: resource.k8s.io/v1beta1\n{REQUEST}      deviceClassName: cats.example.com\n"
    ),
    "pods of a template": POD.replace("Name: claim-{number}", "TemplateName: cat"),
    "pods, each with a claim of its own": POD,
    "slices of four devices": SLICE + "".join(DEVICE.format(device=device) for device in range(4)),
}
"""Other manifests, each with a number, that are compared in one file and one process only."""
LOAD = "import sys, yaml\nfor _ in yaml.load_all(open(sys.argv[1], 'rb').read(), yaml.CSafeLoader): pass"


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        for claim in (CLAIM, SELECTING):
            documents = [claim.format(number=number) for number in range(DOCUMENTS)]
            for files in (1, FILES):
                folder = Path(directory, f"{claim is CLAIM}-{files}")
                folder.mkdir()
                share = DOCUMENTS // files
                for number in range(files):
                    text = "---\n".join(documents[number * share : (number + 1) * share])
                    (folder / f"claims-{number}.yaml").write_text(text, encoding="utf-8")
                compare(folder, "classic" if claim is CLAIM else "selecting")
        compare_others(Path(directory, "other.yaml"))
    start_up()


def compare(folder: Path, what: str) -> None:
    """Print the time of validating a folder.

    Args:
        folder: The folder.
        what: A description of its claims.
    """
    files = sorted(folder.iterdir())

    def load() -> None:
        for file in files:
            list(yaml.load_all(file.read_bytes(), yaml.CSafeLoader))

    def validate() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            draguard(["validate", str(folder)])

    baseline, ours = interleaved(load, validate, rounds=3)
    print(f"{DOCUMENTS} {what} claims in {len(files)} files: CSafeLoader alone {baseline:.2f} s")
    print(f"  draguard validate: {ours:.2f} s, {ours / baseline:.2f} x (aim 0.5 x)")


def compare_others(file: Path) -> None:
    """Print the CPU time of validating other manifests, start-up included.

    Args:
        file: The file to which they are written.
    """
    for what, document in OTHERS.items():
        file.write_text("---\n".join(document.format(number=number) for number in range(DOCUMENTS)), encoding="utf-8")
        baseline, ours = interleaved(
            lambda: _run(sys.executable, "-c", LOAD, str(file)),
            lambda: _run(SCRIPT, "validate", "--runtime-config", "api/all=true", str(file)),
            rounds=3,
            clock=_of_children,
        )
        print(f"{DOCUMENTS} {what}: {ours:.2f} s of CPU time, {ours / baseline:.2f} x CSafeLoader alone")


def start_up() -> None:
    """Print the CPU time of starting up, with modules compiled as pip does."""
    compileall.compile_dir(str(Path(webhook.__file__).parent), quiet=2)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(CLAIM.format(number=0))
        file.flush()
        commands = {
            "--version": ["--version"],
            "--help": ["--help"],
            "validate of a v1alpha2 claim": ["validate", file.name],
            "validate of a v1 claim with selectors": ["validate", str(EXAMPLES / "selectors.yaml")],
            "validate of a template and a Deployment": ["validate", str(EXAMPLES / "deployment.yaml")],
        }
        bare, *others = interleaved(
            partial(_run, sys.executable, "-c", "pass"),
            *(partial(_run, SCRIPT, *command) for command in commands.values()),
            rounds=START_UPS,
            clock=_of_children,
        )
    print(f"start-up above bare Python's {bare * 1000:.1f} ms of CPU time (aim {START_UP_AIM} ms)")
    for name, seconds in zip(commands, others, strict=True):
        print(f"  draguard {name}: {(seconds - bare) * 1000:.1f} ms")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _of_children() -> float:
    """Return the CPU seconds of all processes that have ended: then what else runs does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
