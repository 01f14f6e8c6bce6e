"""Findings of several releases are merged into one report."""

import pytest

from tests.report.findings import finding, report
from tests.rows import each_row
from webhook.problem import Fix
from webhook.report.text import merged


@each_row(
    ("hints", "said"),
    [
        (("a", "a", "a"), "a"),
        (("", "", ""), ""),
        (
            ("Kubernetes 1.28 has a; b", "Kubernetes 1.31 has c; b", "Kubernetes 1.36 has c; b"),
            "Kubernetes 1.28 has a; each of Kubernetes 1.31 and 1.36 has c; b",
        ),
        (("a", "b", "b"), "a (1.28); b (1.31, 1.36)"),
        (("", "a", "a; b"), "a (1.31, 1.36); b (1.36)"),
    ],
)
def test_hints_that_differ_name_their_releases(hints: tuple[str, ...], said: str) -> None:
    (found,) = merged([report(finding(hint=hint)) for hint in hints], ["1.28", "1.31", "1.36"]).findings
    assert (found.problem.hint, found.releases) == (said, ("1.28", "1.31", "1.36"))


@pytest.mark.parametrize(("values", "kept"), [("ab", None), ("aa", Fix("replace", "a"))])
def test_a_fix_for_some_releases_is_left_out(values: str, kept: Fix | None) -> None:
    plain = finding()
    reports = [report(plain._replace(problem=plain.problem._replace(fix=Fix("replace", value)))) for value in values]
    (found,) = merged(reports, ["1.28", "1.31"]).findings
    assert found.problem.fix == kept
