"""Mutating admission: mutating policies, and the rewrite of pre-scheduled pods; validating policies for a request.

In the API server's order: mutating policies come first, webhooks, and so the rewrite, after them; if any of them has
changed the object, policies with ``reinvocationPolicy: IfNeeded`` are evaluated once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from webhook.engine.prescheduled import Rewrite, Rewriting
from webhook.objects import JSONObject
from webhook.patch import apply_patch, difference
from webhook.policy.change import mutate as policy
from webhook.policy.change.mutate import Webhooks
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import Request, request_of_review
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import Verdict
from webhook.problem import Problem


class Mutation(NamedTuple):
    """A mutated object, with the rewrite of a pre-scheduled pod, or why the pod must be refused."""

    verdict: Verdict
    rewrite: Rewrite | Problem | None = None


def mutate_request(
    request: Request, policies: PolicySet, authorizer: Authorizer, rewrite: Rewriting, complete: Webhooks | None = None
) -> Mutation:
    """Change an object as admission does; the given object is left as it was.

    Args:
        complete: Returns an object as other admission plugins complete it, after it has been changed; None for none.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    change: Rewrite | Problem | None = None

    def rewritten(obj: JSONObject | None) -> JSONObject | None:
        nonlocal change
        change = rewrite(obj)
        if isinstance(change, Problem):
            return None
        changed = obj if obj is None or change is None else apply_patch(obj, change.patch)
        return changed if complete is None or changed == request.object else complete(changed)

    return Mutation(policy.mutate(request, policies, authorizer, rewritten), change)


class Evaluator(NamedTuple):
    """Policies, with the authorizer of their evaluation."""

    policies: PolicySet
    authorizer: Authorizer | None = None

    def validate(self, request: Mapping[str, Any]) -> Verdict:
        """Evaluate the validating policies for the request of an AdmissionReview."""
        return validate(request_of_review(request), self.policies, self.authorizer or DENY_ALL)

    def mutate(self, request: Mapping[str, Any], rewrite: Rewriting) -> tuple[Mutation, list[JSONObject]]:
        """Evaluate the mutating policies; return the changed object, and the JSON Patch that leads to it."""
        review = request_of_review(request)
        done = mutate_request(review, self.policies, self.authorizer or DENY_ALL, rewrite)
        verdict = done.verdict
        is_changed = verdict.allowed and verdict.object is not review.object
        return done, difference(review.object, verdict.object) if is_changed else []
