"""The examples of rules behave as their pages describe, and the pages are current."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.command import draguard, findings
from webhook.explain.examples import example
from webhook.explain.places import kinds, rules
from webhook.explain.query import explain

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.explain.examples import Example

pytestmark = pytest.mark.no_cover

RULES = rules(kinds(), None)
EXAMPLES = {name: shown for name in RULES if (shown := example(name))}


NOT_IN_FILES = {
    "expression": "the compiler of the API server fails only for expressions of many kilobytes",
    "internal-error": "no manifest is known to break draguard",
    "name": "manifests are compared with the stored object of their name",
    "not-compared": "it is about a revision of git",
    "not-an-object": "what is not an object is counted among other kinds, and refused by the library and the webhook",
    "prescheduled-too-many-terms": "it takes a thousand terms",
    "too-deep": "it takes hundreds of levels",
    "too-many-findings": "it takes thousands of findings",
}
"""Rules that no manifest of a page can break."""
_FOUND = re.compile(r"^([^\s:]+):(\d+):\d+: \w+ ([\w-]+): \S+: (.*)$", re.MULTILINE)


def found(rule: str, shown: Example, manifest: str, where: Path) -> list[tuple[str, int, str]]:
    """Check a manifest as its example says: rule, line and message of its findings, and of all errors."""
    command = shown.run.split()
    for option, content in {"--old": shown.before, "--policies": shown.policies}.items():
        if content:
            (where / option).write_text(content)
            command += [option, str(where / option)]
    (where / "manifests").mkdir(exist_ok=True)
    (where / "manifests" / "m.yaml").write_text(manifest)
    manifests = where / "manifests" / "m.yaml"
    if shown.run.split()[0] in {"convert", "mutate"}:  # they print what becomes of manifests, and findings as text
        done = draguard(*command, manifests)
        return [(each[3], int(each[2]), each[4]) for each in _FOUND.finditer(done.out + done.err)]
    return [
        (each["rule"], each["line"], " ".join(each["message"].split()))
        for each in findings(*command, manifests)
        if each["rule"] == rule or each["level"] == "error"
    ]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_manifest_fails_as_it_says_and_the_fixed_one_passes(rule: str, tmp_path: Path) -> None:
    shown = EXAMPLES[rule]
    stated = [
        (match[1] or rule, number, match[2].removesuffix("…"))
        for number, line in enumerate(shown.fails.splitlines(), 1)
        for message in line.split("#!")[1:]
        if (match := re.fullmatch(r"(?:\[([\w-]+)\] )?(.*)", message.strip()))
    ]
    findings = found(rule, shown, shown.fails, tmp_path)
    assert stated
    assert len(findings) == len(stated)
    for (name, line, message), (rule_, wanted, beginning) in zip(findings, stated, strict=True):
        assert (name, line) == (rule_, wanted)
        assert message.startswith(" ".join(beginning.split()))
    assert found(rule, shown, shown.passes, tmp_path) == []


def test_explain_shows_the_examples_of_a_rule() -> None:
    text = explain("container-claims")
    assert "PAGE:        https://github.com/draguard/draguard/blob/main/docs/rules/README.md#container-claims" in text
    assert "FAILS:\n    apiVersion: v1" in text
    assert "PASSES:\n    apiVersion: v1" in text
    assert "STORED:\n" in explain("immutable")
    assert "POLICIES:\n" in explain("policy")
    assert "FAILS (draguard policy test):" in explain("case")


def test_every_rule_that_manifests_can_break_has_an_example() -> None:
    assert RULES.keys() - EXAMPLES.keys() == set(NOT_IN_FILES)
