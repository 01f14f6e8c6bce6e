"""A small Kubernetes API server: objects, resourceVersions, conflicts, roles, tokens, and misbehaviour on demand."""

import copy
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonpatch

from webhook.certificates import certs

Json = dict[str, Any]

_VERBS = {"GET": "get", "PATCH": "patch", "PUT": "update", "POST": "create", "DELETE": "delete"}


@dataclass
class ApiServer:
    """The objects, permissions and behaviour of the server.

    Args:
        roles: Role and ClusterRole manifests, all granted to the bearer of the token.
        account: The directory of the service account, which clients read.
        now: The server's clock.
        before: Called with the verb and the path of each request, before it is answered: may change objects, raise
            :class:`Refusal` for an answer, or wait.
        pause: Seconds before each byte of an answer.
    """

    roles: Iterable[Json]
    account: Path
    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    before: Callable[[str, str], object] = lambda _verb, _path: None
    pause: float = 0.0
    address: str = ""
    version: str = "v1.34.1-gke.7"
    objects: dict[str, Json] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    _version: int = 0
    _token: str = ""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def set_token(self, token: str) -> None:
        """Renew the service account's token, as kubelet does; the previous one is no longer accepted."""
        self._token = token
        (self.account / "token").write_text(f"{token}\n")

    def wait(self, time: timedelta) -> None:
        self.now += time

    def put(self, path: str, stored: Json) -> None:
        """Store an object, without checks of permissions."""
        with self._lock:
            self._version += 1
            metadata = {**stored.get("metadata", {}), "resourceVersion": str(self._version)}
            self.objects[path] = {**copy.deepcopy(stored), "metadata": metadata}

    def change(self, path: str, *operations: Json) -> None:
        """Change an object, without checks of permissions."""
        self.put(path, jsonpatch.apply_patch(self.objects[path], json.dumps(operations)))

    def at(self, verb: str, path: str, act: Callable[[], object]) -> None:
        """Do something before the first request of a verb for a path is answered, and nothing later."""

        def once(of: str, asked: str) -> None:
            if (of, asked) == (verb, path):
                self.before = lambda _verb, _path: None
                act()

        self.before = once

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Json | bytes]:
        """Return a status and an object; bytes are for answers that no API server would give."""
        verb = _VERBS[method]
        with self._lock:
            self.requests.append((verb, path))
        try:
            self.before(verb, path)
            with self._lock:
                self._admit(verb, path, headers)
                if verb == "patch":
                    self._patch(path, headers, body)
                return 200, {"gitVersion": self.version} if path == "/version" else self.objects[path]
        except Refusal as refusal:
            return refusal.code, {"kind": "Status", "status": "Failure", "message": str(refusal), "code": refusal.code}

    def _admit(self, verb: str, path: str, headers: Mapping[str, str]) -> None:
        if headers.get("Authorization") != f"Bearer {self._token}":
            raise Refusal(401, "Unauthorized")
        if (verb, path) == ("get", "/version"):  # every service account may read it
            return
        if not any(_grants(role, verb, path) for role in self.roles):
            self.refused.append((verb, path))
            raise Refusal(403, f'User "draguard" cannot {verb} {path}')
        if path not in self.objects:
            raise Refusal(404, f'"{path.rpartition("/")[2]}" not found')

    def _patch(self, path: str, headers: Mapping[str, str], operations: bytes) -> None:
        assert headers["Content-Type"] == "application/json-patch+json"
        stored = self.objects[path]
        changed = jsonpatch.apply_patch(stored, operations)
        if changed["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise Refusal(409, "the object has been modified; please apply your changes to the latest version")
        if changed != stored:
            self.put(path, changed)


class Refusal(Exception):  # noqa: N818 - it is an answer
    """A response other than 200."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code


def refusing(code: int, message: str = "", *paths: str, verb: str = "") -> Callable[[str, str], None]:
    """Return what refuses the requests for some paths, or for all; those of one verb, or of all."""

    def refuse(of: str, path: str) -> None:
        if verb in {"", of} and (not paths or path in paths):
            raise Refusal(code, message)

    return refuse


def _grants(role: Json, verb: str, path: str) -> bool:
    """Tell whether a role allows a verb on one object; in its own namespace only, unless it is a ClusterRole."""
    _, api, *rest = path.split("/")
    group = "" if api == "api" else rest.pop(0)
    rest.pop(0)  # the version
    namespace = rest[1] if rest[0] == "namespaces" else None
    resource, name = rest[-2:]
    if role["kind"] == "Role" and role["metadata"]["namespace"] != namespace:
        return False
    return any(
        group in rule["apiGroups"]
        and resource in rule["resources"]
        and name in rule.get("resourceNames", [name])
        and verb in rule["verbs"]
        for rule in role["rules"]
    )


@contextmanager
def running(account: Path, roles: Iterable[Json]) -> Iterator[ApiServer]:
    """Serve over TLS on a free port until the block ends.

    Args:
        account: The directory for the token and the authority of clients.
        roles: The permissions of clients.
    """
    api = ApiServer(list(roles), account)
    pair = certs.ephemeral(["localhost"])
    (account / "ca.crt").write_bytes(pair.ca)
    (account / "serving.pem").write_bytes(pair.certificate + pair.key)
    api.set_token("first")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(account / "serving.pem")

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = api.answer(self.command, self.path, dict(self.headers.items()), body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response_only(status)
            self.send_header("Date", format_datetime(api.now, usegmt=True))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            for piece in (content[at : at + 1] for at in range(len(content))) if api.pause else [content]:
                time.sleep(api.pause)
                self.wfile.write(piece)

        do_GET = do_PATCH = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - as http.server wants it

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            with context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Be silent about clients that hang up."""

    with Server(("localhost", 0), Handler) as server:
        api.address = f"localhost:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
