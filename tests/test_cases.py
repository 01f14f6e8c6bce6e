"""Every ``#!`` comment is a finding expected on its line, and there are no others.

The case of a rule is its example, which draguard shows (``webhook/explain/examples``). The files in cases/ have several
rules, values at the edge, and other releases. A first line ``# run: validate`` says that rules about several objects
judge them. Otherwise, each object is judged by itself; ``# kubernetes: 1.36 AllAlpha`` names the release, with the
feature gates that are switched on.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import draguard, findings
from tests.rows import each_row
from webhook import validate
from webhook.documents import Document, parse
from webhook.explain.places import kinds, rules
from webhook.explain.text import Example, example
from webhook.references.lookup import every_rule

RULES = rules(kinds(), None)
EXAMPLES = {name: shown for name in RULES if (shown := example(name))}
CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yaml"))
REFERENCES = every_rule()
RUN = "# run: "
NOT_IN_FILES = {
    "expression": "the compiler of the API server fails only for expressions of many kilobytes",
    "internal-error": "no manifest is known to break draguard",
    "name": "manifests are compared with the stored object of their name",
    "not-compared": "it is about a revision of git",
    "not-an-object": "what is not an object is counted among other kinds, and refused by the library and the webhook",
    "reserved-near-limit": "it takes hundreds of pods",
    "prescheduled-too-many-terms": "it takes a thousand terms",
    "too-deep": "it takes hundreds of levels",
    "too-many-findings": "it takes thousands of findings",
}
"""Rules that have no example."""
_FOUND = re.compile(r"^([^\s:]+):(\d+):\d+: \w+ ([\w-]+): \S+: (.*)$", re.MULTILINE)

Found = tuple[int, str, str]
"""A finding: its line, rule and message."""


def expected(text: str, rule: str = "") -> list[Found]:
    """Read the findings that a text states; their rule is empty if it is any."""
    return [
        (number, match[1] or rule, " ".join(match[2].split()))
        for number, line in enumerate(text.splitlines(), 1)
        for message in line.split("#!")[1:]
        if (match := re.fullmatch(r"(?:\[([\w-]+)\] )?(.*)", message.strip()))
    ]


def differences(wanted: list[Found], found: list[Found]) -> tuple[list[Found], list[Found]]:
    """Return the findings that are missing, and those that are not expected."""
    missing, surplus = list(wanted), []
    for each in found:
        if matching := next((one for one in missing if _matches(each, one)), None):
            missing.remove(matching)
        else:
            surplus.append(each)
    return missing, surplus


def _matches(found: Found, wanted: Found) -> bool:
    head, dots, _ = wanted[2].partition("…")
    same = found[2].startswith(head.rstrip()) if dots else found[2] == head
    return found[0] == wanted[0] and wanted[1] in {"", found[1]} and same


def found_in_example(rule: str, manifest: str, where: Path) -> list[Found]:
    """Check a manifest as its example says: findings of the rule, and all errors."""
    shown = EXAMPLES[rule]
    command = shown.run.split()
    for option, content in {"--old": shown.before, "--policies": shown.policies}.items():
        if content:
            (where / option).write_text(content)
            command += [option, str(where / option)]
    manifests = where / "manifests" / "m.yaml"
    manifests.parent.mkdir(exist_ok=True)
    manifests.write_text(manifest)
    if command[0] in {"convert", "mutate"}:  # they print what becomes of manifests, and findings as text
        done = draguard(*command, manifests)
        return [(int(each[2]), each[3], each[4]) for each in _FOUND.finditer(done.out + done.err)]
    quiet = ("--quiet",) if command[0] == "scan" else ()  # an example has only the objects that it takes
    found = findings(*command, manifests, *quiet)
    return [_found(each) for each in found if each["rule"] == rule or each["level"] == "error"]


def _found(finding: dict[str, Any]) -> Found:
    return finding["line"], finding["rule"], " ".join(finding["message"].split())


def found_in_case(case: Path) -> list[Found]:
    """Run the command of a case, and return findings about several objects; or judge each object by itself."""
    text = case.read_text(encoding="utf-8")
    if text.startswith(RUN):
        command = text.partition("\n")[0].removeprefix(RUN).split()
        return [_found(each) for each in findings(*command, case) if each["rule"] in REFERENCES]
    stated = re.match(r"# kubernetes: (\S+)(.*)", text)
    gates = dict.fromkeys(stated[2].split(), True) if stated else {}
    release = stated[1] if stated else None
    found = []
    for document in parse(text):
        assert isinstance(document, Document), document
        problems = validate(document.data, kubernetes=release, feature_gates=gates, runtime_config={"api/all": True})
        found += [(document.position(each.path).line, each.rule, " ".join(each.message.split())) for each in problems]
    return found


@pytest.mark.no_cover
@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_manifest_fails_as_it_says_and_the_fixed_one_passes(rule: str, tmp_path: Path) -> None:
    shown: Example = EXAMPLES[rule]
    wanted = expected(shown.fails, rule)
    assert wanted
    assert differences(wanted, found_in_example(rule, shown.fails, tmp_path)) == ([], [])
    assert found_in_example(rule, shown.passes, tmp_path) == []


@each_row("case", *CASES)
def test_finds_what_the_case_states_and_nothing_else(case: Path) -> None:
    wanted, found = expected(case.read_text(encoding="utf-8")), found_in_case(case)
    assert wanted
    assert differences(wanted, found) == ([], [])
    assert {rule for _, rule, _ in found} <= RULES.keys()


def test_every_rule_that_manifests_can_break_has_an_example() -> None:
    assert RULES.keys() - EXAMPLES.keys() == set(NOT_IN_FILES)
