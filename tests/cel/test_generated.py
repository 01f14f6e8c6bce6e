"""Generated source: it never contains text of an expression, and its size is bounded."""

import builtins
import gc
import re
import weakref
from contextlib import suppress
from typing import Any

import pytest

from tests.cel import EVERYTHING, EXTENSIONS
from tests.cel.attacks import ATTACKS
from tests.cel.sources import MOST_LINES, NASTY, WIDE, quoted, strangers
from tests.rows import each_row
from webhook.budget import INLINE, Budget, BudgetExceededError, limited
from webhook.cel.checker.declarations import EnvironmentOptions
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError, CostLimitExceededError, EvaluationError
from webhook.cel.runtime.constants import Analysis
from webhook.cel.runtime.generator import BUILTINS, Generator
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import DYN

ENVIRONMENT = Environment(EXTENSIONS, variables={"o": DYN, "l": DYN, "m": DYN})


def written(text: str, environment: Environment) -> list[str]:
    """The functions that are written for an expression."""
    generator = Generator(Analysis(environment.check(text), environment))
    generator.write()
    return generator.functions


def is_true_without_its_text(text: str, bindings: dict[str, Any]) -> bool:
    environment = Environment(EXTENSIONS, variables=dict.fromkeys(bindings, DYN))
    return not strangers("\n".join(written(text, environment))) and environment.compile(text).evaluate(bindings) is True


@each_row("text", *NASTY)
def test_no_text_of_a_constant_is_a_part_of_the_source(text: str) -> None:
    expression = "o[_] == _ && _ in l && m == {_: _} && has(o.a)".replace("_", quoted(text))
    assert is_true_without_its_text(expression, {"o": {text: text, "a": 1}, "l": [text], "m": {text: text}})


@each_row("name", "__class__", "__builtins__", "left", "meter", "k0", "t1", "f0", "None", "import_")
def test_no_name_is_a_part_of_the_source(name: str) -> None:
    text = "_._ == 1 && [_].all(_, _._ == 1) && cel.bind(_, 2, _ == 2) && {'a-b/c.d': _}.`a-b/c.d`._ == 1"
    text = re.sub(r"\b_\b", name, text)
    assert is_true_without_its_text(text, {name: {name: 1}})


@each_row("expression", "o.__class__", "o.__class__.__mro__", "l.__len__", "o['__class__']", "'a'.__class__", "é")
def test_no_attribute_of_python_is_reached(expression: str) -> None:
    with pytest.raises(CelError):
        Environment(variables={"o": DYN, "l": DYN, "é": DYN}).compile(expression).evaluate({"o": {}, "l": [], "é": 1})


def test_generated_functions_have_no_other_builtins() -> None:
    evaluate = ENVIRONMENT.compile("o.a == 1").evaluate
    own = evaluate.__globals__["__builtins__"]  # type: ignore[attr-defined]
    assert own is BUILTINS
    dangerous = {"__import__", "compile", "eval", "exec", "getattr", "globals", "open", "setattr", "vars"}
    assert not dangerous & own.keys()
    assert dangerous <= vars(builtins).keys()


LARGE = f"[{', '.join(['o.a'] * 45)}] != l"
"""As large as fits beside one small part, but not beside two."""


@each_row("operator", "&&", "||")
def test_terms_of_very_different_sizes_all_count(operator: str) -> None:
    large = LARGE if operator == "&&" else f"!({LARGE})"
    neutral, decisive = (1, 2) if operator == "&&" else (2, 1)
    terms = [large if number % 3 == 2 else f"o.s{number} == 1" for number in range(60)]
    data = {"a": 0} | {f"s{number}": neutral for number in range(60)}
    program = ENVIRONMENT.compile(f" {operator} ".join(terms))
    assert program.evaluate({"o": data, "l": []}) is (operator == "&&")
    for position in (0, 1, 3, 31, 57, 58):
        assert program.evaluate({"o": {**data, f"s{position}": decisive}, "l": []}) is (operator != "&&"), position


def test_elements_of_very_different_sizes_are_all_there() -> None:
    elements = [LARGE if number % 3 == 2 else f"o.a + {number}" for number in range(60)]
    expected = [number % 3 == 2 or number for number in range(60)]
    data = {"o": {"a": 0}, "l": []}
    assert ENVIRONMENT.compile(f"[{', '.join(elements)}]").evaluate(data) == expected
    entries = ", ".join(f"'a{number}': {each}" for number, each in enumerate(elements))
    assert list(ENVIRONMENT.compile(f"{{{entries}}}").evaluate(data).values()) == expected


DATA = {"o": {"a": 1, 1: "a"}, "l": [1, 2], "device": {}, "m": {}}


@pytest.mark.slow
@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("folding", [True, False])
def test_functions_stay_small_however_large_an_expression_is(name: str, *, folding: bool) -> None:
    options = EnvironmentOptions(fold_constants=folding)
    environment = Environment(EXTENSIONS, variables={"o": DYN, "l": DYN, "device": DYN}, options=options)
    try:
        functions = written(WIDE[name], environment)
    except CelError:
        return
    assert max(source.count("\n") for source in functions) < MOST_LINES
    lines = [line for source in functions for line in source.split("\n")]
    assert max(len(line) - len(line.lstrip("\t")) for line in lines) < 20
    assert set().union(*map(strangers, functions)) == set()
    with suppress(EvaluationError, CostLimitExceededError):
        environment.compile(WIDE[name]).evaluate(DATA, meter=Meter(10**6))


@pytest.mark.no_cover
@each_row("name", "and", "or", "list", "calls", "or of and")
def test_a_large_expression_is_written_within_the_budget_or_not_at_all(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ENVIRONMENT.compile(WIDE[name])
    monkeypatch.setattr("webhook.cel.runtime.generator.Generator", None)
    with limited(Budget(INLINE)) as budget, pytest.raises(BudgetExceededError):
        program.evaluate(DATA)
    assert budget.left < 0


def test_offline_an_expression_beyond_the_budget_is_an_error_of_its_own() -> None:
    program = ENVIRONMENT.compile(WIDE["and"])
    with limited(Budget(100, is_offline=True)), pytest.raises(CostLimitExceededError, match="more work than draguard"):
        program.evaluate(DATA)


@pytest.mark.no_cover
@each_row("name", "optMap", "optFlatMap")
def test_what_a_macro_uses_twice_again_and_again_ends_at_the_limit(name: str) -> None:
    meter = Meter(10_000)
    with pytest.raises(CostLimitExceededError):
        EVERYTHING.compile(ATTACKS[name]).evaluate({}, meter=meter)
    assert meter.cost < 10_100


def test_an_expression_is_written_once_and_uses_the_variables_that_decide() -> None:
    program = ENVIRONMENT.compile("o.a == 1")
    program.prepare()
    assert program.evaluate is program.evaluate
    assert set(ENVIRONMENT.compile("o.a in [] || l == [o] || 'o' == 'l'").variables) == {"l", "o"}
    assert ENVIRONMENT.compile("o.a in []").variables == {}
    assert ENVIRONMENT.compile("[1].all(o, o == 1) && m == 1").variables.keys() == {"m"}


class Watched(dict[str, Any]):
    """An object that can be watched."""


@each_row(
    "text",
    "o.b == 1",
    "o.b",
    "[1].map(x, o.b)",
    "l.all(x, o.b)",
    "o.b || l",
    "[o.b]",
    "o.a / 0 == 1",
    "o.b in l && o.a",
)
def test_an_error_holds_no_data(text: str) -> None:
    program = ENVIRONMENT.compile(text)
    watched = Watched(a=1)
    gone = weakref.ref(watched)
    gc.disable()
    try:
        with suppress(EvaluationError):
            program.evaluate({"o": watched, "l": [1]})
            pytest.fail("it has a value")
        del watched
        assert gone() is None
    finally:
        gc.enable()
