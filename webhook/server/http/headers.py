"""HTTP's rules for headers that the parser leaves to the server, as Go's net/http enforces them."""

from __future__ import annotations

from http import HTTPStatus

from webhook.server.http.messages import refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from webhook.server.http.messages import Page

    HTTPFault = tuple[HTTPStatus, str]

_OLD: Final = "1.0"
_SPOKEN: Final = frozenset({_OLD, "1.1"})
_OF_HOSTS: Final = (
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$%&'()*+,-./:;=@[]_~"  # httpguts.ValidHostHeader
)
_UNMET: Final = refusal(HTTPStatus.EXPECTATION_FAILED, "expect 100-continue or nothing", is_last=True)


def fault_of(version: str, headers: Mapping[bytes, bytes]) -> HTTPFault | None:
    """Return why a request violates HTTP: a status and a reason; None if it does not.

    Args:
        version: The version of HTTP, such as ``"1.1"``.
        headers: Its headers, their names in lower case.
    """
    if version not in _SPOKEN:
        return HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 is spoken here"
    host = headers.get(b"host")
    if host is None:
        if version != _OLD:
            return HTTPStatus.BAD_REQUEST, "the header Host is missing"
    elif host.translate(None, _OF_HOSTS):
        return HTTPStatus.BAD_REQUEST, "the header Host is malformed"
    coding = headers.get(b"transfer-encoding")
    return None if coding is None else _fault_of_coding(version, coding)


def _fault_of_coding(version: str, coding: bytes) -> HTTPFault | None:
    if version == _OLD:  # its end is uncertain (RFC 9112, section 6.1)
        return HTTPStatus.BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding"
    if coding.rstrip(b" \t").lower() != b"chunked":
        return HTTPStatus.NOT_IMPLEMENTED, "the only supported Transfer-Encoding is chunked"
    return None


def unmet(headers: Mapping[bytes, bytes]) -> Page | None:
    """Return the refusal of a request with an unsupported expectation; None if it has none."""
    expected = headers.get(b"expect")
    return _UNMET if expected and expected.lower() != b"100-continue" else None
