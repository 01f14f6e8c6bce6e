"""The Secret of the certificates."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

BUNDLE, KEY = "ca.crt", "ca.key"
"""The authorities to trust, and the key of the one that signs."""

NEXT_KEY, NEXT_TRUSTED = "next.key", "next.trusted"
"""The key of the authority that will sign next, and since when every webhook configuration trusts it."""

SERVING, SERVING_KEY = "tls.crt", "tls.key"

KEPT_SINCE = "kept.since"
"""Since when authorities are trusted whose keys are lost, with which replicas may still serve."""

REVOKE = "revoke"
"""Whatever it holds: nothing that was made before is trusted any more, even if it is served with."""

CLUSTER_VERSION = "kubernetes.version"
"""The cluster's version, such as ``v1.34.1``, for pods that cannot ask the API server."""

OWN = frozenset({BUNDLE, KEY, NEXT_KEY, NEXT_TRUSTED, SERVING, SERVING_KEY, KEPT_SINCE, REVOKE})


class Step(NamedTuple):
    """A change of the Secret.

    Args:
        kind: ``recover``, ``restore``, ``announce``, ``await``, ``switch``, ``renew``, ``keep`` or ``retire``.
        why: The reason, for people.
        data: All that the Secret is to hold from now on.
    """

    kind: str
    why: str
    data: dict[str, bytes]


def encode(content: bytes) -> str:
    """Return bytes as JSON holds them."""
    return base64.b64encode(content).decode()


def decode(text: Any) -> bytes:
    """Return the bytes that JSON holds; empty if they are not base64."""
    try:
        return base64.b64decode(text or "")
    except (binascii.Error, ValueError, TypeError):
        return b""


def encode_all(data: Mapping[str, bytes]) -> dict[str, str]:
    """Return ``data`` of a Secret as in its manifest."""
    return {name: encode(content) for name, content in data.items()}


def decode_all(data: Mapping[str, Any] | None) -> dict[str, bytes]:
    """Return ``data`` of a Secret's manifest, which may be missing."""
    return {name: decode(text) for name, text in (data or {}).items()}
