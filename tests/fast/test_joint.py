"""Several expressions as one function: the same values and costs as one by one."""

from typing import Any

import pytest

from tests.cel import EXTENSIONS
from tests.cel.sources import MOST_LINES, NASTY, WIDE, quoted, strangers
from tests.rows import each_row, each_row_beside
from webhook.budget import INLINE, Budget, BudgetExceededError, limited
from webhook.cel.environment import Environment, Program
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes.environments import with_variables
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import DYN, struct
from webhook.fast.joint import Joint, JointGenerator

ENVIRONMENT = Environment(EXTENSIONS, variables={"o": DYN, "l": DYN})
MUCH = 10**6


def compiled(
    conditions: list[str], checks: list[str], variables: dict[str, str] | None = None
) -> tuple[list[Program], list[Program], dict[str, Program]]:
    environment, programs = ENVIRONMENT, {}
    for name, text in (variables or {}).items():
        programs[name] = environment.compile(text)
        environment = with_variables(ENVIRONMENT, dict.fromkeys(programs, DYN))
    return list(map(ENVIRONMENT.compile, conditions)), list(map(environment.compile, checks)), programs


def one_by_one(
    conditions: list[Program], checks: list[Program], variables: dict[str, Program], bindings: dict[str, Any]
) -> tuple[int, bool]:
    """Evaluate the expressions of a joint function one by one: all conditions until one is false, then all checks."""
    meter = Meter(MUCH)

    class Lazy:
        cel_type = struct("kubernetes.variables")

        def __init__(self) -> None:
            self.known: dict[str, Any] = {}

        def __getitem__(self, name: str) -> Any:
            if name not in self.known:
                self.known[name] = variables[name].evaluate({**bindings, "variables": self}, meter=meter)
            return self.known[name]

        cel_select = __getitem__

    own = {**bindings, "variables": Lazy()}
    for condition in conditions:
        if not condition.evaluate(bindings, meter=meter):
            return meter.cost, False
    assert all([check.evaluate(own, meter=meter) for check in checks])  # noqa: C419 - each of them costs
    return meter.cost, True


def asked(joint: Joint, bindings: dict[str, Any], skipped: int = MUCH) -> tuple[int, bool]:
    left, _, holds = joint.compiled()(Meter(skipped), MUCH, MUCH, bindings)
    return MUCH - left, holds


VARIABLES = {
    "names": "o.items.map(i, i.name)",
    "first": "o.items[0]",
    "long": "variables.names.filter(n, n.size() > 2)",
    "constant": "[1, 2]",
    "failing": "o.nope",
}
CHECKS = {
    "a variable again and again": [
        "variables.long.size() == 1 && variables.long[0] == 'long'",
        "variables.names != []",
    ],
    "a variable in a loop": ["l.all(x, variables.constant.exists(c, c == x && variables.names.size() == 2))"],
    "a variable in a function of its own": [" && ".join(f"variables.names[{i % 2}] != '{i}'" for i in range(200))],
    "a variable in what a macro uses twice": [f"optional.of(variables.names){'.optMap(x, x)' * 10}.hasValue()"],
    "a part of a variable that is absent": ["!has(variables.first.x) || true", "has(o.items)"],
    "many": [f"o.items.size() + {each} > 1" for each in range(200)],
    "the same steps in several blocks": [
        "(has(o.nope) ? o.nope.a : o.items[0].name) == 'a' && o.items[0].name != o.items[1].name",
        "l.all(x, x > 1 ? o.items[1].name == 'long' : o.items[0].name == 'a') && o.items[1].name == 'long'",
    ],
    "a variable that a branch or a loop reads first": [
        "l.exists(x, x == 2 && variables.first.name == 'a')",
        "variables.first.name == 'a' && (has(o.nope) ? variables.long : variables.names).size() == 2",
        "variables.long.size() == 1",
    ],
    "an optional value that a macro reads twice": [
        "o.?items.optFlatMap(each, optional.ofNonZeroValue(each)).orValue([]).size() == 2",
        "o.?nope.?items.optMap(each, each.size()).orValue(0) == 0 && !o.?nope.?items.hasValue()",
        f"{'o.?items' + '.optMap(x, x)' * 6}.hasValue()",
    ],
    "a bound value that may not be read": [
        "cel.bind(x, o.items, x[0].name == 'a' && x.size() == 2)",
        "cel.bind(x, o.items[0].name, has(o.nope) && x == 'b' || x + x == 'aa')",
        "cel.bind(x, o.nope, has(o.nope) ? x == 1 : l[0] == 1)",
        "cel.bind(x, o.nope, l.filter(y, has(o.nope)).map(y, x) == [])",
        "cel.bind(x, o.nope, o.?nope[?x] == optional.none())",
        "cel.bind(x, o.items, cel.bind(x, [x], x.size()) == 1 && x.size() == 2)",
    ],
    "none": [],
}


@each_row("name", *CHECKS)
@each_row("conditions", ["has(o.items)"], ["has(o.items)", "has(o.nope)", "o.items.size() > 0"])
def test_a_joint_function_has_the_values_of_its_expressions(name: str, conditions: list[str]) -> None:
    bindings = {"o": {"items": [{"name": "a"}, {"name": "long"}]}, "l": [1, 2]}
    parts = compiled(conditions, CHECKS[name], VARIABLES)
    assert asked(Joint(*parts, skipped=9), bindings) == one_by_one(*parts, bindings)


def test_conditions_that_may_not_be_left_out_are_evaluated() -> None:
    parts = compiled(["has(o.nope)", "o.a == 1", "o.b == 2"], ["true"])
    costs = [asked(Joint(*parts, skipped=skipped), {"o": {"a": 1, "b": 2}})[0] for skipped in (2, 1, 0)]
    assert costs[0] < costs[1] < costs[2]


@each_row_beside("conditions", "checks")
def test_what_comes_to_something_else_is_to_be_evaluated_one_by_one(conditions: list[str], checks: list[str]) -> None:
    joint = Joint(*compiled(conditions, checks, VARIABLES), skipped=0)
    with pytest.raises((CostLimitExceededError, EvaluationError)):
        joint.compiled()(Meter(), MUCH, MUCH, {"o": {"a": 1}, "l": []})


@each_row("text", *(each for each in NASTY if each != "\ud800"))
def test_no_text_of_an_expression_is_a_part_of_the_source(text: str) -> None:
    conditions, checks, variables = compiled(
        [f"o[{quoted(text)}] == 1"], [f"variables.v == {quoted(text)}"], {"v": f"{quoted(text)} + ''"}
    )
    joint = Joint(conditions, checks, variables, 0)
    generator = JointGenerator(joint)
    generator.write()
    assert strangers("\n".join(generator.functions)) <= {"ask"}
    assert asked(joint, {"o": {text: 1}})[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["and", "or", "list", "calls", "or of and"])
def test_functions_stay_small_and_within_the_budget(name: str) -> None:
    program = ENVIRONMENT.compile(WIDE[name])
    generator = JointGenerator(Joint([program], [program] * 2, {}, 0))
    generator.write()
    assert max(source.count("\n") for source in generator.functions) < MOST_LINES
    with limited(Budget(INLINE)), pytest.raises(BudgetExceededError):
        _ = Joint([program], [program], {}, 0).compiled()
