"""Differences between texts."""

from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.steps import counting
from webhook.report import diff
from webhook.report.diff import unified

LINES = st.lists(st.sampled_from(["a", "b", "c: d", ""]), max_size=30)


@given(LINES, LINES, LINES, LINES)
@examples(200)
def test_diffs_are_those_of_difflib(same: list[str], before: list[str], after: list[str], last: list[str]) -> None:
    was, now = ([f"{line}\n" for line in (*same, *changed, *last)] for changed in (before, after))
    assert unified("a", "".join(was), "".join(now)) == list(unified_diff(was, now, "a", "a"))


@given(LINES, LINES, LINES, LINES, st.sampled_from([0, 20]))
@examples(200)
def test_a_diff_of_large_files_leads_from_one_to_the_other(
    same: list[str], before: list[str], after: list[str], last: list[str], most: int
) -> None:
    was, now = ([f"{line}\n" for line in (*same, *changed, *last)] for changed in (before, after))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(diff, "_MOST_STEPS", most)
        lines = unified("a", "".join(was), "".join(now))
    assert patched_with(was, lines) == now


def patched_with(was: list[str], lines: list[str]) -> list[str]:
    """Apply a unified diff."""
    now: list[str] = []
    place = 0
    for line in lines[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            now += was[place : (place := int(start) - (count != "0"))]
            continue
        if line[0] != "+":
            assert was[place] == line[1:]
            place += 1
        if line[0] != "-":
            now.append(line[1:])
    return now + was[place:]


def test_many_changes_take_no_longer() -> None:
    steps = []
    for count in (500, 1_000):
        was = [f"kind: A\nname: {number // 2}\nspec:\n  a: 1\n---\n" for number in range(count)]
        with counting() as counted:
            lines = unified("a", "".join(was), "".join(each.replace("  a", "  b:\n    a") for each in was))
        steps.append(counted())
        changed = [line for line in lines[2:] if line[0] in "-+"]
        assert changed == ["-  a: 1\n", "+  b:\n", "+    a: 1\n"] * count
    assert steps[1] < 3 * steps[0]


def test_lines_that_repeat_take_no_longer() -> None:
    steps = []
    for count in (10_000, 20_000):
        inside = "".join(f"# {number % 101}\n" for number in range(count)) + "---\n"
        with counting() as counted:
            lines = unified("a", f"a: 1\n{inside}b: 1\n", f"a: 2\n{inside}b: 2\n")
        steps.append(counted())
        assert [line for line in lines if line[0] in "-+"] == [
            *("--- a\n", "+++ a\n", "-a: 1\n", "+a: 2\n", "-b: 1\n", "+b: 2\n")
        ]
    assert steps[1] < 3 * steps[0]
