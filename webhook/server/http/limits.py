"""Limits of HTTP connections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of connections.

    Args:
        handshake_seconds: For the TLS handshake.
        header_seconds: For the header of a request, from the handshake or from its first byte.
        body_seconds: For the body of a request, from the end of its header.
        idle_seconds: Between requests; longer than the 90 s after which an API server closes an idle connection, since
            the client must be the side that closes.
        stalled_seconds: For a client to read some of its pending answers.
        closing_seconds: For a client to close its side after the server has, and to send the first request of a
            connection when the server stops.
        grace_seconds: For the requests in flight when the server stops.
        header_bytes: Of a header.
        header_fields: Of the requests that are sent together, including trailers; an API server sends about ten.
        small_chunks: Of their bodies, below 512 bytes each; an API server sends none.
        small_pieces: In which their bodies arrive, likewise.
        requests: Sent over a connection before the first is answered; API servers, kubelet and Prometheus send one.
        connections: Open at a time, as far as the process may open files.
        connections_per_address: Open at a time from one address.
        finishing: Connections whose client has sent a part of its last messages of the handshake, encrypted in TLS 1.3:
            OpenSSL makes room for 130 KB where a client states that its certificates are that long. API servers send
            these messages together. Of one address half as many.
        unread_bytes: Of answers that clients have not read, over all connections.
    """

    handshake_seconds: float = 10.0
    header_seconds: float = 10.0
    body_seconds: float = 5.0
    idle_seconds: int = 120
    stalled_seconds: float = 10.0
    closing_seconds: float = 2.0
    grace_seconds: int = 20
    header_bytes: int = 1 << 16
    header_fields: int = 200
    small_chunks: int = 100
    small_pieces: int = 1000
    requests: int = 4
    connections: int = 1000
    connections_per_address: int = 500
    finishing: int = 128
    unread_bytes: int = 1 << 26
