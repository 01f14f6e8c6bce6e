"""Recorded scenarios of the structured allocator of Kubernetes 1.36.2, and the comparison with our results."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webhook import allocate

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*-1.36.jsonl.gz"))

OUT_OF_TIME = "filter operation aborted: context deadline exceeded"
"""The recorded text where Go searched for three seconds; the true result is unknown then."""
_COMPARED = ("node", "result", "error", "errorScope")


def scenarios(file: Path) -> Iterator[dict[str, Any]]:
    """Return the scenarios of a file with their recorded outcomes."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@dataclass
class Agreement:
    """How far our results agree with the recorded ones, counted in nodes."""

    scenarios: int = 0
    nodes: int = 0
    equal: int = 0
    unknown: int = 0
    disagreements: list[str] = field(default_factory=list)

    def add(self, scenario: dict[str, Any]) -> None:
        self.scenarios += 1
        recorded, ours = scenario["outcome"], allocate(scenario)
        if ours["implementation"] != recorded["implementation"]:
            self.disagreements.append(f"{scenario['id']}: {ours['implementation']}, not {recorded['implementation']}")
        for mine, theirs in zip(ours["nodes"], recorded["nodes"], strict=True):
            self._compare(scenario["id"], mine, theirs)

    def _compare(self, name: str, mine: dict[str, Any], theirs: dict[str, Any]) -> None:
        self.nodes += 1
        if theirs["error"] == OUT_OF_TIME:
            self.unknown += 1
            return
        allowed = [_answer(each) for each in (theirs, *theirs.get("alternatives", ()))]
        if _answer(mine) in allowed:
            self.equal += 1
        else:
            self.disagreements.append(f"{name}, {theirs['node']}:\n  ours {_answer(mine)}\n  theirs {allowed}")
        if len(allowed) > 1 and not mine.get("dependsOnOrder"):
            self.disagreements.append(f"{name}, {theirs['node']}: depends on order, which we do not say")


def _answer(node: dict[str, Any]) -> dict[str, Any]:
    return {key: node.get(key) for key in _COMPARED}
