"""The webhook as an attacker sees it: sockets, requests, and useful bodies."""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

T = TypeVar("T")
JSON = {"Content-Type": "application/json"}
TIMEOUT = "timeout=5s"
DRA = "resource.k8s.io/v1"


@dataclass(frozen=True)
class Target:
    """A running webhook, for some time.

    Args:
        port: The port for reviews.
        monitoring: The port for probes.
        ca: The authority of its certificate, in PEM.
        end: When to stop, in seconds of ``time.monotonic()``.
        source: The address to connect from.
        identity: The file with the ordinary client's certificate; empty for an attacker, who has none.
    """

    port: int
    monitoring: int
    ca: str
    end: float
    source: str = "127.0.0.1"
    identity: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it is time to stop."""
        return time.monotonic() >= self.end

    def plain(self, port: int | None = None, source: str = "") -> socket.socket:
        """Return a TCP connection."""
        return socket.create_connection(("127.0.0.1", port or self.port), 10, (source or self.source, 0))

    @cached_property
    def trust(self) -> ssl.SSLContext:
        """Settings that trust its certificate."""
        return trusting(self.ca)

    def tls(self, source: str = "") -> ssl.SSLSocket:
        """Return a TLS connection."""
        return self.trust.wrap_socket(self.plain(source=source), server_hostname="127.0.0.1")

    def connection(self, source: str = "") -> http.client.HTTPSConnection:
        """Return an HTTP connection."""
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=self.trust, source_address=(source or self.source, 0)
        )

    def flood(
        self, bodies: Iterable[bytes], *, connections: int = 1, path: str = "/validate", source: str = ""
    ) -> list[tuple[int, bytes]]:
        """Send bodies over some connections until time is over, or they are; return statuses and answers."""
        waiting, lock, answers = iter(bodies), threading.Lock(), list[tuple[int, bytes]]()

        def client() -> None:
            connection = self.connection(source)
            while not self.is_over:
                with lock:
                    body = next(waiting, None)
                if body is None:
                    break
                try:
                    connection.request("POST", f"{path}?{TIMEOUT}", body, JSON)
                    response = connection.getresponse()
                    answers.append((response.status, response.read()[:2000]))
                except (OSError, http.client.HTTPException):
                    connection.close()
            connection.close()

        together(*[client] * connections)
        return answers

    def crowd(self, count: int, open_one: Callable[[], T], least: float = 0.5) -> list[T]:
        """Open many connections and keep them: all of them, or a share if time is over."""
        kept = list[T]()
        for _ in range(count):
            with suppress(OSError):
                kept.append(open_one())
            if self.is_over and len(kept) > least * count:
                break
        assert len(kept) > least * count, "the attack did not take place"
        return kept

    def repeat(self, work: Callable[[], object], clients: int = 8) -> None:
        """Let some clients do something again and again until time is over, also if it fails."""

        def client() -> None:
            while not self.is_over:
                with suppress(OSError):
                    work()

        together(*[client] * clients)

    def send(self, requests: Sequence[bytes], clients: int = 8) -> None:
        """Let some clients send each of these over a connection of its own, again and again, and await an answer."""

        def once() -> None:
            for request in requests:
                with suppress(OSError), self.tls() as connection:
                    connection.sendall(request)
                    connection.recv(1 << 16)

        self.repeat(once, clients)

    def bursts(
        self, count: int, begin: Callable[[], tuple[socket.socket, Callable[[], object]]], patience: float = 2
    ) -> None:
        """Open connections, and do what has been prepared for each on all of them at once; again and again."""

        def end(connection: socket.socket, work: Callable[[], object]) -> None:
            with suppress(OSError):
                connection.settimeout(patience)
                work()

        while not self.is_over:
            begun = self.crowd(count, begin)
            together(*(partial(end, *each) for each in begun))
            time.sleep(0.2)
            for connection, _ in begun:
                connection.close()

    def rest(self) -> None:
        """Wait until time is over."""
        time.sleep(max(0.0, self.end - time.monotonic()))


def together(*works: Callable[[], object]) -> None:
    """Do some things at the same time."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def trusting(ca: str) -> ssl.SSLContext:
    """Return settings that trust an authority."""
    return ssl.create_default_context(cadata=ca)


def review(kind: str, resource: str, obj: dict[str, Any], **request: Any) -> bytes:
    """Write a review of the creation of an object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    asked = {
        "uid": "an-attack",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource},
        "operation": "CREATE",
        "namespace": "tenant",
        "userInfo": {"username": "mallory"},
        "object": obj,
        **request,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return json.dumps(body, ensure_ascii=False).encode()


def claim(expressions: Iterable[str], metadata: dict[str, Any] | None = None, **spec: Any) -> bytes:
    """Write the review of a claim with some selectors."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    requests = [
        {"name": f"r{number}", "exactly": {"deviceClassName": "gpu", "selectors": selectors[at : at + 32]}}
        for number, at in enumerate(range(0, len(selectors) or 1, 32))
    ]
    made = {
        "apiVersion": DRA,
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "tenant", **(metadata or {})},
        "spec": {"devices": {"requests": requests}, **spec},
    }
    return review("ResourceClaim", "resourceclaims", made)


def pod(spec: dict[str, Any], metadata: dict[str, Any] | None = None, **request: Any) -> bytes:
    """Write the review of a pod."""
    named = {"name": "x", "namespace": "tenant", **(metadata or {})}
    return review("Pod", "pods", {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec}, **request)


def repeated(make: Callable[[int], bytes]) -> Iterator[bytes]:
    """Make an endless series of bodies, each from its number."""
    number = 0
    while True:
        yield make(number)
        number += 1


def padded(body: bytes, size: int) -> bytes:
    """Make a review longer, by spaces."""
    return body + b" " * max(0, size - len(body))
