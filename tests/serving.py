"""Runs the webhook's server over real TLS, for tests to talk to."""

from __future__ import annotations

import http.client
import json
import logging
import re
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webhook import certs, server
from webhook.admission import Answer
from webhook.http1 import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flask import Flask

    from webhook.admission import Endpoint

JSON = {"Content-Type": "application/json"}
SOON = 5.0
"""Seconds after which a test stops waiting for what must happen at once."""


@dataclass(frozen=True)
class Served:
    """A running server, and a client's view of it: strict verification against the authority alone."""

    server: Server
    ca: str
    host: str = "localhost"

    @property
    def port(self) -> int:
        return self.server.port

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection to send any number of requests on, one after the other."""
        return http.client.HTTPSConnection(self.host, self.port, timeout=10, context=self.trust())

    def socket(self) -> ssl.SSLSocket:
        """Return a TLS connection for what no HTTP client would send."""
        plain = socket.create_connection((self.host, self.port), timeout=10)
        return self.trust().wrap_socket(plain, server_hostname=self.host)

    def post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        return self.request("POST", path, body, JSON if headers is None else headers)

    def get(self, path: str) -> tuple[int, bytes]:
        return self.request("GET", path)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def serving(app: Flask, configure: Callable[[Server], object] = lambda _server: None) -> Iterator[Served]:
    """Serve an application on a free port of this machine, with a certificate of its own, until the block ends.

    Args:
        app: What ``webhook.server.create_app`` made.
        configure: Changes the server's limits before it starts.
    """
    pair = certs.ephemeral(["localhost"])
    with Server(app, server.listen("localhost", 0), server.tls_context_of(pair.certificate, pair.key)) as running:
        configure(running)
        thread = threading.Thread(target=running.run)
        thread.start()
        try:
            yield Served(running, pair.ca.decode())
        finally:
            running.stop()
            thread.join()


def echo(body: bytes, endpoint: Endpoint) -> Answer:
    """Answer with what was understood of the request."""
    if body == b"broken":
        raise ZeroDivisionError
    if body == b"malformed":
        return Answer(400, b"no AdmissionReview\n", "text/plain; charset=utf-8")
    return Answer(200, json.dumps([endpoint, len(body), body[:9].decode()]).encode(), "application/json")


def exchange(served: Served, *sent: bytes) -> bytes:
    """Send bytes, return everything that comes back until the server closes the connection."""
    received = bytearray()
    with served.socket() as connection:
        for part in sent:
            connection.sendall(part)
        while block := connection.recv(65536):
            received += block
    return bytes(received)


def statuses(received: bytes) -> list[int]:
    """Return the status of each response in a stream of short ones."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)]


def post(headers: str, body: bytes = b"", path: str = "/validate") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n".encode() + body


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
