"""``draguard ui``: a page on this machine to look at a cluster's devices, and to try changes on.

It listens on loopback only, writes nothing to a cluster, and answers only those who know the address that it prints.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import suppress
from hmac import compare_digest
from importlib import resources
from secrets import token_urlsafe
from socket import create_server, socket
from threading import Lock
from time import monotonic
from typing import Any, Final

from flask import Flask, Response, abort, request
from werkzeug.serving import WSGIRequestHandler, make_server

from webhook.budget import DOCUMENT, Budget, BudgetExceededError, DeadlineExceededError, limited
from webhook.cli.console import show_lines
from webhook.cli.ui.form import page
from webhook.cli.ui.trial import FormInput, Snapshot
from webhook.usage import UsageError

HOST: Final = "127.0.0.1"
_BODY: Final = 1 << 20
"""The bytes of a request, most of which are those of a manifest."""
_WORK: Final = DOCUMENT
"""The work that a selector may take while it is typed: seconds."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_ELSEWHERE: Final = "open the address that the command printed"


def run(arguments: Namespace) -> int:
    """Serve the page until Ctrl-C or SIGTERM."""
    with _listen(arguments.port) as listener:
        pages = Pages(arguments, token_urlsafe())
        server = make_server(HOST, 0, pages.app, threaded=True, request_handler=_Quiet, fd=listener.fileno())
        pages.address = f"{HOST}:{server.port}"
        show_lines([f"http://{pages.address}/{pages.token}/"])
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0


def _listen(port: int) -> socket:
    """Open the socket to serve on; webhook.server has one for more than a person, but needs more than Flask."""
    if port not in range(1 << 16):
        raise UsageError(f"cannot listen on port {port}: give --port 1 to 65535, or 0 for a free one")
    try:
        return create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise UsageError(f"cannot listen on {HOST} port {port}: {reason}: give another --port") from error


class Pages:
    """The application: the page, its script, and the devices that a selector matches.

    Args:
        token: The beginning of the path of each request.
    """

    def __init__(self, arguments: Namespace, token: str) -> None:
        self.token = token
        self.address = ""
        """The host and port of each request."""
        self._timeout, self._snapshot, self._lock = arguments.timeout, Snapshot(arguments), Lock()
        self.app = Flask(__name__, static_folder=None)
        self.app.config.update(MAX_CONTENT_LENGTH=_BODY, MAX_FORM_MEMORY_SIZE=_BODY)
        self.app.before_request(self._refuse)
        self.app.after_request(_with_headers)
        self.app.add_url_rule("/<token>/", "page", self._page, methods=["GET", "POST"])
        self.app.add_url_rule("/<token>/match", "match", self._match, methods=["POST"])
        self.app.add_url_rule("/<token>/ui.js", "script", _script)
        self.app.register_error_handler(UsageError, _unreadable)

    def _refuse(self) -> None:
        """Refuse what another site sends, a name that it lets point to this machine, and what has no token."""
        address = self.address.removesuffix(":80")  # browsers leave it out
        if request.host != address or request.headers.get("Origin") not in {None, f"http://{address}"}:
            abort(403, _ELSEWHERE)
        if not compare_digest((request.view_args or {}).get("token", "").encode(), self.token.encode()):
            abort(404, _ELSEWHERE)

    def _page(self, token: str) -> str:  # noqa: ARG002 - it is compared before
        with self._lock:
            complaint = ""
            if "again" in request.form:
                try:
                    self._snapshot.read()
                except UsageError as error:
                    complaint = f"not read again, this is what was read before: {error}"
            return page(self._snapshot, FormInput.of(request.form), complaint)

    def _match(self, token: str) -> dict[str, Any]:  # noqa: ARG002
        if request.form.get("read", str(self._snapshot.number)) != str(self._snapshot.number):
            return {"error": "the cluster was read again, for another page: show this one again"}
        try:
            with self._lock, limited(Budget(_WORK, monotonic() + self._timeout, is_offline=True)):
                return self._snapshot.match(request.form.get("selector", ""))
        except (BudgetExceededError, DeadlineExceededError):
            return {"error": "the selector takes more work than is done while it is typed", "line": 1, "column": 1}


def _script(token: str) -> Response:  # noqa: ARG001
    text = resources.files(__package__).joinpath("ui.js").read_text("utf-8")
    return Response(text, mimetype="text/javascript")


def _with_headers(response: Response) -> Response:
    response.headers.update(_HEADERS)
    return response


def _unreadable(error: UsageError) -> tuple[str, int, dict[str, str]]:
    return str(error), 422, {"Content-Type": "text/plain; charset=utf-8"}


class _Quiet(WSGIRequestHandler):
    """Logs no requests: their paths have the token."""

    timeout = 30

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - as werkzeug calls it
        """Log nothing."""
