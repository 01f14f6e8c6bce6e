"""Reads requests that are like another one, with those parts of their objects that are needed.

Everything else is skipped, which takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Required, TypedDict, get_args

import msgspec

from webhook.admission.requests import API_VERSION, MAX_UID, Request

_PLACE: Final = ("kind", "resource", "requestKind", "requestResource", "subResource", "requestSubResource", "operation")
"""The fields of a request that decide, with its namespace, which rules and policies may apply."""
_NAMED_BY: Final = ("group", "version", "kind", "resource")
"""The fields of kinds and resources."""
_REVIEW: Final = {"apiVersion": API_VERSION, "kind": "AdmissionReview"}
_TEXT: Final = Annotated[str, msgspec.Meta(min_length=1)]


def reading_like(request: Mapping[str, Any], type_: Any) -> Callable[[bytes], dict[str, Any]]:
    """Make a function that returns the request of an AdmissionReview if it differs from one only in names and objects.

    For others, the function raises a :class:`ValueError` or :class:`RecursionError`.

    Args:
        request: The request, which creates an object.
        type_: The type of those parts of an object that are read.
    """
    own = _fields(_map_type(Request)) | _like(request, *_PLACE)
    uid = Required[Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_UID)]]
    namespace = Required[_TEXT] if request.get("namespace") else Literal[""] | None
    own |= {"uid": uid, "namespace": namespace, "object": Required[type_], "oldObject": None, "options": Any}
    review = _map("AdmissionReview", _like(_REVIEW, *_REVIEW) | {"request": Required[_map("Request", own)]})
    decode = msgspec.json.Decoder(review).decode

    def read(body: bytes) -> dict[str, Any]:
        if not body.isascii():
            body.decode()  # the decoder checks no text that it skips; nor numbers, but no API server writes 1e999
        found: dict[str, Any] = decode(body)["request"]
        return found

    return read


def _like(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the types of some fields of a map that has the same values in them."""
    return {name: _exactly(value.get(name)) for name in names}


def _exactly(value: Any) -> Any:
    if isinstance(value, dict):
        return Required[_map("Same", _like(value, *_NAMED_BY))]
    return None if value is None else Required[Literal[value]]


def _map(name: str, fields: Mapping[str, Any]) -> Any:
    """Return the type of maps with some of the fields, none of which is required by itself; others are skipped."""
    return TypedDict(name, fields, total=False)  # type: ignore[operator]


def _fields(type_: Any) -> dict[str, Any]:
    fields: dict[str, Any] = type_.__annotations__
    return fields


def _map_type(type_: Any) -> Any:
    """Return a type with maps in place of structs."""
    if isinstance(type_, UnionType):
        return reduce(or_, map(_map_type, get_args(type_)))
    if not (isinstance(type_, type) and issubclass(type_, msgspec.Struct)):
        return type_
    return _map(type_.__name__, {each.name: _map_type(each.type) for each in msgspec.structs.fields(type_)})
