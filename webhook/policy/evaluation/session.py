"""One request to policies: what they are evaluated with, their variables, conditions and expressions.

Follows apiserver ``pkg/admission/plugin/cel/activation.go``, ``condition.go`` and ``composition.go``,
``plugin/webhook/matchconditions/matcher.go``, ``policy/generic/policy_dispatcher.go`` and ``validating/dispatcher.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from webhook.api import conversion
from webhook.budget import check_deadline
from webhook.cel.environment import Refusal
from webhook.cel.errors import NO_SUCH_KEY, CostLimitExceededError, EvaluationError, WorkExceededError
from webhook.cel.kubernetes.environments import CALL_LIMIT, MATCH_CONDITIONS_LIMIT
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import Type, struct
from webhook.later import cached_property
from webhook.objects import JSONObject, metadata_of
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import Invocation, Matched, Plan, PolicySet
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.verdict import EvaluationFault
from webhook.policy.manifest.kinds import GroupVersionKind, kind_in
from webhook.policy.manifest.model import Policy, StatedExpression
from webhook.problem import Path, aggregate, quoted


class OutOfBudgetError(Exception):
    """The expressions of a policy exceeded their common cost budget."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class EvaluationResult(NamedTuple):
    """The result of an expression, or of several conditions: a value or an error, and why it came.

    Args:
        path: The path of the first condition that failed.
    """

    value: Any = None
    error: str = ""
    fault: EvaluationFault | None = None
    path: Path | None = None


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

    def __init__(self, expressions: Mapping[str, StatedExpression], bindings: Mapping[str, Any], meter: Meter) -> None:
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
        if isinstance(expression.compiled, Refusal):
            return EvaluationError(_UNCOMPILED, name, expression.compiled.text)
        # Kept bindings would refer to the variables, which refer to them: a cycle for the garbage collector.
        bindings = {**self._bindings, "variables": self}
        try:
            return expression.compiled.evaluate(bindings, meter=self._meter)
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
        self, bindings: Mapping[str, Any], variables: Mapping[str, StatedExpression] | None, budget: int, meter: Meter
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

    def evaluate(self, expression: StatedExpression) -> EvaluationResult:
        """Evaluate an expression.

        Raises:
            OutOfBudgetError: The budget is spent.
            DeadlineExceededError: The deadline has passed.
        """
        compiled = expression.compiled
        if isinstance(compiled, Refusal):
            return EvaluationResult(error=f"compilation error: {compiled.text}")
        check_deadline()
        meter = self._meter
        try:
            value = compiled.evaluate(self._bindings, meter=meter)
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


def _fault(error: EvaluationError | CostLimitExceededError) -> EvaluationFault:
    """Return what an error says of the expression and its variables."""
    code, *arguments = error.args
    if code == _UNEVALUATED:
        variable, _, fault = arguments
        return EvaluationFault(*fault)._replace(text=str(error), variables=(variable, *fault.variables))
    if code == _UNCOMPILED:
        return EvaluationFault(str(error), variables=(arguments[0],))
    missing = error.missing if isinstance(error, EvaluationError) else ""
    return EvaluationFault(str(error), missing, is_work=isinstance(error, WorkExceededError))


_UNCOMPILED: Final = 'composited variable "{}" fails to compile: {}'
_UNEVALUATED: Final = 'composited variable "{}" fails to evaluate: {}'
"""The variable, its error, and what that says."""
STEP: Final = 100_000
"""The assumed upper bound on the cost of a stopped expression's last step.

A search through megabytes of text can cost more. The API server would then refuse the request even if all validations
hold; here a message that is not shown costs nothing.
"""


def place_value(request: Request, matched: Matched) -> JSONObject:
    """Return what expressions see of all requests in one place: an operation on a resource."""
    value: JSONObject = {
        "uid": "",
        "kind": matched.kind._asdict(),
        "resource": matched.resource._asdict(),
        "requestKind": request.kind._asdict(),
        "requestResource": request.resource._asdict(),
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


_HIDDEN: Final = frozenset({"managedFields", "ownerReferences", "selfLink"})


def evaluate_conditions(
    policy: Policy, bindings: Mapping[str, Any], request: Request, meter: Meter
) -> EvaluationResult:
    """Evaluate a policy's match conditions: if one is false, the policy does not apply, even if others fail.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    if not policy.conditions:
        return TRUE
    # Conditions see no namespace, and the resource as it was requested.
    seen = bindings
    if "request" in bindings or bindings["namespaceObject"] is not None:
        seen = {**bindings, "namespaceObject": None}
        if "request" in seen:
            seen["request"] = seen["request"] | {"resource": request.resource._asdict()}
    evaluation = Evaluation(seen, None, MATCH_CONDITIONS_LIMIT, meter)
    failed: list[EvaluationResult] = []
    refused = False
    try:
        for index, condition in enumerate(policy.conditions):
            if refused and evaluation.is_certain(len(policy.conditions) - index):
                break
            outcome = evaluation.evaluate(condition)
            if outcome.error:
                failed.append(outcome._replace(path=condition.path))
            refused = refused or outcome.value is False
    except OutOfBudgetError as error:
        return EvaluationResult(error=str(error))
    if refused:
        return EvaluationResult(value=False)
    if failed:
        return EvaluationResult(None, aggregate([each.error for each in failed]), failed[-1].fault, failed[0].path)
    return TRUE


class ConfigurationError(Exception):
    """A binding cannot be evaluated; the failure policy decides what that means."""


def convert(obj: JSONObject | None, kind: GroupVersionKind) -> JSONObject | None:
    """Return an object in another version of its kind; None stays None.

    Raises:
        ConfigurationError: draguard does not know how the two versions differ.
    """
    if obj is None:
        return None
    if obj.get("kind") == kind.kind and obj.get("apiVersion") == kind.api_version:  # as nearly always
        return obj
    own = kind_in(obj)
    if own == kind or own.kind != kind.kind:  # a Scale, or the options of a DELETE, is of a kind of its own
        return obj
    try:
        return conversion.convert(obj, kind.api_version)
    except conversion.ConversionError:
        raise ConfigurationError(f"draguard cannot convert {own} to {kind.api_version}") from None


class Session:
    """One request, and the values that its policies share, each made on first use.

    Args:
        authorizer: Decides what the user may do.

    Attributes:
        meter: Limits the cost of each expression, and counts the cost of all.
        notes: The assumptions made.
    """

    def __init__(self, request: Request, policies: PolicySet, authorizer: Authorizer = DENY_ALL) -> None:
        self.request = request
        self.notes: set[str] = set()
        self.policies = policies
        self.meter = Meter(CALL_LIMIT)
        self._authorizer = authorizer
        self._objects: dict[tuple[int, GroupVersionKind], JSONObject | None] = {}
        self._requests: dict[Matched, JSONObject] = {}

    def after(self, obj: JSONObject) -> Session:
        """Return a session of the same request with its changed object."""
        later = Session(self.request._replace(object=obj), self.policies, self._authorizer)
        later.notes, later.meter = self.notes, self.meter
        return later

    def invocations(self, kind: str) -> Iterator[Invocation]:
        """List the policies of a kind to evaluate, in their order."""
        return self.invocations_in(self.policies.plan(kind, self.request))

    @property
    def namespace(self) -> JSONObject | None:
        """The object's namespace; None for cluster-scoped objects, including Namespaces."""
        request = self.request
        return self.policies.namespace(request.namespace) if request.namespace and not request.is_namespace else None

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; if they are unknown, note that."""
        self._note_namespace(name)
        return self.policies.namespace_labels(name)

    def _note_namespace(self, name: str) -> None:
        if not self.policies.knows_namespace(name):
            self.notes.add(f"the namespace {quoted(name)} was not given: it is taken to have no labels but its name")

    def invocations_in(self, plan: Plan) -> Iterator[Invocation]:
        """List the policies of a plan to evaluate, in their order."""
        for step in plan:
            yield from step.invocations(self.request, self.policies, self.namespace_labels)

    def request_value(self, matched: Matched) -> JSONObject:
        """Return the request as the expressions of a policy see it: an AdmissionRequest without the objects."""
        if matched not in self._requests:
            sent, place = self.request, place_value(self.request, matched)
            own = sent.user, sent.options, sent.name, sent.namespace
            self._requests[matched] = own_value(place, *own, dry_run=sent.dry_run)
        return self._requests[matched]

    @cached_property
    def namespace_value(self) -> JSONObject | None:
        """The object's namespace as expressions see it."""
        namespace = self.namespace
        if namespace is None:
            return None
        self._note_namespace(self.request.namespace)
        metadata = {name: each for name, each in metadata_of(namespace).items() if name not in _HIDDEN}
        return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}

    def converted(self, obj: JSONObject | None, kind: GroupVersionKind) -> JSONObject | None:
        """Return one of the request's objects in another version.

        Raises:
            ConfigurationError: It cannot be converted to that version.
        """
        key = id(obj), kind
        if key not in self._objects:
            self._objects[key] = convert(obj, kind)
        return self._objects[key]

    def bindings(self, invocation: Invocation, obj: JSONObject | None) -> dict[str, Any]:
        """Return the variables that a policy's expressions use; the object is in the version that the policy wants.

        Raises:
            ConfigurationError: The stored object cannot be converted to that version.
        """
        matched, uses = invocation.matched, invocation.hook.policy.uses
        bindings: dict[str, Any] = {"object": obj, "params": invocation.params, "namespaceObject": None}
        if "request" in uses:
            bindings["request"] = self.request_value(matched)
        if "namespaceObject" in uses:
            bindings["namespaceObject"] = self.namespace_value
        if "authorizer" in uses or "authorizer.requestResource" in uses:
            bindings |= self._authorizer.bindings(self.request, self.notes)
        bindings["oldObject"] = self.converted(self.request.old_object, matched.kind)
        return bindings
