"""The variables of an evaluation: the object, the request, and lazy variables.

Follows apiserver ``pkg/admission/plugin/cel/activation.go``, ``condition.go`` and ``composition.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from webhook.cel import CostLimitExceededError, EvaluationError
from webhook.cel.errors import NO_SUCH_KEY, WorkExceededError
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.cel.types.base import Type, struct
from webhook.objects import JSONObject, metadata_of
from webhook.policy.evaluation.verdict import Fault
from webhook.policy.manifest.expressions import Failure
from webhook.policy.manifest.kinds import Kind, Resource
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel import Meter
    from webhook.policy.evaluation.matcher import Matched
    from webhook.policy.evaluation.request import Request
    from webhook.policy.manifest.model import Stated


class OutOfBudgetError(Exception):
    """The expressions of a policy exceeded their common cost budget."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class EvaluationResult(NamedTuple):
    """The result of an expression: a value or an error, and why it came."""

    value: Any = None
    error: str = ""
    fault: Fault | None = None


TRUE: Final = EvaluationResult(value=True)
"""The outcome of nearly all conditions and validations."""

_UNKNOWN: Final = object()


class Variables:
    """A policy's variables: each is evaluated on first use, and its value kept.

    Args:
        bindings: The values that they may use, apart from the variables themselves.
    """

    cel_type: ClassVar[Type] = struct("kubernetes.variables")

    __slots__ = ("_bindings", "_expressions", "_known", "_meter")

    def __init__(self, expressions: Mapping[str, Stated], bindings: Mapping[str, Any], meter: Meter) -> None:
        self._expressions = expressions
        self._bindings = bindings
        self._meter = meter
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Return a variable's value.

        Raises:
            EvaluationError: The variable has no value.
        """
        value = self._known.get(name, _UNKNOWN)
        if value is _UNKNOWN:
            value = self._known[name] = self._evaluate(name)
        if type(value) is EvaluationError:
            raise EvaluationError(*value.args)
        return value

    cel_select = __getitem__

    def cel_has(self, name: str) -> bool:
        """Tell whether a variable exists."""
        return name in self._expressions

    def _evaluate(self, name: str) -> Any:
        """Return a variable's value, or the error to raise instead."""
        expression = self._expressions.get(name)
        if expression is None:
            return EvaluationError(NO_SUCH_KEY, name)
        if isinstance(expression.compiled, Failure):
            return EvaluationError(_UNCOMPILED, name, expression.compiled.text)
        # Kept bindings would refer to the variables, which refer to them: a cycle for the garbage collector.
        bindings = {**self._bindings, "variables": self}
        try:
            return expression.compiled.program.evaluate(bindings, meter=self._meter)
        except (EvaluationError, CostLimitExceededError) as error:
            return EvaluationError(_UNEVALUATED, name, str(error), _fault(error))


class Evaluation:
    """Evaluates expressions of one kind, such as a policy's validations, for one request.

    Args:
        bindings: The values that the expressions may use, apart from the variables.
        variables: The policy's variables; None if the expressions cannot use them.
        budget: The most that all expressions may cost together.
    """

    __slots__ = ("_bindings", "_limit", "_meter", "_variables")

    def __init__(
        self, bindings: Mapping[str, Any], variables: Mapping[str, Stated] | None, budget: int, meter: Meter
    ) -> None:
        self._meter = meter
        self._limit = meter.cost + budget
        self._variables = len(variables or ())
        self._bindings = bindings
        if variables is not None:
            self._bindings = {**bindings, "variables": Variables(variables, bindings, meter)}

    @property
    def budget(self) -> int:
        """The remaining budget."""
        return self._limit - self._meter.cost

    def evaluate(self, expression: Stated) -> EvaluationResult:
        """Evaluate an expression.

        Raises:
            OutOfBudgetError: The budget is spent.
            DeadlineExceededError: The deadline has passed.
        """
        compiled = expression.compiled
        if isinstance(compiled, Failure):
            return EvaluationResult(error=f"compilation error: {compiled.text}")
        meter = self._meter
        try:
            value = compiled.program.evaluate(self._bindings, meter=meter)
            outcome = TRUE if value is True else EvaluationResult(value)
        except (EvaluationError, CostLimitExceededError) as error:
            text = f"expression '{expression.text}' resulted in error: {error}"
            outcome = EvaluationResult(error=text, fault=_fault(error))
        if meter.cost > self._limit:
            raise OutOfBudgetError
        return outcome

    def is_certain(self, expressions: int) -> bool:
        """Tell whether the budget certainly suffices for that many expressions and all variables."""
        return (expressions + self._variables) * (CALL_LIMIT + STEP) <= self.budget


def _fault(error: EvaluationError | CostLimitExceededError) -> Fault:
    """Return what an error says of the expression and its variables."""
    code, *arguments = error.args
    if code == _UNEVALUATED:
        variable, _, fault = arguments
        return Fault(*fault)._replace(text=str(error), variables=(variable, *fault.variables))
    if code == _UNCOMPILED:
        return Fault(str(error), variables=(arguments[0],))
    missing = error.missing if isinstance(error, EvaluationError) else ""
    return Fault(str(error), missing, is_work=isinstance(error, WorkExceededError))


_UNCOMPILED: Final = 'composited variable "{}" fails to compile: {}'
_UNEVALUATED: Final = 'composited variable "{}" fails to evaluate: {}'
"""The variable, its error, and what that says."""
STEP: Final = 100_000
"""The assumed upper bound on the cost of a stopped expression's last step.

A search through megabytes of text can cost more. The API server would then refuse the request even if all validations
hold; here a message that is not shown costs nothing.
"""


def request_value(request: Request, matched: Matched) -> JSONObject:
    """Return the request as expressions see it: an AdmissionRequest without the objects."""
    own = request.user, request.options, request.name, request.namespace
    return own_value(place_value(request, matched), *own, dry_run=request.dry_run)


def place_value(request: Request, matched: Matched) -> JSONObject:
    """Return what expressions see of all requests in one place: an operation on a resource."""
    value: JSONObject = {
        "uid": "",
        "kind": _kind_value(matched.kind),
        "resource": resource_value(matched.resource),
        "requestKind": _kind_value(request.kind),
        "requestResource": resource_value(request.resource),
        "operation": request.operation,
    }
    if request.subresource:
        value["subResource"] = value["requestSubResource"] = request.subresource
    return value


def own_value(
    place: Mapping[str, Any],
    user: Mapping[str, Any],
    options: Mapping[str, Any] | None,
    name: str,
    namespace: str,
    *,
    dry_run: bool,
) -> JSONObject:
    """Return the variable ``request``; `place` has the fields that all requests in the same place share."""
    known = {name: each for name, each in user.items() if each}
    value = {**place, "userInfo": known, "dryRun": dry_run, "options": options}
    if name:
        value["name"] = name
    if namespace:
        value["namespace"] = namespace
    return value


def _kind_value(kind: Kind) -> JSONObject:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def resource_value(resource: Resource) -> JSONObject:
    """Return a resource as expressions see it."""
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}


_HIDDEN: Final = frozenset({"managedFields", "ownerReferences", "selfLink"})


def namespace_value(namespace: JSONObject | None) -> JSONObject | None:
    """Return a namespace as expressions see it."""
    if namespace is None:
        return None
    metadata = {name: each for name, each in metadata_of(namespace).items() if name not in _HIDDEN}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}
