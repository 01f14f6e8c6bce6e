"""The connections of a port: how many there may be, and which one closes first."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from webhook.logs import BoundedLog

_log = BoundedLog(logging.getLogger(__name__))


class Member(Protocol):
    """A connection, in its TLS handshake or after it."""

    address: str
    """The address of its client."""
    due: float
    """When its client must have done what the connection waits for, by ``time.monotonic``."""
    is_busy: bool
    """Whether a request is being answered, so that it is not idle."""
    unread: int
    """The bytes of answers that its client has not read."""
    counted: int
    """The bytes that its bodies take."""

    def expire(self) -> None:
        """Do what follows from the deadline's passing."""

    def drop_body(self) -> bool:
        """Give up the body that is coming in, if that frees memory; return whether it does."""

    def shutdown(self) -> None:
        """Close it as the server stops, unless a request is on its way."""

    def abort(self) -> None:
        """Close it at once."""


class Crowd:
    """The connections of a port, those that have been idle longest first.

    New connections are never refused: if there are too many in all or of one address, the longest idle goes.

    Args:
        most: The maximum number of connections.
        most_of_address: The maximum for one address.
        unread_bytes: The maximum of unread answers; of more, the connection that holds most is closed.
        bodies_bytes: The maximum of bodies; of more, the one is given up whose client has sent nothing for longest.
    """

    def __init__(self, most: int, most_of_address: int, unread_bytes: int = 0, bodies_bytes: int = 0) -> None:
        self._most, self._most_of_address = most, most_of_address
        self._unread_bytes, self._bodies_bytes = unread_bytes, bodies_bytes
        self._members = OrderedDict[Member, None]()
        self._of_address: dict[str, OrderedDict[Member, None]] = {}
        self.unread = 0
        """The bytes of answers that clients have not read."""
        self.bodies = 0
        """The bytes of bodies that are coming in or wait."""

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        """Iterate over a copy of them."""
        return iter(tuple(self._members))

    def enter(self, member: Member) -> None:
        """Add a connection; another may be closed for it."""
        neighbours = self._of_address.setdefault(member.address, OrderedDict())
        self._members[member] = neighbours[member] = None
        for members, most, where in (
            (neighbours, self._most_of_address, "of its address"),
            (self._members, self._most, "in all"),
        ):
            if len(members) > most:
                self._close(next(each for each in members if not each.is_busy), f"{len(members)} are open {where}")

    def leave(self, member: Member) -> None:
        """Forget a connection."""
        if member in self._members:
            self.unread -= member.unread
            self.bodies -= member.counted
            del self._members[member], self._of_address[member.address][member]
            if not self._of_address[member.address]:
                del self._of_address[member.address]

    def stir(self, member: Member) -> None:
        """Note that a client has sent something: its connection is the least idle now."""
        if member in self._members:
            self._members.move_to_end(member)
            self._of_address[member.address].move_to_end(member)

    def count_unread(self, member: Member, unread: int) -> None:
        """Note how many bytes a client has not read; the connection with most may have to be closed."""
        if member in self._members:  # else it was closed for others, and does not know yet
            self.unread += unread - member.unread
            member.unread = unread
            if self.unread > self._unread_bytes:
                self._close(max(self._members, key=lambda each: each.unread), f"{self.unread} bytes are unread")

    def count_body(self, member: Member, more: int) -> None:
        """Note how many more bytes the bodies of a connection take; one that is coming in may have to be given up."""
        if member in self._members:
            self.bodies += more
            member.counted += more
            if self.bodies > self._bodies_bytes and more > 0:
                any(each.drop_body() for each in self._members)

    def expire(self) -> None:
        """Tell those connections whose deadline has passed."""
        now = time.monotonic()
        for member in [each for each in self._members if each.due < now]:
            member.expire()

    def _close(self, member: Member, why: str) -> None:
        _log.warning("closed a connection of %s to make room: %s", member.address, why)
        self.leave(member)
        member.abort()
