"""Tells at once that no policy has anything to say of a request, as of most."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.objects import text
from webhook.policy.ask.activation import request_value
from webhook.policy.ask.matcher import Matched
from webhook.policy.ask.plan import Candidate, Invocation, keep
from webhook.policy.ask.quick import ask_quickly, is_of
from webhook.policy.ask.request import request_of_review
from webhook.policy.ask.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.policy.ask.clusterobjects import ClusterObjects
    from webhook.policy.ask.plan import Plan, Plans
    from webhook.policy.ask.quick import Step

_NAMESPACE: Final = "namespaceObject"
_kind_in: Final = itemgetter("group", "version", "kind")
_resource_in: Final = itemgetter("group", "version", "resource")


Silent = tuple[int, tuple[str, ...]]
"""That no policy has anything to say: what it costs to find that, and what was assumed."""


class _Asked(NamedTuple):
    """Policies that are asked the quick way.

    Args:
        steps: How.
        bound: What they see beside the object, the parameters and the request.
        see_request: Whether they see the request.
        notes: What was assumed.
    """

    steps: tuple[Step, ...]
    bound: Mapping[str, Any]
    see_request: bool
    notes: tuple[str, ...]


class _Place(NamedTuple):
    """Requests of which the same policies may be asked.

    Args:
        plan: The policies; None if not all can be asked the quick way.
        asked: Those that are asked; None if that depends on more than the place.
        by_namespace: Whether it depends on the namespace alone.
        api_version: The version of the objects.
        kind: The kind of the objects.
    """

    plan: Plan | None
    asked: _Asked | None
    by_namespace: bool
    api_version: str
    kind: str


class Silence:
    """Asks all policies of one sort the quick way, where each can be asked so.

    Args:
        cluster: The objects that policies look at.
        plans: Which policies are asked.
        changes: Whether they make changes where they apply.
    """

    def __init__(self, cluster: ClusterObjects, plans: Plans, *, changes: bool) -> None:
        self._cluster = cluster
        self._plans = plans
        self._changes = changes
        self._known: dict[Any, _Place] = {}
        self._in_namespaces: dict[Any, _Asked | None] = {}

    def find(self, request: Mapping[str, Any], deadline: float | None) -> Silent | None:
        """Find that no policy has anything to say; None if they are to be asked.

        Args:
            request: The request of an AdmissionReview.
            deadline: When they must have answered, by ``time.monotonic`` in seconds; None for no limit.

        Raises:
            DeadlineExceededError: They have not.
            BudgetExceededError: It is more work than the budget in force allows.
        """
        get = request.get
        kind: Any = get("requestKind")
        resource: Any = get("requestResource")
        namespace = get("namespace")
        try:
            # What is written, not what is read: requests that are written alike are read alike.
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
            place = self._place(key, request)
        obj, old = get("object"), get("oldObject")
        plan, asked, _, api_version, name = place
        if plan is None or not is_of(obj, api_version, name) or not (old is None or is_of(old, api_version, name)):
            return None
        if asked is None:
            asked = self._asked_there(plan, key, request) if place.by_namespace else self._asked(plan, request)
            if asked is None:
                return None
        steps, bound, see_request, notes = asked
        if not steps:
            return 0, notes
        meter = Meter(CALL_LIMIT, deadline)
        bindings = {"object": obj, "oldObject": old, **bound} if bound else {"object": obj, "oldObject": old}
        if see_request:
            seen = request_of_review(request)
            bindings["request"] = request_value(seen, Matched(seen.resource, seen.kind))
        if ask_quickly(steps, bindings, meter, changes=self._changes) is None:
            return None
        return meter.cost, notes

    def _place(self, key: Any, review: Mapping[str, Any]) -> _Place:
        request = request_of_review(review)
        plan = self._plans.find(request)
        quick = [(part.hook if isinstance(part, Candidate) else part).quick for part in plan]
        by_place = all(
            isinstance(part, Invocation) and way and _NAMESPACE not in way.needs
            for part, way in zip(plan, quick, strict=True)
        )
        # Of a Namespace its own labels tell.
        by_namespace = request.resource.resource != "namespaces" and all(
            isinstance(part, Invocation) or part.is_about_namespaces for part in plan
        )
        found = _Place(
            plan if all(quick) else None,
            self._asked(plan, review) if by_place else None,
            by_namespace,
            request.kind.api_version,
            request.kind.kind,
        )
        keep(self._known, key, found, len(repr(key)))
        return found

    def _asked_there(self, plan: Plan, place: Any, review: Mapping[str, Any]) -> _Asked | None:
        """Say which policies are asked in one place and namespace, and remember it."""
        key = place, text(review, "namespace")
        if key not in self._in_namespaces:
            keep(self._in_namespaces, key, self._asked(plan, review), len(repr(key)))
        return self._in_namespaces.get(key)

    def _asked(self, plan: Plan, review: Mapping[str, Any]) -> _Asked | None:
        """Say which policies are asked about a request; None if one cannot be asked the quick way."""
        setting = Setting(request_of_review(review), self._cluster)
        steps: list[Step] = []
        bound: dict[str, Any] = {}
        see_request = False
        for invocation in setting.invocations_in(plan):
            if (quick := invocation.quick) is None:
                return None
            steps.append((quick, invocation.params))
            see_request = see_request or "request" in quick.needs
            if _NAMESPACE in quick.needs:
                bound[_NAMESPACE] = setting.namespace_value
        return _Asked(tuple(steps), bound, see_request, tuple(setting.notes))
