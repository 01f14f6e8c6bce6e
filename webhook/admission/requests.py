"""Reads AdmissionReview requests with care, since any client may send one."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isinf
from typing import Any, TypedDict

import msgspec

from webhook.objects import text
from webhook.problem import cut

API_VERSION = "admission.k8s.io/v1"
MAX_UID = 1000
"""The maximum characters of a request's uid, which the response repeats; API servers send 36."""
MAX_VERSION = 100
"""The maximum characters of an unknown version that the response repeats."""
MAX_GROUPS = 1 << 18
"""The maximum bytes of a user's groups in a head, which the event loop reads."""
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


# The types of Go's AdmissionReview (k8s.io/api/admission/v1), which decodes null as absent. The objects and the options
# may be anything (``runtime.RawExtension``).


class _Kind(TypedDict, total=False):
    group: str | None
    version: str | None
    kind: str | None


class _Resource(TypedDict, total=False):
    group: str | None
    version: str | None
    resource: str | None


class _User(TypedDict, total=False):
    username: str | None
    uid: str | None
    groups: list[str | None] | None
    extra: dict[str, list[str | None] | None] | None


class _Asked(TypedDict, total=False):
    uid: str | None
    kind: _Kind | None
    resource: _Resource | None
    subResource: str | None
    requestKind: _Kind | None
    requestResource: _Resource | None
    requestSubResource: str | None
    name: str | None
    namespace: str | None
    operation: str | None
    dryRun: bool | None


class AdmissionRequest(_Asked, total=False):
    """The request of an AdmissionReview, without its objects and options."""

    userInfo: _User | None


class _Identified(TypedDict, total=False):
    username: str | None
    groups: msgspec.Raw


class _Head(_Asked, total=False):
    userInfo: _Identified | None


class _Review(TypedDict, total=False):
    apiVersion: str | None
    kind: str | None
    request: _Head | None


_decode = msgspec.json.Decoder().decode
_decode_head = msgspec.json.Decoder(_Review).decode
_decode_groups = msgspec.json.Decoder(list[str | None] | None).decode


class MalformedReviewError(ValueError):
    """The body is not an AdmissionReview; the text explains why."""


class First:
    """The hook that reads AdmissionReviews first: what :func:`parse` returns, or None if it does not know."""

    parse: Callable[[bytes], dict[str, Any] | None] | None = None


def parse(body: bytes) -> dict[str, Any]:
    """Return the request of an AdmissionReview; its fields are of the types of Go's.

    Args:
        body: The JSON, in UTF-8.

    Raises:
        MalformedReviewError: It is not JSON as the API server writes it, or not such an AdmissionReview.
    """
    request = First.parse(body) if First.parse else None
    return checked(read(body)) if request is None else request


def read(body: bytes) -> Any:
    """Read JSON as strictly as the API server writes it.

    Args:
        body: The JSON, in UTF-8.

    Raises:
        MalformedReviewError: It is not JSON, has numbers that are too large for Go, or is nested too deeply.
    """
    try:
        try:
            return _decode(body)
        except ValueError:
            fault = _fault(body)
    except RecursionError:
        fault = "is nested too deeply"
    raise MalformedReviewError(f"the request {fault}")


def parse_head(body: bytes) -> dict[str, Any]:
    """Return the identifying fields of such a request, and skip its objects to save time and memory.

    Args:
        body: The JSON, in UTF-8.

    Raises:
        MalformedReviewError: It is not JSON, or not as API servers write it, or the user's groups are too long.
    """
    try:
        review: Any = _decode_head(body)
        user = (review.get("request") or {}).get("userInfo") or {}
        if written := user.get("groups"):
            if len(written) > MAX_GROUPS:
                raise ValueError(f"the user's groups have more than {MAX_GROUPS >> 10} KiB")  # noqa: TRY301 - as others
            user["groups"] = _decode_groups(written)
    except (ValueError, RecursionError) as error:
        raise MalformedReviewError(f"the request cannot be read: {error}") from error
    return _answerable(_request_of(review))


def _fault(body: bytes) -> str:
    """Explain why a body cannot be read; the quick decoder's errors say too little."""
    try:
        json.loads(body.decode(), parse_float=_check_float, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return f"is not UTF-8: byte {error.start} cannot be read"
    except ValueError as error:
        return f"is not JSON: {error}"
    return "is not JSON: a string holds one half of a surrogate pair without the other"


def _check_float(text: str) -> None:
    if isinf(float(text)):
        msg = f"{text:.40} is out of range"  # it may have any number of digits
        raise ValueError(msg)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def checked(review: Any) -> dict[str, Any]:
    """Return the request of an AdmissionReview, as :func:`parse` does.

    Raises:
        MalformedReviewError: The value is not an AdmissionReview, or its request cannot be answered.
    """
    request = _request_of(review)
    try:
        request = request | msgspec.convert(request, AdmissionRequest)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter of half a surrogate pair
        fault = str(error).replace("$.", "request.")
        raise MalformedReviewError(f"the AdmissionReview cannot be decoded: {fault}") from error
    return _answerable(request)


def _answerable(request: dict[str, Any]) -> dict[str, Any]:
    uid, operation = request.get("uid"), request.get("operation")
    if not uid:
        raise MalformedReviewError("the AdmissionReview's request has no uid")
    if len(uid) > MAX_UID:
        raise MalformedReviewError(f"the AdmissionReview's uid is longer than {MAX_UID} characters")
    if operation not in OPERATIONS:
        raise MalformedReviewError(f"the AdmissionReview's operation is none of {', '.join(sorted(OPERATIONS))}")
    return request


def _request_of(review: Any) -> dict[str, Any]:
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        raise MalformedReviewError("the request is not an AdmissionReview")
    if review.get("apiVersion") != API_VERSION:
        version = cut(text(review, "apiVersion"), MAX_VERSION)
        raise MalformedReviewError(f"the AdmissionReview is of version {version!r}, not {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict):
        raise MalformedReviewError("the AdmissionReview has no request")
    return request


def kind_of(request: Any, obj: Any) -> tuple[str, str, str]:
    """Return the kind, group and version of a request's object."""
    kind = request.get("kind")
    if isinstance(kind, dict):
        name, group, version = kind.get("kind"), kind.get("group"), kind.get("version")
        if type(name) is type(group) is type(version) is str:  # as an API server sends them
            return name, group, version
        return text(kind, "kind"), text(kind, "group"), text(kind, "version")
    group, _, version = text(obj, "apiVersion").rpartition("/")
    return text(obj, "kind"), group, version


def name_of(request: Any, obj: Any) -> str:
    """Return the name of a request's object, empty if it has no name yet."""
    return text(request, "name") or text(obj, "metadata", "name")


def user_of(request: Any) -> tuple[str, list[str]]:
    """Return the name and the groups of the requesting user."""
    user = request.get("userInfo") or {}
    return user.get("username") or "", [group or "" for group in user.get("groups") or ()]
