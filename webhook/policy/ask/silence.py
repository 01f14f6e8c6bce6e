"""Tells at once that no policy has anything to say of a request, as of most."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.policy.ask.plan import Candidate, Invocation, keep
from webhook.policy.ask.quick import ask_quickly, is_of
from webhook.policy.ask.request import request_of_review
from webhook.policy.ask.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from webhook.policy.ask.clusterobjects import ClusterObjects
    from webhook.policy.ask.plan import Plan, Plans
    from webhook.policy.ask.quick import Step

_kind_in: Final = itemgetter("group", "version", "kind")
_resource_in: Final = itemgetter("group", "version", "resource")


class Silent(NamedTuple):
    """No policy has anything to say.

    Args:
        cost: What it costs to find that.
        notes: What was assumed.
    """

    cost: int
    notes: Collection[str] = ()


class _Place(NamedTuple):
    """Requests of which the same policies are asked.

    Args:
        plan: The policies; None if not all can be asked the quick way.
        steps: How to ask them where they need the objects only, and it takes no look at the request to find them.
        api_version: The version of the objects.
        kind: The kind of the objects.
    """

    plan: Plan | None
    steps: tuple[Step, ...] | None
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
        plan, steps, api_version, name = place
        if plan is None or not is_of(obj, api_version, name) or not (old is None or is_of(old, api_version, name)):
            return None
        meter = Meter(CALL_LIMIT, deadline)
        bindings = {"object": obj, "oldObject": old}
        notes: Collection[str] = ()
        if steps is None:
            setting = Setting(request_of_review(request), self._cluster)
            steps = self._steps(plan, setting, bindings)
            notes = setting.notes
        if steps is None or (steps and ask_quickly(steps, bindings, meter, changes=self._changes) is None):
            return None
        return Silent(meter.cost, notes)

    def _steps(self, plan: Plan, setting: Setting, bindings: dict[str, Any]) -> tuple[Step, ...] | None:
        """Say how to ask the policies about a request, and bind what they need; None if one cannot be asked so."""
        steps: list[Step] = []
        for invocation in setting.invocations_in(plan):
            if invocation.quick is None:
                return None
            setting.bind(bindings, invocation.quick)
            steps.append((invocation.quick, invocation.params))
        return tuple(steps)

    def _place(self, key: Any, review: Mapping[str, Any]) -> _Place:
        request = request_of_review(review)
        plan = self._plans.find(request)
        is_quick = all((part.hook if isinstance(part, Candidate) else part).quick for part in plan)
        ready = tuple(
            (part.quick, part.params)
            for part in plan
            if isinstance(part, Invocation) and part.quick and not part.quick.needs
        )
        found = _Place(
            plan if is_quick else None,
            ready if len(ready) == len(plan) else None,
            request.kind.api_version,
            request.kind.kind,
        )
        keep(self._known, key, found, len(repr(key)))
        return found
