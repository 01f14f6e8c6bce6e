"""The memory that evaluation may take, whatever its cost."""

import json
import resource
import subprocess
import sys
from itertools import pairwise

import pytest

from tests.cel.judging import NEWEST
from tests.rows import each_row
from webhook.budget import REVIEW, Budget, BudgetExceededError, limited
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.ext.comprehensions import BINDINGS
from webhook.cel.kubernetes.environments import CALL_LIMIT, admission_environment
from webhook.cel.runtime.meter import MAX_BYTES, Meter

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

ENVIRONMENT = admission_environment(NEWEST).extend(BINDINGS)
MIB = 1 << 20


def doubled(start: str, grown: str, times: int, end: str) -> str:
    text = start
    for _ in range(times):
        text = f"cel.bind(x, {text}, {grown})"
    return f"cel.bind(x, {text}, {end})"


def nested(start: str, grown: str, times: int, end: str) -> str:
    """Like `doubled`, but all values stay."""
    names = [f"x{number}" for number in range(times + 1)]
    text = f"cel.bind({names[0]}, {start}, "
    for before, name in pairwise(names):
        text += f"cel.bind({name}, {grown.replace('x', before)}, "
    return text + end.replace("x", names[-1]) + ")" * (times + 1)


ATTACKS = {
    "lists": doubled("[1]", "x + x", 40, "x.size() > 0"),
    "lists that stay": nested("object.l", "x + x", 21, "x.size() > 0"),
    "long lists": doubled("object.l", "x + x", 21, "x.size() > 0"),
    "many lists": "object.l.map(i, object.l + object.l + object.l).size() > 0",
    "many lists of many": "object.l.all(i, object.l.map(j, [i, j]).size() > 0)",
    "written lists": f"object.l.map(i, [{', '.join(['i'] * 2000)}]).size() > 0",
    "maps": f"object.l.map(i, {{{', '.join(f'{n}: i' for n in range(500))}}}).size() > 0",
    "texts": doubled("object.s", "x + x", 40, "x.size() > 0"),
    "texts that stay": nested("object.s", "x + x", 21, "x.size() > 0"),
    "replaced": doubled("object.s", "x.replace('a', object.s)", 9, "x.size() > 0"),
    "replaced often": "object.l.map(i, object.s.replace('a', object.s)).size() > 0",
    "replaced nothing": doubled("object.s", "x.replace('', x)", 9, "x.size() > 0"),
    "joined": "object.l.map(i, object.l.map(j, object.s).join(object.s)).size() > 0",
    "split": "object.l.map(i, object.u.split('')).size() > 0",
    "found": "object.l.map(i, object.s.findAll('a')).size() > 0",
    "formatted": "object.l.map(i, '%s%s%s%s'.format([object.s, object.s, object.s, object.s])).size() > 0",
    "formatted lists": doubled("[1]", "[x, x]", 40, "'%s'.format([x]).size() > 0").replace("[1]", "dyn([1])"),
    "flattened": doubled("object.l", "[x, x].flatten()", 30, "x.size() > 0"),
    "sliced": "object.l.map(i, object.l.slice(0, object.l.size())).size() > 0",
    "reversed": "object.l.map(i, object.l.reverse()).size() > 0",
    "ranges": "object.l.map(i, lists.range(9000)).size() > 0",
    "bytes": doubled("bytes(object.s)", "x + x", 40, "x.size() > 0"),
    "conversions": "object.l.map(i, string(bytes(object.s))).size() > 0",
    "distinct": doubled("[1]", "x + x", 20, "x.distinct().size() > 0"),
    "sorted": doubled("[1]", "x + x", 21, "x.sort().size() > 0"),
    "index": doubled("[1]", "x + x", 21, "x.indexOf(2) > 0"),
    "compared in a list": doubled("dyn([1])", "[x, x]", 60, "[x].indexOf(x) == 0"),
}
GIVEN = {"object": {"l": list(range(2000)), "s": "a" * 10_000, "u": "日" * 10_000}}


def outcome(expression: str, meter: Meter) -> str:
    program = ENVIRONMENT.compile(expression)
    try:
        program.evaluate(GIVEN, meter=meter)
    except (CostLimitExceededError, EvaluationError, BudgetExceededError) as error:
        return type(error).__name__
    return ""


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure() -> None:
    """Print the memory that each attack adds to the peak of this process."""
    for name, expression in ATTACKS.items():
        before = peak()
        with limited(Budget(REVIEW // 10)):
            found = outcome(expression, Meter(CALL_LIMIT))
        print(json.dumps([name, found, peak() - before]))  # noqa: T201  # the parent reads it


@pytest.mark.process
def test_an_evaluation_within_its_limits_takes_little_memory() -> None:
    code = "from tests.cel.test_memory import measure; measure()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _, _ in found] == list(ATTACKS)
    assert [name for name, refusal, _ in found if not refusal] == []
    assert sum(taken for _, _, taken in found) < 2 * MAX_BYTES // MIB, found


def test_what_evaluations_with_one_meter_build_counts_together() -> None:
    program = ENVIRONMENT.compile("object.l.map(i, object.l + object.l).size() > 0")
    program.evaluate(GIVEN, meter=(meter := Meter(CALL_LIMIT)))
    left = meter.bytes
    assert MAX_BYTES - left > 2000 * 4000 * 8
    with pytest.raises(CostLimitExceededError, match="64 MiB"):
        program.evaluate(GIVEN, meter=meter)


def test_no_alternative_hides_that_too_much_is_built() -> None:
    program = ENVIRONMENT.compile("object.l.map(i, object.l + object.l + object.l).size() > 0 || true")
    with pytest.raises(CostLimitExceededError):
        program.evaluate(GIVEN)


@each_row("name", "distinct", "sorted", "index")
def test_a_call_that_costs_too_much_is_not_made(name: str) -> None:
    meter = Meter(CALL_LIMIT)
    assert outcome(ATTACKS[name], meter) == "CostLimitExceededError"
    assert meter.cost > CALL_LIMIT


@each_row("shared", "[x, x]", "{'a': x, 'b': x}")
def test_parts_that_values_share_are_compared_once(shared: str) -> None:
    second = doubled("dyn(object.two)", shared, 60, "x == y")
    program = ENVIRONMENT.compile(doubled("dyn(object.one)", shared, 60, f"cel.bind(y, x, {second})"))
    with limited(Budget(REVIEW // 10)):
        assert program.evaluate({"object": {"one": [1], "two": [1]}}) is True
        program = ENVIRONMENT.compile(doubled("dyn(object.one)", shared, 60, "sets.contains([x], [x])"))
        assert program.evaluate({"object": {"one": [1]}}) is True


def test_very_many_parts_are_compared_in_bounded_memory() -> None:
    parts = [[number] for number in range(25_000)]
    program = ENVIRONMENT.compile("object.one == object.two")
    assert program.evaluate({"object": {"one": parts, "two": [*map(list, parts)]}}) is True
    assert program.evaluate({"object": {"one": parts, "two": [*parts[:-1], [0]]}}) is False
