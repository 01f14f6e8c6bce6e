"""Policies, evaluated quickly: it tells that all of them hold for a request, or do not apply to it.

It evaluates the same expressions as `policy/evaluation`, at the same cost, but makes no decisions and messages. For any
other outcome all policies are evaluated in full, from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

from webhook.admission.decisions import ReviewOptions
from webhook.admission.record import Endpoint
from webhook.budget import check_deadline
from webhook.cel.environment import Program
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes.environments import CALL_LIMIT, MATCH_CONDITIONS_LIMIT, POLICY_LIMIT
from webhook.cel.runtime.meter import Meter
from webhook.objects import JSONObject
from webhook.policy.evaluation.policyset import Matched, PolicySet
from webhook.policy.evaluation.request import NAMESPACES, request_of_review
from webhook.policy.evaluation.session import STEP, Session, Variables
from webhook.policy.manifest.expressions import CompiledExpression
from webhook.policy.manifest.model import MUTATING, VALIDATING, Policy, StatedExpression
from webhook.records import NamedTuple

LIMIT: Final = 300_000
"""The most that quick evaluation may cost for a request: far below the limits of an expression and of a policy."""
_EXPRESSION_LIMIT: Final = CALL_LIMIT + STEP
_SKIPPED_CONDITIONS: Final = (MATCH_CONDITIONS_LIMIT - LIMIT) // _EXPRESSION_LIMIT
"""How many match conditions may be skipped once one is false, as they could not exceed the cost limit of all."""
_SKIPPED_MESSAGES: Final = (POLICY_LIMIT - LIMIT) // _EXPRESSION_LIMIT
"""How many messages and variables may be skipped if all validations hold, for the same reason."""
_MOST: Final = 1000
_LONGEST: Final = 1000
"""How many places of requests are known, and the most characters of one: more, and longer, than in a cluster."""
_VARIABLES: Final = frozenset({"object", "oldObject", "params", "request", "namespaceObject", "variables"})
_NAMESPACE: Final = "namespaceObject"
_kind_in: Final = itemgetter("group", "version", "kind")
_resource_in: Final = itemgetter("group", "version", "resource")

Passed = tuple[int, tuple[str, ...]]
"""No policy applies, refuses or warns: the cost of the evaluation, and the assumptions made."""

_KINDS: Final[Mapping[Endpoint, str]] = {"validate": VALIDATING, "mutate": MUTATING}


def install() -> None:
    """Evaluate the policies for a request quickly first."""
    ReviewOptions.passing = lambda policies, endpoint: QuickPolicies(policies, _KINDS[endpoint]).evaluate


class _Quick(NamedTuple):
    """A policy with its parameters, as far as it is evaluated quickly.

    Args:
        conditions: Its match conditions, each with whether those after it may be skipped once it is false.
    """

    conditions: tuple[tuple[Program, bool], ...]
    validations: tuple[Program, ...]
    composed: Mapping[str, StatedExpression]
    params: JSONObject | None

    def holds(self, bindings: dict[str, Any], meter: Meter) -> bool | None:
        """Tell whether the policy applies and all its validations hold; None if it does not apply.

        Raises:
            EvaluationError: An expression fails.
            CostLimitExceededError: It costs too much.
        """
        is_met = True
        for condition, is_enough in self.conditions:
            value = condition.evaluate(bindings, meter=meter)
            if value is not True and value is not False:
                return False
            is_met = is_met and value
            if not is_met and is_enough:
                return None
        if self.composed:
            bindings = {**bindings, "variables": Variables(self.composed, bindings, meter)}
        for each in self.validations:  # noqa: SIM110 - a generator takes longer
            if each.evaluate(bindings, meter=meter) is not True:
                return False
        return True


class _Place(NamedTuple):
    """Requests to which the same policies apply, with the same parameters.

    Args:
        kind: The apiVersion and kind of the objects.
        matched: The version in which the policies see the objects: as they were sent.
        namespace: The namespace as expressions see it; None if they do not look at it.
        sees_request: Whether they look at the request.
        notes: The assumptions made.
    """

    policies: tuple[_Quick, ...]
    kind: tuple[str, str]
    matched: Matched
    namespace: JSONObject | None
    sees_request: bool
    notes: tuple[str, ...]


class QuickPolicies:
    """Evaluates all policies of a kind quickly, if that is possible for each, and they look at no labels or names.

    Args:
        kind: ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
    """

    def __init__(self, policies: PolicySet, kind: str) -> None:
        self._policies, self._kind = policies, kind
        self._places: dict[Any, _Place | None] = {}

    def evaluate(self, request: Mapping[str, Any]) -> Passed | None:
        """Detect that no policy applies or refuses; None if they must be evaluated one by one.

        Args:
            request: The request of an AdmissionReview.

        Raises:
            DeadlineExceededError: The deadline has passed.
            BudgetExceededError: The work exceeds the budget in force.
        """
        get = request.get
        kind: Any = get("requestKind")
        resource: Any = get("requestResource")
        try:
            # The fields as sent: equal fields are read equally.
            key = (
                _kind_in(request["kind"] if kind is None else kind),
                _resource_in(request["resource"] if resource is None else resource),
                get("operation"),
                get("requestSubResource"),
                get("subResource"),
                get("namespace"),
            )
            is_known = key in self._places
        except (KeyError, TypeError):
            return None
        place = self._places[key] if is_known else self._place_of(request)
        if not is_known and len(repr(key)) <= _LONGEST:
            if len(self._places) >= _MOST:
                del self._places[next(iter(self._places))]  # the oldest: others stay, and memory stays level
            self._places[key] = place
        obj, old = get("object"), get("oldObject")
        if place is None or not (_is_of(obj, place.kind) and _is_of(old, place.kind)):
            return None
        check_deadline()
        meter = Meter(LIMIT)
        bindings = {"object": obj, "oldObject": old, _NAMESPACE: place.namespace}
        if place.sees_request:
            bindings["request"] = Session(request_of_review(request), self._policies).request_value(place.matched)
        try:
            for each in place.policies:
                bindings["params"] = each.params
                holds = each.holds(bindings, meter)
                if holds is False or (holds and self._kind == MUTATING) or meter.cost > LIMIT:
                    return None
        except (CostLimitExceededError, EvaluationError):
            return None
        return meter.cost, place.notes

    def _place_of(self, review: Mapping[str, Any]) -> _Place | None:
        """Return the place of the request of an AdmissionReview; None if its policies are not evaluated quickly."""
        request = request_of_review(review)
        hooks = self._policies.hooks(self._kind, request)
        # A Namespace is matched by its own labels.
        if request.resource == NAMESPACES or not all(each.is_about_namespaces for each in hooks):
            return None
        session, matched = Session(request, self._policies), Matched(request.resource, request.kind)
        policies: list[_Quick] = []
        uses: set[str] = set()
        for invocation in session.invocations(self._kind):
            policy = invocation.hook.policy
            stated = (each.expression for each in policy.validations)
            conditions, validations = _compiled(policy.conditions), _compiled(stated)
            if invocation.fault or invocation.matched != matched or conditions is None or validations is None:
                return None
            if _says_more(policy) or any(_NAMESPACE in each.variables for each in conditions):
                return None
            may_skip = len(conditions) - _SKIPPED_CONDITIONS - 1
            stops = tuple((each, index >= may_skip) for index, each in enumerate(conditions))
            policies.append(_Quick(stops, validations, policy.composed, invocation.params))
            uses |= policy.uses
        if not uses <= _VARIABLES:
            return None
        namespace = session.namespace_value if _NAMESPACE in uses else None
        kind, notes = (request.kind.api_version, request.kind.kind), tuple(session.notes)
        return _Place(tuple(policies), kind, matched, namespace, "request" in uses, notes)


def _compiled(expressions: Iterable[StatedExpression]) -> tuple[Program, ...] | None:
    compiled = [each.compiled for each in expressions]
    programs = tuple(each.program for each in compiled if isinstance(each, CompiledExpression))
    return programs if len(programs) == len(compiled) else None


def _says_more(policy: Policy) -> bool:
    """Tell whether a policy may say or cost something even if all its validations hold."""
    has_messages = any(each.message_expression for each in policy.validations)
    is_long = len(policy.validations) + len(policy.composed) > _SKIPPED_MESSAGES
    return bool(policy.annotations) or (has_messages and is_long)


def _is_of(obj: Any, kind: tuple[str, str]) -> bool:
    """Tell whether an object is of a kind, as quick evaluation requires; None counts as of every kind."""
    return obj is None or (type(obj) is dict and (obj.get("apiVersion"), obj.get("kind")) == kind)
