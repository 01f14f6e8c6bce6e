"""Answers AdmissionReviews by the API server's own rules and by policies.

The validating endpoint judges by the API server's own rules, then asks the validating policies. The mutating endpoint
asks the mutating policies, rewrites pre-scheduled pods, and asks those policies again that want to know.

A body goes through :mod:`~webhook.admission.requests` (what an AdmissionReview must be), then
:mod:`~webhook.admission.decisions` (who is asked) with :mod:`~webhook.admission.enforcement` (enforcement),
and leaves through :mod:`~webhook.admission.responses` (what an API server understands). Metrics and logs tell what its
:class:`~webhook.admission.record.Record` holds.

Pure: no I/O but a log line for what should never happen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from webhook.admission.decisions import ReviewOptions, decide
from webhook.admission.enforcement import AUDIT, DENY, MODES, WARN, Enforcement, Mode
from webhook.admission.record import MALFORMED, Call, Endpoint, Record
from webhook.admission.requests import API_VERSION, MalformedReviewError, parse, parse_head, request_in
from webhook.admission.responses import as_review

__all__ = [
    "AUDIT",
    "DENY",
    "MODES",
    "WARN",
    "Answer",
    "Call",
    "Endpoint",
    "Enforcement",
    "MalformedReviewError",
    "Mode",
    "Record",
    "ReviewOptions",
    "answer",
    "parse",
    "review",
]


class Answer(NamedTuple):
    """An answer over HTTP.

    Args:
        status: Its status.
        body: Its body.
        content_type: The body's type.
        record: What metrics and logs tell of it; None if it answers no review.
    """

    status: int
    body: bytes
    content_type: str
    record: Record | None = None


def answer(body: bytes, call: Call, options: ReviewOptions) -> Answer:
    """Answer the body of an HTTP request.

    Args:
        body: An AdmissionReview as JSON.
        call: How the webhook was called.
        options: How to answer.

    Raises:
        BudgetExceededError: It takes much work, and the call is inline; nothing else is ever raised.
    """
    record = Record(call.endpoint)
    try:
        # The event loop answers what is late, so many a large one that it must not be held up by any.
        request = request_in(parse_head(body) if call.is_late else parse(body))
    except MalformedReviewError as error:
        record.decision, record.message = MALFORMED, str(error)
        return Answer(400, f"{error}\n".encode(errors="replace"), "text/plain; charset=utf-8", record)
    record.request = request
    response = decide(request, call, options, record)
    return Answer(200, as_review(request["uid"], response), "application/json", record)


def review(review: Any, endpoint: Endpoint, options: ReviewOptions) -> dict[str, Any]:
    """Answer an AdmissionReview with an AdmissionReview.

    Args:
        review: The AdmissionReview (``admission.k8s.io/v1``), as plain dicts.
        endpoint: Whether the API server asks a validating or a mutating webhook.
        options: How to answer.

    Raises:
        MalformedReviewError: It is no AdmissionReview with a request.
    """
    request = request_in(review)
    response = decide(request, Call(endpoint), options, Record(endpoint))
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": {"uid": request["uid"], **response}}
