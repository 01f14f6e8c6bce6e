"""Differences between texts."""

from __future__ import annotations

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.steps import counting
from webhook.cli.console.diff import unified

LINES = st.lists(st.sampled_from(["a", "b", "c: d", ""]), max_size=30)


@given(LINES, LINES, LINES, LINES)
@examples(200)
def test_diffs_are_those_of_difflib(same: list[str], before: list[str], after: list[str], last: list[str]) -> None:
    was, now = ([f"{line}\n" for line in (*same, *changed, *last)] for changed in (before, after))
    assert unified("a", "".join(was), "".join(now)) == list(unified_diff(was, now, "a", "a"))


def test_lines_that_repeat_take_no_longer() -> None:
    steps = []
    for count in (30_000, 60_000):
        inside = "".join(f"# {number % 101}\n" for number in range(count)) + "---\n"
        with counting() as counted:
            lines = unified("a", f"a: 1\n{inside}b: 1\n", f"a: 2\n{inside}b: 2\n")
        steps.append(counted())
        assert [line for line in lines if line[0] in "-+"] == [
            *("--- a\n", "+++ a\n", "-a: 1\n", "+a: 2\n", "-b: 1\n", "+b: 2\n")
        ]
    assert steps[1] < 3 * steps[0]
