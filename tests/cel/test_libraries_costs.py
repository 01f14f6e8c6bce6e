"""Costs of Kubernetes' functions, most of them as apiserver/pkg/cel/library/cost_test.go has them.

Upstream's tests do not fold constants as the API server does: a list of literals costs 10 there, and nothing here.
"""

import pytest

from tests.cel.authorizer import BINDINGS
from tests.cel.judging import NEWEST
from tests.rows import each_row, each_row_beside
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import Bounds, EstimatedNode
from webhook.cel.kubernetes.environments import admission_environment
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import BYTES, STRING

ENVIRONMENT = admission_environment(NEWEST, patch_types=True)


def spent(expression: str) -> int:
    meter = Meter()
    ENVIRONMENT.compile(expression).evaluate(BINDINGS | {"object": {"text": "a,b,c"}}, meter=meter)
    return meter.cost


def declared(node: EstimatedNode) -> Bounds | None:
    return Bounds(0, 12) if node.type in {STRING, BYTES} else None


def estimated(expression: str) -> Bounds:
    return estimate_cost(ENVIRONMENT.check(expression), ENVIRONMENT, declared)


@each_row_beside("expression", "least", "most", "actual")
def test_costs_are_kubernetes(expression: str, least: int, most: int, actual: int) -> None:
    assert (estimated(expression), spent(expression)) == (Bounds(least, most), actual)


@each_row("function", "sum", "min", "max")
@each_row(
    "numbers", "[]", "[7]", "[3, 1, 2]", "[-1, 5]", f"[{2**63 - 1}, 1]", f"[{2**63 - 1}, 1, -5]", f"[{1 - 2**63}, -5]"
)
def test_integers_cost_and_come_to_the_same_whether_they_are_known_to_be_some(numbers: str, function: str) -> None:
    results = []
    for conversion in ("int", "dyn"):
        program, meter = ENVIRONMENT.compile(f"{numbers}.map(x, {conversion}(x)).{function}()"), Meter()
        try:
            results.append((program.evaluate({}, meter=meter), meter.cost))
        except EvaluationError as error:
            results.append((str(error), meter.cost))
    assert results[0] == results[1]


def test_inequality_costs_by_size_where_equality_has_a_cost_of_its_own() -> None:
    assert spent("ip('::1') != ip('::2')") == spent("ip('::1') == ip('::2')") + 1
    assert spent("cidr('::/0') != cidr('::/1')") == spent("cidr('::/0') == cidr('::/1')") - 1


@each_row(
    ("expression", "cost"),
    ("authorizer.serviceAccount('n_s', 'sa').group('')", 3),
    ("authorizer.serviceAccount('n_s', 'sa').path('/x').check('get')", 350_003),
    ("authorizer.group('').resource('').check('get')", 350_003),
)
def test_a_question_about_an_invalid_name_costs_what_others_cost(expression: str, cost: int) -> None:
    meter = Meter()
    with pytest.raises(EvaluationError):
        ENVIRONMENT.compile(expression).evaluate(BINDINGS, meter=meter)
    assert meter.cost == cost
