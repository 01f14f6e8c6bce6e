"""URLs, `url("https://example.com")` (library/urls.go)."""

from __future__ import annotations

from typing import ClassVar, Final

from webhook.cel.checker.declarations import Function, Library, member
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.kubernetes import gourl
from webhook.cel.overloads import Overload
from webhook.cel.types.base import BOOL, STRING, Type, list_of, map_of, struct
from webhook.cel.types.values import only_class

URL_TYPE: Final = struct("kubernetes.URL")


@only_class
class URL(gourl.URL):
    """A URL, as a value of expressions."""

    __slots__ = ()
    cel_type: ClassVar[Type] = URL_TYPE

    def __eq__(self, other: object) -> bool:
        """URLs are equal if they are written alike."""
        return isinstance(other, URL) and str(self) == str(other)

    def __hash__(self) -> int:
        """Equal URLs hash alike."""
        return hash(str(self))


def _parse(text: str) -> URL:
    # The first decides whether it is a URL at all, the second supports fragments.
    try:
        gourl.parse_request_uri(text)
        return URL(*gourl.parse(text))
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


_URL: Final = (URL_TYPE,)


LIBRARY: Final = Library(
    "kubernetes.urls",
    functions=(
        Function("url", Overload("string_to_url", (STRING,), URL_TYPE, _parse)),
        Function("isURL", Overload("is_url_string", (STRING,), BOOL, succeeds(gourl.parse_request_uri))),
        member("getScheme", "url_get_scheme", _URL, STRING, lambda url: url.scheme),
        member("getHost", "url_get_host", _URL, STRING, lambda url: url.host.decode(errors="replace")),
        member("getHostname", "url_get_hostname", _URL, STRING, URL.hostname),
        member("getPort", "url_get_port", _URL, STRING, URL.port),
        member("getEscapedPath", "url_get_escaped_path", _URL, STRING, URL.escaped_path),
        member("getQuery", "url_get_query", _URL, map_of(STRING, list_of(STRING)), URL.query),
    ),
)
