"""Policies, evaluated quickly: one function tells that a policy does not apply, or that all its validations hold.

The function is derived from the policy's compiled expressions, and counts the same cost as evaluating them one by one.
For any other outcome all policies are evaluated one by one, from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import DOCUMENT, Budget, BudgetExceededError, check_deadline, current, limited, work
from webhook.cel.environment import Program
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes.environments import CALL_LIMIT, MATCH_CONDITIONS_LIMIT, POLICY_LIMIT
from webhook.cel.runtime.meter import COST_OF_WORK, SHARE, Meter
from webhook.fast.joint import Joint
from webhook.objects import JSONObject, text
from webhook.policy.evaluation.policyset import Hook, Matched, PolicySet, keep
from webhook.policy.evaluation.request import request_of_review
from webhook.policy.evaluation.session import STEP, Session, own_value, place_value
from webhook.policy.manifest.model import MUTATING, StatedExpression

if TYPE_CHECKING:
    from webhook.policy.evaluation.policyset import Plan

LIMIT: Final = 300_000
"""The most that quick evaluation may cost for a request: far below the limits of an expression and of a policy."""
OFTEN: Final = 16
"""How often a policy is evaluated before its function is made, which takes longer than a few evaluations."""

_EXPRESSION_LIMIT: Final = CALL_LIMIT + STEP
_SKIPPED_CONDITIONS: Final = (MATCH_CONDITIONS_LIMIT - LIMIT) // _EXPRESSION_LIMIT
"""How many match conditions may be skipped once one is false, as they could not exceed the cost limit of all."""
_SKIPPED_MESSAGES: Final = (POLICY_LIMIT - LIMIT) // _EXPRESSION_LIMIT
"""How many messages and variables may be skipped if all validations hold, for the same reason."""
_VARIABLES: Final = frozenset({"object", "oldObject", "params", "request", "namespaceObject", "variables"})
_NAMESPACE: Final = "namespaceObject"
_kind_in: Final = itemgetter("group", "version", "kind")
_resource_in: Final = itemgetter("group", "version", "resource")

Passed = tuple[int, tuple[str, ...]]
"""No policy applies, refuses or warns: the cost of the evaluation, and the assumptions made."""


class Quick:
    """The quick evaluation of a policy, made once the policy has been evaluated often.

    Args:
        joint: The policy's conditions and validations.
        needs: The variables that it needs beside the objects and parameters.
    """

    __slots__ = ("_missing", "evaluate", "joint", "needs")

    def __init__(self, joint: Joint, needs: frozenset[str]) -> None:
        self.joint, self.needs = joint, needs
        self._missing = OFTEN
        """How many evaluations are missing before the function is made."""
        self.evaluate = self._not_yet
        """Evaluates the policy, as what `Joint.compiled` returns."""

    def prepare(self) -> None:
        """Make the function now."""
        self.evaluate = _never
        try:
            with limited(Budget(DOCUMENT, is_offline=True)):
                self.evaluate = self.joint.compiled()
        except (CostLimitExceededError, RecursionError):
            pass

    def _not_yet(self, meter: Meter, left: int, mark: int, bindings: Mapping[str, Any], /) -> tuple[int, int, bool]:
        self._missing -= 1
        if self._missing <= 0:
            self.prepare()
            raise CostLimitExceededError  # one policy for each request, as to make the functions of many takes long
        return _never(meter, left, mark, bindings)


def _never(_meter: Meter, _left: int, mark: int, _bindings: Mapping[str, Any], /) -> tuple[int, int, bool]:
    return -1, mark, False


def quick_of(hook: Hook) -> Quick | None:
    """Return the quick evaluation of a policy; None if it has none."""
    policy = hook.policy
    has_messages = any(each.message_expression for each in policy.validations)
    says_more = policy.annotations or (
        has_messages and len(policy.validations) + len(policy.composed) > _SKIPPED_MESSAGES
    )
    wanted = [each.expression for each in policy.validations]
    conditions, validations, values = map(_compiled, (policy.conditions, wanted, policy.composed.values()))
    if says_more or not policy.uses <= _VARIABLES or conditions is None or validations is None or values is None:
        return None
    if any(_NAMESPACE in each.variables for each in conditions):  # conditions see another value than validations
        return None
    if not conditions and not validations:
        return None
    joint = Joint(conditions, validations, dict(zip(policy.composed, values, strict=True)), _SKIPPED_CONDITIONS)
    return Quick(joint, policy.uses)


def _compiled(expressions: Iterable[StatedExpression]) -> list[Program] | None:
    compiled = [each.compiled for each in expressions]
    programs = [each for each in compiled if isinstance(each, Program)]
    return programs if len(programs) == len(compiled) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Policies that are evaluated quickly; equal to themselves alone, as keys of caches are long otherwise.

    Args:
        policies: Their quick evaluations, and their parameters.
        bound: Their variables beside the object, the parameters and the request.
        place: The parts of the requests in the place that they see; None if they see nothing of the request.
        notes: The assumptions made.
    """

    policies: tuple[tuple[Quick, JSONObject | None], ...]
    bound: Mapping[str, Any]
    place: Mapping[str, Any] | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Requests to which the same policies may apply; a place equals itself alone, as keys of caches are long otherwise.

    Args:
        plan: The policies; None if some have no quick evaluation.
        steps: The policies to evaluate; None if they depend on more than the place.
        by_namespace: Whether they depend on the place and namespace alone.
        kind: The apiVersion and kind of the objects.
    """

    plan: Plan | None
    steps: _Steps | None
    by_namespace: bool
    kind: tuple[str, str]


class QuickPolicies:
    """Evaluates all policies of a kind quickly, if each has a quick evaluation.

    Args:
        kind: ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
    """

    def __init__(self, policies: PolicySet, kind: str) -> None:
        self._policies, self._kind = policies, kind
        self._changes = kind == MUTATING
        self._quick: dict[Hook, Quick | None] = {}
        self._places: dict[Any, _Place] = {}
        self._in_namespaces: dict[tuple[_Place, str], _Steps | None] = {}

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
        namespace = get("namespace")
        try:
            # The fields as sent: equal fields are read equally.
            key = (
                _kind_in(request["kind"] if kind is None else kind),
                _resource_in(request["resource"] if resource is None else resource),
                get("operation"),
                get("requestSubResource"),
                get("subResource"),
                type(namespace) if namespace else None,
            )
            place = self._places.get(key)
        except (KeyError, TypeError):
            return None
        if place is None:
            place = self._place_of(request)
            keep(self._places, key, place, len(repr(key)))
        if not (_is_of(get("object"), place.kind) and _is_of(get("oldObject"), place.kind)):
            return None
        steps = place.steps or self._steps_of(place, request)
        if steps is None:
            return None
        return self._evaluate(steps, request) if steps.policies else (0, steps.notes)

    def _steps_of(self, place: _Place, request: Mapping[str, Any]) -> _Steps | None:
        """Return the policies to evaluate, where the place does not tell them; cached if it does with the namespace."""
        if place.plan is None:
            return None
        if not place.by_namespace:
            return self._steps(place.plan, request)
        namespace = text(request, "namespace")
        found = self._in_namespaces.get((place, namespace))
        if found is None:
            found = self._steps(place.plan, request)
            keep(self._in_namespaces, (place, namespace), found, sum(map(len, (*place.kind, namespace))))
        return found

    def _evaluate(self, steps: _Steps, request: Mapping[str, Any]) -> Passed | None:
        bindings = {"object": request.get("object"), "oldObject": request.get("oldObject"), **steps.bound}
        if steps.place is not None:
            user, options = request.get("userInfo"), request.get("options")
            bindings["request"] = own_value(  # only what differs in one place is read
                steps.place,
                user if isinstance(user, dict) else {},
                options if isinstance(options, dict) else None,
                text(request, "name"),
                text(request, "namespace"),
                dry_run=request.get("dryRun") is True,
            )
        meter, left, mark = Meter(CALL_LIMIT), LIMIT, LIMIT - SHARE
        try:
            check_deadline()
            work(SHARE // COST_OF_WORK)
            for quick, bindings["params"] in steps.policies:
                left, mark, holds = quick.evaluate(meter, left, mark, bindings)
                if holds and self._changes:
                    return None
        except (CostLimitExceededError, EvaluationError, RecursionError):
            return None
        except BudgetExceededError:
            if not current().is_offline:
                raise
            return None
        return None if left < 0 or meter.bytes < 0 else (LIMIT - left, steps.notes)

    def _place_of(self, review: Mapping[str, Any]) -> _Place:
        """Return the place of the request of an AdmissionReview."""
        request = request_of_review(review)
        plan = self._policies.plan(self._kind, request)
        quick = [self._quick_of(part.hook) for part in plan]
        by_place = all(part.settled for part in plan) and not any(each and _NAMESPACE in each.needs for each in quick)
        # A Namespace is matched by its own labels.
        by_namespace = request.resource.resource != "namespaces" and all(
            part.settled or part.is_about_namespaces for part in plan
        )
        return _Place(
            plan if all(quick) else None,
            self._steps(plan, review) if by_place else None,
            by_namespace,
            (request.kind.api_version, request.kind.kind),
        )

    def _quick_of(self, hook: Hook) -> Quick | None:
        if hook not in self._quick:
            self._quick[hook] = quick_of(hook)
        return self._quick[hook]

    def _steps(self, plan: Plan, review: Mapping[str, Any]) -> _Steps | None:
        """Return the policies to evaluate for a request; None if one has no quick evaluation."""
        request = request_of_review(review)
        session = Session(request, self._policies)
        as_sent = Matched(request.resource, request.kind)
        policies: list[tuple[Quick, JSONObject | None]] = []
        needs: set[str] = set()
        for invocation in session.invocations_in(plan):
            quick = self._quick_of(invocation.hook)
            if quick is None or invocation.fault or invocation.matched != as_sent:
                return None
            policies.append((quick, invocation.params))
            needs |= quick.needs
        bound = {_NAMESPACE: session.namespace_value} if _NAMESPACE in needs else {}
        place = place_value(request, as_sent) if "request" in needs else None
        return _Steps(tuple(policies), bound, place, tuple(session.notes))


def _is_of(obj: Any, kind: tuple[str, str]) -> bool:
    """Tell whether an object is of a kind, as quick evaluation requires; None counts as of every kind."""
    return obj is None or (type(obj) is dict and (obj.get("apiVersion"), obj.get("kind")) == kind)
