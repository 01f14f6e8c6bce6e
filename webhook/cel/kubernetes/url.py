"""URLs, `url("https://example.com")`, parsed and printed as in Go (library/urls.go, Go net/url)."""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final, NamedTuple

from webhook.budget import work
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.functions import Overload, member
from webhook.cel.kubernetes.net import parse_address
from webhook.cel.types.base import BOOL, STRING, list_of, map_of, struct
from webhook.cel.types.values import only_class
from webhook.formats import quoted
from webhook.patterns import Pattern

URL_TYPE: Final = struct("kubernetes.URL")

_ESCAPE: Final = Pattern(rb"%([0-9A-Fa-f]{2})")
_URL: Final = Pattern(rb"(?:([A-Za-z][A-Za-z0-9+.-]*):)?([^?]*)(?:\?(.*))?", re.DOTALL)
_PORT: Final = Pattern(rb"(:[0-9]*)?")
_CONTROL: Final = Pattern(rb"[\x00-\x1f\x7f]")
_USER_INFO: Final = Pattern(rb"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PERCENT: Final = b"%25"
_READ: Final = 4
"""The number of characters read for a unit of work, if all are escapes: `isURL` costs no more for long texts."""


class URLPart(Enum):
    """A part of a URL; the value has the bytes that need no escape there, besides letters, digits and `-_.~`."""

    PATH = b"$&+,/:;=@"
    HOST = b"!$&'()*+,;=:[]<>\""
    ZONE = b"!$&'()*+,;=:[]<>\" "
    USER = b"$&+,;="
    QUERY = b""
    FRAGMENT = b"$&+,/:;=?@!()*"


_PERCENTS: Final = Pattern(rb"%.{0,2}", re.DOTALL)
_IN_HOSTS: Final = Pattern(rb"%.{0,2}|[^A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"\x80-\xff]", re.DOTALL)
"""What is checked in a host: escapes, and characters that are not allowed."""
_ESCAPABLE: Final[Mapping[URLPart, Collection[int]]] = {
    URLPart.HOST: range(0x80, 256),
    URLPart.ZONE: frozenset(f"{string.ascii_letters}{string.digits}-_.~".encode() + URLPart.ZONE.value),
}
"""The bytes that may be escaped in a host, besides the percent sign."""
_AS_WRITTEN: Final = {
    URLPart.PATH: Pattern(rb"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%]*"),
    URLPart.FRAGMENT: Pattern(rb"[A-Za-z0-9\-_.~$&+,/:;=@!'()*\[\]%?]*"),
}
"""The parts that stay as they were written, if they have such bytes alone."""


@only_class(URL_TYPE)
class URL(NamedTuple):
    """A URL, as a value of expressions.

    Its parts are bytes, None if they and their mark are missing; where an escaped form and a plain one may differ, it
    has the escaped one.
    """

    scheme: str = ""
    opaque: bytes = b""
    user: bytes | None = None
    host: bytes | None = None
    raw_path: bytes = b""
    raw_query: bytes | None = None
    raw_fragment: bytes = b""

    def __eq__(self, other: object) -> bool:
        """URLs are equal if they are written alike."""
        return isinstance(other, URL) and str(self) == str(other)

    def __hash__(self) -> int:
        """Equal URLs hash alike."""
        return hash(str(self))

    def escaped_path(self) -> str:
        """The path as it was written, if that is valid, else escaped."""
        return _text(_escaped(self.raw_path, URLPart.PATH))

    def hostname(self) -> str:
        """The host without port and brackets."""
        name = _split_port(self.host or b"")[0]
        return _text(name[1:-1] if name.startswith(b"[") and name.endswith(b"]") else name)

    def port(self) -> str:
        """The port's digits, if there are any."""
        return _text(_split_port(self.host or b"")[1])

    def query(self) -> dict[str, list[str]]:
        """The values of the query by their names; malformed parts are left out."""
        values: dict[str, list[str]] = {}
        for pair in (self.raw_query or b"").split(b"&"):
            if not pair or b";" in pair:
                continue
            try:
                name, value = (_text(unescape(part, URLPart.QUERY)) for part in pair.partition(b"=")[::2])
            except ValueError:
                continue
            values.setdefault(name, []).append(value)
        return values

    def __str__(self) -> str:
        """The URL as Go writes it (`URL.String`)."""
        text = f"{self.scheme}:".encode() if self.scheme else b""
        if self.opaque:
            text += self.opaque
        else:
            path = _escaped(self.raw_path, URLPart.PATH)
            if self.user is not None:
                text += b"//" + self.user + b"@"
            elif self.host or (self.host is not None and path):
                text += b"//"
            text += escape(self.host or b"", URLPart.HOST) + path
        if self.raw_query is not None:
            text += b"?" + self.raw_query
        if self.raw_fragment:
            text += b"#" + _escaped(self.raw_fragment, URLPart.FRAGMENT)
        return _text(text)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def escape(data: bytes, part: URLPart) -> bytes:
    """Escape bytes for a part of a URL."""
    from urllib.parse import quote_from_bytes  # few expressions have URLs

    return quote_from_bytes(data, part.value).encode()


def _escaped(raw: bytes, part: URLPart) -> bytes:
    """The original text, if it is valid, else the default escaped form."""
    if _AS_WRITTEN[part].fullmatch(raw):
        return raw
    return escape(unescape(raw, part), part)


def unescape(data: bytes, part: URLPart) -> bytes:
    """Read a part of a URL.

    Raises:
        ValueError: The text is malformed; the message is Go's.
    """
    if part is URLPart.QUERY:
        data = data.replace(b"+", b" ")
    plain, at = bytearray(), 0  # a list of parts would take twenty times the memory
    for found in (_IN_HOSTS if part in _ESCAPABLE else _PERCENTS).finditer(data):
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
    """Read an absolute URL or a path that starts with `/`.

    Raises:
        ValueError: The text is neither; the message is Go's.
    """
    return _parse(text, via_request=True)


def parse(text: str) -> URL:
    """Read a URL with its fragment.

    Raises:
        ValueError: The text is invalid; the message is Go's.
    """
    before, _, fragment = text.partition("#")
    url = _parse(before, via_request=False)
    try:
        unescape(_data(fragment), URLPart.FRAGMENT)
    except ValueError as error:
        raise ValueError(f"parse {quoted(text)}: {error}") from None
    return url._replace(raw_fragment=_data(fragment))


def _data(text: str) -> bytes:
    work(1 + len(text) // _READ)
    return text.encode("utf-8", "surrogatepass")


def _parse(text: str, *, via_request: bool) -> URL:
    try:
        return _read(_data(text), via_request=via_request)
    except ValueError as error:
        raise ValueError(f"parse {quoted(text)}: {error}") from None


def _read(data: bytes, *, via_request: bool) -> URL:
    if _CONTROL.search(data):
        raise ValueError("net/url: invalid control character in URL")
    if not data and via_request:
        raise ValueError("empty url")
    if data == b"*":
        return URL(raw_path=data)
    if data.startswith(b":"):
        raise ValueError("missing protocol scheme")
    scheme, path, query = _URL.match(data).groups()
    scheme = (scheme or b"").decode().lower()
    user = host = None
    if not path.startswith(b"/"):
        if scheme:
            return URL(scheme, opaque=path, raw_query=query)
        if via_request:
            raise ValueError("invalid URI for request")
        if b":" in path.partition(b"/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    if path.startswith(b"//") and (scheme or not (via_request or path.startswith(b"///"))):
        authority, slash, path = path[2:].partition(b"/")
        path = slash + path
        stated, at, host = authority.rpartition(b"@")
        host = _read_host(host)
        user = _read_user(stated) if at else None
    unescape(path, URLPart.PATH)
    return URL(scheme, b"", user, host, path, query)


def _read_user(user: bytes) -> bytes:
    if not _USER_INFO.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    return b":".join(escape(unescape(each, URLPart.USER), URLPart.USER) for each in user.split(b":", 1))


def _read_host(host: bytes) -> bytes:
    is_literal = b"[" in host
    before, mark, port = host.rpartition(b"]" if is_literal else b":")
    if is_literal and not mark:
        raise ValueError("missing ']' in host")
    port = port if is_literal else mark + port
    if mark and not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {quoted(_text(port))} after host")
    if not is_literal:
        return unescape(host, URLPart.HOST)
    name, percent, zone = before.rpartition(b"[")[2].partition(_PERCENT)
    literal = unescape(name, URLPart.HOST) + unescape(percent + zone, URLPart.ZONE)
    try:
        address = parse_address(_text(literal))
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if ":" not in str(address):
        raise ValueError("invalid IP-literal")
    return b"[" + literal + b"]" + port


def _split_port(host: bytes) -> tuple[bytes, bytes]:
    name, colon, port = host.rpartition(b":")
    return (name, port) if colon and _PORT.fullmatch(colon + port) else (host, b"")


def _of(text: str) -> URL:
    # The first decides whether it is a URL at all, the second supports fragments.
    try:
        parse_request_uri(text)
        return parse(text)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


_ONE: Final = (URL_TYPE,)

LIBRARY: Final = Library(
    functions=(
        Overload("url", "string_to_url", (STRING,), URL_TYPE, _of),
        Overload("isURL", "is_url_string", (STRING,), BOOL, succeeds(parse_request_uri)),
        member("getScheme", "url_get_scheme", _ONE, STRING, lambda url: url.scheme),
        member("getHost", "url_get_host", _ONE, STRING, lambda url: _text(url.host or b"")),
        member("getHostname", "url_get_hostname", _ONE, STRING, URL.hostname),
        member("getPort", "url_get_port", _ONE, STRING, URL.port),
        member("getEscapedPath", "url_get_escaped_path", _ONE, STRING, URL.escaped_path),
        member("getQuery", "url_get_query", _ONE, map_of(STRING, list_of(STRING)), URL.query),
    ),
)
