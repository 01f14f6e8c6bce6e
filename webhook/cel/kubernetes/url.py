"""URLs, `url("https://example.com")`, parsed and printed as in Go (library/urls.go, Go net/url)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

from webhook.budget import work
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.functions import Overload, member
from webhook.cel.kubernetes.net import parse_address
from webhook.cel.types.base import BOOL, STRING, list_of, map_of, struct
from webhook.cel.types.values import only_class
from webhook.formats import quoted
from webhook.patterns import Pattern
from webhook.records import NamedTuple

URL_TYPE: Final = struct("kubernetes.URL")


def _bytes(text: str) -> frozenset[int]:
    return frozenset(text.encode())


_ALPHANUMERIC: Final = _bytes("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_UNRESERVED: Final = _ALPHANUMERIC | _bytes("-_.~")
_ESCAPE: Final = Pattern(rb"%([0-9A-Fa-f]{2})")
_SCHEME: Final = Pattern(rb"[A-Za-z][A-Za-z0-9+.-]*:")
_PORT: Final = Pattern(rb"(:[0-9]*)?")
_CONTROL: Final = Pattern(rb"[\x00-\x1f\x7f]")
_USER_INFO: Final = Pattern(rb"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_FIRST_WIDE: Final = 0x80
_PERCENT: Final = b"%25"
_READ: Final = 4
"""The number of characters read for a unit of work, if all are escapes: `isURL` costs no more for long texts."""


class URLPart(Enum):
    """A part of a URL; the value is the set of bytes that need no escape there."""

    PATH = _UNRESERVED | _bytes("$&+,/:;=@")
    HOST = _UNRESERVED | _bytes("!$&'()*+,;=:[]<>\"")
    ZONE = _UNRESERVED | _bytes("!$&'()*+,;=:[]<>\" ")
    USER = _UNRESERVED | _bytes("$&+,;=")
    QUERY = _UNRESERVED | _bytes("")
    FRAGMENT = _UNRESERVED | _bytes("$&+,/:;=?@!()*")


_PERCENTS: Final = Pattern(rb"%.{0,2}", re.DOTALL)
_OF_HOSTS: Final = Pattern(
    rb"%%.{0,2}|[%b]" % re.escape(bytes(sorted(frozenset(range(_FIRST_WIDE)) - URLPart.HOST.value - {ord("%")}))),
    re.DOTALL,
)
"""The characters to check in a host: escapes, and those that are not allowed."""
_ESCAPABLE: Final[Mapping[URLPart, Collection[int]]] = {
    URLPart.HOST: range(_FIRST_WIDE, 256),
    URLPart.ZONE: URLPart.ZONE.value,
}
"""The bytes that may be escaped, besides the percent sign, if not all may."""
_VALID_PATH: Final = URLPart.PATH.value | _bytes("!'()*[]%")
_VALID_FRAGMENT: Final = URLPart.FRAGMENT.value | _bytes("'[]%")


@only_class(URL_TYPE)
class URL(NamedTuple):
    """A URL, as a value of expressions.

    Its parts are bytes; where an escaped form and a plain one may differ, it has the escaped one.
    """

    scheme: str = ""
    opaque: bytes = b""
    user: bytes | None = None
    host: bytes = b""
    raw_path: bytes = b""
    raw_query: bytes = b""
    has_empty_query: bool = False
    omits_host: bool = False
    raw_fragment: bytes = b""

    def __eq__(self, other: object) -> bool:
        """URLs are equal if they are written alike."""
        return isinstance(other, URL) and str(self) == str(other)

    def __hash__(self) -> int:
        """Equal URLs hash alike."""
        return hash(str(self))

    def escaped_path(self) -> str:
        """The path as it was written, if that is valid, else escaped."""
        return _text(_escaped(self.raw_path, URLPart.PATH, _VALID_PATH))

    def hostname(self) -> str:
        """The host without port and brackets."""
        return _text(_split_port(self.host)[0])

    def port(self) -> str:
        """The port's digits, if there are any."""
        return _text(_split_port(self.host)[1])

    def query(self) -> dict[str, list[str]]:
        """The values of the query by their names; malformed parts are left out."""
        values: dict[str, list[str]] = {}
        for pair in self.raw_query.split(b"&"):
            if not pair or b";" in pair:
                continue
            try:
                name, value = (unescape(part, URLPart.QUERY) for part in pair.partition(b"=")[::2])
            except ValueError:
                continue
            values.setdefault(_text(name), []).append(_text(value))
        return values

    def __str__(self) -> str:
        """The URL as Go writes it (`URL.String`)."""
        text = f"{self.scheme}:".encode() if self.scheme else b""
        if self.opaque:
            text += self.opaque
        else:
            path = _escaped(self.raw_path, URLPart.PATH, _VALID_PATH)
            has_authority = bool(self.host) or self.user is not None
            if has_authority or (self.scheme and path and not self.omits_host):
                text += b"//"
            if self.user is not None:
                text += self.user + b"@"
            text += escape(self.host, URLPart.HOST)
            if path and not path.startswith(b"/") and self.host:
                text += b"/"
            text += path
        if self.raw_query or self.has_empty_query:
            text += b"?" + self.raw_query
        if self.raw_fragment:
            text += b"#" + _escaped(self.raw_fragment, URLPart.FRAGMENT, _VALID_FRAGMENT)
        return _text(text)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def escape(data: bytes, part: URLPart) -> bytes:
    """Escapes bytes for a part of a URL."""
    from urllib.parse import quote_from_bytes  # few expressions have URLs

    return quote_from_bytes(data, bytes(part.value)).encode()


def _escaped(raw: bytes, part: URLPart, valid: frozenset[int]) -> bytes:
    """The original text, if it is valid, else the default escaped form."""
    if valid.issuperset(raw):
        return raw
    plain = unescape(raw, part)
    return b"*" if plain == b"*" else escape(plain, part)


def unescape(data: bytes, part: URLPart) -> bytes:
    """Reads a part of a URL.

    Raises:
        ValueError: The text is malformed; the message is Go's.
    """
    if part is URLPart.QUERY:
        data = data.replace(b"+", b" ")
    plain, at = bytearray(), 0
    for found in (_OF_HOSTS if part in {URLPart.HOST, URLPart.ZONE} else _PERCENTS).finditer(data):
        if not found[0].startswith(b"%"):
            raise ValueError(f"invalid character {quoted(_text(found[0]))} in host name")
        escaped = _ESCAPE.fullmatch(found[0])
        byte = int(escaped[1], 16) if escaped else -1
        if byte not in _ESCAPABLE.get(part, range(256)) and found[0] != _PERCENT:
            raise ValueError(f"invalid URL escape {quoted(_text(found[0]))}")
        plain += data[at : found.start()]
        plain.append(byte)
        at = found.end()
    return bytes(plain) + data[at:]


def parse_request_uri(text: str) -> URL:
    """Reads an absolute URL or a path that starts with `/`.

    Raises:
        ValueError: The text is neither; the message is Go's.
    """
    try:
        return _parse(_data(text), via_request=True)
    except ValueError as error:
        raise ValueError(f"parse {quoted(text)}: {error}") from None


def parse(text: str) -> URL:
    """Reads a URL with its fragment.

    Raises:
        ValueError: The text is invalid; the message is Go's.
    """
    before, _, fragment = text.partition("#")
    shown = before
    try:
        url = _parse(_data(before), via_request=False)
        shown = text
        unescape(_data(fragment), URLPart.FRAGMENT)
    except ValueError as error:
        raise ValueError(f"parse {quoted(shown)}: {error}") from None
    return url._replace(raw_fragment=_data(fragment))


def _data(text: str) -> bytes:
    work(1 + len(text) // _READ)
    return text.encode("utf-8", "surrogatepass")


def _parse(data: bytes, *, via_request: bool) -> URL:
    if _CONTROL.search(data):
        raise ValueError("net/url: invalid control character in URL")
    if not data and via_request:
        raise ValueError("empty url")
    if data == b"*":
        return URL(raw_path=data)
    if data.startswith(b":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.match(data)
    scheme, rest = (match[0][:-1].decode().lower(), data[match.end() :]) if match else ("", data)
    rest, mark, query = rest.partition(b"?")
    has_empty_query = bool(mark) and not query
    if not rest.startswith(b"/"):
        if scheme:
            return URL(scheme, opaque=rest, raw_query=query, has_empty_query=has_empty_query)
        if via_request:
            raise ValueError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user: bytes | None = None
    host = b""
    omits_host = bool(scheme) and not rest.startswith(b"//")
    if rest.startswith(b"//") and (scheme or not (via_request or rest.startswith(b"///"))):
        authority, slash, path = rest[2:].partition(b"/")
        rest = slash + path
        user, host = _parse_authority(authority)
    unescape(rest, URLPart.PATH)
    return URL(scheme, b"", user, host, rest, query, has_empty_query, omits_host)


def _parse_authority(authority: bytes) -> tuple[bytes | None, bytes]:
    user, at, host = authority.rpartition(b"@")
    parsed = _parse_host(host)
    if not at:
        return None, parsed
    if not _USER_INFO.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    name, colon, password = user.partition(b":")
    parts = (name, password) if colon else (name,)
    return colon.join(escape(unescape(each, URLPart.USER), URLPart.USER) for each in parts), parsed


def _parse_host(host: bytes) -> bytes:
    if (opening := host.rfind(b"[")) >= 0:
        return _parse_literal(host, opening)
    if (colon := host.rfind(b":")) >= 0:
        _check_port(host[colon:])
    return unescape(host, URLPart.HOST)


def _parse_literal(host: bytes, opening: int) -> bytes:
    if (closing := host.rfind(b"]")) < 0:
        raise ValueError("missing ']' in host")
    port = host[closing + 1 :]
    _check_port(port)
    name, percent, zone = host[opening + 1 : closing].partition(_PERCENT)
    literal = unescape(name, URLPart.HOST) + unescape(percent + zone, URLPart.ZONE)
    try:
        address = parse_address(_text(literal))
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if ":" not in str(address):
        raise ValueError("invalid IP-literal")
    return b"[" + literal + b"]" + port


def _check_port(port: bytes) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {quoted(_text(port))} after host")


def _split_port(host: bytes) -> tuple[bytes, bytes]:
    name, colon, port = host.rpartition(b":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, b""
    if name.startswith(b"[") and name.endswith(b"]"):
        name = name[1:-1]
    return name, port


def _url(text: str) -> URL:
    # The first decides whether it is a URL at all, the second supports fragments.
    try:
        parse_request_uri(text)
        return parse(text)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


_URL: Final = (URL_TYPE,)

LIBRARY: Final = Library(
    functions=(
        Overload("url", "string_to_url", (STRING,), URL_TYPE, _url),
        Overload("isURL", "is_url_string", (STRING,), BOOL, succeeds(parse_request_uri)),
        member("getScheme", "url_get_scheme", _URL, STRING, lambda url: url.scheme),
        member("getHost", "url_get_host", _URL, STRING, lambda url: _text(url.host)),
        member("getHostname", "url_get_hostname", _URL, STRING, URL.hostname),
        member("getPort", "url_get_port", _URL, STRING, URL.port),
        member("getEscapedPath", "url_get_escaped_path", _URL, STRING, URL.escaped_path),
        member("getQuery", "url_get_query", _URL, map_of(STRING, list_of(STRING)), URL.query),
    ),
)
