"""Generates what the chart's files repeat of others: ``python charts/generate.py``; ``--check`` only compares.

* README.md: the table of values, from values.yaml and its comments.
* values.schema.json: the names of rules, feature gates and releases, from draguard itself.
* files/scan-rules.yaml: what the scan may list, from the kinds that `draguard scan --live` reads.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from webhook.api.gates import ALL_ALPHA, ALL_BETA, GATES, Stage, stage
from webhook.api.versions import NEWEST
from webhook.explain.places import kinds, rules
from webhook.inventory.snapshots import GROUPS, RESOURCES
from webhook.release import releases
from webhook.scan.stored import KINDS_READ

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.release import Release

CHART = Path(__file__).parent / "draguard"
OLDEST = 28
"""The oldest release that the chart can be installed on: see kubeVersion in Chart.yaml."""

_WHOLE = (
    "resources",
    "certificates.resources",
    "scan.resources",
    "podSecurityContext",
    "securityContext",
    "monitoring.dashboard.labels",
)
_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]+):")
_TABLE = re.compile(r"(?<=<!-- values: generated -->\n).*(?=<!-- end -->)", re.DOTALL)


def table() -> str:
    """Return README's table of values: path, default and the comment in values.yaml."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    comments = dict(_comments(text))
    lines = ["| value | default | meaning |", "|---|---|---|"]
    for path, default in _values(yaml.safe_load(text)):
        shown = "" if isinstance(default, dict) and path not in _WHOLE and default else f"`{json.dumps(default)}`"
        comment = comments.get(path, "")
        if shown or comment:
            lines.append(f"| `{path}` | {shown} | {comment} |".replace("  ", " "))
    return "\n".join(lines) + "\n"


def _values(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        yield path, value
        if isinstance(value, dict) and path not in _WHOLE:
            yield from _values(value, f"{path}.")


def _comments(text: str) -> Iterator[tuple[str, str]]:
    """Find the comment above each key, by the key's path."""
    parents: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            comment.append(line.strip("# "))
        elif match := _KEY.match(line):
            indent = len(match["indent"])
            parents = [*((depth, key) for depth, key in parents if depth < indent), (indent, match["key"])]
            if comment:
                yield ".".join(key for _, key in parents), " ".join(comment)
            comment = []
        else:
            comment = []


def schema() -> dict[str, Any]:
    """Return values.schema.json with the names that draguard knows."""
    read: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    properties = read["properties"]
    properties["enforce"]["properties"]["rules"]["propertyNames"] = {"enum": sorted(rules(kinds(), None))}
    since = f"2[{OLDEST % 10}-9]|[3-9][0-9]|[1-9][0-9]{{2}}"
    properties["kubernetesVersion"]["pattern"] = rf"^(|newest|v?1\.({since})(\.[0-9]+)?([-+].*)?)$"
    properties["featureGates"]["propertyNames"] = {"enum": sorted([*GATES, ALL_ALPHA, ALL_BETA])}
    read["allOf"] = [_gates_of(release) for release in releases(OLDEST, NEWEST)]
    return read


def _gates_of(release: Release) -> dict[str, Any]:
    """State which gates can be set if this release is stated, and how."""
    stages = {gate: stage(gate, release) for gate in GATES}
    names = sorted([*(gate for gate, known in stages.items() if known), ALL_ALPHA, ALL_BETA])
    locked = {gate: {"const": True} for gate, known in stages.items() if known is Stage.LOCKED}
    stated = {"kubernetesVersion": {"pattern": rf"^v?1\.{release}([.+-].*)?$"}}
    gates = {"propertyNames": {"enum": names}, "properties": locked}
    return {"if": {"required": list(stated), "properties": stated}, "then": {"properties": {"featureGates": gates}}}


def scan_rules() -> str:
    """Return the rules of a role that allows what `draguard scan --live` reads."""
    resources: dict[str, list[str]] = {}
    for resource, kind in RESOURCES.items():
        if kind in KINDS_READ and kind != "APIService":  # discovery tells these
            resources.setdefault(GROUPS[kind], []).append(resource)
    lines = [
        f"- apiGroups: [{group or json.dumps(group)}]\n  resources: [{', '.join(names)}]\n  verbs: [list]\n"
        for group, names in resources.items()
    ]
    gates = "# Which feature gates the API server has.\n- nonResourceURLs: [/metrics]\n  verbs: [get]\n"
    return "".join(lines) + gates


def generated() -> dict[Path, str]:
    """Return the text that each file should have."""
    readme = CHART / "README.md"
    return {
        readme: _TABLE.sub(lambda _: "\n" + table() + "\n", readme.read_text(encoding="utf-8")),
        CHART / "values.schema.json": json.dumps(schema(), indent=2, ensure_ascii=False) + "\n",
        CHART / "files" / "scan-rules.yaml": scan_rules(),
    }


def main() -> int:
    """Write the files; with ``--check``, return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    arguments = parser.parse_args()
    stale = {path: text for path, text in generated().items() if path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        sys.stdout.write(f"{path}: {'stale' if arguments.check else 'written'}\n")
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
    return int(arguments.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
