"""What an evaluation binds: the object, the request, and variables that are evaluated when they are first used.

Follows apiserver ``pkg/admission/plugin/cel/activation.go``, ``condition.go`` and ``composition.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from webhook.cel import CelError, CostLimitExceededError, EvaluationError, Meter
from webhook.cel.kubernetes import CALL_LIMIT
from webhook.cel.types import struct
from webhook.policy.expressions import Failure
from webhook.policy.request import metadata_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webhook.cel.types import Type
    from webhook.policy.expressions import Compiled
    from webhook.policy.match import Matched
    from webhook.policy.request import JSONObject, Request


class OutOfBudgetError(Exception):
    """The expressions of a policy came to cost more together than they may."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class Outcome(NamedTuple):
    """What an expression came to: a value, or an error."""

    value: Any = None
    error: str = ""


class NamedExpression(NamedTuple):
    """An expression as it is written, and compiled."""

    text: str
    compiled: Compiled | Failure


class Variables:
    """A policy's variables: each is evaluated when it is first used, and then kept.

    Args:
        expressions: The variables.
        bindings: What they may use; the variables themselves are added.
    """

    cel_type: ClassVar[Type] = struct("kubernetes.variables")

    __slots__ = ("_expressions", "_known", "bindings", "cost")

    def __init__(self, expressions: Mapping[str, NamedExpression], bindings: Mapping[str, Any]) -> None:
        self._expressions = expressions
        self.bindings = {**bindings, "variables": self}
        self._known: dict[str, Outcome] = {}
        self.cost = 0

    def __getitem__(self, name: str) -> Any:
        """Return a variable's value.

        Raises:
            EvaluationError: It has none.
        """
        outcome = self._known.get(name)
        if outcome is None:
            outcome = self._known[name] = self._evaluate(name)
        if outcome.error:
            raise EvaluationError(outcome.error)
        return outcome.value

    cel_select = __getitem__

    def cel_has(self, name: str) -> bool:
        """Tell whether there is a variable."""
        return name in self._expressions

    @property
    def count(self) -> int:
        """How many variables there are."""
        return len(self._expressions)

    def take_cost(self) -> int:
        """Return what variables have cost since they were last asked."""
        cost, self.cost = self.cost, 0
        return cost

    def _evaluate(self, name: str) -> Outcome:
        expression = self._expressions.get(name)
        if expression is None:
            return Outcome(error=f"no such key: {name}")
        if isinstance(expression.compiled, Failure):
            return Outcome(error=f'composited variable "{name}" fails to compile: {expression.compiled.text}')
        meter = Meter(CALL_LIMIT)
        try:
            return Outcome(expression.compiled.program.evaluate(self.bindings, meter=meter))
        except (EvaluationError, CostLimitExceededError) as error:
            return Outcome(error=f'composited variable "{name}" fails to evaluate: {error}')
        finally:
            self.cost += meter.cost


class Evaluation:
    """Evaluates expressions of one kind, such as a policy's validations, for one request.

    Args:
        bindings: What the expressions may use, the variables apart.
        variables: The policy's variables.
        budget: What all of them may cost together.
    """

    def __init__(self, bindings: Mapping[str, Any], variables: Mapping[str, NamedExpression], budget: int) -> None:
        self._variables = Variables(variables, bindings)
        self._bindings = self._variables.bindings
        self.budget = budget

    def evaluate(self, expression: NamedExpression) -> Outcome:
        """Evaluate an expression.

        Raises:
            OutOfBudgetError: There is not enough left of the budget.
        """
        compiled = expression.compiled
        if isinstance(compiled, Failure):
            return Outcome(error=f"compilation error: {compiled.text}")
        meter = Meter(CALL_LIMIT)
        try:
            outcome = Outcome(compiled.program.evaluate(self._bindings, meter=meter))
        except CelError as error:
            outcome = Outcome(error=f"expression '{expression.text}' resulted in error: {error}")
        self.budget -= self._variables.take_cost() + meter.cost
        if self.budget < 0:
            raise OutOfBudgetError
        return outcome

    def is_certain(self, expressions: int) -> bool:
        """Tell whether that many expressions and all variables cannot cost more than what is left of the budget."""
        return (expressions + self._variables.count) * (CALL_LIMIT + _STEP) <= self.budget


_STEP: Final = 100_000
"""What the last step of an expression that is stopped is taken to cost at most.

A search through megabytes of text can cost more. The API server would refuse for that even where all validations hold;
here a message that nobody reads is then not paid for.
"""


def bindings_of(
    request: JSONObject,
    *,
    obj: JSONObject | None,
    old: JSONObject | None,
    params: JSONObject | None,
    namespace: JSONObject | None,
    authorizer: Mapping[str, Any],
) -> dict[str, Any]:
    """Bind what expressions may use.

    Args:
        request: The request, as :func:`request_value` gives it.
        obj: The object, in the version in which the policy sees it.
        old: The stored object in that version.
        params: The parameters.
        namespace: The object's namespace, None for objects of the cluster.
        authorizer: The bindings through which expressions ask what the user may do.
    """
    return {
        "object": obj,
        "oldObject": old,
        "request": request,
        "namespaceObject": namespace_value(namespace),
        "params": params,
        **authorizer,
    }


def request_value(request: Request, matched: Matched) -> JSONObject:
    """Return the request as expressions see it: an AdmissionRequest without the objects."""
    value: JSONObject = {
        "uid": "",
        "kind": matched.kind._asdict(),
        "resource": matched.resource._asdict(),
        "requestKind": request.kind._asdict(),
        "requestResource": request.resource._asdict(),
        "operation": request.operation,
        "userInfo": {name: each for name, each in request.user.items() if each},
        "dryRun": request.dry_run,
        "options": request.options,
    }
    given: Sequence[tuple[str, str]] = (
        ("subResource", request.subresource),
        ("requestSubResource", request.subresource),
        ("name", request.name),
        ("namespace", request.namespace),
    )
    return value | {name: each for name, each in given if each}


_HIDDEN: Final = frozenset({"managedFields", "ownerReferences", "selfLink"})


def namespace_value(namespace: JSONObject | None) -> JSONObject | None:
    """Return a namespace as expressions see it."""
    if namespace is None:
        return None
    metadata = {name: each for name, each in metadata_of(namespace).items() if name not in _HIDDEN}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}
