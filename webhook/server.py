"""Answers AdmissionReviews over HTTPS.

:func:`create_app` makes a Flask application of a review function, :func:`serve` serves it until a signal comes.
Needs Flask, so import this module only where something is served.
"""

from __future__ import annotations

import logging
import signal
import socket
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask, Response, request
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    RequestEntityTooLarge,
    RequestTimeout,
    UnsupportedMediaType,
)

from webhook.http1 import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from werkzeug import Response as AnyResponse

    from webhook.admission import Answer, Endpoint

BODY_LIMIT = 6 << 20
"""Twice the 3 MiB that an API server takes of a request: the review of an update holds the old object and the new."""

_BLOCK = 1 << 16
_PLAIN = "text/plain; charset=utf-8"
_log = logging.getLogger(__name__)


class ServerError(Exception):
    """The webhook cannot be served; the message says what, where and how to mend it."""


def create_app(
    review: Callable[[bytes, Endpoint], Answer],
    *,
    unready: Callable[[], Iterable[str]] = tuple,
    body_limit: int = BODY_LIMIT,
) -> Flask:
    """Make the web application: ``POST /validate``, ``POST /mutate``, ``GET /healthz``, ``GET /readyz``.

    Args:
        review: Answers the body of a request, given the endpoint that it was sent to.
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
        body_limit: The longest body that is read, in bytes.
    """
    app = Flask(__name__, static_folder=None)

    @app.post("/<any(validate, mutate):endpoint>")
    def answer(endpoint: Endpoint) -> Response:
        if request.mimetype != "application/json":
            message = f"send application/json, not {request.mimetype!r}"
            raise UnsupportedMediaType(message)
        status, body, content_type = review(_body(body_limit), endpoint)
        return Response(body, status, content_type=content_type)

    @app.get("/healthz")
    def healthz() -> Response:
        return Response("ok\n", content_type=_PLAIN)

    @app.get("/readyz")
    def readyz() -> Response:
        reasons = "".join(f"not ready: {reason}\n" for reason in unready())
        return Response(reasons or "ok\n", 503 if reasons else 200, content_type=_PLAIN)

    @app.errorhandler(HTTPException)
    def plain(error: HTTPException) -> AnyResponse:
        response = error.get_response()
        response.set_data(f"{error.name}: {error.description}\n")
        response.content_type = _PLAIN
        return response

    return app


def _body(limit: int) -> bytes:
    """Read the request's body here, since Flask's own limit cuts a chunked body off instead of refusing it."""
    too_large = RequestEntityTooLarge(f"a body may have {limit} bytes")
    if (request.content_length or 0) > limit:
        raise too_large
    body = bytearray()
    try:
        while block := request.stream.read(_BLOCK):
            body += block
            if len(body) > limit:
                raise too_large
    except TimeoutError as error:
        message = "the body did not come in time"
        raise RequestTimeout(message) from error
    except OSError as error:
        message = f"the body cannot be read: {error}"
        raise BadRequest(message) from error
    return bytes(body)


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Make the TLS settings to serve with: TLS 1.2 or later, forward secrecy, HTTP/1.1.

    Args:
        certificate: The serving certificate in PEM, followed by intermediate ones if there are any.
        key: Its private key in PEM, not encrypted.

    Raises:
        ServerError: A file cannot be read or used, or the two do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of TLS 1.2; those of 1.3 are all sound
    context.set_alpn_protocols(["http/1.1"])

    def no_password() -> str:
        message = f"{key} is encrypted: decrypt it first, a server has nobody to ask for the password"
        raise ServerError(message)

    for path in (certificate, key):
        try:
            path.open("rb").close()
        except OSError as error:
            message = f"cannot read {path}: {error.strerror}: `draguard certs` makes a certificate and a key"
            raise ServerError(message) from error
    try:
        context.load_cert_chain(certificate, key, password=no_password)
    except ssl.SSLError as error:
        fault = f"{certificate} and {key} are no certificate and key in PEM ({error})"
        if error.reason == "KEY_VALUES_MISMATCH":
            fault = f"{key} is not the key of {certificate}"
        message = f"{fault}: give a pair such as `draguard certs` makes"
        raise ServerError(message) from error
    return context


def tls_context_of(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """Make the TLS settings of a certificate and a key in memory, both in PEM.

    Raises:
        ServerError: They cannot be used, or do not belong together.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="draguard-") as private:  # OpenSSL reads files only
            paths = Path(private, "tls.crt"), Path(private, "tls.key")
            for path, pem in zip(paths, (certificate, key), strict=True):
                path.write_bytes(pem)
            return tls_context(*paths)
    except OSError as error:
        message = f"cannot hand a key to OpenSSL: {error.strerror}: set TMPDIR to a directory that can be written"
        raise ServerError(message) from error


def listen(host: str, port: int) -> socket.socket:
    """Open the socket to serve on.

    Args:
        host: A name or address of this machine; ``::`` takes IPv4, too.
        port: The port; 0 takes a free one.

    Raises:
        ServerError: The address cannot be listened on.
    """
    if port not in range(1 << 16):
        message = f"cannot listen on port {port}: give --port 1 to 65535, or 0 for a free one"
        raise ServerError(message)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, (address, *_) = found[0][0], found[0][4]
        both = address == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((str(address), port), family=family, backlog=128, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        message = f"cannot listen on {host} port {port}: {reason}: give another --host or --port"
        raise ServerError(message) from error


def serve(
    app: Flask,
    host: str,
    port: int,
    ssl_context: ssl.SSLContext,
    ready: Callable[[str], object] = lambda _url: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in flight; a second signal ends the process at once.

    Args:
        app: What :func:`create_app` made.
        host: The name or address to listen on; ``::`` takes IPv4, too.
        port: The port to listen on; 0 takes a free one.
        ssl_context: What :func:`tls_context` made.
        ready: Called once connections are accepted, with the URL.

    Raises:
        ServerError: The address cannot be listened on.
    """
    with Server(app, listen(host, port), ssl_context) as server:
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def stop(number: int, _frame: FrameType | None) -> None:
            server.stop()
            signal.signal(number, before[signal.Signals(number)])

        for number in before:
            signal.signal(number, stop)
        try:
            _log.info("listening on %s", server.url)
            ready(server.url)
            server.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
