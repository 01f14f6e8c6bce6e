"""Heads of requests that were parsed: a client sends the same head with each request, but for the body's length."""

from __future__ import annotations

from webhook.server.http.messages import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.server.http.messages import Incoming

_MOST: Final = 64
"""How many heads are remembered; each API server sends one or two."""
_LONGEST: Final = 2048
"""The longest head that is remembered, in bytes."""
_END: Final = b"\r\n\r\n"
_LINE_END: Final = b"\r\n"
_LENGTH: Final = b"\r\nContent-Length: "


class Heads:
    """The heads of plain requests; parsing one again takes longer than everything else that HTTP needs.

    A head is recognized by all its bytes but the digits of its length, and only if the request came in one piece. So
    the length is all that must be read, and what follows the head must be the body.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes], Request] = {}

    def learn(self, data: bytearray, size: int, request: Incoming) -> None:
        """Remember the head of a parsed request, unless others with it may be treated otherwise.

        Args:
            data: Begins with all bytes that were received for the request.
            size: Their number.
            request: The request, with its body.
        """
        end = data.find(_END, 0, min(size, _LONGEST))
        start = end + len(_END)
        before, _, rest = bytes(data[:end]).partition(_LENGTH)
        digits, _, after = rest.partition(_LINE_END)
        headers = dict(request.headers)
        stated = headers.pop(b"content-length", None)  # of several fields, all
        is_whole = digits == stated == b"%d" % (size - start) and data[start:size] == request.body
        is_usual = request.refusal is None and request.keeps and b"expect" not in headers
        if end >= 0 and is_whole and is_usual:
            if len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[before, after] = Request(request.method, request.target, headers)

    def find(self, data: bytearray, size: int, client: str, peer: tuple[str, int] | None) -> Request | None:
        """Return a whole request with a known head; None if it must be parsed.

        Args:
            data: Begins with the received bytes.
            size: Their number.
            client: Identifies the client.
            peer: Its address and port.
        """
        end = data.find(_END, 0, min(size, _LONGEST))
        if end < 0:
            return None
        start, view = end + len(_END), memoryview(data)
        before, _, rest = view[:end].tobytes().partition(_LENGTH)
        digits, _, after = rest.partition(_LINE_END)
        known = self._known.get((before, after))
        if known is None or digits != b"%d" % (size - start):
            return None
        return Request(known.method, known.target, known.headers, client, peer, body=view[start:size].tobytes())
