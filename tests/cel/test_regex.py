"""Regular expressions: Go's verdicts on 979 of them, and bounds for untrusted ones."""

import contextlib
import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.cel.judging import outcome
from tests.rows import each_row, each_row_beside
from tests.steps import counting
from webhook.budget import REVIEW, Budget, BudgetExceededError, limited
from webhook.cel.cache import Cache
from webhook.cel.environment import Refusal
from webhook.cel.errors import EvaluationError
from webhook.cel.kubernetes.devices import compile_selector
from webhook.cel.regex import re2 as regex
from webhook.cel.regex.pattern import read_pattern
from webhook.cel.regex.re2 import MAX_CACHE, MAX_MEMORY, check_pattern, compile_pattern, matches
from webhook.release import Release

LINES = [json.loads(line) for line in Path(__file__).with_name("go-regexp.jsonl").read_text().splitlines()]
TEXTS: list[str] = LINES[0]["texts"]
CASES: list[dict[str, Any]] = LINES[1:]
WRONG = [case for case in CASES if "error" in case]
TOO_LARGE = {r"(i)\pL{300}", r"([\pL]?i)\pL{300}"}
"""Those that Go runs and that are an error here, where they would have to run."""
ATTACKS = {
    "cased letters": r"(?i)\pL{300}",
    "many letters": r"\pL" * 3000,
    "numbers": r"\pN{1000}",
    "letters or numbers": r"(\pL|\pN){1000}",
    "classes of letters": r"[\pL\pN]{1000}",
    "alternatives": r"\pL|" * 2500,
    "alternatives in groups": rf"(?i)(?:{chr(92)}pL(?:a|b)|{'.' * 10}){{900}}",
    "repeated": "((a{10}){10}){10}",
    "repeated beside": "x{1000}" * 1400,
    "optional": "(?:a?){1000}",
    "ranges": "(.{0,30}){30}",
    "nested groups": "(" * 999 + ")" * 999,
    "nested repetitions": "(?:" * 900 + "a" + ")*" * 900,
    "open brackets": "[[:" * 3300,
    "open braces": "a{" * 5000,
    "open groups": "(" * 10000,
    "bars": "|" * 10000,
    "escapes": r"\x{10FFFF}" * 1000,
    "open escape": r"\x{" + "0" * 30_000,
    "quoted": r"\Qa" * 3000,
    "flags": "(?i)" * 2500,
    "literals": "a" * 10000,
    "folded": "(?i)[k-s]{1000}",
    "not": r"[^\x00-\x{10FFFF}]*" * 500,
    "deep alternatives": "(a|" * 900 + "b" + ")" * 900,
}


def said_of(pattern: str) -> str:
    try:
        check_pattern(pattern)
    except EvaluationError as error:
        return str(error)
    return ""


def test_go_takes_the_same_patterns_says_the_same_of_others_and_finds_them_in_the_same_texts() -> None:
    for case in CASES:
        assert said_of(case["pattern"]) == case.get("error", ""), case
        if "matches" in case and case["pattern"] not in TOO_LARGE:
            assert sorted(text for text in TEXTS if matches(text, case["pattern"])) == sorted(case["matches"]), case


@each_row("pattern", *TOO_LARGE)
def test_patterns_that_take_more_memory_than_is_allowed(pattern: str) -> None:
    with pytest.raises(EvaluationError, match="too large"):
        compile_pattern(pattern)


def test_characters_in_both_cases_fit_the_memory() -> None:
    assert compile_pattern("^(?:[fF][aA][lL][sS][eE]){1000}$").is_in("fAlSe" * 1000)


@each_row("call", "matches({})", "find({})", "findAll({})", "findAll({}, 2)")
def test_a_constant_that_is_not_a_pattern_is_refused_when_the_expression_is_created(call: str) -> None:
    for case in WRONG[::10]:
        expression = f"object.{call.format(json.dumps(case['pattern']))}"
        found = outcome(expression)
        if call.startswith("matches"):  # cel-go's validator speaks first
            assert found.startswith("refused: ERROR: <input>:1:"), case
            assert found.endswith("invalid matches argument"), case
        else:
            assert found == f"refused: {case['error']}".partition("\n")[0]


@each_row("call", "matches", "find", "findAll")
def test_what_comes_to_be_no_pattern_is_an_error(call: str) -> None:
    for case in WRONG[::10]:
        found = outcome(f"'abc'.{call}(object)", {"object": case["pattern"]})
        prefix = "" if call == "matches" else "Illegal regex: "
        assert found == f"error: {prefix}{case['error']}"


@each_row("call", "find('(') == ''", "findAll('(').size() > 0")
@each_row("release", 31, 34, 36)
def test_selectors_have_no_wrong_patterns(call: str, release: int) -> None:
    said = "program instantiation failed: error parsing regexp: missing closing ): `(`"
    assert compile_selector(f"device.driver.{call}", Release(release)) == Refusal(said, is_internal=True)


@each_row_beside("pattern", "inside", "outside")
def test_names_that_re2_spells_otherwise(pattern: str, inside: str, outside: str) -> None:
    assert matches(inside, pattern)
    assert not matches(outside, pattern)


@each_row("pattern", r"\p{}", r"\p{é}", r"\pé", r"\p{Lx}", r"[\p{^}]")
def test_classes_that_there_are_not(pattern: str) -> None:
    assert said_of(pattern).startswith("error parsing regexp: invalid character class range: `")


@each_row(
    ("pattern", "expected"),
    ("(" * 999 + ")" * 999, ""), ("(" * 1000 + ")" * 1000, "expression nests too deeply"),
    ("(?:" * 999 + ")*" * 999, ""), ("(?:" * 1000 + ")*" * 1000, "expression nests too deeply"),
    ("(" + "|" * 12345 + ")", ""),
    ("(" * 10 + "x" + "{2})" * 9 + ")", ""), ("(" * 10 + "x" + "{2})" * 9 + "{2})", "invalid repeat count"),
    ("(?:[a-z]{4}){0,250}", ""), ("(?:[a-z]{4}){0,251}", "invalid repeat count"),
    ("(" + "(xx?)" * 1000 + "){1000}", "expression too large"),
    ("(a|" + "(xx?)" * 1000 + "){1000}", "expression too large"),
    ("(xx?){1000}" * 600, ""), ("(xx?){1000}" * 1000, "expression too large"),
)  # fmt: skip
def test_limits_are_those_of_go(pattern: str, expected: str) -> None:
    found = said_of(pattern)
    assert found.startswith(f"error parsing regexp: {expected}") if expected else not found


@pytest.mark.no_cover
@each_row("pattern", *ATTACKS.values())
def test_a_pattern_is_read_in_steps_that_grow_with_its_length(pattern: str) -> None:
    with contextlib.suppress(EvaluationError):
        read_pattern(pattern)  # compiles what it reads with
    with counting() as steps, contextlib.suppress(EvaluationError):
        read_pattern(pattern)
    assert steps() < 500 + len(pattern) * 30


@pytest.mark.slow
@pytest.mark.alone  # RE2 compiles it, whose steps cannot be counted
@pytest.mark.parametrize("pattern", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_pattern_is_compiled_within_its_budget(pattern: str) -> None:
    budget = Budget(REVIEW)
    began = time.process_time()
    with limited(budget), contextlib.suppress(EvaluationError, BudgetExceededError):
        compile_pattern(pattern)
    assert time.process_time() - began < 0.3 + (REVIEW - budget.left) * 20e-6


def test_a_class_of_many_characters_takes_no_memory_for_each() -> None:
    pattern = f"[{''.join(map(chr, range(0x100, 0x4100)))}]"
    tracemalloc.start()
    read_pattern(pattern)
    assert tracemalloc.get_traced_memory()[1] < len(pattern)
    tracemalloc.stop()


@pytest.mark.no_cover
@each_row("pattern", *ATTACKS.values())
def test_a_constant_pattern_is_only_validated(pattern: str) -> None:
    expression = f"''.matches({json.dumps(pattern)})"
    with limited(Budget(REVIEW)) as budget:
        compile_selector(expression, Release(36))
    assert REVIEW - budget.left < 1000 + 4 * len(expression)


def test_a_pattern_beyond_our_memory_is_valid_and_a_search_spends_by_the_text() -> None:
    pattern = r"(?i)\pL{300}"
    assert said_of(pattern) == ""
    assert outcome(f"'a'.matches({json.dumps(pattern)})") == f"error: {regex._too_large()}"  # noqa: SLF001
    compiled = compile_pattern("[a-z]{0,900}q")
    with limited(Budget(1000)), pytest.raises(BudgetExceededError):
        list(compiled.find_all("a" * 100_000))


def test_what_is_kept_of_patterns_and_of_short_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Cache[regex.CompiledPattern] = Cache(MAX_CACHE)
    monkeypatch.setattr(regex, "_patterns", kept)
    for number in range(200):
        assert matches("a", f"a|b{number}")
    assert len(kept) <= MAX_CACHE // MAX_MEMORY
    assert kept.size <= MAX_CACHE
    monkeypatch.setattr(regex, "_REMEMBERED", 3)
    pattern = compile_pattern("^a+$")
    for _ in range(2):
        assert [pattern.is_in("a" * length) for length in range(9)] == [False] + [True] * 8
    assert len(pattern._found) <= 3  # noqa: SLF001
    pattern.is_in("a" * 1000)
    assert max(map(len, pattern._found)) < 1000  # noqa: SLF001
