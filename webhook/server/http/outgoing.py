"""A transport that writes an answer at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


class Outgoing:
    """A transport that can hold back what is written, so that an answer goes out whole.

    uvicorn writes the header and the body one by one; together they take one TLS record and one system call.

    Args:
        transport: The connection's.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None
        self.written = 0
        """How many bytes were written at last."""
        self.is_closing = transport.is_closing  # the one that is called most

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the transport."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, unless that is held back."""
        if self._held is None:
            self.written = len(data)
            self._transport.write(data)
        else:
            self._held.append(data)

    def hold(self) -> None:
        """Hold back what is written from now on."""
        self._held = []

    def release(self) -> None:
        """Write what was held back."""
        held, self._held = self._held, None
        if held:
            self.write(b"".join(held))

    def close(self) -> None:
        """Close the connection once everything is written."""
        self.release()
        self._transport.close()
