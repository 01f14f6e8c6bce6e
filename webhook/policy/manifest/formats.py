"""Text formats that only policies use: version names, path segments, CEL identifiers."""

from __future__ import annotations

import re

from webhook.formats import Messages, path_segment_prefix

_LABEL_MAX = 63
_is_dns1035 = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?").fullmatch
_is_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch
_NO_DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"}
    | {"namespace", "null", "package", "return", "true", "var", "void", "while"}
)


def dns1035_label(value: str) -> Messages:
    """An RFC 1035 label, as API versions are.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsDNS1035Label``.
    """
    too_long = (
        (f"must be no more than {_LABEL_MAX} characters",) if len(value.encode(errors="replace")) > _LABEL_MAX else ()
    )
    return too_long + (() if _is_dns1035(value) else (_NO_DNS1035,))


def go_lower(text: str) -> str:
    """Lower-case a text as Go's ``strings.ToLower``, letter by letter: Python makes two of U+0130."""
    return text.replace("\u0130", "i").lower()


def path_segment(value: str) -> Messages:
    """A name that can be a part of a URL's path, as all names of objects can.

    Source: apimachinery ``pkg/api/validation/path/name.go``, ``IsValidPathSegmentName``.
    """
    if value in {".", ".."}:
        return (f"may not be '{value}'",)
    return path_segment_prefix(value)


def is_cel_identifier(value: str) -> bool:
    """Whether a text can be the name of a CEL variable.

    Source: kubernetes ``pkg/apis/admissionregistration/validation/validation.go``, ``isCELIdentifier``.
    """
    return _is_identifier(value) is not None and value not in _RESERVED
