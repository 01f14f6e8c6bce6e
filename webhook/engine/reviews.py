"""What becomes of the request of an AdmissionReview, whose object an API server has decoded and completed.

The counterpart of :mod:`webhook.engine.manifests`. What findings lead to is the webhook's to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.api.judgement import judge_admitted
from webhook.engine import prescheduled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from webhook.engine.mutation import Mutation
    from webhook.engine.prescheduled import Rewrite
    from webhook.policy.ask.authorizer import Authorizer
    from webhook.policy.ask.policyset import PolicySet
    from webhook.policy.ask.verdict import Verdict
    from webhook.problem import Problem


def judged(
    request: Mapping[str, Any], *, kubernetes: str | None, feature_gates: Mapping[str, bool] | None
) -> Sequence[Problem]:
    """Judge the object of a request by the API server's own rules, if it is one that they look at.

    Args:
        request: The request of an AdmissionReview.
        kubernetes: The server's release; None for the newest that knows the object's fields.
        feature_gates: The gates that differ from the release's defaults; None if nobody knows.
    """
    subresource = request.get("subResource") or ""
    if request["operation"] not in {"CREATE", "UPDATE"} or subresource not in {"", "status"}:
        return ()
    return judge_admitted(
        request.get("object"),
        request.get("oldObject") if request["operation"] == "UPDATE" else None,
        kubernetes=kubernetes,
        subresource=subresource,
        feature_gates=feature_gates,
    )


def rewritten(request: Mapping[str, Any], obj: Any, options: prescheduled.RewriteOptions) -> Rewrite | Problem | None:
    """Say how a new pod that is pre-scheduled has to change, or why it must be refused; None for all others.

    Args:
        request: The request of an AdmissionReview.
        obj: What has become of its object.
        options: Which pods are rewritten, and how.
    """
    resource = request.get("resource")
    is_pod = isinstance(resource, dict) and (resource.get("group") or "", resource.get("resource")) == ("", "pods")
    if request["operation"] != "CREATE" or request.get("subResource") or not is_pod:
        return None
    return prescheduled.rewrite(obj, options, user=request.get("userInfo"))


class Asking(NamedTuple):
    """Policies, and what they are asked with.

    Args:
        policies: The policies.
        authorizer: Who knows what users may do; None if nobody does.
        deadline: When they must have answered, by ``time.monotonic`` in seconds; None for no limit.
    """

    policies: PolicySet
    authorizer: Authorizer | None = None
    deadline: float | None = None

    def validate(self, request: Mapping[str, Any]) -> Verdict:
        """Ask the validating policies about the request of an AdmissionReview."""
        from webhook.policy.ask.authorizer import DENY_ALL  # noqa: PLC0415 - only who has policies pays for their engine
        from webhook.policy.ask.evaluate import validate  # noqa: PLC0415
        from webhook.policy.ask.request import request_of_review  # noqa: PLC0415

        review = request_of_review(request)
        return validate(review, self.policies, self.authorizer or DENY_ALL, deadline=self.deadline)

    def mutate(
        self, request: Mapping[str, Any], rewrite: Callable[[Any], Rewrite | Problem | None]
    ) -> tuple[Mutation, list[dict[str, object]]]:
        """Ask the mutating policies; return what became of the object, and the JSON Patch that leads there.

        Args:
            request: The request of an AdmissionReview.
            rewrite: Says how the object has to change after policies have changed it.
        """
        from webhook.engine.mutation import mutate_request  # noqa: PLC0415 - as above
        from webhook.policy.ask.authorizer import DENY_ALL  # noqa: PLC0415
        from webhook.policy.ask.request import request_of_review  # noqa: PLC0415
        from webhook.policy.change.difference import difference  # noqa: PLC0415

        review = request_of_review(request)
        done = mutate_request(review, self.policies, self.authorizer or DENY_ALL, rewrite, deadline=self.deadline)
        return done, difference(review.object, done.object) if done.verdict.allowed else []
