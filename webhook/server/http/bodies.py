"""Incoming bodies, and the memory that they take."""

from __future__ import annotations

from http import HTTPStatus

from webhook.server.http.messages import refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from webhook.server.http.messages import Incoming, Page

_SMALL: Final = 1 << 16
"""The size in bytes up to which a body is accepted, however much memory others take."""


class Bodies:
    """The incoming bodies, with limits for each and for all together.

    A body that arrives in one piece is not counted: it is answered or queued at once.

    Args:
        limit: The bytes that each may have.
        limit_together: The bytes that all incomplete bodies and waiting heavy reviews may take together.
        overloaded: Makes the refusal of a body that exceeds present capacity, given the reason.
    """

    def __init__(self, limit: int, limit_together: int, overloaded: Callable[[str], Page]) -> None:
        self.limit = limit
        self._limit_together = limit_together
        self._overloaded = overloaded
        self._incoming: set[Incoming] = set()
        self.held = 0
        """The number of bytes held."""

    @property
    def too_large(self) -> Page:
        """The refusal of a long body."""
        return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {self.limit} bytes", is_last=True)

    def take(self, request: Incoming, piece: bytes) -> None:
        """Add a piece of a body; the request may be refused for it."""
        length = len(piece)
        if length == request.length:  # all of it
            request.pieces.append(piece)
            return
        if self._is_dropped(request):
            request.refusal = self._too_much()
            return
        self._incoming.add(request)
        request.pieces.append(piece)
        request.size += length
        self.held += length
        if request.size > self.limit:
            self.drop(request)
            request.refusal = self.too_large
        elif self.held > self._limit_together and request.size > _SMALL:
            longest = max(self._incoming, key=_size)  # so that one client cannot take all memory
            self.drop(longest)
            if longest is request:
                request.refusal = self._too_much()

    def finish(self, request: Incoming) -> None:
        """Join a complete body, unless it was dropped for others."""
        if self._is_dropped(request):
            request.refusal = self._too_much()
            return
        pieces = request.pieces
        request.body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self.drop(request)

    def drop(self, request: Incoming) -> None:
        """Drop the pieces of a body."""
        request.pieces.clear()
        if request.size and request in self._incoming:
            self._incoming.remove(request)
            self.held -= request.size

    def _is_dropped(self, request: Incoming) -> bool:
        return request.size > 0 and request not in self._incoming

    def _too_much(self) -> Page:
        return self._overloaded("bodies that are coming in or wait take too much memory")


def _size(request: Incoming) -> int:
    return request.size
