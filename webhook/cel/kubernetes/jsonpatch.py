"""Keys in the paths of JSON Patch (library/jsonpatch.go)."""

from __future__ import annotations

from typing import Final

from webhook.cel.checker.declarations import Function, Library
from webhook.cel.overloads import Overload
from webhook.cel.types.base import STRING

_ESCAPES: Final = str.maketrans({"/": "~1", "~": "~0"})


def _escape(key: str) -> str:
    return key.translate(_ESCAPES)


LIBRARY: Final = Library(
    "kubernetes.jsonpatch",
    functions=(
        Function("jsonpatch.escapeKey", Overload("string_jsonpatch_escapeKey_string", (STRING,), STRING, _escape)),
    ),
)
