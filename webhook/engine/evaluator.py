"""Evaluates policies for the request of an AdmissionReview; imported only if there are policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from webhook.engine.mutation import Mutation, mutate_request
from webhook.policy.change.difference import difference
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.request import request_of_review
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import Verdict
from webhook.problem import Problem
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.engine.prescheduled import Rewrite
    from webhook.policy.evaluation.policyset import PolicySet


class Evaluator(NamedTuple):
    """Policies, with the authorizer and deadline of their evaluation.

    Args:
        authorizer: Decides what users may do; None if unknown.
        deadline: When evaluation must be finished, by ``time.monotonic`` in seconds; None for no limit.
    """

    policies: PolicySet
    authorizer: Authorizer | None = None
    deadline: float | None = None

    def validate(self, request: Mapping[str, Any]) -> Verdict:
        """Evaluate the validating policies for the request of an AdmissionReview."""
        review = request_of_review(request)
        return validate(review, self.policies, self.authorizer or DENY_ALL, deadline=self.deadline)

    def mutate(
        self, request: Mapping[str, Any], rewrite: Callable[[Any], Rewrite | Problem | None]
    ) -> tuple[Mutation, list[dict[str, object]]]:
        """Evaluate the mutating policies; return the changed object, and the JSON Patch that leads to it.

        Args:
            request: The request of an AdmissionReview.
            rewrite: Returns the rewrite of an object that policies have changed.
        """
        review = request_of_review(request)
        done = mutate_request(review, self.policies, self.authorizer or DENY_ALL, rewrite, deadline=self.deadline)
        is_changed = done.verdict.allowed and done.object is not review.object
        return done, difference(review.object, done.object) if is_changed else []
