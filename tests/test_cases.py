"""Every ``#!`` comment in cases/ is a finding expected on its line, and there are no others.

A case is a YAML stream. ``#! text`` at the end of a line states the message of a finding there, or its beginning
where the text ends in ``…``; several are separated by `` #! ``. A first line ``# kubernetes: 1.30`` names the release,
with the feature gates that are switched on: ``# kubernetes: 1.36 AllAlpha``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from webhook import validate
from webhook.documents import Document, parse

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yaml"))


def expectations(text: str) -> list[tuple[int, str]]:
    """Read the findings that a case expects: line and message."""
    return [
        (number, message.strip())
        for number, line in enumerate(text.splitlines(), 1)
        for message in line.split("#!")[1:]
    ]


def findings(text: str) -> list[tuple[int, str]]:
    """Return draguard's findings in a case's documents: line and message."""
    stated = re.match(r"# kubernetes: (\S+)(.*)", text)
    gates = dict.fromkeys(stated[2].split(), True) if stated else {}
    found = []
    for document in parse(text):
        assert isinstance(document, Document), document
        problems = validate(
            document.data,
            kubernetes=stated[1] if stated else None,
            feature_gates=gates,
            runtime_config={"api/all": True},
        )
        found += [(document.position(problem.path).line, problem.message) for problem in problems]
    return found


def matches(expected: tuple[int, str], found: tuple[int, str]) -> bool:
    """Compare one expected finding with one that was found."""
    head, dots, _ = expected[1].partition("…")
    same = found[1].startswith(head) if dots else found[1] == head
    return expected[0] == found[0] and same


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_finds_what_the_case_states_and_nothing_else(case: Path) -> None:
    text = case.read_text(encoding="utf-8")
    missing, surplus = expectations(text), []
    for found in findings(text):
        expected = next((each for each in missing if matches(each, found)), None)
        if expected is None:
            surplus.append(found)
        else:
            missing.remove(expected)
    assert (missing, surplus) == ([], [])


def test_every_case_states_a_finding() -> None:
    assert [case.name for case in CASES if not expectations(case.read_text(encoding="utf-8"))] == []
