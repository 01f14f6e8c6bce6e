"""A minimal client of the Kubernetes API: get, patch, apply and delete.

It uses the standard library to save memory: lightkube costs a process 6.0 MB and an image twelve more packages, httpx
4.6 MB, this 0.2 MB (measured in a serving process).
"""

from __future__ import annotations

import http.client
import json
import math
import os
import ssl
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple, cast

from webhook.cluster.errors import ClusterError, Conflict, Expired, Forbidden, NotFound, TooLong
from webhook.cluster.options import ManagerOptions
from webhook.objects import DEFAULT_NAMESPACE, JSONObject

TIMEOUT = 5.0
"""The seconds of a request, by default."""

_LARGEST_RESPONSE = 8 << 20
_LONGEST_MESSAGE = 300
_JSON = "application/json"
_FAULTS: dict[int, type[ClusterError]] = {
    http.client.FORBIDDEN: Forbidden,
    http.client.NOT_FOUND: NotFound,
    http.client.CONFLICT: Conflict,
    http.client.GONE: Expired,
}
_ADVICE: dict[int, str] = {
    http.client.UNAUTHORIZED: "the service account's token is not accepted: is automountServiceAccountToken on?",
    http.client.FORBIDDEN: "grant this to the service account, as the chart does",
}


class ObjectRef(NamedTuple):
    """An object of the cluster.

    Args:
        what: Its kind and name, for people.
        path: Its path in the API.
        missing: The advice if it does not exist.
    """

    what: str
    path: str
    missing: str


def secret(options: ManagerOptions) -> ObjectRef:
    """Return the Secret of the certificates."""
    namespace, name = options.namespace, options.secret
    return ObjectRef(
        f"Secret {namespace}/{name}",
        f"/api/v1/namespaces/{namespace}/secrets/{name}",
        f"make it anew, empty (kubectl create secret generic {name} --namespace {namespace}), and it will be filled",
    )


def lease(namespace: str, name: str) -> ObjectRef:
    """Return the Lease of the leader."""
    return ObjectRef(
        f"Lease {namespace}/{name}",
        f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}",
        "make it anew, empty (helm upgrade does), and one of the replicas will take it",
    )


def configurations(options: ManagerOptions) -> tuple[ObjectRef, ...]:
    """Return the webhook configurations whose ``caBundle`` is to be kept."""
    return tuple(
        ObjectRef(
            f"{kind}WebhookConfiguration {name}",
            f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations/{name}",
            "the API server calls no webhook by it; it gets its caBundle once it exists (helm upgrade creates it)",
        )
        for kind in ("Validating", "Mutating")
        for name in options.webhooks
    )


VERSION = ObjectRef("the cluster's version", "/version", "every API server has it: is this one?")
"""Readable by every service account (ClusterRole ``system:public-info-viewer``)."""


class _Limited(ssl.SSLSocket):
    """A socket that sends and receives until a deadline, however slowly the bytes come."""

    until, seconds = math.inf, TIMEOUT
    """The deadline, by the monotonic clock, and the time before it."""
    ended = Event()
    """Ends within a second what is read."""

    def read(self, len: int = 1024, buffer: Any = None) -> Any:  # noqa: A002 - the base's name
        while True:
            self._hurry(1.0)
            with suppress(TimeoutError):
                return super().read(len, buffer)

    def send(self, data: Any, flags: int = 0) -> int:
        self._hurry(self.seconds)
        return super().send(data, flags)

    def _hurry(self, most: float) -> None:
        """Leave the next operation some seconds, and no more than the rest of the time."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it took more than {self.seconds:g} seconds")
        if self.ended.is_set():
            raise ConnectionAbortedError("reading was ended")
        self.settimeout(min(left, most))


class Api:
    """A client of an API server, with a service account's token.

    Each request opens a new connection, with the current token and authority from the files, which kubelet renews.
    No connection is idle, and so none can break meanwhile.

    Args:
        account: The directory with ``token`` and ``ca.crt``.
        server: Host and port; by default from the pod's environment.
        seconds: Within which a connection is made, the request sent and the whole response read; 0 for the default.
    """

    namespace: Final = DEFAULT_NAMESPACE
    """The namespace that is meant where none is stated."""

    def __init__(self, account: Path, server: str = "", seconds: float = 0) -> None:
        self._account, self._server, self._seconds = account, server, seconds
        self.ended = Event()
        """Ends requests."""
        self.now = datetime.now(UTC)
        """The API server's clock at its last response: it verifies the certificates, so its time counts."""

    def get(self, ref: ObjectRef) -> JSONObject:
        """Return an object.

        Raises:
            NotFound: It does not exist.
            ClusterError: It cannot be read.
        """
        return self._send("GET", ref, None)

    def read(self, path: str, most: int, accept: str = _JSON) -> bytes:
        """Return what is at a path.

        Args:
            path: The path, with its query.
            most: The bytes that it may have.
            accept: The media types that are wanted.

        Raises:
            TooLong: It has more.
            ClusterError: It cannot be read.
        """
        status, content = self._answer("GET", ObjectRef(path, path, ""), None, most + 1, accept=accept)
        if status == http.client.OK:
            if len(content) > most:
                raise TooLong("the answer is too long")
            return content
        reason = _json(content).get("message")
        message = str(reason or http.client.responses.get(status, status))[:_LONGEST_MESSAGE]
        raise _FAULTS.get(status, ClusterError)(message)

    def patch(self, ref: ObjectRef, seen: JSONObject, operations: Sequence[JSONObject]) -> JSONObject:
        """Change an object unless it has changed since it was read, and return the new state.

        Args:
            ref: The object.
            seen: The state that :meth:`get` has returned.
            operations: A JSON Patch.

        Raises:
            Conflict: Another client has changed it in the meantime.
            ClusterError: It cannot be changed.
        """
        # A resourceVersion other than the stored one is a conflict in any kind of patch.
        version = {"op": "replace", "path": "/metadata/resourceVersion", "value": seen["metadata"]["resourceVersion"]}
        return self._send("PATCH", ref, [version, *operations])

    def apply(self, ref: ObjectRef, obj: JSONObject, manager: str) -> JSONObject:
        """Create or change an object by server-side apply, and return the new state.

        Args:
            ref: The object.
            obj: All that it should have of this manager.
            manager: The field manager; it takes over fields of others.

        Raises:
            ClusterError: It cannot be written.
        """
        ref = ref._replace(path=f"{ref.path}?fieldManager={manager}&force=true")
        return self._send("PATCH", ref, obj, sent="application/apply-patch+yaml")

    def delete(self, ref: ObjectRef) -> JSONObject:
        """Delete an object, and return what the API server answers.

        Raises:
            NotFound: It does not exist.
            ClusterError: It cannot be deleted.
        """
        return self._send("DELETE", ref, None)

    def _send(self, method: str, ref: ObjectRef, body: Any, sent: str = "application/json-patch+json") -> JSONObject:
        status, content = self._answer(method, ref, body, _LARGEST_RESPONSE, sent=sent)
        answer = _json(content)
        if status in (http.client.OK, http.client.CREATED, http.client.ACCEPTED) and answer:
            return answer
        raise _fault(method, ref, status, answer)

    def _answer(
        self, method: str, ref: ObjectRef, body: Any, most: int, *, sent: str = "", accept: str = _JSON
    ) -> tuple[int, bytes]:
        headers = {"Accept": accept, "User-Agent": "draguard"} | ({} if body is None else {"Content-Type": sent})
        headers["Authorization"] = f"Bearer {self._token()}"
        seconds = self._seconds or TIMEOUT
        try:
            connection = http.client.HTTPSConnection(*self._address(), timeout=seconds, context=self._trust())
            with closing(connection):
                until = time.monotonic() + seconds
                connection.connect()
                limited = cast("_Limited", connection.sock)
                limited.until, limited.seconds, limited.ended = until, seconds, self.ended
                connection.request(method, ref.path, None if body is None else json.dumps(body), headers)
                response = connection.getresponse()
                status, date, content = response.status, response.getheader("Date", ""), response.read(most)
        except (OSError, http.client.HTTPException) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            raise ClusterError(
                f"cannot {method.lower()} {ref.what}: the request to the API server failed: {reason}"
            ) from error
        self.now = _time(date)
        return status, content

    def _address(self) -> tuple[str, int]:
        host, _, port = self._server.rpartition(":")
        host = host or os.environ.get("KUBERNETES_SERVICE_HOST", "")
        port = port or os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if not host or not port.isdecimal():
            raise ClusterError(
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this works in a pod only"
            )
        return host.strip("[]"), int(port)

    def _token(self) -> str:
        path = self._account / "token"
        try:
            token = path.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise ClusterError(f"cannot read {path}: {reason}: in a pod, set automountServiceAccountToken") from error
        if not token.isprintable() or not token:
            raise ClusterError(f"{path} holds no token")
        return token

    def _trust(self) -> ssl.SSLContext:
        """Trust the cluster's authority; not by ssl.create_default_context, which is too strict for some of them."""
        path = self._account / "ca.crt"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.sslsocket_class = _Limited
        try:
            context.load_verify_locations(path)
        except OSError as error:  # ssl.SSLError is one, too
            raise ClusterError(f"cannot read the cluster's authority in {path}: {error.strerror or error}") from error
        return context


def _json(content: bytes) -> JSONObject:
    """Decode a response; one that is not an object, which a proxy may send, counts as empty."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = None
    return answer if isinstance(answer, dict) else {}


def _fault(method: str, ref: ObjectRef, status: int, answer: JSONObject) -> ClusterError:
    """Convert a response to an error."""
    reason = answer.get("message")
    message = f"cannot {method.lower()} {ref.what}: {status} {http.client.responses.get(status, '')}".rstrip()
    if isinstance(reason, str) and reason:
        message += f", {reason[:_LONGEST_MESSAGE]}"
    advice = ref.missing if status == http.client.NOT_FOUND else _ADVICE.get(status)
    return _FAULTS.get(status, ClusterError)(f"{message}: {advice}" if advice else message)


def _time(date: str) -> datetime:
    try:
        return parsedate_to_datetime(date).astimezone(UTC)
    except ValueError:
        return datetime.now(UTC)
