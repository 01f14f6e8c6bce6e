"""Opaque parameters of known drivers: kinds, fields and values that the driver would refuse.

Follows the types of the drivers' own repositories; their decoders are strict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.inventory.reading import items, mapping, text
from webhook.references.claims import CLAIMS, devices_path
from webhook.references.rules import finding, instead, nearest, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.problem import Problem
    from webhook.references.rules import Context, JSONObject

_TYPE_META: Final = ("apiVersion", "kind")
_INTERVALS: Final = ("Default", "Short", "Medium", "Long")
_MPS: Final = {
    "defaultActiveThreadPercentage": None,
    "defaultPinnedDeviceMemoryLimit": None,
    "defaultPerDevicePinnedMemoryLimit": None,
    "multiUser": None,
}
_NVIDIA_STRATEGIES: Final = ("TimeSlicing", "MPS")
_ROUTE: Final = ("destination", "gateway", "source", "scope", "table")

_GROUPS: Final[Mapping[str, Mapping[str, Any]]] = {
    # kubernetes-sigs/dra-driver-nvidia-gpu, api/nvidia.com/resource/v1beta1
    "resource.nvidia.com/v1beta1": {
        "GpuConfig": {
            "sharing": {
                "strategy": _NVIDIA_STRATEGIES,
                "timeSlicingConfig": {"interval": _INTERVALS},
                "mpsConfig": _MPS,
            }
        },
        "MigDeviceConfig": {"sharing": {"strategy": _NVIDIA_STRATEGIES, "mpsConfig": _MPS}},
        "VfioDeviceConfig": {
            "iommu": {"backendPolicy": ("LegacyOnly", "PreferIommuFD"), "enableAPIDevice": None},
        },
        "ComputeDomainChannelConfig": {"domainID": None, "allocationMode": ("Single", "All")},
        "ComputeDomainDaemonConfig": {"domainID": None},
    },
    # kubernetes-sigs/dra-example-driver, api/example.com/resource
    "gpu.resource.example.com/v1alpha1": {
        "GpuConfig": {
            "sharing": {
                "strategy": ("TimeSlicing", "SpacePartitioning"),
                "timeSlicingConfig": {"interval": _INTERVALS},
                "spacePartitioningConfig": {"partitionCount": None},
            }
        },
    },
    "net.resource.example.com/v1alpha1": {"NetConfig": {"bwBurst": {"ingressBurst": None, "egressBurst": None}}},
    # k8snetworkplumbingwg/dra-driver-sriov, pkg/api
    "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1": {
        "VfConfig": dict.fromkeys(("driver", "netAttachDefName", "netAttachDefNamespace", "addVhostMount", "ifName")),
    },
}
"""Fields by apiVersion and kind: those of a struct, the values of an enumeration, or None for anything."""

_BARE: Final[Mapping[str, Mapping[str, Any]]] = {
    # kubernetes-sigs/dranet, pkg/apis
    "dra.net": {
        "profile": None,
        "interface": None,
        "routes": dict.fromkeys(_ROUTE),
        "rules": dict.fromkeys(("priority", "source", "destination", "table")),
        "neighbors": dict.fromkeys(("destination", "hardwareAddr")),
        "ethtool": {"features": None, "privateFlags": None},
    },
}
"""Fields by driver, where parameters have no apiVersion and kind."""


@rule("wrong-parameters", *CLAIMS, "DeviceClass")
def wrong_parameters(obj: JSONObject, _: Context) -> Iterator[Problem]:
    """Opaque parameters have a kind, field or value that their driver does not know.

    The API server does not look into them. The driver refuses them when it prepares the devices: the pod is scheduled,
    and stays in ContainerCreating. Known are the drivers of NVIDIA, SR-IOV, dranet, and the example driver.
    """
    path: tuple[str, ...] = ("spec",) if obj.get("kind") == "DeviceClass" else devices_path(obj)
    for index, each in enumerate(items(obj, *path, "config")):
        parameters = mapping(each, "opaque", "parameters")
        here: tuple[str | int, ...] = (*path, "config", index, "opaque", "parameters")
        version, kind = text(parameters, "apiVersion"), text(parameters, "kind")
        known = _GROUPS.get(version)
        if known is None:
            if not version and not kind and (fields := _BARE.get(text(each, "opaque", "driver"))):
                yield from _wrong(parameters, fields, here, "the configuration")
            continue
        if kind not in known:
            message = f'{version} has no kind "{kind}": the driver refuses the parameters'
            yield finding((*here, "kind"), message, instead(kind, known, "kinds"), "Unknown")
            kind = nearest(kind, known)
        if kind:
            rest = {name: value for name, value in parameters.items() if name not in _TYPE_META}
            yield from _wrong(rest, known[kind], here, kind)


def _wrong(value: Any, known: Any, path: tuple[str | int, ...], what: str) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _wrong(each, known, (*path, index), what)
    elif isinstance(known, tuple):
        if isinstance(value, str) and value not in known:
            message = f'{what} does not support "{value}" here: the driver refuses the parameters'
            yield finding(path, message, instead(value, known, "values"), "Unknown")
    elif known is not None and isinstance(value, dict):
        for name, each in value.items():
            if name in known:
                yield from _wrong(each, known[name], (*path, name), what)
                continue
            message = f'{what} has no field "{name}" here: the driver refuses the parameters'
            yield finding((*path, name), message, instead(name, known, "fields"), "Unknown")
            if isinstance(each, dict) and (near := nearest(name, known)):
                yield from _wrong(each, known[near], (*path, name), what)
