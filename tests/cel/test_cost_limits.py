"""Evaluation ends at the limit of its cost, and at its deadline."""

import time
from contextlib import AbstractContextManager

import pytest

from tests.cel.costing import BINDINGS, FOLDING
from tests.rows import each_row
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.cel.environment import Program
from webhook.cel.errors import CostLimitExceededError
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import INT, list_of

LOOPS = (
    "big.all(x, x >= 0)", "big.exists(x, x < 0)", "big.exists_one(x, x < 0)", "big.map(x, x)", "big.filter(x, x > 5)",
    "big.all(i, x, x >= 0)", "big.transformMap(i, x, x)", "big.transformMapEntry(i, x, {x: x})",
    "big.map(x, big.map(y, y))", "big.sortBy(x, -x)",
)  # fmt: skip


def for_seconds(seconds: float) -> AbstractContextManager[Budget]:
    """Put a budget in force that ends at a deadline."""
    return limited(Budget(deadline=time.monotonic() + seconds))


def looping(text: str) -> Program:
    environment = FOLDING.extend(variables={"big": list_of(INT)})
    return Program(environment.check(text), environment)


@each_row("text", *LOOPS)
def test_a_loop_is_stopped_within_a_step_of_its_limit_with_a_deadline_too(text: str) -> None:
    program = looping(text)
    meters = [Meter(1000), Meter(1000)]
    for meter, budget in zip(meters, (limited(Budget()), for_seconds(60)), strict=True):
        with budget, pytest.raises(CostLimitExceededError):
            program.evaluate({"big": list(range(5000))}, meter=meter)
    assert 1000 < meters[0].cost == meters[1].cost <= 1000 + 50


@each_row("text", "text.contains(text)", "text.matches('a*b*c*d*e*') && a", "raw == raw", "text == text", "text + text")
def test_a_costly_call_exceeds_the_limit_by_itself_alone(text: str) -> None:
    meter = Meter(5)
    with pytest.raises(CostLimitExceededError):
        FOLDING.compile(text).evaluate(BINDINGS, meter=meter)
    assert meter.cost > 5


def test_a_meter_limits_each_evaluation_and_counts_them_together() -> None:
    program = FOLDING.compile("numbers.all(x, x > 0)")
    once = Meter()
    program.evaluate(BINDINGS, meter=once)
    meter = Meter(once.cost)
    program.evaluate(BINDINGS, meter=meter)
    program.evaluate(BINDINGS, meter=meter)
    assert meter.cost == 2 * once.cost


@each_row("text", *LOOPS)
def test_a_loop_is_stopped_when_its_deadline_passes(text: str) -> None:
    program = looping(text)
    program.prepare()
    said = r"^operation cancelled: the deadline has passed$"
    with for_seconds(0.005), pytest.raises(DeadlineExceededError, match=said):
        program.evaluate({"big": list(range(200_000))})


MATRICES = [[[float(column) for column in range(300)] for _ in range(300)] for _ in range(2)]
LONG = list(range(200_000))


@each_row(
    "text",
    "d.matrix == d.copy", "[d.matrix] != [d.copy]", "{'a': d.matrix} == {'a': d.copy}", "[d.matrix] in d.copies",
    "d.matrix in dyn([d.copy, d.copy])", "d.long == d.same", "-1 in d.long", "[-1] in d.long", "-1 in dyn(d.long)",
    "[1, 2, 3].all(x, sets.contains([d.matrix], [d.copy]))",
    "[1, 2, 3].all(x, [d.matrix, d.copy].distinct().size() == 1)",
)  # fmt: skip
def test_what_takes_long_at_little_cost_is_stopped_too(text: str) -> None:
    matrix, copy = MATRICES
    data = {"matrix": matrix, "copy": copy, "copies": [[copy], [copy]], "long": LONG, "same": LONG.copy()}
    program = FOLDING.compile(f"{text} || a")
    program.prepare()
    with for_seconds(0.001), pytest.raises(DeadlineExceededError):
        program.evaluate({**BINDINGS, "d": data})
