"""Resource requests of pods: cpu in millicores, others in whole units; extended resources that devices provide.

Follows component-helpers ``resource/helpers.go`` (PodRequests) and ``pkg/scheduler/util/utils.go``; for the claims that
the scheduler makes for extended resources, ``plugins/dynamicresources/extendeddynamicresources.go`` and
``extended/cache.go`` (which class has a name).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from webhook.api.dra.names import IMPLICIT_PREFIX, QUOTA_SUFFIX, STANDARD_DOMAIN
from webhook.api.versions import DEFAULT
from webhook.formats.quantities import decode_quantity
from webhook.inventory import controller_of
from webhook.inventory.claims import MADE, containers_of, owner_reference, uid_of
from webhook.objects import JSONObject, items, mapping, name_of, namespace_of, text
from webhook.problem import Steps
from webhook.release import Release

CPU: Final = "cpu"
PODS: Final = "pods"
NATIVE: Final = (CPU, "memory", "ephemeral-storage")

_MILLI: Final = -3
_MOST: Final = 2**63 - 1
_DIGITS: Final = 19
"""Digits of the largest amount."""


@lru_cache(maxsize=4096)
def _amount(name: str, quantity: str) -> int:
    try:
        number = decode_quantity(quantity)
    except ValueError:
        return 0
    if name != CPU:
        return number.value()
    if number.length - _MILLI > _DIGITS:
        return number.sign * _MOST
    digits, power = int(number.digits or 0), number.power - _MILLI
    return number.sign * int(digits * 10**power if power >= 0 else -(-digits // 10**-power))


def amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Read quantities by resource; invalid ones count as zero."""
    return {name: _amount(name, str(value)) for name, value in quantities.items() if not isinstance(value, dict | list)}


def is_extended(name: str) -> bool:
    """Tell whether a resource may be provided by a device plugin or by a device class."""
    return name.startswith(IMPLICIT_PREFIX) or ("/" in name and "kubernetes.io/" not in name)


def container_requests(container: JSONObject) -> JSONObject:
    """Return what a container requests, with defaults: a limit without a request is also the request."""
    return {**mapping(container, "resources", "limits"), **mapping(container, "resources", "requests")}


def requests(pod: JSONObject) -> dict[str, int]:
    """Return a pod's requests of its node, by resource."""
    return _total(pod, container_requests)


def limits(pod: JSONObject) -> dict[str, int]:
    """Return a pod's limits, by resource."""
    return _total(pod, lambda container: mapping(container, "resources", "limits"))


def _total(pod: JSONObject, of: Callable[[JSONObject], JSONObject]) -> dict[str, int]:
    """Sum up what the containers of a pod state, or the pod as a whole.

    Args:
        of: Returns what a container states; a pod's spec is one, too.
    """
    spec = mapping(pod, "spec")
    total, sidecars, peak = Counter[str](), Counter[str](), Counter[str]()
    for each in items(spec, "containers"):
        total.update(amounts(of(each)))
    for each in items(spec, "initContainers"):
        own = amounts(of(each))
        if text(each, "restartPolicy") == "Always":
            sidecars.update(own)
            peak |= sidecars
        else:
            peak |= sidecars + Counter(own)
    if peak:
        total = (total + sidecars) | peak
    for name, value in amounts(of(spec)).items() if "resources" in spec else ():
        if name in (CPU, "memory") or name.startswith("hugepages-"):
            total[name] = value
    if "overhead" in spec:
        total.update(amounts(mapping(spec, "overhead")))
    scalars = ("hugepages-", "attachable-volumes-")
    return {
        name: value
        for name, value in total.items()
        if value and (name in NATIVE or is_extended(name) or name.startswith(scalars) or "kubernetes.io/" in name)
    }


ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"
_OF_QUOTAS: Final = "resource.k8s.io"
"""The domain that quotas and API versions have where resources of pods have another."""
_IN_MEMORY: Final = "<extended-resources>"
"""The name of a claim that the scheduler has not created yet (specialClaimInMemName)."""

_CACHED_SINCE: Final = 35
"""Before this release, a class has one extended resource only, and pods that request no other than implicit ones get
none of them: their requests of resources that a node does not state are ignored."""


def as_in_pods(resource: str) -> str:
    """Return the extended resource of a class as pods spell it, if it is spelled with another domain, as in quotas."""
    if resource.endswith(QUOTA_SUFFIX):
        return IMPLICIT_PREFIX + resource.removesuffix(QUOTA_SUFFIX)
    if is_implicit(resource):
        return IMPLICIT_PREFIX + resource.partition("/")[2]
    return resource.replace(_OF_QUOTAS, STANDARD_DOMAIN, 1)


def is_implicit(resource: str) -> bool:
    """Tell whether a resource can only be meant as that of a class itself, whatever its domain."""
    return resource.startswith("deviceclass.") and "/" in resource


class ExtendedResources:
    """Which class provides an extended resource.

    Args:
        is_on: Whether device classes provide extended resources.
    """

    def __init__(self, classes: Iterable[JSONObject], release: Release = DEFAULT, *, is_on: bool = True) -> None:
        self._is_on = is_on
        self._is_first = release < _CACHED_SINCE
        self.classes: dict[str, str] = {}
        """The class that provides each resource."""
        if not is_on:
            return
        known = [(each["metadata"], (each.get("spec") or {}).get("extendedResourceName") or "") for each in classes]
        aged = [(about.get("creationTimestamp") or "", about["name"], resource) for about, resource in known]
        if self._is_first:
            self.classes.update((resource or IMPLICIT_PREFIX + name, name) for _, name, resource in aged)
            return
        ages: dict[str, str] = {}
        for age, name, resource in sorted(aged, key=lambda found: found[:2]):
            if resource:
                # The newest class has the name; of two of the same age, the first by name, and the other one does not
                # even get its implicit name (extendedresourcecache.go, updateResourceName2class).
                if ages.get(resource) == age:
                    continue
                ages[resource] = age
                self.classes[resource] = name
            self.classes[IMPLICIT_PREFIX + name] = name

    def has(self, resource: str) -> bool:
        """Tell whether a class provides a resource."""
        return resource in self.classes

    def provides(self, resource: str) -> bool:
        """Tell whether a claim is made for a resource of a pod that the node does not have."""
        return self.has(resource) and self._is_extended(resource)

    def _is_extended(self, resource: str) -> bool:
        return is_extended(resource) and not (self._is_first and resource.startswith(IMPLICIT_PREFIX))

    def is_delegated(self, resource: str, allocatable: Mapping[str, int], requests: Collection[str]) -> bool:
        """Tell whether a resource that a pod requests is left to devices."""
        if not self._is_first:
            return self.has(resource) and not allocatable.get(resource)
        is_known = self.has(resource) or not any(map(self._is_extended, requests))
        return self._is_on and is_known and resource not in allocatable

    def requested(
        self, resources: frozenset[str], allocatable: Mapping[str, int], *, with_claims: bool
    ) -> frozenset[str]:
        """Return the resources that the pod's claim for them requests on a node.

        Args:
            resources: The resources of the pod that classes provide.
            with_claims: Whether the pod has other claims: before 1.35, all resources are requested then.
        """
        if not self._is_first:
            return frozenset(name for name in resources if not allocatable.get(name))
        return resources if with_claims or not resources <= allocatable.keys() else frozenset()

    def claim_for(self, pod: JSONObject, resources: Collection[str]) -> JSONObject:
        """Make the claim for a pod's extended resources that devices provide, as it is before it is created."""
        first = items(pod, "spec", "initContainers")
        containers = [*first, *items(pod, "spec", "containers")]
        found: list[JSONObject] = []
        for resource in sorted(resources):
            lasting: list[JSONObject | None] = [None] * len(containers)
            passing: list[int] = []
            for index, container in enumerate(containers):
                if not self._is_first and index < len(first) and text(container, "restartPolicy") != "Always":
                    passing.append(index)
                else:
                    lasting[index] = self._request(index, container, resource, 0)
            largest: JSONObject | None = None
            for index in passing:
                # Init containers that end may share devices with later containers.
                reused = sum(each["exactly"]["count"] for each in lasting[index:] if each)
                own = self._request(index, containers[index], resource, reused)
                if own and (largest is None or own["exactly"]["count"] > largest["exactly"]["count"]):
                    largest = own
            found += [each for each in (largest, *lasting) if each]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": _IN_MEMORY,
                "generateName": f"{name_of(pod)}-extended-resources-",
                "namespace": namespace_of(pod),
                "annotations": {ANNOTATION: "true"},
                "ownerReferences": [owner_reference(pod)],
            },
            "spec": {"devices": {"requests": sorted(found, key=lambda each: str(each["name"]))}},
        }

    def _request(self, index: int, container: JSONObject, resource: str, reused: int) -> JSONObject | None:
        quantities = container_requests(container)
        count = amounts(quantities).get(resource, 0) - reused
        if count <= 0:
            return None
        asks = {"deviceClassName": self.classes[resource], "allocationMode": "ExactCount", "count": count}
        return {"name": f"container-{index}-request-{sorted(quantities).index(resource)}", "exactly": asks}


def resource_of(pod: JSONObject, request: str) -> tuple[str, str]:
    """Return the container and the extended resource that a request of a pod's claim for such resources stands for."""
    _, found, resource = _requested(pod, request)
    return text(found, "name"), resource


def path_of(pod: JSONObject, request: str) -> Steps:
    """Return the path at which a pod states the extended resource for which its claim has a request."""
    path, found, resource = _requested(pod, request)
    return (*path, "resources", "limits" if resource in mapping(found, "resources", "limits") else "requests", resource)


def _requested(pod: JSONObject, request: str) -> tuple[Steps, JSONObject, str]:
    """Return the path of a container, the container, and the resource that a request stands for."""
    _, container, _, number = request.split("-")
    path, found = containers_of(pod)[int(container)]
    return path, found, sorted(container_requests(found))[int(number)]


def created(claim: JSONObject) -> JSONObject:
    """Return a claim for extended resources as the API server creates it: with a name."""
    metadata = mapping(claim, "metadata")
    return {**claim, "metadata": {**metadata, "name": f"{metadata['generateName']}{MADE}"}}


def is_of_resources(claim: JSONObject) -> bool:
    """Tell whether the scheduler has made a claim for extended resources."""
    return text(claim, "metadata", "annotations", ANNOTATION) == "true"


def leftover(pod: JSONObject, claims: Iterable[JSONObject]) -> JSONObject | None:
    """Find the claim for extended resources left by an earlier attempt."""
    for claim in claims:
        if not is_of_resources(claim) or namespace_of(claim) != namespace_of(pod):
            continue
        owner = controller_of(claim)
        if text(owner, "name") == name_of(pod) and text(owner, "uid") in {"", uid_of(pod)}:
            return claim
    return None
