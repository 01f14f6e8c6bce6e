"""Feature gates: their stage in each Kubernetes release, and which are enabled.

Follows ``pkg/features/kube_features.go`` of each release and ``k8s.io/component-base/featuregate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache, lru_cache

from webhook.escapes import GO_BOOLEANS
from webhook.release import Release, picked
from webhook.schema.target import OLDEST
from webhook.spelling import nearest

ALL_ALPHA, ALL_BETA = "AllAlpha", "AllBeta"
EVERY = {ALL_ALPHA: True, ALL_BETA: True}
DRA = "DynamicResourceAllocation"
"""DRA's own gate, which counts as on: without it there is nothing to judge."""


class GateError(ValueError):
    """A feature gate cannot be set as stated."""

    def __init__(self, message: str, gate: str) -> None:
        super().__init__(message)
        self.gate = gate


class Stage(Enum):
    """The stage of a feature, and whether it is on by default."""

    ALPHA = "alpha", False
    BETA_OFF = "beta", False
    BETA = "beta", True
    STABLE = "stable", True
    LOCKED = "locked", True
    DEPRECATED = "deprecated", False

    def __init__(self, maturity: str, on: bool) -> None:  # noqa: FBT001 - the members' values
        self.maturity, self.on = maturity, on


_ALPHA, _BETA_OFF, _BETA, _STABLE, _LOCKED, _DEPRECATED = Stage

GATES: Mapping[str, Mapping[int, Stage | None]] = {
    "CompositePodGroup": {37: _ALPHA},
    DRA: {26: _ALPHA, 32: _BETA_OFF, 34: _STABLE, 35: _LOCKED, 38: None},
    "DeclarativeValidation": {33: _BETA, 36: _LOCKED},
    "DeclarativeValidationBeta": {36: _BETA},
    "DeclarativeValidationTakeover": {33: _BETA_OFF, 36: _DEPRECATED},
    "DRAAdminAccess": {32: _ALPHA, 34: _BETA, 36: _LOCKED},
    "DRAConsumableCapacity": {34: _ALPHA, 36: _BETA},
    "DRAControlPlaneController": {31: _ALPHA, 32: None},
    "DRADerivedAttributes": {37: _ALPHA},
    "DRADeviceBindingConditions": {34: _ALPHA, 36: _BETA},
    "DRADeviceCompatibilityGroups": {37: _ALPHA},
    "DRADeviceTaintRules": {35: _ALPHA, 36: _BETA_OFF, 37: _STABLE, 38: _LOCKED},
    "DRADeviceTaints": {33: _ALPHA, 36: _BETA, 37: _STABLE, 38: _LOCKED},
    "DRAExtendedResource": {34: _ALPHA, 36: _BETA, 37: _LOCKED},
    "DRAFractionalCapacityRange": {37: _BETA_OFF},  # on only with --min-compatibility-version=1.37
    "DRAListTypeAttributes": {36: _ALPHA},
    "DRANodeAllocatableResources": {36: _ALPHA},
    "DRAOptionalNodeOperations": {37: _ALPHA},
    "DRAPartitionableDevices": {33: _ALPHA, 36: _BETA},
    "DRAPartitionableDevicesType": {37: _ALPHA},
    "DRAPrioritizedList": {33: _ALPHA, 34: _BETA, 36: _STABLE, 37: _LOCKED},
    "DRAResourceClaimDeviceStatus": {32: _ALPHA, 33: _BETA, 37: _LOCKED},
    "DRAResourceClaimGranularStatusAuthorization": {36: _BETA},
    "DRAResourcePoolStatus": {36: _ALPHA},
    "DRAWorkloadResourceClaims": {36: _ALPHA, 37: _BETA_OFF},
    "EvictionRequestAPI": {37: _ALPHA},
    "GangScheduling": {35: _ALPHA, 37: None},
    "GenericWorkload": {35: _ALPHA, 37: _BETA_OFF},
    "HostnameOverride": {34: _ALPHA, 35: _BETA, 37: _LOCKED},
    "PodLevelResources": {32: _ALPHA, 34: _BETA},
    "PodGroupPreemptionPolicy": {37: _ALPHA},
    "TaintTolerationComparisonOperators": {35: _ALPHA},
    "TopologyAwareWorkloadScheduling": {36: _ALPHA},
    "WorkloadAwarePreemption": {36: _ALPHA, 37: None},
    "WorkloadWithJob": {36: _ALPHA},
}
"""The stage of each gate from a release on; None from the release that no longer has it."""


def stage(gate: str, release: Release) -> Stage | None:
    """Return the stage of a gate in a release, None if the release does not have it."""
    return picked(GATES[gate], release)


def on_since(gate: str) -> int | None:
    """Return the release from which a gate is on by default, None if not known yet."""
    return next((since for since, each in GATES[gate].items() if each and each.on), None)


def enabled(release: Release, stated: Mapping[str, bool] | None = None) -> frozenset[str]:
    """Return the gates that are on.

    Args:
        stated: The gates that differ from the release's defaults, by name; ``AllAlpha`` and ``AllBeta`` too.

    Raises:
        GateError: A gate is unknown, or can no longer be switched off.
    """
    return _enabled(release, frozenset(stated.items()) if stated else frozenset())


@cache
def every(release: Release) -> frozenset[str]:
    """Return the gates of a release."""
    return enabled(release, EVERY)


_DECIDING = {
    OLDEST: (),
    35: ("DeclarativeValidation", "DeclarativeValidationTakeover"),
    36: (),
    37: ("DeclarativeValidationBeta",),
}
"""The gates that make declarative validation decide, with the first release whose types have its tags.

The tags of Kubernetes 1.36 are alpha: the handwritten rules decide, and the API server only compares.
"""


@lru_cache(maxsize=256)
def declarative(release: Release, on: frozenset[str]) -> bool:
    """Tell whether declarative validation decides where handwritten rules say the same."""
    gates = picked(_DECIDING, release)
    return on.issuperset(gates) if gates else False


def parse(text: str) -> dict[str, bool]:
    """Read gates as Kubernetes' commands take them, such as ``DRADeviceTaints=true,AllAlpha=false``.

    Follows component-base ``featuregate/feature_gate.go`` (Set), for which a later gate overrides an earlier one.

    Raises:
        GateError: A gate has no value, or one that is neither true nor false.
    """
    stated = {}
    for pair in filter(None, text.split(",")):
        gate, given, value = (part.strip() for part in pair.partition("="))
        if not given:
            raise GateError(f"missing bool value for feature gate {gate}: write {gate}=true or {gate}=false", gate)
        if value not in GO_BOOLEANS:
            raise GateError(f"invalid value of {gate}: {value!r} is neither true nor false", gate)
        stated[gate] = GO_BOOLEANS[value]
    return stated


def known(gate: str, release: Release) -> bool:
    """Tell whether a release has a gate; groups of gates exist in all releases."""
    return gate in EVERY or (gate in GATES and stage(gate, release) is not None)


def settable(stated: Mapping[str, bool], release: Release) -> dict[str, bool]:
    """Leave out gates that are switched off although a release locks them on."""
    return {gate: on for gate, on in stated.items() if on or gate in EVERY or stage(gate, release) is not Stage.LOCKED}


@lru_cache(maxsize=256)
def _enabled(release: Release, stated: frozenset[tuple[str, bool]]) -> frozenset[str]:
    wanted = dict(stated)
    for gate, on in wanted.items():
        if gate not in GATES and gate not in EVERY:
            near = nearest(gate, [*GATES, *EVERY])
            hint = f"did you mean {near}?" if near else f"known are {', '.join(sorted(GATES))}"
            raise GateError(f"unrecognized feature gate: {gate}; {hint}", gate)
        if not on and gate in GATES and stage(gate, release) is Stage.LOCKED:
            locked = f"cannot set feature gate {gate} to false, feature is locked to true in Kubernetes 1.{release}"
            raise GateError(locked, gate)
    stages = {gate: each for gate in GATES if (each := stage(gate, release))}
    of_groups = {gate: wanted.get(f"All{each.maturity.capitalize()}", each.on) for gate, each in stages.items()}
    return frozenset({DRA, *(gate for gate, on in of_groups.items() if wanted.get(gate, on))})
