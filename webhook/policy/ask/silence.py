"""Tells at once that no policy has anything to say of a request, as of most."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.policy.ask.plan import Invocation, keep
from webhook.policy.ask.quick import ask_quickly, is_of
from webhook.policy.ask.request import request_of_review

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.policy.ask.plan import Plans
    from webhook.policy.ask.quick import Step

_kind_in: Final = itemgetter("group", "version", "kind")
_resource_in: Final = itemgetter("group", "version", "resource")


class _Place(NamedTuple):
    """Requests of which the same policies are asked.

    Args:
        steps: How to ask the policies; None if not all can be asked the quick way.
        api_version: The version of the objects.
        kind: The kind of the objects.
    """

    steps: tuple[Step, ...] | None
    api_version: str
    kind: str


class Silence:
    """Asks all policies of one sort the quick way, where each can be asked so and needs the objects only.

    Args:
        plans: Which policies are asked.
        changes: Whether they make changes where they apply.
    """

    def __init__(self, plans: Plans, *, changes: bool) -> None:
        self._plans = plans
        self._changes = changes
        self._known: dict[Any, _Place] = {}

    def cost(self, request: Mapping[str, Any], deadline: float | None) -> int | None:
        """Return what it costs to find that no policy has anything to say; None if they are to be asked.

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
        steps, api_version, name = place
        if steps is None or not is_of(obj, api_version, name) or not (old is None or is_of(old, api_version, name)):
            return None
        meter = Meter(CALL_LIMIT, deadline)
        bindings = {"object": obj, "oldObject": old}
        if steps and ask_quickly(steps, bindings, meter, changes=self._changes) is None:
            return None
        return meter.cost

    def _place(self, key: Any, review: Mapping[str, Any]) -> _Place:
        request = request_of_review(review)
        steps = self._plans.find(request)
        quick = tuple(
            (step.quick, step.params)
            for step in steps
            if isinstance(step, Invocation) and step.quick and not step.quick.needs
        )
        found = _Place(quick if len(quick) == len(steps) else None, request.kind.api_version, request.kind.kind)
        keep(self._known, key, found, len(repr(key)))
        return found
