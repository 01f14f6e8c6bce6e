"""The conformance suite of the CEL specification, its tests that need no protobuf messages.

The suite is not part of this repository. It is found through the environment variable `CEL_SPEC` or beside the
checkout; where it is missing, only the samples are checked.
"""

from functools import cache
from typing import Any

from tests.cel.specification import SAMPLES, disagreement, is_explained, suite
from tests.rows import each_row


@cache
def judged() -> list[tuple[dict[str, Any], str]]:
    """The cases of the suite, each with its disagreement."""
    return [(case, disagreement(case)) for case in suite()]


@each_row("case", *SAMPLES)
def test_the_samples_agree(case: dict[str, Any]) -> None:
    assert disagreement(case) == ""


def test_the_suite_agrees_but_for_what_has_a_reason() -> None:
    unexplained = [(case["name"], case["expr"], found) for case, found in judged() if found and not is_explained(case)]
    assert unexplained == []


def test_every_reason_is_still_needed() -> None:
    agreeing = [case["expr"] for case, found in judged() if is_explained(case) and not found]
    assert agreeing == []


def test_nearly_all_values_and_errors_of_the_suite_agree() -> None:
    errors = [not found for case, found in judged() if "error" in case["expect"]]
    values = [not found for case, found in judged() if "error" not in case["expect"]]
    assert sum(values) >= 0.995 * len(values)
    assert sum(errors) >= 0.98 * len(errors)
