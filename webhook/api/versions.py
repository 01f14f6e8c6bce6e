"""Which kinds exist in which API version, which releases serve them, and which types a version replaces.

The only module that knows version names. A new version is one entry of ``VERSIONS``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from webhook.api.classic import PodSchedulingContext, ResourceClaim, ResourceClaimTemplate, ResourceClass
from webhook.api.pod import Pod
from webhook.api.structured_v1alpha2 import ResourceClaimParameters, ResourceClassParameters, ResourceSlice
from webhook.api.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from webhook.schema import OLDEST, Target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.api.meta import Object

NEWEST = 36
"""The newest Kubernetes 1.x release that is known here."""


class Served(NamedTuple):
    """A kind, and the first and last Kubernetes 1.x release that serve it in one API version."""

    type: type[Object]
    since: int
    until: int


class Version(NamedTuple):
    """The kinds of one API version, and the types that look different in it."""

    kinds: Mapping[str, Served]
    replaced: Mapping[type, type]


def _version(*kinds: Served, replaced: Mapping[type, type] | None = None) -> Version:
    return Version({each.type.__name__: each for each in kinds}, replaced or {})


VERSIONS: Mapping[str, Version] = {
    "resource.k8s.io/v1alpha2": _version(
        Served(ResourceClass, 27, 30),
        Served(ResourceClaim, 27, 30),
        Served(ResourceClaimTemplate, 27, 30),
        Served(PodSchedulingContext, 27, 30),
        Served(ResourceClaimParameters, 30, 30),
        Served(ResourceClassParameters, 30, 30),
        Served(ResourceSlice, 30, 30),
    ),
    "v1": _version(*(Served(kind, OLDEST, NEWEST) for kind in (Pod, PodTemplate, ReplicationController))),
    "apps/v1": _version(*(Served(kind, OLDEST, NEWEST) for kind in (DaemonSet, Deployment, ReplicaSet, StatefulSet))),
    "batch/v1": _version(*(Served(kind, OLDEST, NEWEST) for kind in (CronJob, Job))),
}


def find(api_version: object, kind: object) -> Served | None:
    """Return the kind of an object, None if it is not one that is judged here."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    version = VERSIONS.get(api_version)
    return version.kinds.get(kind) if version else None


def served(kind: str, release: int) -> list[str]:
    """List the API versions in which a release serves a kind."""
    return [
        name
        for name, version in VERSIONS.items()
        if (each := version.kinds.get(kind)) and each.since <= release <= each.until
    ]


def release_of(kubernetes: str) -> int:
    """Read a Kubernetes version such as ``1.30``, ``v1.30`` or ``1.30.2``; return its minor.

    Raises:
        ValueError: It is no version, or none that is known here.
    """
    match = re.fullmatch(r"v?1\.([0-9]{1,3})(\.[0-9]+)?([-+].*)?", kubernetes, re.ASCII)
    if not match:
        msg = f"{kubernetes!r} is no Kubernetes version; write it as 1.{NEWEST}"
        raise ValueError(msg)
    release = int(match[1])
    if not OLDEST <= release <= NEWEST:
        msg = f"Kubernetes 1.{release} is not known here; 1.{OLDEST} to 1.{NEWEST} are"
        raise ValueError(msg)
    return release


_targets: dict[tuple[str, int, str, frozenset[str]], Target] = {}


def target(api_version: str, release: int, operation: str, gates: frozenset[str] = frozenset()) -> Target:
    """Return what an object of a version is compiled for."""
    key = api_version, release, operation, gates
    if key not in _targets:
        name = api_version.rpartition("/")[2]
        _targets[key] = Target(name, release, operation, gates, VERSIONS[api_version].replaced)
    return _targets[key]
