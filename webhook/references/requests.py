"""Requests, constraints and configuration of claims and classes, as rules read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.api.dra.names import NAMED_BY
from webhook.inventory import devices_path
from webhook.inventory.claims import source
from webhook.objects import JSONObject, items, mapping, namespace_of, number, text
from webhook.problem import Advice, Problem
from webhook.records import NamedTuple
from webhook.references.rules import Context, finding, in_place, listed

if TYPE_CHECKING:
    from webhook.allocation.devices import Content
    from webhook.deviceselectors.fleet import Sorted


class Request(NamedTuple):
    """A request, or an alternative of one.

    Args:
        name: Its name; for an alternative, after the request's name.
        path: The path of its devices' description.
        content: The devices that it requests.
    """

    name: str
    path: tuple[str | int, ...]
    content: JSONObject


def requests_of(claim: JSONObject) -> Iterator[Request]:
    """Yield the requests of a claim or template, and their alternatives."""
    path = devices_path(claim)
    for index, each in enumerate(items(claim, *path, "requests")):
        here: tuple[str | int, ...] = (*path, "requests", index)
        if exactly := mapping(each, "exactly"):
            yield Request(text(each, "name"), (*here, "exactly"), exactly)
        for place, alternative in enumerate(items(each, "firstAvailable")):
            name = f"{text(each, 'name')}/{text(alternative, 'name')}"
            yield Request(name, (*here, "firstAvailable", place), alternative)


def class_of(request: JSONObject, context: Context) -> JSONObject | None:
    """Return the DeviceClass that a request names; None if it is unknown."""
    return context.inventory.find("DeviceClass", text(request, "deviceClassName"))


def claim_or_template(pod: JSONObject, entry: JSONObject, context: Context) -> JSONObject | None:
    """Return the claim or template that a pod's claim names; None if it is unknown."""
    kind = "ResourceClaim" if source(entry, "resourceClaimName") else "ResourceClaimTemplate"
    return context.inventory.find(kind, source(entry, NAMED_BY[kind]), namespace_of(pod))


def drivers_of_request(request: JSONObject, context: Context) -> set[str]:
    """Return the drivers that a request and its class insist on; else the known driver that the class comes with."""
    around = items(class_of(request, context), "spec", "selectors")
    found = drivers_of([*around, *items(request, "selectors")], context)
    installed = "" if found else context.driver_of_class(text(request, "deviceClassName"))
    return {installed} if installed else found


def sorted_out(request: JSONObject, context: Context) -> Sorted | None:
    """Sort the devices by the selectors of a request and its class; None if the class or the devices are unknown."""
    fleet, device_class = context.fleet, class_of(request, context)
    if fleet is None or device_class is None:
        return None
    return fleet.sorted_out(items(device_class, "spec", "selectors"), items(request, "selectors"))


def requests_of_capacity(claim: JSONObject, context: Context) -> Iterator[tuple[Request, Sequence[Content]]]:
    """Yield the requests with capacity, and the devices of their classes, if there are any."""
    fleet = context.fleet
    if fleet is None:
        return
    for request in requests_of(claim):
        device_class = class_of(request.content, context)
        if device_class is None or not mapping(request.content, "capacity", "requests"):
            continue
        if contents := fleet.of_class(items(device_class, "spec", "selectors")):
            yield request, contents


def field_of(constraint: JSONObject) -> str:
    """Return the field of a constraint that names its attribute."""
    return "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"


def wrong_drivers(config: Sequence[JSONObject], known: set[str], path: tuple[str, ...], who: str) -> Iterator[Problem]:
    """Find configuration for drivers other than the selected ones.

    Args:
        known: The drivers whose devices can be selected; empty if unknown.
        path: Where the configuration is.
        who: The subject of the message, such as ``the class selects``.
    """
    for index, each in enumerate(config):
        driver = text(each, "opaque", "driver")
        if driver and known and driver not in known:
            message = f'parameters for driver "{driver}" are never read: {who} devices of {listed(sorted(known))}'
            advice = in_place(driver, known, "")
            if advice.fix is None:
                advice = Advice("name the driver of the class, or the class of the driver")
            yield finding((*path, index, "opaque", "driver"), message, advice, "NeverRead")


def drivers_of(selectors: Sequence[JSONObject], context: Context) -> set[str]:
    """Return the drivers that selectors insist on; more than one if they contradict each other."""
    found: set[str] = set()
    for each in selectors:
        expression = text(each, "cel", "expression")
        if ".driver" not in expression:
            continue
        from webhook.deviceselectors.parts import parts_of  # most objects have no selectors
        from webhook.deviceselectors.reads import drivers

        parts = parts_of(expression, context.release, context.gates)
        if parts is not None:
            if "drivers" not in parts.memo:
                parts.memo["drivers"] = drivers(parts.all)
            found |= parts.memo["drivers"]
    return found


CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def pod_view(owner: JSONObject, template: JSONObject, namespace: str = "", pods: int | None = None) -> JSONObject:
    """Return a pod of a workload.

    Args:
        owner: The workload, or the pod itself.
        template: Its pod template, or the pod itself.
        namespace: Its namespace; empty for its stated one.
        pods: How many such pods the workload makes; None for what its fields say.

    Returns:
        The pod, with an ``owner`` that has the workload's kind and labels, and ``pods``: their number at a time, or,
        with one for each node, their place.
    """
    metadata = {"name": text(owner, "metadata", "name"), **mapping(template, "metadata")}
    metadata["namespace"] = namespace or text(owner, "metadata", "namespace") or "default"
    about = {"kind": text(owner, "kind"), "labels": mapping(owner, "metadata", "labels"), "pods": pods}
    if pods is None:
        about["pods"] = 1 if owner is template else _pods(owner)
    return {**template, "kind": "Pod", "metadata": metadata, "owner": about}


def _pods(owner: JSONObject) -> Any:
    if owner.get("kind") == "DaemonSet":
        return "of all nodes"
    spec = mapping(owner, "spec")
    spec = mapping(spec, "jobTemplate", "spec") if owner.get("kind") == "CronJob" else spec
    count = number(spec, "replicas")
    return number(spec, "parallelism") if count is None else count
