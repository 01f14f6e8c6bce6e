"""A kubectl that answers ``get --raw`` with the objects of a recorded cluster, and whose faults tests choose."""

import json
import marshal
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from webhook.inventory.snapshots import GROUPS
from webhook.policy.manifest.kinds import guess_resource

_SCRIPT = """\
#!{python} -IS
import marshal, sys  # and nothing that takes longer to import: it is started hundreds of times
with open({told!r}, "rb") as file:
    answers, faults = marshal.load(file)
given = [each for each in sys.argv[1:] if each not in ("get", "--raw")]
if "view" in given:
    given.append("view")
with open({log!r}, "a") as log:
    print(*sys.argv[1:], file=log)
path, _, query = given[-1].partition("?")
fault = next((each for prefix, each in faults.items() if path.startswith(prefix)), {{}})
if "says" in fault:
    print(fault["says"], file=sys.stderr, flush=True)
if "sleeps" in fault:
    import time
    time.sleep(fault["sleeps"])
if "leaves" in fault:
    import subprocess
    subprocess.Popen(["sleep", fault["leaves"]])
if "error" in fault:
    sys.exit(fault["error"])
if "prints" in fault:
    sys.stdout.write(fault["prints"] * fault.get("times", 1))
    sys.exit(fault.get("code", 0))
found = answers.get(path)
if found is None:
    sys.exit("Error from server (NotFound): the server could not find the requested resource")
if isinstance(found, list):
    asked = dict(each.split("=", 1) for each in query.split("&"))
    start, limit = int(asked.get("continue", "0")), int(asked["limit"])
    more = start + limit if start + limit < len(found) else ""
    items = ", ".join(found[start : start + limit])
    found = f'{{{{"kind": "List", "metadata": {{{{"continue": "{{more}}"}}}}, "items": [{{items}}]}}}}'
sys.stdout.write(found[: fault.get("cut")])
"""


def answers_of(
    objects: Iterable[Mapping[str, Any]], version: str = "v1.36.3", gates: Mapping[str, bool] | None = None
) -> dict[str, Any]:
    """Return what an API server with these objects answers, by path; lists are those of their objects."""
    answers: dict[str, Any] = defaultdict(list)
    versions: dict[str, set[str]] = {group: set() for group in GROUPS.values()}
    namespaces = {"default"}
    for each in objects:
        group, _, name = each["apiVersion"].rpartition("/")
        versions.setdefault(group, set()).add(name)
        untyped = {key: value for key, value in each.items() if key not in {"apiVersion", "kind"}}
        namespace = each["metadata"].get("namespace", "")
        for root in _roots(group, name, {namespace, ""}):
            answers[f"{root}/{guess_resource(each['kind'])}"].append(untyped)
        namespaces.add(namespace)
    for kind, group in GROUPS.items():
        versions[group] = versions[group] or {"v1"}
        for name in versions[group]:
            for root in _roots(group, name, namespaces):
                _ = answers[f"{root}/{guess_resource(kind)}"]  # empty, if there are none
    listed = [
        {"name": group, "versions": [{"version": each} for each in sorted(names)]}
        for group, names in versions.items()
        if group
    ]
    answers["/apis"] = {"kind": "APIGroupList", "groups": listed}
    answers["/version"] = {"major": "1", "gitVersion": version}
    if gates is not None:
        answers["/metrics"] = "".join(
            f'# A gauge\nkubernetes_feature_enabled{{name="{gate}",stage="BETA"}} {int(on)}\n'
            for gate, on in gates.items()
        )
    return answers


def kubectl(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    objects: Iterable[Mapping[str, Any]],
    faults: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    version: str = "v1.36.3",
    gates: Mapping[str, bool] | None = None,
) -> Path:
    """Put a kubectl first in the PATH, which answers with these objects.

    Args:
        faults: What it does instead, by the beginning of the path that is asked for: ``says`` and ``sleeps`` come
            first, and what it ``leaves`` running for some seconds; then it ends with ``error``, or ``prints`` something
            else, or leaves out all behind ``cut``.

    Returns:
        The file of the arguments of each run.
    """
    answers = {path: _written(each) for path, each in answers_of(objects, version, gates).items()}
    told, log, program = directory / "told", directory / "asked", directory / "bin" / "kubectl"
    told.write_bytes(marshal.dumps((answers, {path: dict(each) for path, each in (faults or {}).items()})))
    log.write_text("")
    program.parent.mkdir(exist_ok=True)
    program.write_text(_SCRIPT.format(python=sys.executable, told=str(told), log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return log


def _written(answer: Any) -> str | list[str]:
    """Write an answer as JSON, and each object of a list by itself."""
    if isinstance(answer, list):
        return [json.dumps(each) for each in answer]
    return answer if isinstance(answer, str) else json.dumps(answer)


def _roots(group: str, version: str, namespaces: Iterable[str]) -> Iterator[str]:
    """Yield the beginning of paths, in a namespace or for all of them if it is empty."""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    for each in namespaces:
        yield f"{root}/namespaces/{each}" if each else root
