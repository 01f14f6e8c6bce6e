"""Detects quickly that no policy applies or refuses, as for most requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.layout import Layout
from webhook.objects import JSONObject, text
from webhook.policy.evaluation.activation import own_value, place_value
from webhook.policy.evaluation.matcher import Matched
from webhook.policy.evaluation.plan import Candidate, Invocation, keep
from webhook.policy.evaluation.quick import Quick, Step, evaluate_quickly, is_of, may_leave_unchanged
from webhook.policy.evaluation.request import request_of_review
from webhook.policy.evaluation.setting import Setting
from webhook.policy.evaluation.unchanged import leaves_unchanged
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.extent import Extent
    from webhook.policy.evaluation.clusterobjects import ClusterObjects
    from webhook.policy.evaluation.plan import Plan, Plans

_NAMESPACE: Final = "namespaceObject"
_kind_in: Final = itemgetter("group", "version", "kind")
_resource_in: Final = itemgetter("group", "version", "resource")


QuickVerdict = tuple[int, tuple[str, ...]]
"""No policy applies or refuses: the cost of the evaluation, and the assumptions made."""


class _QuickPlan(NamedTuple):
    """Policies that are evaluated quickly.

    Args:
        steps: Their quick evaluations.
        last: The last policy, if it may leave objects as they are although it applies.
        bound: Their variables beside the object, the parameters and a request of which they see more than the place.
        place: What they see of all requests in the place; None if they see no more of the request.
        notes: The assumptions made.
    """

    steps: tuple[Step, ...]
    last: Invocation | None
    bound: Mapping[str, Any]
    place: Mapping[str, Any] | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class QuickPlace:
    """Requests to which the same policies may apply; a place equals itself alone, as keys of caches are long otherwise.

    Args:
        plan: The policies; None if some have no quick evaluation.
        quick: The policies to evaluate; None if they depend on more than the place.
        by_namespace: Whether they depend on the place and namespace alone.
        api_version: The version of the objects.
        kind: The kind of the objects.
        instead: The evaluations in place of others, where objects are not held as the maps and lists of JSON.
    """

    plan: Plan | None
    quick: _QuickPlan | None
    by_namespace: bool
    api_version: str
    kind: str
    instead: Mapping[Quick, Quick] = field(default_factory=dict)


class QuickPath:
    """Evaluates all policies of one kind quickly, if each has a quick evaluation.

    Args:
        cluster: The objects that policies read.
        plans: Plans which policies are evaluated.
        changes: Whether they change objects to which they apply.
    """

    def __init__(self, cluster: ClusterObjects, plans: Plans, *, changes: bool) -> None:
        self._cluster = cluster
        self._plans = plans
        self._changes = changes
        self._known: dict[Any, QuickPlace] = {}
        self._in_namespaces: dict[tuple[QuickPlace, str], _QuickPlan | None] = {}

    def evaluate(self, request: Mapping[str, Any], deadline: float | None) -> QuickVerdict | None:
        """Detect that no policy applies or refuses; None if they must be evaluated one by one.

        Args:
            request: The request of an AdmissionReview.
            deadline: When evaluation must be finished, by ``time.monotonic`` in seconds; None for no limit.

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
            place = self._known.get(key)
        except (KeyError, TypeError):
            return None
        if place is None:
            place = self.place_of(request)
            keep(self._known, key, place, len(repr(key)))
        api_version, name, old = place.api_version, place.kind, get("oldObject")
        if not is_of(get("object"), api_version, name) or not (old is None or is_of(old, api_version, name)):
            return None
        return self.evaluate_in(place, request, deadline)

    def evaluate_in(self, place: QuickPlace, request: Mapping[str, Any], deadline: float | None) -> QuickVerdict | None:
        """As `evaluate`, for a request in a known place.

        Args:
            place: Its place.
            request: As for `evaluate`; its objects are of the place's kind.
            deadline: The same.

        Raises:
            DeadlineExceededError: As there.
            BudgetExceededError: As there.
        """
        plan, quick = place.plan, place.quick
        if plan is None:
            return None
        obj, old = request.get("object"), request.get("oldObject")
        if quick is None:
            quick = (
                self._plan_in_namespace(plan, place, request)
                if place.by_namespace
                else self._plan(plan, request, place.instead)
            )
            if quick is None:
                return None
        steps, last, bound, there, notes = quick
        if not steps and last is None:
            return 0, notes
        meter = Meter(CALL_LIMIT, deadline)
        bindings = {"object": obj, "oldObject": old, **bound} if bound else {"object": obj, "oldObject": old}
        if there is not None:
            bindings["request"] = _request_value(there, request)
        is_decided = not steps or evaluate_quickly(steps, bindings, meter, changes=self._changes) is not None
        if not is_decided or (last is not None and not _keeps(last, bindings, meter)):
            return None
        return meter.cost, notes

    def extend(self, extent: Extent, review: Mapping[str, Any]) -> None:
        """Add to an extent what the policies that may match a request read of its object.

        Args:
            extent: The extent of the object.
            review: The request of an AdmissionReview; its object may be any other one.
        """
        for part in self._plans.find(request_of_review(review)):
            quick = part.hook.quick
            if quick is None:  # the policy is evaluated in another way
                extent.whole = True
            else:
                quick.extend(extent)

    def place_of(self, review: Mapping[str, Any], layout: Layout | None = None) -> QuickPlace:
        """Return the place of a request.

        Args:
            review: The request of an AdmissionReview.
            layout: How the objects of such requests are held; of maps that are held as objects, policies read nothing
                but fields, as `extend` finds. None for the maps and lists of JSON.
        """
        request = request_of_review(review)
        plan = self._plans.find(request)
        quick = [(part.hook if isinstance(part, Candidate) else part).quick for part in plan]
        by_place = all(
            isinstance(part, Invocation) and way and _NAMESPACE not in way.needs
            for part, way in zip(plan, quick, strict=True)
        )
        # A Namespace is matched by its own labels.
        by_namespace = request.resource.resource != "namespaces" and all(
            isinstance(part, Invocation) or part.is_about_namespaces for part in plan
        )
        instead = {way: way.for_layout(layout) for way in quick if way} if layout else {}
        return QuickPlace(
            plan if all(quick) else None,
            self._plan(plan, review, instead) if by_place else None,
            by_namespace,
            request.kind.api_version,
            request.kind.kind,
            instead,
        )

    def _plan_in_namespace(self, plan: Plan, place: QuickPlace, review: Mapping[str, Any]) -> _QuickPlan | None:
        """Return the policies to evaluate in one place and namespace, and cache them."""
        namespace = text(review, "namespace")
        found = self._in_namespaces.get((place, namespace))
        if found is None:
            found = self._plan(plan, review, place.instead)
            length = len(place.api_version) + len(place.kind) + len(namespace)
            keep(self._in_namespaces, (place, namespace), found, length)
        return found

    def _plan(self, plan: Plan, review: Mapping[str, Any], instead: Mapping[Quick, Quick]) -> _QuickPlan | None:
        """Return the policies to evaluate for a request; None if one has no quick evaluation."""
        request = request_of_review(review)
        setting = Setting(request, self._cluster)
        steps: list[Step] = []
        last: Invocation | None = None
        bound: dict[str, Any] = {}
        see_request = see_user = False
        for invocation in setting.invocations_in(plan):
            if (quick := invocation.quick) is None:
                return None
            steps.append((instead.get(quick, quick), invocation.params))
            last = invocation
            see_request = see_request or "request" in quick.needs
            see_user = see_user or quick.sees_user
            if _NAMESPACE in quick.needs:
                bound[_NAMESPACE] = setting.namespace_value
        place = place_value(request, Matched(request.resource, request.kind)) if see_request else None
        if place and not see_user:
            bound["request"], place = place, None
        if last and self._changes and may_leave_unchanged(last.hook.policy):
            steps.pop()
        else:
            last = None
        return _QuickPlan(tuple(steps), last, bound, place, tuple(setting.notes))


def _keeps(invocation: Invocation, bindings: dict[str, Any], meter: Meter) -> bool:
    """Tell whether a mutating policy certainly leaves the object as it is."""
    assert invocation.quick is not None  # noqa: S101 - it is in a plan
    applies = evaluate_quickly(((invocation.quick, invocation.params),), bindings, meter, changes=False)
    return applies is False or (applies is True and leaves_unchanged(invocation.hook.programs, bindings, meter))


def _request_value(place: Mapping[str, Any], review: Mapping[str, Any]) -> JSONObject:
    """As `request_value`; the rest of the request, which is the same in its place, would take 4 us more."""
    user, options = review.get("userInfo"), review.get("options")
    return own_value(
        place,
        user if isinstance(user, dict) else {},
        options if isinstance(options, dict) else None,
        text(review, "name"),
        text(review, "namespace"),
        dry_run=review.get("dryRun") is True,
    )
