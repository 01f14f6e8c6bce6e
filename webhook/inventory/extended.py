"""Extended resources backed by device classes, and the claims that the scheduler makes for them.

Follows ``plugins/dynamicresources/extendeddynamicresources.go`` and ``extended/cache.go`` (which class has a name).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.inventory.claims import MADE, owner_reference, uid_of
from webhook.inventory.resources import IMPLICIT_PREFIX, amounts, container_requests
from webhook.objects import at, items, mapping, name_of, namespace_of, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from webhook.objects import JSONObject

ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"


class ExtendedResources:
    """Which class provides an extended resource.

    Args:
        classes: The device classes.
    """

    def __init__(self, classes: Iterable[JSONObject]) -> None:
        self._classes: dict[str, str] = {}
        ages: dict[str, str] = {}
        for each in sorted(classes, key=lambda each: (_age(each), name_of(each))):
            if name := text(each, "spec", "extendedResourceName"):
                # The newest class has the name; of two of the same age, the first by name, and the other one does not
                # even get its implicit name (extendedresourcecache.go, updateResourceName2class).
                if ages.get(name) == _age(each):
                    continue
                ages[name] = _age(each)
                self._classes[name] = name_of(each)
            self._classes[IMPLICIT_PREFIX + name_of(each)] = name_of(each)

    def has(self, resource: str) -> bool:
        """Tell whether a class provides a resource."""
        return resource in self._classes

    def claim_for(self, pod: JSONObject, resources: Collection[str]) -> JSONObject:
        """Make the claim for a pod's extended resources that devices provide.

        Args:
            pod: The pod.
            resources: The extended resources.
        """
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": f"{name_of(pod)}-extended-resources-{MADE}",
                "namespace": namespace_of(pod),
                "annotations": {ANNOTATION: "true"},
                "ownerReferences": [owner_reference(pod)],
            },
            "spec": {"devices": {"requests": self._requests(pod, sorted(resources))}},
        }

    def _requests(self, pod: JSONObject, resources: Sequence[str]) -> list[JSONObject]:
        spec = mapping(pod, "spec")
        first = items(spec, "initContainers")
        containers = [*first, *items(spec, "containers")]
        found: list[JSONObject] = []
        for resource in resources:
            device_class = self._classes[resource]
            lasting: list[JSONObject | None] = [None] * len(containers)
            passing: list[int] = []
            for index, container in enumerate(containers):
                if index < len(first) and text(container, "restartPolicy") != "Always":
                    passing.append(index)
                else:
                    lasting[index] = _request(index, container, resource, device_class, 0)
            largest: JSONObject | None = None
            for index in passing:
                # Init containers that end may share devices with later containers.
                reused = sum(each["exactly"]["count"] for each in lasting[index:] if each)
                own = _request(index, containers[index], resource, device_class, reused)
                if own and (largest is None or own["exactly"]["count"] > largest["exactly"]["count"]):
                    largest = own
            found += [each for each in (largest, *lasting) if each]
        return sorted(found, key=lambda each: str(each["name"]))


def _age(device_class: JSONObject) -> str:
    return text(device_class, "metadata", "creationTimestamp")


def _request(index: int, container: JSONObject, resource: str, device_class: str, reused: int) -> JSONObject | None:
    quantities = container_requests(container)
    wanted = amounts(quantities).get(resource, 0)
    if wanted <= reused:
        return None
    return {
        "name": f"container-{index}-request-{sorted(quantities).index(resource)}",
        "exactly": {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": wanted - reused},
    }


def resource_of(pod: JSONObject, request: str) -> tuple[str, str]:
    """Return the container and the extended resource that a request of a pod's claim for such resources stands for.

    Args:
        pod: The pod.
        request: The name of the request.
    """
    _, container, _, number = request.split("-")
    spec = mapping(pod, "spec")
    containers = [*items(spec, "initContainers"), *items(spec, "containers")]
    found = containers[int(container)]
    return text(found, "name"), sorted(container_requests(found))[int(number)]


def leftover(pod: JSONObject, claims: Iterable[JSONObject]) -> JSONObject | None:
    """Find the claim for extended resources left by an earlier attempt."""
    for claim in claims:
        if at(claim, "metadata", "annotations", ANNOTATION) != "true" or namespace_of(claim) != namespace_of(pod):
            continue
        for owner in items(claim, "metadata", "ownerReferences"):
            uid = text(owner, "uid")
            if at(owner, "controller") is True and text(owner, "name") == name_of(pod) and uid in {"", uid_of(pod)}:
                return claim
    return None
