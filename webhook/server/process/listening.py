"""Opens the sockets to serve on."""

from __future__ import annotations

import socket

from webhook.server.errors import ServerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_BACKLOG: Final = 4096
"""The backlog of connections that are not accepted yet, as far as the kernel allows."""

_UNREAD: Final = 1 << 15
"""The kernel's receive buffer of a connection, in bytes; it doubles the number.

The whole buffer is read at once, which takes long if it holds TLS records of a byte each."""

_KEPT: Final = 1 << 16
"""The kernel's send buffer for a client that does not read, in bytes; it doubles this number, too.

By default, it grows to megabytes for a client that has read quickly so far, which count as the container's memory."""


def listen(host: str, port: int, prefix: str = "--") -> socket.socket:
    """Open the socket to serve on.

    Args:
        host: A name or address of this machine; ``::`` takes IPv4, too.
        port: The port; 0 takes a free one.
        prefix: The prefix of the options ``host`` and ``port``, for the error message.

    Raises:
        ServerError: The address cannot be listened on.
    """
    if port not in range(1 << 16):
        raise ServerError(f"cannot listen on port {port}: give {prefix}port 1 to 65535, or 0 for a free one")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, (address, *_) = found[0][0], found[0][4]
        both = address == "::" and socket.has_dualstack_ipv6()
        listener = socket.create_server((str(address), port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ServerError(
            f"cannot listen on {host} port {port}: {reason}: give another {prefix}host or {prefix}port"
        ) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UNREAD)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KEPT)
    return listener


def url_of(listener: socket.socket, scheme: str = "https") -> str:
    """Return the URL of a listening socket, without a path."""
    address, port = listener.getsockname()[:2]
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"
