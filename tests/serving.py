"""Runs the webhook's server over real TLS, for tests to talk to."""

import http.client
import json
import logging
import re
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from webhook.admission import Answer, Call
from webhook.certificates import certs
from webhook.reloading import Reloaded
from webhook.server import Certificate, Limits, Reviews, Server, listen
from webhook.server.connection import Connection

JSON = {"Content-Type": "application/json"}
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LIMIT = 1 << 20
"""The bytes of the longest body that is read in most tests."""
SOON = 30.0
"""Seconds after which a test stops waiting for an immediate event: long enough for a slow machine."""


@dataclass(frozen=True)
class Served:
    """A running server, and a client's view of it: strict verification against the authority alone."""

    server: Server
    ca: str
    host: str = "localhost"

    @property
    def port(self) -> int:
        return int(self.server.port.url.rpartition(":")[2])

    @property
    def connections(self) -> int:
        """The number of open connections whose handshake is over."""
        members = self.server.port.crowd
        return sum(isinstance(each, Connection) and each.phase != "handshake" for each in members)

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection to send any number of requests on, one after the other."""
        return http.client.HTTPSConnection(self.host, self.port, timeout=SOON, context=self.trust())

    def socket(self) -> ssl.SSLSocket:
        """Return a TLS connection for bytes that no HTTP client would send."""
        plain = socket.create_connection((self.host, self.port), timeout=SOON)
        return self.trust().wrap_socket(plain, server_hostname=self.host)

    def post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        return self.request("POST", path, body, JSON if headers is None else headers)

    def get(self, path: str) -> tuple[int, bytes]:
        return self.request("GET", path)

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        return ask(self.port, method, path, body, headers, trust=self.trust(), host=self.host)


def ask(
    port: int,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *,
    trust: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> tuple[int, bytes]:
    """Send one request over a connection of its own, with TLS if a client's settings are given."""
    connection = http.client.HTTPConnection(host, port, timeout=SOON)
    if trust:
        connection = http.client.HTTPSConnection(host, port, timeout=SOON, context=trust)
    try:
        connection.request(method, path, body, headers or {}, encode_chunked=not isinstance(body, bytes | str | None))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@contextmanager
def serving(
    app: Reviews, limits: Limits | None = None, certificate: Certificate | None = None, **options: Any
) -> Iterator[Served]:
    """Serve an application on a free port of this machine, with a certificate of its own, until the block ends.

    Args:
        app: The application.
        limits: The limits of connections.
        certificate: Another certificate to serve with.
        options: More options of the server.
    """
    pair = certs.ephemeral(["localhost"])
    certificate = certificate or Certificate(pair.certificate, pair.key)
    started = threading.Event()
    with listen("localhost", 0) as listener:
        server = Server(
            app, listener, certificate, limits=limits or Limits(), ready=lambda _url: started.set(), **options
        )
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            assert started.wait(SOON)
            yield Served(server, pair.ca.decode())
        finally:
            server.stop(0)
            thread.join()


def echo(body: bytes, call: Call) -> Answer:
    """Respond with the request as it was parsed."""
    if body == b"broken":
        raise ZeroDivisionError
    if body == b"malformed":
        return Answer(400, b"no AdmissionReview\n", "text/plain; charset=utf-8")
    return Answer(200, json.dumps([call.endpoint, len(body), body[:9].decode()]).encode(), "application/json")


def exchange(served: Served, *sent: bytes) -> bytes:
    """Send bytes, return everything that comes back until the server closes the connection."""
    with served.socket() as connection:
        for part in sent:
            connection.sendall(part)
        return everything(connection)


def everything(connection: socket.socket) -> bytes:
    """Receive until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(1 << 20), b""))


def talk(_body: bytes, _call: Call) -> Answer:
    """Answer with a MiB."""
    return Answer(200, b"x" * 2**20, "application/json")


def answered(connection: socket.socket) -> bytes:
    """Receive one whole response of a stated length."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1) or pytest.fail(f"only {received!r}")
    length = re.search(rb"\r\ncontent-length: (\d+)\r\n", received)
    assert length, received
    for _ in range(int(length[1])):
        received += connection.recv(1) or pytest.fail(f"only {received!r}")
    return received


def statuses(received: bytes | bytearray) -> list[int]:
    """Return the status of each response in a stream of short ones."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)]


def post(headers: str, body: bytes = b"", path: str = "/validate") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n".encode() + body


def mount(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files as kubelet does into a volume, and changes them: all at once, by a symbolic link to a directory."""
    new, data = directory / f"..{time.time_ns()}", directory / "..data"
    new.mkdir(parents=True)
    for name, content in files.items():
        (new / name).write_bytes(content)
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")
    old = data.resolve()
    (directory / "..tmp").symlink_to(new.name)
    (directory / "..tmp").rename(data)
    if old != data:
        shutil.rmtree(old)


def look(followed: Reloaded[Any]) -> None:
    """Look for changes twice, as content that was just written is not used yet."""
    followed.follow()
    followed.follow()


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            if holds():
                return True
        except OSError as error:
            logging.getLogger(__name__).debug("not yet: %s", error)
        time.sleep(0.02)
    return False
