"""The Secret of the certificates."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from webhook.records import NamedTuple

BUNDLE, KEY = "ca.crt", "ca.key"
"""The authorities to trust, and the key of the one that signs."""

NEXT_KEY, NEXT_TRUSTED = "next.key", "next.trusted"
"""The key of the next authority, and the time since which every webhook configuration trusts it."""

SERVING, SERVING_KEY = "tls.crt", "tls.key"

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
