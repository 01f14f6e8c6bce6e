"""Rules about device classes and quotas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from webhook.hints.names import instead, listed
from webhook.inventory import CLAIMS, devices_path
from webhook.inventory.claims import CLAIM_NAME
from webhook.inventory.resources import ExtendedResources, amounts, container_requests
from webhook.objects import JSONObject, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, NOTE
from webhook.scan.drivers import silent
from webhook.scan.rules import Found, command, named, rule
from webhook.scan.stored import Cluster, once


@once
def _uses(cluster: Cluster) -> Mapping[str, list[JSONObject]]:
    """Return what requests devices of each class, and of no other class instead: claims, templates, and workloads."""
    found: dict[str, list[JSONObject]] = defaultdict(list)
    for kind in CLAIMS:
        for each in cluster.all(kind):
            for request in items(each, *devices_path(each), "requests"):
                alternatives = items(request, "firstAvailable") or [mapping(request, "exactly")]
                names = {text(one, "deviceClassName") for one in alternatives}
                if len(names) == 1:
                    found[names.pop()].append(each)
    for each, spec in cluster.makers:
        for name in _classes_of_resources(spec, cluster):
            found[name].append(each)
    return found


def _classes_of_resources(spec: JSONObject, cluster: Cluster) -> Iterator[str]:
    """Yield the classes that provide the extended resources of a pod, if no node has these."""
    for container in (*items(spec, "initContainers"), *items(spec, "containers")):
        for name, amount in amounts(container_requests(container)).items():
            if amount and name in _extended(cluster) and name not in _offered(cluster):
                yield _extended(cluster)[name]


@once
def _offered(cluster: Cluster) -> frozenset[str]:
    """Return the resources that nodes have without DRA, by device plugins."""
    resources = (amounts(mapping(each, "status", "allocatable")) for each in cluster.all("Node"))
    return frozenset(name for each in resources for name, amount in each.items() if amount)


@once
def _extended(cluster: Cluster) -> Mapping[str, str]:
    return ExtendedResources(cluster.all("DeviceClass"), is_on=cluster.settings.has_extended_resources).classes


def _users(objects: list[JSONObject]) -> str:
    return listed(map(named, sorted(objects, key=lambda each: CLAIM_NAME in mapping(each, "metadata", "annotations"))))


@rule("class-matches-nothing")
def class_matches_nothing(cluster: Cluster) -> Iterator[Found]:
    """A device class that is used selects no device of the cluster, so that pods stay pending.

    Its selectors exclude what there is, or its hardware is not there. A class that nothing uses may be ahead of its
    hardware.
    """
    fleet, uses = cluster.context.fleet, _uses(cluster)
    for each in cluster.all("DeviceClass") if fleet else ():
        users, selectors = uses.get(name_of(each)), items(each, "spec", "selectors")
        if not users or fleet is None:
            continue
        result = fleet.sorted_out(selectors, ())
        expressions = " ".join(text(one, "cel", "expression") for one in selectors)
        if (
            result.taken
            or result.failing
            or any(f'{driver}"' in expressions.replace("'", '"') for driver, _ in silent(cluster))
        ):
            continue
        reasons = [fleet.choose(selectors, (), group.content).reason for group in result.groups[:1]]
        why = f": of most devices, {reasons[0]}" if reasons and reasons[0] else ""
        message = f"it selects no device of the cluster, and {_users(users)} needs one{why}"
        yield Found(each, message, "correct its selectors, or add the devices", ("spec", "selectors"))


@rule("class-selector-fails", ERROR)
def class_selector_fails(cluster: Cluster) -> Iterator[Found]:
    """A selector of a device class fails with an error on some device of the cluster.

    An error ends the scheduler's attempt for a pod, on all nodes, although other devices would match. Attributes that
    not every device has are read safely by ``.?name.orValue(…)``, or after ``has(…)``. Of a class that nothing uses, it
    is a note.
    """
    fleet, uses = cluster.context.fleet, _uses(cluster)
    for each in cluster.all("DeviceClass") if fleet else ():
        failing = fleet.sorted_out(items(each, "spec", "selectors"), ()).failing if fleet else ()
        if failing and fleet:
            group, fault = failing[0]
            place = next(iter(fleet.places([group])))
            count = sum(one.devices for one, _ in failing)
            message = f"a selector fails on {count} devices, such as those of slice {place.slice.name}: {fault.detail}"
            users = uses.get(name_of(each))
            path = ("spec", "selectors", fault.place, "cel", "expression")
            hint = (
                "test whether the device has the attribute: has(device.attributes[…].name) && …, "
                "!has(…) || … for !=, or .?name.orValue(…)"
            )
            yield Found(
                each, message + (f"; used by {_users(users)}" if users else ""), hint, path, "" if users else NOTE
            )


@rule("config-for-silent-driver")
def config_for_silent_driver(cluster: Cluster) -> Iterator[Found]:
    """A device class configures a driver that none of its devices has: the parameters are never read."""
    fleet = cluster.context.fleet
    for each in cluster.all("DeviceClass") if fleet else ():
        configs = items(each, "spec", "config")
        contents = fleet.of_class(items(each, "spec", "selectors")) if fleet and configs else []
        drivers = {content.driver for content in contents}
        for index, config in enumerate(configs):
            driver = text(config, "opaque", "driver")
            if drivers and driver and driver not in drivers:
                message = f"it configures driver {driver}, which none of its devices has: the parameters are never read"
                hint = instead(driver, sorted(drivers), "drivers of its devices")
                yield Found(each, message, hint, ("spec", "config", index, "opaque", "driver"))


@rule("quota-blocks")
def quota_blocks(cluster: Cluster) -> Iterator[Found]:
    """A quota is smaller than a claim that pods of its namespace need, so that none can ever be created.

    Other than a quota that is used up, it blocks the pods for good: they stay pending, whatever others release.
    """
    extended = cluster.settings.counts_extended_resources
    said: set[tuple[str, str]] = set()
    for workload, spec in cluster.makers:
        for entry in items(spec, "resourceClaims"):
            name, namespace = text(entry, "resourceClaimTemplateName"), namespace_of(workload)
            template = cluster.inventory.find("ResourceClaimTemplate", name, namespace)
            if template is None or (namespace, name) in said:
                continue
            said.add((namespace, name))
            claim = {"metadata": {"name": name, "namespace": namespace}, "spec": mapping(template, "spec", "spec")}
            for quota, why in cluster.context.quotas.too_small(claim, extended=extended):
                message = f"no claim of ResourceClaimTemplate {name} can be created: {why}"
                shown = command(cluster, "describe", quota)
                hint = f"raise the quota, or request fewer devices; {shown} shows what is used"
                yield Found(quota, message, hint, ("spec", "hard"))
