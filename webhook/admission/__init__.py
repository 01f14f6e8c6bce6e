"""Answers AdmissionReviews by the API server's own rules and by policies.

The validating endpoint applies the API server's own rules, then the validating policies. The mutating endpoint applies
the mutating policies, rewrites pre-scheduled pods, and reinvokes the policies that ask for it.

A body is read by :mod:`~webhook.admission.requests` (well-formed AdmissionReviews), decided by
:mod:`~webhook.admission.decisions` (rules and policies) with :mod:`~webhook.admission.enforcement` (modes, exemptions),
and answered by :mod:`~webhook.admission.responses` (within API servers' limits). Metrics and logs show its
:class:`~webhook.admission.record.Record`.

Pure: no I/O except a log line for unexpected exceptions.
"""

from __future__ import annotations

from typing import Any

import msgspec

from webhook.admission.decisions import ReviewOptions, decide
from webhook.admission.enforcement import AUDIT, DENY, MODES, WARN, Enforcement, Mode
from webhook.admission.record import MALFORMED, Call, Endpoint, Record
from webhook.admission.requests import MalformedReviewError, checked, parse, parse_head, read
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
    "read",
    "review",
]

_encode = msgspec.json.Encoder(enc_hook=str.__str__).encode  # messages may be of classes derived from str


class Answer(msgspec.Struct, frozen=True):
    """An HTTP response.

    Args:
        content_type: The body's type.
        record: The record for metrics and logs; None if it does not answer a review.
        headers: Further header lines, each with its line end.
        is_last: Whether the connection closes after it.
    """

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    record: Record | None = None
    headers: str = ""
    is_last: bool = False


def answer(body: bytes, call: Call, options: ReviewOptions) -> Answer:
    """Answer the body of an HTTP request.

    Args:
        body: An AdmissionReview as JSON.
        call: How the webhook was called.

    Raises:
        BudgetExceededError: The call is inline, and too much work for that; nothing else is ever raised.
    """
    is_late = call.is_late
    try:
        # The event loop answers late requests; large ones must not hold it up.
        request = parse_head(body) if is_late else parse(body)
    except MalformedReviewError as error:
        record = Record(call.endpoint, MALFORMED, message=str(error))
        return Answer(400, f"{error}\n".encode(errors="replace"), record=record)
    record = Record(call.endpoint, request=request)
    response = decide(request, call, options, record, is_late=is_late)
    return Answer(200, _encode(as_review(request["uid"], response)), "application/json", record)


def review(review: Any, endpoint: Endpoint, options: ReviewOptions) -> dict[str, Any]:
    """Answer an AdmissionReview with an AdmissionReview.

    Args:
        review: The AdmissionReview (``admission.k8s.io/v1``), as plain dicts.
        endpoint: The validating or the mutating endpoint.

    Raises:
        MalformedReviewError: The value is not an AdmissionReview with a request.
    """
    request = checked(review)
    return as_review(request["uid"], decide(request, Call(endpoint), options, Record(endpoint)))
