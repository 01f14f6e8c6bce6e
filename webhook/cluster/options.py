"""Options of the certificate manager, and the Secret of its certificates."""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from webhook.cluster.errors import ClusterError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")


def identity() -> str:
    """Return the identity of this process: the pod's name, and a suffix that differs after each restart."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"


@dataclass(frozen=True)
class ManagerOptions:
    """The objects of the cluster to manage, and how.

    Args:
        namespace: Where the Secret and the Lease are.
        secret: The Secret's name; it must exist, and may be empty.
        lease: The Lease's name; it must exist.
        names: The DNS names that the API server connects to, such as ``draguard.draguard-system.svc``.
        directory: Where ``tls.pem``, certificate and key, is put; None if kubelet mounts the Secret in pods that have
            no access to the API server: the Secret then holds the cluster's version, too.
        webhooks: Names of Validating- and MutatingWebhookConfigurations whose ``caBundle`` to write.
        identity: The holder of the Lease; unique among all processes, past and present.
        account: The directory with the service account's ``token`` and ``ca.crt``.
        server: Address and port of the API server; by default from the pod's environment.

    Raises:
        ClusterError: One of them is invalid.
    """

    namespace: str
    secret: str
    lease: str
    names: tuple[str, ...]
    directory: Path | None = None
    webhooks: tuple[str, ...] = ()
    identity: str = field(default_factory=identity)
    account: Path = SERVICE_ACCOUNT
    server: str = ""

    def __post_init__(self) -> None:
        """Refuse invalid names, before they become parts of URLs."""
        if not self.names:
            raise ClusterError(
                "no DNS names are given: a certificate needs those of the Service, e.g. draguard.draguard-system.svc"
            )
        for name in (self.namespace, self.secret, self.lease, *self.webhooks):
            if not _OBJECT_NAME.match(name):
                raise ClusterError(
                    f"{name!r} cannot be the name of an object: give lower case letters, digits, '-' and '.'"
                )


BUNDLE, KEY = "ca.crt", "ca.key"
"""The authorities to trust, and the key of the one that signs."""

NEXT_KEY, NEXT_TRUSTED = "next.key", "next.trusted"
"""The key of the next authority, and the time since which every webhook configuration trusts it."""

SERVING, SERVING_KEY = "tls.crt", "tls.key"
PAIR = "tls.pem"
"""The file of both."""

KEPT_SINCE = "kept.since"
"""The time since which authorities with lost keys are kept, because replicas may still serve with their certificates.
"""

REVOKE = "revoke"
"""If set to any value, earlier certificates are no longer trusted, even if in use."""

CLUSTER_VERSION = "kubernetes.version"
"""The cluster's version, such as ``v1.34.1``, for pods without access to the API server."""

OWN = frozenset({BUNDLE, KEY, NEXT_KEY, NEXT_TRUSTED, SERVING, SERVING_KEY, KEPT_SINCE, REVOKE})


class Step(NamedTuple):
    """A change of the Secret.

    Args:
        kind: ``recover``, ``restore``, ``announce``, ``await``, ``switch``, ``renew``, ``keep`` or ``retire``.
        why: The reason, for people.
        data: The complete new content of the Secret.
    """

    kind: str
    why: str
    data: dict[str, bytes]


def encode(content: bytes) -> str:
    """Encode bytes for JSON."""
    return base64.b64encode(content).decode()


def decode(text: Any) -> bytes:
    """Decode bytes from JSON; empty if they are not base64."""
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, ValueError, TypeError):
        return b""


def encode_all(data: Mapping[str, bytes]) -> dict[str, str]:
    """Encode the ``data`` of a Secret for its manifest."""
    return {name: encode(content) for name, content in data.items()}


def decode_all(data: Mapping[str, Any] | None) -> dict[str, bytes]:
    """Decode the ``data`` of a Secret's manifest, which may be missing."""
    return {name: decode(text) for name, text in (data or {}).items()}
