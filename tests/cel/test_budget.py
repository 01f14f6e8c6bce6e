"""The work of compiling is bounded: for untrusted expressions, it is counted in advance."""

import time
from collections.abc import Callable
from typing import Any

import pytest

import webhook
from tests.cel.attacks import ATTACKS, MAX_CHARACTERS, bindings
from tests.policy.examples import POD, evaluate, validating
from tests.rows import each_row
from tests.steps import counting
from webhook.admission.decisions import ReviewOptions, decide
from webhook.admission.record import Call, Record
from webhook.api.judgement import judge_admitted
from webhook.budget import (
    INLINE,
    MAX_REPORT,
    REVIEW,
    Budget,
    BudgetExceededError,
    DeadlineExceededError,
    current,
    limited,
    work,
)
from webhook.cel.environment import Environment, Refusal
from webhook.cel.ext.comprehensions import BINDINGS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.kubernetes.devices import compile_selector, selector_environment
from webhook.cel.kubernetes.environments import CALL_LIMIT, admission_environment
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import DYN, INT, Type, declared_name, map_of
from webhook.policy.load import load
from webhook.release import Release

STEPS_PER_UNIT = 20
"""Twice what the hungriest attack takes."""


KINDS = pytest.mark.parametrize(
    "kind",
    ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceClaimParameters", "ResourceClassParameters"],
)


def claim(expressions: list[str], kind: str = "ResourceClaim") -> dict[str, Any]:
    """Make an object of a kind with selectors."""
    selectors = [{"cel": {"expression": each}} for each in expressions]
    models = [{"namedResources": {"selector": each}} for each in expressions]
    asked = [{"name": f"r{n}", "exactly": {"deviceClassName": "c", "selectors": [e]}} for n, e in enumerate(selectors)]
    spec = {"devices": {"requests": asked}}
    fields: dict[str, Any] = {
        "ResourceClaim": {"spec": spec},
        "ResourceClaimTemplate": {"spec": {"spec": spec}},
        "DeviceClass": {"spec": {"selectors": selectors}},
        "ResourceClassParameters": {"filters": [{"driverName": f"d{n}", **each} for n, each in enumerate(models)]},
        "ResourceClaimParameters": {"driverRequests": [{"driverName": "d", "requests": models}]},
    }
    version = "v1alpha2" if kind.endswith("Parameters") else "v1"
    metadata = {"name": "a", "namespace": "b"} if version == "v1alpha2" else {"name": "a"}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": metadata, **fields[kind]}


@pytest.mark.no_cover
@pytest.mark.parametrize("units", [REVIEW // 50, pytest.param(REVIEW, marks=pytest.mark.slow)])
@pytest.mark.parametrize("expression", ATTACKS.values(), ids=ATTACKS.keys())
def test_compiling_takes_no_more_steps_than_it_spends_and_its_report_is_short(expression: str, units: int) -> None:
    assert len(expression) <= MAX_CHARACTERS
    budget, found = Budget(units), None
    with limited(budget), counting() as steps:
        try:
            found = compile_selector(expression, Release(36))
        except BudgetExceededError:
            assert budget.left < 0
    spent = units - max(budget.left, 0)
    assert steps() < 10_000 + spent * STEPS_PER_UNIT
    assert not isinstance(found, Refusal) or len(found.text) < MAX_REPORT + 100


@each_row("expression", *ATTACKS.values())
def test_an_expression_beyond_the_budget_is_left_at_once(expression: str) -> None:
    compile_selector("true", Release(31))  # what all expressions share is made once
    with limited(Budget(200)) as budget, counting() as steps, pytest.raises(BudgetExceededError):
        compile_selector(f"{expression} && {expression}", Release(31))
    assert budget.left < 0
    assert steps() < 10_000


@each_row("expression", *ATTACKS.values())
def test_after_the_deadline_nothing_is_compiled(expression: str) -> None:
    with limited(Budget(deadline=time.monotonic())), pytest.raises(DeadlineExceededError):
        compile_selector(expression, Release(36))


@each_row("count", 1, 10, 14, 240)
def test_what_a_macro_uses_twice_is_compiled_once(count: int) -> None:
    with limited(Budget()) as budget:
        before = budget.left
        compile_selector("optional.of(1)" + ".optMap(x, x)" * count + ".hasValue()", Release(36))
    assert before - budget.left < 1000 * (count + 1)


def test_comparing_values_is_as_much_work_below_an_optional() -> None:
    environment = Environment([OPTIONALS], variables={"o": DYN, "p": DYN})
    bindings = {name: [[number] for number in range(500)] for name in ("o", "p")}
    spent = []
    for text in ("o == p", "optional.of(o) == optional.of(p)"):
        program = environment.compile(text)
        program.prepare()
        with limited(Budget()) as budget:
            before = budget.left
            assert program.evaluate(bindings) is True
        spent.append(before - budget.left)
    assert 500 <= spent[1] <= spent[0]


def test_what_a_macro_uses_twice_is_evaluated_once_and_counted_as_often_as_it_is_written() -> None:
    program = Environment([OPTIONALS], variables={"o": DYN}).compile("o.?a" + ".optMap(x, x + 1)" * 14 + ".value()")
    program.prepare()
    meter = Meter()
    with counting() as steps:
        assert program.evaluate({"o": {"a": 1}}, meter=meter) == 15
    assert meter.cost == 114_684
    assert steps() < 2_000
    environment, value = Environment([OPTIONALS, BINDINGS], variables={"o": DYN}), "[o.a, o.a][?0]"
    costs = []
    for text in (f"cel.bind(v, {value}, v.optMap(x, x + 1).value())", f"({value}).optMap(x, x + 1).value()"):
        meter = Meter()
        assert environment.compile(text).evaluate({"o": {"a": 1}}, meter=meter) == 2
        costs.append(meter.cost)
    assert costs == [24, 38]


@pytest.mark.no_cover
@each_row(
    "expression",
    "object.some.all(each, !(each in object.many))",
    "object.some.all(each, object.many.indexOf(each) < 0)",
    "object.some.all(each, object.many.lastIndexOf(each) < 0)",
    "object.some.all(each, object.many.isSorted())",
    "object.some.all(each, object.many.join() != each)",
    "object.some.all(each, isURL(object.url))",
    "object.some.all(each, !isIP(object.url))",
    "object.some.all(each, !isCIDR(object.network))",
    "object.some.all(each, object.many.filter(other, false) == [])",
    "object.some.exists_one(each, object.many.exists_one(other, false))",
    "object.some.all(each, object.numbers.sum() > 1)",
    "object.some.all(each, double(object.digits) > 1.0)",
    "object.some.all(each, isQuantity(object.digits))",
    "object.some.all(each, object.url.replace('%', 'b') != each)",
)
@each_row("release", 31, 36)
def test_what_is_read_again_and_again_is_work_whatever_it_costs(expression: str, release: int) -> None:
    value = {
        "some": ["x"] * 500,
        "many": ["y"] * 5_000,
        "numbers": [1] * 5_000,
        "url": f"/{'%41' * 6_000}",
        "digits": "1" * 20_000,
        "network": f"10.0.0.0/{'1' * 20_000}",
    }
    program = admission_environment(Release(release), stored=True).compile(expression)
    with limited(Budget(INLINE)), pytest.raises(BudgetExceededError):
        program.evaluate({"object": value}, meter=Meter(CALL_LIMIT))


def test_a_budget_is_in_force_within_its_block_and_stays_exceeded() -> None:
    before = current()
    with limited(Budget(5)) as budget:
        assert current() is budget
        work(3)
        assert budget.left == 2
    assert current() is before
    budget.spend(2)
    for _ in range(2):
        with pytest.raises(BudgetExceededError):
            budget.spend(1)
    assert budget.left < 0


@pytest.mark.no_cover
@each_row(
    ("value", "first"),
    ("{$: $}", "{1: 1}"), ("{$: $}", "{}"), ("[$, $]", "[]"), ("[[], $]", "[]"), ("[$].map(x, {x: x})", "[]"),
    ("optional.of($).optMap(x, {x: x})", "[]"), ("$.optMap(x, {x: x})", "optional.none()"),
    ("true ? [$] : [[]]", "[]"), ("[$] + [[]]", "[]"),
)  # fmt: skip
def test_work_grows_with_the_text_whatever_the_types(value: str, first: str) -> None:
    environment = selector_environment(Release(36), stored=True)
    taken = []
    for count in (40, 80):
        with limited(Budget()), counting() as steps:
            environment.check(bindings(value, first, count))
        taken.append(steps())
    assert taken[1] < 2.6 * taken[0]


def doubled(count: int) -> Type:
    """A map of maps of twice as many parts at each level."""
    type_ = INT
    for _ in range(count):
        type_ = map_of(type_, type_)
    return type_


@each_row("write", str, declared_name)
def test_a_type_is_one_object_shown_at_its_price_and_a_very_large_one_in_part(write: Callable[[Type], str]) -> None:
    type_ = doubled(10)
    assert type_ is map_of(*type_.parameters)
    with limited(Budget(1000)), pytest.raises(BudgetExceededError):
        str(type_)
    assert [write(doubled(count)) for count in (14, 40, 200)] == ["map(…)"] * 3
    assert write(doubled(2)) == "map(map(int, int), map(int, int))"


@pytest.mark.no_cover
@each_row("count", 40, 150)
@each_row("value", "{$: $}", "[{$: $}]", "{$: optional.of($)}", "[$].map(x, {x: x})")
def test_without_a_budget_an_error_of_a_very_large_type_is_short(value: str, count: int) -> None:
    for end, said in (("true", "must evaluate to bool"), (f"n{count - 1} == 1", "no matching overload for '_==_'")):
        expression = bindings(value, "1", count).replace("true)", f"n{count - 1})" if end == "true" else f"{end})")
        with counting() as steps:
            found = compile_selector(expression, Release(36), stored=True)
        assert isinstance(found, Refusal)
        assert said in found.text
        assert "(…)" in found.text
        assert len(found.text) < 3 * len(expression)
        assert steps() < 20_000 * count


# -- the results of a review, and of a document

LINKS = [f"[optional.of(n{number}).optMap(x, [x, x])].all(n{number + 1}, " for number in range(150)]
EXPENSIVE = f"[[]].all(n0, {''.join(LINKS)}true{')' * 151}"


@pytest.mark.slow
@KINDS
def test_a_review_beyond_its_budget_is_decided_by_the_failure_policy(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = REVIEW // 10
    monkeypatch.setattr("webhook.admission.decisions.REVIEW", most)
    for fail_open in (False, True):
        obj = claim([f"{number} > 0 && '{kind} {fail_open}' == '' && {EXPENSIVE}" for number in range(3)], kind)
        request = {"uid": "1", "operation": "CREATE", "object": obj, "resource": {}, "kind": {}, "userInfo": {}}
        record = Record("validate")
        with counting() as steps:
            response = decide(request, Call("validate", fail_open=fail_open), ReviewOptions(), record)
        assert steps() < 4 * most
        assert response["allowed"] is fail_open
        assert "take more work than a review may" in record.message


@pytest.mark.no_cover
@KINDS
def test_offline_each_expression_beyond_the_budget_is_a_finding(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.api.judgement.REVIEW", 100_000)
    problems = webhook.validate(claim(["true", EXPENSIVE, "1 == 1"], kind))
    found = [problem for problem in problems if problem.level == "error"]
    assert [problem.reason for problem in found] == ["BudgetExceeded", "BudgetExceeded"]
    assert "selector" in found[0].field
    assert "was not checked" in found[0].message


def test_a_later_document_has_a_budget_of_its_own_and_what_a_cache_knows_costs_nothing() -> None:
    webhook.validate(claim([ATTACKS["empty maps that double"]]))
    assert webhook.validate(claim(["device.driver == 'budget'"])) == []
    obj = claim([ATTACKS["comparisons"]])
    with limited(Budget(REVIEW)) as budget:
        judge_admitted(obj)
        left = budget.left
        judge_admitted(obj)
        assert budget.left == left


# -- policies, whose expressions are the operator's, but come from a pull request offline


def test_a_policy_that_takes_too_much_work_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.policy.manifest.expressions.DOCUMENT", 100_000)
    found = load(validating(f"[{','.join(['[]'] * 6000)}].size() > 0"), Release(36))
    assert ["more work than draguard allows" in str(finding.problem) for finding in found.errors] == [True]


def test_an_evaluation_that_takes_too_much_work_offline_is_an_error_of_the_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("webhook.engine.offline.DOCUMENT", 100)
    slow = validating("object.spec.containers.all(c, [1, 2, 3].all(x, [1, 2, 3].all(y, x + y > 0)))")
    pod = POD | {"spec": {"containers": [{"name": f"c{number}", "image": "b"} for number in range(500)]}}
    verdict = evaluate(pod, policies=load(slow, Release(36)))
    assert not verdict.allowed
    assert "more work than draguard allows" in verdict.message
