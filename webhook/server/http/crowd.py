"""The connections of a port: their limits, and which one closes first."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from typing import Protocol

from webhook.server.bounded import BoundedLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_log = BoundedLog(logging.getLogger(__name__))


class Member(Protocol):
    """A connection, in its handshake or after it."""

    @property
    def address(self) -> str:
        """The address of its client."""

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered, so that it is not idle."""

    def abort(self) -> None:
        """Close it at once; it then leaves the crowd."""


class Crowd:
    """The connections of a port, ordered by their last input.

    New connections are never refused. If there are too many in all or from one address, the connection that has been
    idle longest is closed, in its handshake or between two requests. If clients leave too many bytes of answers unread,
    the connection that has left them longest is closed.

    Args:
        limit: The maximum number of connections.
        limit_per_address: The maximum for one address.
        unread_limit: The maximum bytes of unread answers.
    """

    def __init__(self, limit: int, limit_per_address: int, unread_limit: int) -> None:
        self._limit = limit
        self._limit_per_address = limit_per_address
        self._unread_limit = unread_limit
        self._members: OrderedDict[Member, None] = OrderedDict()
        self._by_address: dict[str, OrderedDict[Member, None]] = {}
        self._unread: OrderedDict[Member, int] = OrderedDict()
        self.unread_bytes = 0
        """The bytes of answers that clients have not read."""
        self.closed = Counter[str]()
        """The number of connections closed to make room, by reason."""

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self._members)

    def enter(self, member: Member) -> None:
        """Add a connection; another may be closed for it."""
        self._members[member] = None
        beside = self._by_address.setdefault(member.address, OrderedDict())
        beside[member] = None
        if len(beside) > self._limit_per_address:
            self._close_idlest(beside, member, "of its address")
        elif len(self._members) > self._limit:
            self._close_idlest(self._members, member, "in all")

    def leave(self, member: Member) -> None:
        """Forget a connection."""
        self._members.pop(member, None)
        if beside := self._by_address.get(member.address):
            beside.pop(member, None)
            if not beside:
                del self._by_address[member.address]
        self.has_read(member)

    def stir(self, member: Member) -> None:
        """Record input on a connection."""
        if member in self._members:
            self._members.move_to_end(member)
            self._by_address[member.address].move_to_end(member)

    def leaves_unread(self, member: Member, size: int) -> None:
        """Record how many written bytes a client has not read."""
        self.unread_bytes += size - self._unread.get(member, 0)
        self._unread[member] = size
        while self.unread_bytes > self._unread_limit:
            slowest = next(iter(self._unread))
            self._count_closed("unread", slowest, f"{self.unread_bytes} bytes of answers are unread")
            self.has_read(slowest)
            slowest.abort()

    def has_read(self, member: Member) -> None:
        """Record that a client has read all written bytes."""
        self.unread_bytes -= self._unread.pop(member, 0)

    def _close_idlest(self, members: Mapping[Member, None], newcomer: Member, which: str) -> None:
        goes = next((member for member in members if not member.is_busy and member is not newcomer), newcomer)
        self._count_closed("idle", goes, f"{len(members)} are open {which}")
        self.leave(goes)
        goes.abort()

    def _count_closed(self, why: str, member: Member, reason: str) -> None:
        self.closed[why] += 1
        _log.warning("closed a connection of %s to make room: %s", member.address, reason)
