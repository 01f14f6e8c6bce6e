"""Takes the request of an AdmissionReview through the pipeline.

The counterpart of :mod:`webhook.engine.manifests`. The webhook decides on the enforcement of findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webhook.api.judgement import judge_admitted
from webhook.engine import prescheduled
from webhook.engine.prescheduled import Rewrite
from webhook.problem import Path, Problem, forbidden


def judged(
    request: Mapping[str, Any], *, kubernetes: str | None, feature_gates: Mapping[str, bool] | None
) -> Sequence[Problem]:
    """Judge the object of a request by the API server's own rules, if they apply to it.

    Args:
        request: The request of an AdmissionReview.
        kubernetes: The server's release; None for the newest that knows the object's fields.
        feature_gates: The gates that differ from the release's defaults; None if unknown.
    """
    operation, subresource = request["operation"], request.get("subResource") or ""
    if operation not in {"CREATE", "UPDATE"} or subresource not in {"", "status"}:
        return ()
    return judge_admitted(
        request.get("object"),
        request.get("oldObject") if operation == "UPDATE" else None,
        kubernetes=kubernetes,
        subresource=subresource,
        feature_gates=feature_gates,
    )


def rewritten(request: Mapping[str, Any], obj: Any, options: prescheduled.RewriteOptions) -> Rewrite | Problem | None:
    """Return the rewrite of a new pre-scheduled pod, or why it must be refused; None for other objects.

    Args:
        request: The request of an AdmissionReview.
        obj: Its object, as policies have changed it.
        options: Which pods are rewritten, and how.
    """
    resource = request.get("resource")
    is_pod = isinstance(resource, dict) and resource.get("resource") == "pods" and not resource.get("group")
    if not is_pod or request["operation"] != "CREATE" or request.get("subResource"):
        return None
    return prescheduled.rewrite(obj, options, user=request.get("userInfo"))


def bypassing(request: Mapping[str, Any], options: prescheduled.RewriteOptions) -> Problem | None:
    """Return the refusal of a new pod that bypasses the scheduler, as nothing has rewritten it; None for other objects.

    Args:
        request: The request of an AdmissionReview.
        options: Which pods are rewritten.
    """
    obj = request.get("object")
    if rewritten(request, obj, options) is None:
        return None
    has_claims = rewritten(request, obj, options._replace(pods="claims")) is not None
    detail = prescheduled.NEVER_RUNS if has_claims else "bypasses the scheduler"
    return forbidden(Path(("spec", "nodeName")), f"{detail}; name the node in a nodeSelector instead").named(
        prescheduled.RULE
    )
