"""Checks the references of an admitted object against the cluster."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.api.gates import enabled, settable
from webhook.api.templates import pod_template
from webhook.api.versions import DEFAULT, find, release_of
from webhook.budget import INLINE, Budget, BudgetExceededError, current, limited
from webhook.inventory import Inventory, newest
from webhook.objects import JSONObject, mapping
from webhook.problem import WARNING, Problem, value_at
from webhook.references.lookup import apply_rules, every_rule
from webhook.references.rules import Context, pod_view


class Surroundings:
    """The objects of a cluster, against which requests are checked.

    Args:
        kubernetes: The cluster's release, such as ``"1.36"``; None for the newest.
        feature_gates: Its feature gates that differ from the release's defaults; None if unknown.
    """

    def __init__(
        self, inventory: Inventory, kubernetes: str | None = None, feature_gates: Mapping[str, bool] | None = None
    ) -> None:
        release = release_of(kubernetes) if kubernetes else DEFAULT
        on = enabled(release, settable(feature_gates, release) if feature_gates else None)
        every_rule()
        self._context = Context(inventory, release, on)
        _ = self._context.fleet  # computed now, not at the first request

    def warnings(self, obj: object, namespace: str) -> list[Problem]:
        """Warn of references of an object to missing objects, and of those that cannot work.

        At most a part of the budget is spent: checks that take more are skipped, unless there is more time elsewhere.

        Args:
            obj: The object, as an API server sends it.
            namespace: Its namespace; empty if it has none.

        Raises:
            BudgetExceededError: It takes more work than may be done inline.
        """
        if not isinstance(obj, dict) or not isinstance(kind := obj.get("kind"), str):
            return []
        outer = current()
        try:
            with limited(Budget(max(outer.left, 0) // 2, outer.deadline)):
                return self._warnings(obj, kind, namespace)
        except BudgetExceededError:
            if outer.left <= INLINE:
                raise
            return []

    def _warnings(self, obj: JSONObject, kind: str, namespace: str) -> list[Problem]:
        if find(obj.get("apiVersion"), kind) is None:  # undecoded values may have any type
            return []
        steps = pod_template(obj)
        viewed, name = newest(obj) if kind != "ResourceSlice" else None, kind  # slices change all the time
        if steps is not None:
            pod = value_at(obj, steps)
            viewed, name = pod_view(obj, pod, namespace) if isinstance(pod, dict) else None, "Pod"
        if viewed is None:
            return []
        metadata = {**mapping(viewed, "metadata"), "namespace": namespace or "default"}
        found = apply_rules({**viewed, "metadata": metadata}, name, self._context)
        return [_with_hint(problem).below(steps or (), steps or ()) for problem in found if problem.level == WARNING]


def _with_hint(problem: Problem) -> Problem:
    """Append the hint to the message: a warning has only a text."""
    return problem._replace(message=f"{problem.message} ({problem.hint})") if problem.hint else problem
