"""Answers AdmissionReviews: what the API server's own rules and policies say of a request, and how its object changes.

The validating endpoint judges by the API server's own rules, then asks the validating policies. The mutating endpoint
asks the mutating policies, rewrites pre-scheduled pods, and asks those policies again that want to know.

Pure: no I/O but a log line for what should never happen.
"""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webhook import prescheduled
from webhook.api.judgement import judge
from webhook.problem import BAD_REQUEST, ERROR, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webhook.policy.authorizer import Authorizer
    from webhook.policy.load import PolicySet
    from webhook.policy.verdict import Verdict

Endpoint = Literal["validate", "mutate"]

API_VERSION = "admission.k8s.io/v1"
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})

MAX_WARNING_BYTES = 256
"""The API server cuts longer warnings (apiserver ``pkg/endpoints/filters/warning.go``)."""
MAX_WARNINGS_BYTES = 4096
"""The API server drops warnings beyond this sum."""
MAX_CAUSES = 100
"""A refusal names this many causes; the message says how many there are."""
MAX_ANNOTATION_KEY = 63
"""The API server drops an audit annotation with a longer key (apiserver ``pkg/audit/context.go``, checkKeyFormat)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How reviews are answered.

    Args:
        kubernetes: The cluster's release, such as ``"1.30"``; None for the newest that knows the object's fields.
        fail_open: Whether a request is admitted, not refused, when answering it fails unexpectedly.
        prescheduled: Which pre-scheduled pods are rewritten, and how.
        policies: The policies that are asked, with the objects that they look at; None for none.
        authorizer: Who knows what users may do, as far as policies ask; None if nobody does.
        feature_gates: The cluster's feature gates that differ from its release's defaults, by name; None if nobody
            knows, so that every gate may be on.
    """

    kubernetes: str | None = None
    fail_open: bool = False
    prescheduled: prescheduled.Options = field(default_factory=prescheduled.Options)
    policies: PolicySet | None = None
    authorizer: Authorizer | None = None
    feature_gates: Mapping[str, bool] | None = None


class Answer(NamedTuple):
    """An answer over HTTP: the status, the body and its type."""

    status: int
    body: bytes
    content_type: str


class MalformedReviewError(ValueError):
    """What was sent is no AdmissionReview; the text says why."""


def answer(body: bytes, endpoint: Endpoint, options: Options) -> Answer:
    """Answer the body of an HTTP request; never raises.

    Args:
        body: An AdmissionReview as JSON.
        endpoint: Whether the API server asks a validating or a mutating webhook.
        options: How to answer.
    """
    try:
        answered = review(parse(body), endpoint, options)
    except MalformedReviewError as error:
        return Answer(400, f"{error}\n".encode(errors="replace"), "text/plain; charset=utf-8")
    return Answer(200, json.dumps(answered).encode(), "application/json")


def parse(body: bytes) -> Any:
    """Read JSON as strictly as the API server writes it.

    Raises:
        MalformedReviewError: It is no JSON, or nested too deeply.
    """
    try:
        return json.loads(body.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        msg = f"the request is not UTF-8: byte {error.start} cannot be read"
    except RecursionError:
        msg = "the request is nested too deeply"
    except ValueError as error:
        msg = f"the request is not JSON: {error}"
    raise MalformedReviewError(msg)


def _refuse_constant(name: str) -> None:
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


def review(review: Any, endpoint: Endpoint, options: Options) -> dict[str, Any]:
    """Answer an AdmissionReview with an AdmissionReview.

    Args:
        review: The AdmissionReview (``admission.k8s.io/v1``), as plain dicts.
        endpoint: Whether the API server asks a validating or a mutating webhook.
        options: How to answer.

    Raises:
        MalformedReviewError: It is no AdmissionReview with a request.
    """
    request = _request(review)
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": _decide(request, endpoint, options)}


def _request(review: Any) -> dict[str, Any]:
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        msg = "the request is no AdmissionReview"
        raise MalformedReviewError(msg)
    if review.get("apiVersion") != API_VERSION:
        msg = f"the AdmissionReview is of version {review.get('apiVersion')!r}, not {API_VERSION}"
        raise MalformedReviewError(msg)
    request = review.get("request")
    if not isinstance(request, dict):
        msg = "the AdmissionReview has no request"
        raise MalformedReviewError(msg)
    if not isinstance(request.get("uid"), str) or not request["uid"]:
        msg = "the AdmissionReview's request has no uid"
        raise MalformedReviewError(msg)
    if not isinstance(request.get("operation"), str) or request["operation"] not in OPERATIONS:
        msg = f"the AdmissionReview's operation is none of {', '.join(sorted(OPERATIONS))}"
        raise MalformedReviewError(msg)
    if not isinstance(request.get("subResource") or "", str):
        msg = "the AdmissionReview's subResource is no text"
        raise MalformedReviewError(msg)
    return request


def _decide(request: dict[str, Any], endpoint: Endpoint, options: Options) -> dict[str, Any]:
    """Turn whatever goes wrong into the decision that the failure policy asks for: the one place that does."""
    try:
        response = _mutated(request, options) if endpoint == "mutate" else _validated(request, options)
    except Exception:  # noqa: BLE001 - whatever it is, the API server waits for a decision
        _log.exception("review %s could not be answered", request["uid"])
        message = f"draguard could not answer; its log says why, under {request['uid']}"
        if options.fail_open:
            response = {"allowed": True, "warnings": [message]}
        else:
            response = _refusal(500, "InternalError", message)
    return {"uid": request["uid"], **response}


def _validated(request: dict[str, Any], options: Options) -> dict[str, Any]:
    response = _judged(request, options)
    if options.policies is None or not response["allowed"]:
        return response
    return _police(request, options.policies, options.authorizer, response.get("warnings", ()))


def _judged(request: dict[str, Any], options: Options) -> dict[str, Any]:
    subresource = request.get("subResource") or ""
    if request["operation"] not in {"CREATE", "UPDATE"} or subresource not in {"", "status"}:
        return {"allowed": True}
    obj = request.get("object")
    old = request.get("oldObject") if request["operation"] == "UPDATE" else None
    problems = judge(
        obj,
        old,
        kubernetes=options.kubernetes,
        subresource=subresource,
        feature_gates=options.feature_gates,
        decoded=True,
    )
    errors = [problem for problem in problems if problem.level == ERROR]
    warnings = _warnings(str(problem) for problem in problems if problem.level != ERROR)
    response = _refused(errors, request, obj) if errors else {"allowed": True}
    return response | ({"warnings": warnings} if warnings else {})


def _police(
    request: dict[str, Any], policies: PolicySet, authorizer: Authorizer | None, warnings: Iterable[str]
) -> dict[str, Any]:
    """Ask the validating policies; what they warn of follows other warnings."""
    # Only who has policies pays for the engine.
    from webhook.policy.authorizer import DENY_ALL  # noqa: PLC0415
    from webhook.policy.evaluate import validate  # noqa: PLC0415
    from webhook.policy.request import request_of_review  # noqa: PLC0415

    verdict = validate(request_of_review(request), policies, authorizer or DENY_ALL)
    return _answered(verdict, request, [*warnings, *verdict.warnings])


def _answered(
    verdict: Verdict,
    request: dict[str, Any],
    warnings: Iterable[str] = (),
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Answer with what policies say."""
    response = {"allowed": True} if verdict.allowed else _denied(verdict, request)
    noted = {**_annotations(verdict), **(annotations or {})}
    kept = _warnings(warnings)
    return response | ({"warnings": kept} if kept else {}) | ({"auditAnnotations": noted} if noted else {})


def _denied(verdict: Verdict, request: dict[str, Any]) -> dict[str, Any]:
    """Refuse a request as a policy in the API server does (apiserver ``policy/validating/dispatcher.go``)."""
    details = {
        "name": _name(request, request.get("object")),
        "group": _part(request, "resource", "group"),
        "kind": _part(request, "resource", "resource"),
        "causes": [{"message": cause} for cause in verdict.causes[:MAX_CAUSES]],
    }
    return _refusal(verdict.code, verdict.reason, verdict.message, details)


def _annotations(verdict: Verdict) -> dict[str, str]:
    """Name audit annotations as webhooks must: the API server puts the webhook's name and ``/`` in front."""
    annotations = {_annotation_key(key): value for key, value in verdict.audit_annotations.items()}
    return annotations | ({"assumed": "; ".join(verdict.notes)} if verdict.notes else {})


def _annotation_key(key: str) -> str:
    """Spell ``policy/key`` without a slash; of a long one the end, which tells most."""
    prefix, _, name = key.rpartition("/")
    own = name if prefix == "validation.policy.admission.k8s.io" else f"{prefix}.{name}"
    return own[-MAX_ANNOTATION_KEY:].lstrip("-._")


def _mutated(request: dict[str, Any], options: Options) -> dict[str, Any]:
    obj = request.get("object")
    if options.policies is not None:
        return _mutated_by_policies(request, options.policies, options)
    change = _rewrite(obj, request, options)
    if change is None:
        return {"allowed": True}
    if isinstance(change, Problem):
        return _refused([change], request, obj)
    return {
        "allowed": True,
        **_patch(change.patch),
        "warnings": _warnings(change.warnings),
        "auditAnnotations": dict(change.annotations),
    }


def _rewrite(obj: Any, request: dict[str, Any], options: Options) -> prescheduled.Rewrite | Problem | None:
    is_pod = (_part(request, "resource", "group"), _part(request, "resource", "resource")) == ("", "pods")
    if request["operation"] != "CREATE" or request.get("subResource") or not is_pod:
        return None
    return prescheduled.rewrite(obj, options.prescheduled, user=request.get("userInfo"))


def _patch(operations: list[dict[str, object]]) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def _mutated_by_policies(request: dict[str, Any], policies: PolicySet, options: Options) -> dict[str, Any]:
    from webhook.mutation import mutate  # noqa: PLC0415 - only who has policies pays for the engine
    from webhook.policy.authorizer import DENY_ALL  # noqa: PLC0415
    from webhook.policy.difference import difference  # noqa: PLC0415
    from webhook.policy.request import request_of_review  # noqa: PLC0415

    asked = request_of_review(request)
    done = mutate(asked, policies, options.authorizer or DENY_ALL, lambda obj: _rewrite(obj, request, options))
    if isinstance(done.rewrite, Problem):
        return _refused([done.rewrite], request, done.object)
    told = done.rewrite or prescheduled.Rewrite([], (), {})
    response = _answered(done.verdict, request, told.warnings, told.annotations)
    operations = difference(asked.object, done.object) if done.verdict.allowed else []
    return response | (_patch(operations) if operations else {})


def _refused(problems: list[Problem], request: dict[str, Any], obj: Any) -> dict[str, Any]:
    """Refuse a request as the API server does (apimachinery ``pkg/api/errors/errors.go``)."""
    kind, group, version = _kind(request, obj)
    name = _name(request, obj)
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    first = problems[0]
    if first.reason == BAD_REQUEST:
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {first.message}'
        return _refusal(400, BAD_REQUEST, message)
    if first.reason == "Conflict":
        plural = _part(request, "resource", "resource") or kind.lower()
        message = f'Operation cannot be fulfilled on {_qualified(plural, group)} "{name}": {first.message}'
        return _refusal(409, "Conflict", message, {"name": name, "group": group, "kind": plural})
    shown = texts[:MAX_CAUSES] + ([f"and {len(texts) - MAX_CAUSES} more"] if len(texts) > MAX_CAUSES else [])
    joined = shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
    causes = [
        {"reason": problem.reason, "message": problem.message, "field": problem.field}
        for problem in problems[:MAX_CAUSES]
    ]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return _refusal(422, "Invalid", f'{_qualified(kind, group)} "{name}" is invalid: {joined}', details)


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _part(request: dict[str, Any], field: str, part: str) -> str:
    """Read a text such as ``resource.group``, empty if it is not there."""
    value = request.get(field)
    text = value.get(part) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def _kind(request: dict[str, Any], obj: Any) -> tuple[str, str, str]:
    kind = request.get("kind")
    if isinstance(kind, dict):
        return str(kind.get("kind", "")), str(kind.get("group", "")), str(kind.get("version", ""))
    group, _, version = str(obj.get("apiVersion", "") if isinstance(obj, dict) else "").rpartition("/")
    return str(obj.get("kind", "") if isinstance(obj, dict) else ""), group, version


def _name(request: dict[str, Any], obj: Any) -> str:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    own = metadata.get("name") if isinstance(metadata, dict) else None
    return str(request.get("name") or own or "")


def _refusal(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    status = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return {"allowed": False, "status": status | ({"details": details} if details else {})}


def _warnings(texts: Iterable[str]) -> list[str]:
    """Keep warnings within the API server's limits."""
    kept, left = [], MAX_WARNINGS_BYTES
    for text in texts:
        encoded = text.encode("utf-8", "replace")
        if len(encoded) > MAX_WARNING_BYTES:
            encoded = encoded[: MAX_WARNING_BYTES - 3].decode("utf-8", "ignore").encode() + "…".encode()
        if len(encoded) > left:
            break
        left -= len(encoded)
        kept.append(encoded.decode())
    return kept
