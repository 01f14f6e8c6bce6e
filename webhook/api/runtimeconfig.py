"""Which API versions a cluster serves: those that are on by default, and what ``--runtime-config`` changes.

Follows kubernetes ``pkg/controlplane/instance.go`` and apiserver ``pkg/server/resourceconfig/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from webhook.api.versions import GROUP
from webhook.escapes import GO_BOOLEANS
from webhook.patterns import Pattern
from webhook.release import Release

OF_STAGES: Final = ("api/all", "api/ga", "api/beta", "api/alpha")
"""The keys for versions of any group, the later ones deciding."""

STABLE: Final = "ga"
_STABLE_SINCE: Final = Release(34)
"""From this release a cluster serves DRA by default, in v1; in an older cluster with DRA, a flag has turned it on."""
_PRE_RELEASE: Final = Pattern(r"v\d+(alpha|beta)\d+")
_ON: Final = frozenset({"flowcontrol.apiserver.k8s.io/v1beta2", "flowcontrol.apiserver.k8s.io/v1beta3"})
"""The beta versions that are on by default (``legacyBetaEnabledByDefaultResources``): they are older than 1.24."""


def parse(text: str) -> dict[str, bool]:
    """Read the value of the flag, such as ``api/beta=true,resource.k8s.io/v1beta1=false``.

    Raises:
        ValueError: A key or a value is malformed.
    """
    stated = {}
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        if key in OF_STAGES and value not in {"true", "false"}:
            raise ValueError(f"invalid value {key}={value}: write {key}=true or {key}=false")
        if not 1 <= key.count("/") <= 2 or (key.startswith("api/") and key not in {*OF_STAGES, "api/v1"}):  # noqa: PLR2004
            raise ValueError(f"invalid key {key!r}: write GROUP/VERSION, such as {GROUP}/v1beta1, or api/beta")
        if value and value not in GO_BOOLEANS:
            raise ValueError(f"invalid value of {key}: {value!r} is neither true nor false")
        stated[key] = GO_BOOLEANS.get(value, True)
    return stated


def is_served(
    api_version: str, resource: str = "", *, release: Release, stated: Mapping[str, bool] | None = None
) -> bool:
    """Tell whether a cluster serves a version that its release has.

    Args:
        api_version: The group and version.
        resource: The resource, which can be switched on or off by itself; empty for the others.
        stated: The value of ``--runtime-config``; None if it is unknown.
    """
    stage = stage_of(api_version)
    key = "api/v1" if api_version == "v1" else api_version
    for each in (f"{key}/{resource}", key, f"api/{stage}", OF_STAGES[0]):
        if stated and each in stated:
            return stated[each]
    if stated is None and release < _STABLE_SINCE and api_version.startswith(f"{GROUP}/"):
        return True
    return stage == STABLE or api_version in _ON


@lru_cache(maxsize=256)
def stage_of(api_version: str) -> str:
    """Return the stage of a version: ga, beta or alpha."""
    match = _PRE_RELEASE.fullmatch(api_version.rpartition("/")[2])
    return match[1] if match else STABLE
