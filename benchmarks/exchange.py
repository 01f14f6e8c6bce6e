"""The time of a review from the received bytes to the sent ones: python -m benchmarks.exchange.

Processor time in the server's own process, without sockets, TLS and clients: 64 connections get one review each, the
event loop runs until all are answered, and so on. "Fixed" answers without reading the body, which leaves HTTP, turns,
the log and metrics; beside it stands the time of answering alone, including decoding.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, cast

import uvloop

from benchmarks.reviews import POLICIES, reviews, varied
from benchmarks.timing import build
from webhook import admission
from webhook.admission import Answer, Call, Record, ReviewOptions
from webhook.certificates import certs
from webhook.documents import Document, read
from webhook.logs import DecisionLog
from webhook.optional import install
from webhook.policy.load import load
from webhook.reloading import Reloaded
from webhook.server import Certificate, Limits, Reviews, listen
from webhook.server.connection import Connection
from webhook.server.metrics import Metrics
from webhook.server.port import Port

if TYPE_CHECKING:
    from collections.abc import Callable

    Review = Callable[[bytes, Call], Answer]

CONNECTIONS: Final = 64
ROUNDS: Final = 20
"""The number of reviews that each connection gets in one measurement."""
REPEATED: Final = 12
FIXED: Final = b'{"response": {"allowed": true}}'


class Wire(asyncio.Transport):
    """The client's end of a connection, which counts answers."""

    answers = 0

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Count an answer."""
        if not bytes(data).startswith(b"HTTP/1.1 200 OK\r\n"):
            raise RuntimeError(bytes(data))
        Wire.answers += 1

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the client's address."""
        return ("127.0.0.1", 1000) if name in {"peername", "sockname"} else default

    def is_closing(self) -> bool:
        """Never."""
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: no limits apply."""

    def get_write_buffer_size(self) -> int:
        """Nothing waits."""
        return 0

    def pause_reading(self) -> None:
        """Do nothing."""

    def resume_reading(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def main() -> None:
    """Print the figures."""
    install("reviews")
    library = load(document.data for document in read([POLICIES]) if isinstance(document, Document))
    bodies = varied(reviews()["pods"])
    print(f"{build()}; {len(bodies)} different reviews of some {len(bodies[0])} bytes; us of CPU a review")
    variants: dict[str, Review] = {
        "fixed": lambda _body, call: Answer(200, FIXED, "application/json", Record(call.endpoint)),
        "every rule": _answering(ReviewOptions()),
        "every rule and 14 policies": _answering(ReviewOptions(policies=library)),
    }
    for name, review in variants.items():
        for path in ("validate", "mutate"):
            alone, whole = uvloop.run(measured(review, path, bodies))
            print(f"{name:28} /{path:9} {whole:6.1f}, of which answering {alone:6.1f}, all else {whole - alone:5.1f}")


def _answering(options: ReviewOptions) -> Review:
    return lambda body, call: admission.answer(body, call, options)


async def measured(review: Review, path: str, bodies: list[bytes]) -> tuple[float, float]:
    """Return the time of answering, alone and with everything around it."""
    loop = asyncio.get_running_loop()
    pair = certs.ephemeral(["localhost"])
    certificate = Certificate(pair.certificate, pair.key)
    log, metrics = DecisionLog(), Metrics(certificate, Reloaded("policies", tuple, ReviewOptions))

    def observe(record: Record, seconds: float) -> None:
        log.reviewed(record, seconds)
        metrics.reviewed(record, seconds)

    app = Reviews(review, observe=observe, refused=metrics.refused)
    with listen("localhost", 0) as listener:
        port = Port(app, listener, Limits(), Connection)
    connections = [Connection(port) for _ in range(CONNECTIONS)]
    for connection in connections:
        connection.connection_made(Wire())
    requests = [_request(path, body) for body in bodies]
    endpoint = cast("admission.Endpoint", path)
    alone = whole = float("inf")
    for _ in range(REPEATED):
        started = time.process_time()
        for number in range(ROUNDS * CONNECTIONS):
            review(bodies[number % len(bodies)], Call(endpoint, None, time.monotonic() + 10, is_inline=True))
        alone = min(alone, time.process_time() - started)
        expected = Wire.answers
        started = time.process_time()
        for turn in range(ROUNDS):
            for number, connection in enumerate(connections):
                request = requests[(turn * CONNECTIONS + number) % len(requests)]
                connection.data_received(request)
            expected += CONNECTIONS
            while Wire.answers < expected:  # noqa: ASYNC110 - reviews wait for turns
                await asyncio.sleep(0)
        whole = min(whole, time.process_time() - started)
    for connection in connections:
        connection.connection_lost(None)
    await loop.shutdown_default_executor()
    each = 1e6 / ROUNDS / CONNECTIONS
    return alone * each, whole * each


def _request(path: str, body: bytes) -> bytes:
    head = (
        f"POST /{path}?timeout=10s HTTP/1.1\r\nHost: draguard.draguard-system.svc:443\r\n"
        "User-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    )
    return head.encode() + body


if __name__ == "__main__":
    main()
