"""Mutating admission: mutating policies, and the rewrite of pre-scheduled pods.

In the API server's order: mutating policies come first, webhooks, and so the rewrite, after them; if any of them has
changed the object, policies with ``reinvocationPolicy: IfNeeded`` are evaluated once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webhook.policy.change import mutate as policy
from webhook.policy.change.patch import apply_patch
from webhook.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.engine.prescheduled import Rewrite
    from webhook.objects import JSONObject
    from webhook.policy.ask.authorizer import Authorizer
    from webhook.policy.ask.policyset import PolicySet
    from webhook.policy.ask.request import Request
    from webhook.policy.ask.verdict import Verdict


class Mutation(NamedTuple):
    """What became of an object.

    Args:
        verdict: The verdict of the policies; its ``object`` is the final object.
        rewrite: How the scheduler was brought in, or why the pod must be refused.
    """

    verdict: Verdict
    rewrite: Rewrite | Problem | None = None

    @property
    def object(self) -> JSONObject | None:
        """The object as it is in the end."""
        obj: JSONObject | None = self.verdict.object
        return obj


def mutate_request(
    request: Request,
    policies: PolicySet,
    authorizer: Authorizer,
    rewrite: Callable[[JSONObject | None], Rewrite | Problem | None],
    *,
    deadline: float | None = None,
) -> Mutation:
    """Change an object as admission does; what was given is not changed.

    Args:
        request: The request.
        policies: The policies.
        authorizer: Who knows what the user may do.
        rewrite: Says how an object has to change for the scheduler.
        deadline: When policies must have answered, by ``time.monotonic`` in seconds; None for no limit.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    change: Rewrite | Problem | None = None

    def rewritten(obj: JSONObject | None) -> JSONObject | None:
        nonlocal change
        change = rewrite(obj)
        if isinstance(change, Problem):
            return None
        return obj if obj is None or change is None else apply_patch(obj, change.patch)

    verdict = policy.mutate(request, policies, authorizer, rewritten, deadline=deadline)
    return Mutation(verdict, change)
