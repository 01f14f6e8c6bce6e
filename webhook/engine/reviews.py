"""Takes the request of an AdmissionReview through the pipeline.

The counterpart of :mod:`webhook.engine.manifests`. What findings lead to is the webhook's to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.api.judgement import judge_admitted
from webhook.engine import prescheduled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webhook.engine.prescheduled import Rewrite
    from webhook.problem import Problem


def judged(
    request: Mapping[str, Any], *, kubernetes: str | None, feature_gates: Mapping[str, bool] | None
) -> Sequence[Problem]:
    """Judge the object of a request by the API server's own rules, if it is one that they look at.

    Args:
        request: The request of an AdmissionReview.
        kubernetes: The server's release; None for the newest that knows the object's fields.
        feature_gates: The gates that differ from the release's defaults; None if unknown.
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
    is_pod = isinstance(resource, dict) and resource.get("resource") == "pods" and not resource.get("group")
    if not is_pod or request["operation"] != "CREATE" or request.get("subResource"):
        return None
    return prescheduled.rewrite(obj, options, user=request.get("userInfo"))
