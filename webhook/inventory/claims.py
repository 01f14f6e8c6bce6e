"""The claims of a pod: named ones, and those generated from templates.

Follows ``resourceclaim/claim.go`` (Name, IsForPod) and the controller that makes claims from templates.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final, NamedTuple

from webhook.api.templates import source
from webhook.inventory import Inventory, controller_of, devices_path
from webhook.objects import (
    JSONObject,
    full_name_of,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    placed,
    text,
    texts,
)
from webhook.problem import Steps
from webhook.spelling import some_of

MADE: Final = "XXXXX"
"""A placeholder for the random suffix of the name of a pod's generated claim."""

POD: Final = "pods"
_SCHEDULING: Final = "scheduling.k8s.io"
"""The API group of PodGroups."""
POD_GROUP: Final = f"podgroups.{_SCHEDULING}"
_NAMES: Final = {POD: "pod", POD_GROUP: "PodGroup"}
_DELETED: Final = "the claim was made for the pod, and is not among the cluster's objects: was it deleted, or left out?"
CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
DISTINCT_FROM_ALL_SINCE: Final = 37
"""From this release on, ``distinctAttribute`` compares a device with all before it, not only the last of a request."""


class Consumer(NamedTuple):
    """The consumer that a claim is reserved for.

    Args:
        resource: Its resource and API group: `POD`, or `POD_GROUP` for a claim that a PodGroup's pods share.
        uid: Its UID; a placeholder if it is not known yet.
    """

    resource: str
    name: str
    uid: str

    @classmethod
    def of(cls, owner: JSONObject) -> Consumer:
        """Return a pod or a PodGroup as a consumer."""
        resource = POD_GROUP if owner.get("kind") == "PodGroup" else POD
        return cls(resource, owner["metadata"]["name"], uid_of(owner))

    def __str__(self) -> str:
        """Name it, such as ``pod a``, ``PodGroup b`` or ``jobs.batch c``."""
        return f"{_NAMES.get(self.resource, self.resource)} {self.name}"

    def reference(self) -> JSONObject:
        """Return its entry in ``status.reservedFor``."""
        resource, _, group = self.resource.partition(".")
        return {**({"apiGroup": group} if group else {}), "resource": resource, "name": self.name, "uid": self.uid}

    def has(self, claim: JSONObject) -> bool:
        """Tell whether a claim is reserved for this consumer."""
        return any((each.resource, each.uid) == (self.resource, self.uid) for each in reserved_for(claim))


def reserved_for(claim: JSONObject | None) -> list[Consumer]:
    """Return the consumers that a claim is reserved for."""
    names, status = ("resource", "apiGroup", "name", "uid"), (claim.get("status") or {}) if claim else {}
    known = ([each.get(name) or "" for name in names] for each in status.get("reservedFor") or () if each)
    return [Consumer(f"{resource}.{group}".rstrip("."), name, uid) for resource, group, name, uid in known]


def pods_using(claim: JSONObject | None) -> list[str]:
    """Return the names of the pods that a claim is reserved for."""
    return [each.name for each in reserved_for(claim) if each.resource == POD]


def uid_of(obj: JSONObject) -> str:
    """Return an object's UID; a placeholder if it has none yet."""
    return text(obj, "metadata", "uid") or f"UID:{name_of(obj)}"


class Use(NamedTuple):
    """A claim of a pod."""

    name: str
    claim: JSONObject
    consumer: Consumer


class Blocked(NamedTuple):
    """Why the scheduler does not try a pod (PreEnqueue), which it does not report.

    Args:
        note: The objects to look at; empty if the reason says it.
    """

    reason: str
    note: str = ""


SHARING: Final = "DRAWorkloadResourceClaims"
"""The feature gate with which pods of a PodGroup share its claims."""


def claims_of(
    pod: JSONObject, inventory: Inventory, gates: Container[str], *, is_trial: bool = False
) -> list[Use] | Blocked:
    """Find the claims of a pod; generate those from templates, as the controller does.

    Args:
        inventory: The claims and templates; generated claims are added, unless it is a trial.
        gates: The feature gates that are on.
    """
    namespace, spec = namespace_of(pod), pod.get("spec") or {}
    group_name = text(spec, "schedulingGroup", "podGroupName") if SHARING in gates else ""
    group = inventory.find("PodGroup", group_name, namespace) if group_name else None
    fields = ("name", "resourceClaimName", "resourceClaimTemplateName")
    of_group = [[each.get(field) for field in fields] for each in items(group, "spec", "resourceClaims")]
    found = []
    for entry in spec.get("resourceClaims") or ():
        owner = group if group and [entry.get(field) for field in fields] in of_group else pod
        name, is_owned, generated = _named(entry, owner, inventory)
        if name is None and is_owned:
            continue
        if name is None:
            return not_created(pod)
        claim = inventory.find("ResourceClaim", name, namespace)
        if claim is None and generated and not is_trial:
            inventory.put(generated)
        if (claim := claim or generated) is None:
            unread = inventory.unread.get(("ResourceClaim", namespace, name), "")
            unread = unread and f"ResourceClaim {namespace}/{name} cannot be decoded"
            return Blocked(f'resourceclaim "{name}" not found', _DELETED if is_owned else unread)
        if claim["metadata"].get("deletionTimestamp"):
            return Blocked(f'resourceclaim "{name}" is being deleted', _held(claim))
        if is_owned and not _is_own(pod, claim, group_name):
            why = f"neither Pod nor PodGroup {group_name} is the owner" if group_name else "Pod is not owner"
            return Blocked(f"ResourceClaim {namespace}/{name} was not created for Pod {full_name_of(pod)} ({why})")
        found.append(Use(entry.get("name", ""), claim, Consumer.of(owner)))
    return found


def sources_of(pod: JSONObject) -> list[tuple[JSONObject, str]]:
    """Return the claims that a pod's specification lists, each with the claim's name; empty if it is not made yet."""
    made = {
        text(each, "name"): text(each, "resourceClaimName") for each in items(pod, "status", "resourceClaimStatuses")
    }
    entries = items(pod, "spec", "resourceClaims")
    return [(each, source(each, "resourceClaimName") or made.get(text(each, "name"), "")) for each in entries]


def claims_named(pod: JSONObject) -> list[str]:
    """Return the names of the claims that a pod uses."""
    names = [name for _, name in sources_of(pod)]
    return [*filter(None, [*names, text(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")])]


def consumers(claim: JSONObject | None, inventory: Inventory) -> list[tuple[Consumer, JSONObject | None]]:
    """Return the pods that a claim is reserved for, each with its object, None if it is gone."""
    pods, namespace = [each for each in reserved_for(claim) if each.resource == POD], namespace_of(claim)
    return [(each, inventory.referred("Pod", each.name, each.uid, namespace)) for each in pods]


def _held(claim: JSONObject) -> str:
    """Explain what a claim that is being deleted waits for."""
    held = [*texts(mapping(claim, "metadata"), "finalizers")]
    users = list(map(str, reserved_for(claim)))
    waits = [f"its finalizers ({', '.join(held)})"] if held else []
    listed = ", ".join(some_of(users, 3, "others"))
    waits += [f"its users ({listed})"] if users else []
    return f"the deletion of the claim waits for {' and '.join(waits)}" if waits else ""


def not_created(pod: JSONObject) -> Blocked:
    """Report that a pod waits for a claim generated from a template."""
    return Blocked(f'pod "{full_name_of(pod)}": ResourceClaim not created yet')


def _named(entry: JSONObject, owner: JSONObject, inventory: Inventory) -> tuple[str | None, bool, JSONObject | None]:
    """Return a claim's name, None if there is none; whether the consumer must own it; and the claim of a template."""
    if name := source(entry, "resourceClaimName"):
        return name, False, None
    for status in items(owner, "status", "resourceClaimStatuses"):
        if text(status, "name") == text(entry, "name"):
            return text(status, "resourceClaimName") or None, True, None
    template = inventory.find("ResourceClaimTemplate", source(entry, "resourceClaimTemplateName"), namespace_of(owner))
    if template is None:
        return None, False, None
    claim = made(template, owner, entry.get("name", ""))
    return claim["metadata"]["name"], True, claim


def made(template: JSONObject, owner: JSONObject, entry: str) -> JSONObject:
    """Make a claim from a template, for a pod or a PodGroup."""
    spec = template["spec"]
    metadata = spec.get("metadata") or {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": f"{owner['metadata']['name']}-{entry}-{MADE}",
            "namespace": namespace_of(owner),
            "labels": metadata.get("labels") or {},
            "annotations": {**(metadata.get("annotations") or {}), CLAIM_NAME: entry},
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": spec.get("spec") or {},
    }


def owner_reference(owner: JSONObject) -> JSONObject:
    """Make an owner reference to the pod or PodGroup of a generated claim."""
    return {
        "apiVersion": owner.get("apiVersion") or "v1",
        "kind": owner.get("kind") or "Pod",
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
    }


def _is_own(pod: JSONObject, claim: JSONObject, group: str) -> bool:
    """Tell whether a claim made from a template is for a pod: the pod or its PodGroup owns it."""
    controller = controller_of(claim)
    uid, name = controller.get("uid"), controller.get("name")
    # A pod does not know the uid of its PodGroup.
    is_group = controller.get("kind") == "PodGroup" and controller.get("apiVersion", "").startswith(f"{_SCHEDULING}/")
    if group and name == group and is_group:
        return True
    return bool(controller) and (uid == uid_of(pod) if uid else name == name_of(pod))


def allocation_of(claim: JSONObject | None) -> Any:
    """Return a claim's allocation, None if it has none."""
    status = claim.get("status") if claim else None
    return (status.get("allocation") if isinstance(status, dict) else None) or None


DeviceID = tuple[str, str, str]
"""A device: its driver, pool and name."""


def results_of(claim: JSONObject | None) -> list[JSONObject]:
    """Return the results of a claim's allocation, one for each device or share."""
    found: list[JSONObject] = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or []
    return found


def device_of(result: JSONObject) -> DeviceID:
    """Return the device of a result, or of an entry of ``status.devices``."""
    return result.get("driver") or "", result.get("pool") or "", result.get("device") or ""


class ClaimRequest(NamedTuple):
    """A request of a claim or template, or an alternative of one, with the class whose devices it is for.

    What a class selects is one, too, without a name.

    Args:
        name: Its name; for an alternative, after the request's name.
        path: The path of its devices' description.
        content: The devices that it requests.
        class_name: The name of its class; empty for what a class selects.
        device_class: The DeviceClass that it names; None if it is unknown, or was not looked up.
    """

    name: str
    path: Steps
    content: JSONObject
    class_name: str
    device_class: JSONObject | None

    @property
    def whole(self) -> str:
        """The name of the request, also for an alternative."""
        return self.name.partition("/")[0]

    @property
    def wanted(self) -> int:
        """How many devices it wants; 1 if it is for all."""
        return number(self.content, "count") or 1

    @property
    def is_class(self) -> bool:
        """Whether it is what a class selects."""
        return self.path == ("spec",)

    @property
    def of_class(self) -> list[JSONObject]:
        """The selectors of its class."""
        return items(self.device_class, "spec", "selectors")

    @property
    def own(self) -> list[JSONObject]:
        """Its own selectors, which a device of its class must meet, too."""
        return items(self.content, "selectors")

    @property
    def capacity(self) -> JSONObject:
        """The amounts of capacity that it wants of each device."""
        return mapping(self.content, "capacity", "requests")

    @property
    def is_for_all(self) -> bool:
        """Whether it is for all devices that match."""
        return text(self.content, "allocationMode") == "All"


def requests_of(claim: JSONObject | None, inventory: Inventory | None = None) -> list[ClaimRequest]:
    """Return the requests of a claim or template, and their alternatives; of a class, what it selects.

    Args:
        inventory: Has their classes; None if these do not matter.
    """
    devices = devices_path(claim or {})
    requests = [ClaimRequest("", devices, mapping(claim, "spec"), "", None)] if devices == ("spec",) else []
    for path, each in placed(claim, *devices, "requests"):
        name, exactly = text(each, "name"), mapping(each, "exactly")
        found: list[tuple[str, Steps, JSONObject]] = [(name, ("exactly",), exactly)] if exactly else []
        if "firstAvailable" in each:
            found += ((f"{name}/{text(one, 'name')}", steps, one) for steps, one in placed(each, "firstAvailable"))
        for full_name, steps, content in found:
            class_name = text(content, "deviceClassName")
            class_ = inventory.find("DeviceClass", class_name) if inventory else None
            requests.append(ClaimRequest(full_name, (*path, *steps), content, class_name, class_))
    return requests


def containers_of(pod: JSONObject, *kinds: str) -> list[tuple[Steps, JSONObject]]:
    """Return the containers of a pod that request resources, or those of some kinds, each with its path."""
    return [each for kind in kinds or ("initContainers", "containers") for each in placed(pod, "spec", kind)]


def is_about(part: JSONObject, request: str) -> bool:
    """Tell whether a constraint or configuration is about a request or an alternative: about all if it names none.

    Source: dynamic-resource-allocation ``resourceclaim/claim.go``, ConfigForResult.
    """
    named = texts(part, "requests")
    return not named or request in named or request.partition("/")[0] in named


def devices_of(claim: JSONObject) -> list[str]:
    """Return the devices that a claim is allocated, as driver/pool/device."""
    return ["/".join(device_of(each)) for each in results_of(claim)]
