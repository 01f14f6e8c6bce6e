"""API versions: their kinds, the releases that serve them, and the types that each replaces.

The only module that knows version names. A new version is one entry of ``VERSIONS``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.later import cached_property
from webhook.problem import Path
from webhook.release import DEFAULT as DEFAULT  # noqa: PLC0414 - where other releases are, too
from webhook.release import Release, span
from webhook.schema.declarations import Struct
from webhook.schema.derive.shape import Structure
from webhook.schema.fields import compile_struct
from webhook.schema.target import CREATE, OLDEST, Target
from webhook.spelling import nearest

if TYPE_CHECKING:
    from webhook.api.core.meta import Object

NEWEST = Release(38)
"""The newest known Kubernetes 1.x release; what is later than ``DEFAULT`` is known from alphas."""


class Deprecation(NamedTuple):
    """The deprecation of a kind.

    Args:
        deprecated: The first Kubernetes 1.x release that warns of the kind.
        removed: The release that the warning names as the first that no longer serves the kind.
    """

    deprecated: int
    removed: int


class Served(NamedTuple):
    """A kind in one API version.

    Args:
        declared: Where its type is declared, as module and class.
        since: The first Kubernetes 1.x release that serves it.
        until: The last release that serves it.
        gate: The feature gate that serves it, in the releases that have the gate.
        deprecation: Its deprecation, of which API servers warn.
    """

    declared: str
    since: Release
    until: Release
    gate: str | Mapping[int, str] = ""
    deprecation: Deprecation | None = None

    @property
    def type(self) -> type[Object]:
        """Its type, in the newest version that has it; loaded on first use, as most runs need few."""
        found: type[Object] = _declared(self.declared)
        return found

    @property
    def default(self) -> Release:
        """The release that judges its objects if none is stated: the default one, or the nearest that serves them."""
        return self.nearest(DEFAULT)

    def nearest(self, release: Release) -> Release:
        """Return the release that is nearest to one, and serves the kind."""
        return min(max(release, self.since), self.until)

    @property
    def makes_pods(self) -> bool:
        """Whether its objects are pods or have a pod template."""
        return self.declared.startswith(("core.pod:", "core.workloads:"))


class Version:
    """The kinds of one API version, and the types that look different in it.

    Args:
        kinds: The kinds, by name.
        replacements: The replacements of types, by the place of their declaration.
    """

    def __init__(self, kinds: Mapping[str, Served], replacements: Mapping[str, str]) -> None:
        self.kinds, self._replacements = kinds, replacements

    @cached_property
    def replaced(self) -> Mapping[type[Struct], type[Struct]]:
        """The types that differ in this version, and their replacements."""
        return {_declared(each): _declared(other) for each, other in self._replacements.items()}


@cache
def _declared(place: str) -> Any:
    """Return a type that is declared at a place such as ``core.pod:Pod``."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"webhook.api.{module}"), name)


def _kinds(
    *declared: str,
    since: int = OLDEST,
    until: int = NEWEST,
    gate: str | Mapping[int, str] = "",
    deprecation: Deprecation | None = None,
) -> list[Served]:
    return [Served(each, Release(since), Release(until), gate, deprecation) for each in declared]


def _version(*kinds: Served, replaced: Mapping[str, str] | None = None) -> Version:
    return Version({each.declared.partition(":")[2]: each for each in kinds}, replaced or {})


_FLAT: Mapping[str, str] = {
    "dra.devicerequest:DeviceRequest": "dra.devicerequest:FlatDeviceRequest",
    "dra.device:Device": "dra.device:BoxedDevice",
    "dra.resourceslice:ResourceSliceSpec": "dra.resourceslice:PlainResourceSliceSpec",
    "dra.claimstatus:DeviceRequestAllocationResult": "dra.claimstatus:LimitedAllocationResult",
}
"""The changes of v1beta2: requests got `exactly`, devices lost `basic`, and empty values differ from absent ones."""

_V1BETA1 = Deprecation(35, 38)
_V1BETA2 = Deprecation(36, 39)
_OF_1_36 = Deprecation(39, 42)

_DRA = (
    *("dra.deviceclass:DeviceClass", "dra.resourceclaim:ResourceClaim"),
    *("dra.resourceclaim:ResourceClaimTemplate", "dra.resourceslice:ResourceSlice"),
)
"""The kinds that all versions since v1alpha3 have."""
_TAINT_RULE = "dra.devicetaintrule:DeviceTaintRule"
_TAINT_RULES = "DRADeviceTaintRules"
_pod_group = partial(_kinds, "core.podgroup:PodGroup", gate="GenericWorkload")

VERSIONS: Mapping[str, Version] = {
    "resource.k8s.io/v1": _version(
        *_kinds(*_DRA, since=34),
        *_kinds(_TAINT_RULE, since=37, gate=_TAINT_RULES),
        replaced={_TAINT_RULE: "dra.devicetaintrule:ConditionalDeviceTaintRule"},
    ),
    "resource.k8s.io/v1beta2": _version(
        *_kinds(*_DRA, since=33, deprecation=_V1BETA2),
        *_kinds(_TAINT_RULE, since=36, gate=_TAINT_RULES, deprecation=_OF_1_36),
    ),
    "resource.k8s.io/v1beta1": _version(*_kinds(*_DRA, since=32, until=37, deprecation=_V1BETA1), replaced=_FLAT),
    "resource.k8s.io/v1alpha3": _version(
        *_kinds(*_DRA, since=31, until=33),
        *_kinds(_TAINT_RULE, since=33, gate={33: "DRADeviceTaints", 35: _TAINT_RULES}, deprecation=_V1BETA2),
        *_kinds(
            "dra.resourcepoolstatusrequest:ResourcePoolStatusRequest",
            since=36,
            gate="DRAResourcePoolStatus",
            deprecation=_OF_1_36,
        ),
        *_kinds("dra.v1alpha2:PodSchedulingContext", since=31, until=31, gate="DRAControlPlaneController"),
        replaced={**_FLAT, "dra.device:BasicDevice": "dra.device:QuantityDevice"},
    ),
    "resource.k8s.io/v1alpha2": _version(
        *_kinds("dra.v1alpha2:ResourceClass", "dra.v1alpha2:ResourceClaim", until=30),
        *_kinds("dra.v1alpha2:ResourceClaimTemplate", "dra.v1alpha2:PodSchedulingContext", until=30),
        *_kinds("dra.v1alpha2:ResourceClaimParameters", "dra.v1alpha2:ResourceClassParameters", since=30, until=30),
        *_kinds("dra.v1alpha2:ResourceSlice", since=30, until=30),
    ),
    "scheduling.k8s.io/v1beta1": _version(*_pod_group(since=37, deprecation=Deprecation(40, 43))),
    "scheduling.k8s.io/v1alpha3": _version(*_pod_group(since=37)),
    "scheduling.k8s.io/v1alpha2": _version(*_pod_group(since=36, until=36)),
    "v1": _version(*_kinds("core.pod:Pod", "core.workloads:PodTemplate", "core.workloads:ReplicationController")),
    "apps/v1": _version(
        *_kinds("core.workloads:DaemonSet", "core.workloads:Deployment"),
        *_kinds("core.workloads:ReplicaSet", "core.workloads:StatefulSet"),
    ),
    "batch/v1": _version(*_kinds("core.workloads:CronJob", "core.workloads:Job")),
}


GROUP = "resource.k8s.io"
KINDS = tuple(
    dict.fromkeys(kind for name, version in VERSIONS.items() if name.startswith(GROUP) for kind in version.kinds)
)
"""The kinds of Dynamic Resource Allocation, in any version."""


SERVED: Final[Mapping[tuple[str, str], Served]] = {
    (api_version, kind): served for api_version, version in VERSIONS.items() for kind, served in version.kinds.items()
}
"""The kinds by version and name."""


def find(api_version: Any, kind: Any) -> Served | None:
    """Return the kind of an object, None if draguard does not judge it."""
    try:
        return SERVED.get((api_version, kind))
    except TypeError:  # a list or a map
        return None


def type_of(api_version: str, kind: str) -> type[Struct] | None:
    """Return the type of any known kind, as the newest version has it, also of one that only policies read."""
    if known := find(api_version, kind):
        return known.type
    from webhook.api.core import catalogue  # only policies look at them

    return catalogue.kind(api_version, kind)


def schema_of(api_version: str, kind: str) -> Structure | None:
    """Return the schema of a kind, as far as merging and type checking need it."""
    return _schema_of(api_version, kind) if type_of(api_version, kind) else None


@cache  # of known kinds only: clients choose the names of others
def _schema_of(api_version: str, kind: str) -> Structure:
    type_: Any = type_of(api_version, kind)
    return Structure(type_, VERSIONS[api_version].replaced if api_version in VERSIONS else {})


def is_own(api_version: object) -> bool:
    """Tell whether a version is missing or no text, or of a group that only Kubernetes has, such as ``NAME.k8s.io``."""
    return not isinstance(api_version, str) or "/" not in api_version or "." not in _word(api_version)


def _word(api_version: str) -> str:
    """Return the group of a version, without the domain of Kubernetes."""
    return api_version.partition("/")[0].removesuffix(".k8s.io").removesuffix(".kubernetes.io")


def misnamed(api_version: object, kind: object) -> bool:
    """Tell whether an object unknown to ``find`` can only be meant for Dynamic Resource Allocation.

    The group is its own; other groups of Kubernetes have no kinds of such names, but those of vendors might, also
    those that call themselves ``NAME.k8s.io``.
    """
    if isinstance(api_version, str) and api_version.startswith(f"{GROUP}/"):
        return True
    if not is_own(api_version) or not isinstance(kind, str) or kind not in KINDS:
        return False
    if not isinstance(api_version, str) or "." not in api_version:
        return True
    word, words = _word(api_version), set(map(_word, VERSIONS))
    return word in words or bool(nearest(word, words))


def served(kind: str, release: Release) -> list[str]:
    """List the API versions in which a release serves a kind."""
    return [
        name
        for name, version in VERSIONS.items()
        if (each := version.kinds.get(kind)) and each.since <= release <= each.until
    ]


def moved(kind: str, version: str, others: Iterable[str]) -> Iterator[str]:
    """Describe the fields of a kind that are in another place in other versions.

    Args:
        version: The API version that an object is written in.
        others: The API versions that it could be written in.
    """
    type_ = VERSIONS[version].kinds[kind].type
    parts = set(_parts(type_))
    ours = VERSIONS[version].replaced
    elsewhere: dict[str, list[str]] = {}
    for other in others:
        theirs = VERSIONS[other].replaced
        if VERSIONS[other].kinds[kind].type is not type_:  # v1alpha2: no field has a counterpart in other versions
            continue
        for part in theirs.keys() ^ ours.keys():
            if part in parts and (text := theirs.get(part, part).moved):
                elsewhere.setdefault(text, []).append(other)
    for text, versions in elsewhere.items():
        yield f"in {' and '.join(versions)}, {text}"


def others_with(path: Path, version: str, kind: str) -> Iterator[str]:
    """Name the other API versions of a kind that have a field, and the releases that serve them.

    Args:
        path: The field.
        version: The API version that does not have it.
    """
    from webhook.schema.suggest import has  # needed only for unknown fields

    for name, other in VERSIONS.items():
        each = other.kinds.get(kind)
        if each and name != version and has(compile_struct(each.type, target(name, each.until, CREATE)), path):
            yield f"{name} (Kubernetes {span(each.since, each.until)})"


def _parts(type_: type[Struct]) -> Iterator[type[Struct]]:
    """Yield a type and all types that it consists of."""
    yield type_
    for field in type_.fields.values():
        if field.struct:
            yield from _parts(field.struct)


def release_of(kubernetes: str) -> Release:
    """Read a Kubernetes version such as ``1.30``, ``v1.30`` or ``1.30.2``; return the minor by which it is judged.

    A release that is not known yet is judged as the newest known one; :func:`not_known_yet` says so.

    Raises:
        ValueError: It is not a version, or is older than the first known one.
    """
    if (release := _minor(kubernetes)) < OLDEST:
        raise ValueError(f"Kubernetes 1.{release} is not known here; 1.{OLDEST} and later are")
    return min(release, NEWEST)


def patch_of(kubernetes: str) -> int:
    """Return the patch release of a Kubernetes version: 2 for ``1.30.2``; 0 if it has none.

    Raises:
        ValueError: It is not a version.
    """
    return int((_parts_of(kubernetes)[2] or ".0")[1:])


def not_known_yet(kubernetes: str) -> str:
    """Warn if a release is judged as another one, or as an alpha has it.

    Raises:
        ValueError: It is not a version.
    """
    release = _minor(kubernetes)
    if release > NEWEST:
        return f"Kubernetes 1.{release} is not known here yet: judged as 1.{NEWEST}, the newest known release"
    return f"Kubernetes 1.{release} is known as of an alpha" if release > DEFAULT else ""


def _minor(kubernetes: str) -> Release:
    return Release(int(_parts_of(kubernetes)[1]))


def _parts_of(kubernetes: str) -> re.Match[str]:
    if not isinstance(kubernetes, str):  # as a number, 1.30 would be 1.3
        stated = re.fullmatch(r"1\.(?:[1-9]|([0-9]{2}))", str(kubernetes))
        likely = f"1.{DEFAULT}" if stated is None else str(kubernetes) if stated[1] else f"{kubernetes}0"
        raise ValueError(f'{kubernetes!r} is not a string; write the Kubernetes version as "{likely}"')
    match = (_matched if len(kubernetes) <= _SHORT else _matched.__wrapped__)(kubernetes)
    if not match:
        raise ValueError(f"{kubernetes!r} is not a Kubernetes version; write it as, for example, 1.{DEFAULT - 1}")
    return match


_SHORT: Final = 64
"""The most characters of a version that is remembered."""


@lru_cache(maxsize=64)
def _matched(kubernetes: str) -> re.Match[str] | None:
    """Match a version, which each review reads."""
    return re.fullmatch(r"v?1\.([0-9]{1,3})(?:\+?|-(?:alpha|beta|rc).*|(\.[0-9]{1,9})([-+].*)?)", kubernetes, re.ASCII)


_targets: dict[tuple[Any, ...], Target] = {}


def target(
    api_version: str,
    release: Release,
    operation: str,
    gates: frozenset[str] = frozenset(),
    admin_namespace: bool | None = None,  # noqa: FBT001 - it is one of three states
    *,
    enough: int = sys.maxsize,
    declarative: bool = False,
    thorough: bool = False,
) -> Target:
    """Return the compilation target of objects of a version."""
    key = api_version, release, operation, gates, admin_namespace, enough, declarative, thorough
    if (known := _targets.get(key)) is None:
        version = api_version.rpartition("/")[2]
        replaced = VERSIONS[api_version].replaced if api_version in VERSIONS else {}
        known = _targets[key] = Target(
            version, release, operation, gates, admin_namespace, replaced, enough, declarative, thorough
        )
    return known
