"""References of container images, as ``docker.io/library/ubuntu:24.04``."""

from __future__ import annotations

from typing import Final

from webhook.patterns import Pattern

LATEST: Final = "latest"

_MOST: Final = 255
"""The most characters of a path; references that are much longer are not parsed."""
_LABEL: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_PART: Final = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DOMAIN: Final = Pattern(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PATH: Final = Pattern(
    rf"({_PART}(?:/{_PART})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?"
    "(?P<digest>@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?"
)
_IDENTIFIER: Final = Pattern("[a-f0-9]{64}")


def tag_of(image: str) -> str:
    """Return an image's tag: ``latest`` if it has neither tag nor digest, and nothing if it is malformed.

    Source: distribution's ``reference/normalize.go``, ``ParseNormalizedNamed``; kubernetes ``pkg/util/parsers``.
    """
    if len(image) > 4 * _MOST or _IDENTIFIER.fullmatch(image) is not None:
        return ""
    domain, slash, path = image.partition("/")
    if not slash or not ({".", ":"} & set(domain) or domain == "localhost" or domain != domain.lower()):
        domain, path = "docker.io", image if slash else f"library/{image}"
    match = _PATH.fullmatch(path)
    if match is None or len(match[1]) > _MOST or _DOMAIN.fullmatch(domain) is None:
        return ""
    return match["tag"] or ("" if match["digest"] else LATEST)
