"""References of pods: claims, templates, requests, extended resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.api.dra.names import IMPLICIT_PREFIX, NAMED_BY
from webhook.api.templates import source
from webhook.grouping import by_key
from webhook.hints.names import in_place, instead, listed
from webhook.inventory import CLAIMS, controller_of, devices_path
from webhook.inventory.claims import containers_of, reserved_for
from webhook.inventory.podgroups import group_of
from webhook.inventory.resources import (
    ExtendedResources,
    amounts,
    as_in_pods,
    container_requests,
    is_extended,
    is_implicit,
)
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, placed, text
from webhook.patterns import Pattern
from webhook.problem import NOTE, Advice, Fix, Meant, Problem
from webhook.references.rules import (
    COVERED,
    MAPPED,
    Context,
    claim_or_template,
    drivers_of,
    drivers_of_request,
    finding,
    rule,
    uses_of,
)
from webhook.spelling import did_you_mean

_AROUND = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
"""If one of these kinds is known, all objects that pods refer to are."""


@rule("Pod", "PodGroup", needs=("ResourceClaim", *_AROUND), of_field=True)
def claim_not_found(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod names a ResourceClaim that does not exist in its namespace, or that is not among the manifests.

    The scheduler does not try such a pod, and sets no condition that explains it. Claims are namespaced: a pod cannot
    use one of another namespace. To give every pod its own claim, name a ResourceClaimTemplate in
    resourceClaimTemplateName instead.
    """
    yield from _missing(pod, context, "ResourceClaim")


@rule("Pod", "PodGroup", needs=("ResourceClaimTemplate", *_AROUND), of_field=True)
def template_not_found(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod names a ResourceClaimTemplate that does not exist in its namespace, or that is not among the manifests.

    No claim is created for the pod then, and the scheduler does not try it; only an event of the pod,
    FailedResourceClaimCreation, explains it. Templates are namespaced: a pod cannot use one of another namespace.
    """
    yield from _missing(pod, context, "ResourceClaimTemplate")


def _missing(pod: JSONObject, context: Context, kind: str) -> Iterator[Problem]:
    namespace, inventory, field = namespace_of(pod), context.inventory, NAMED_BY[kind]
    other = next(each for each in CLAIMS if each != kind)
    who = "its pods stay" if pod.get("kind") == "PodGroup" else "the pod stays"
    for here, entry in placed(pod, "spec", "resourceClaims"):
        name = source(entry, field)
        if not name or inventory.exists(kind, name, namespace):
            continue
        path = (*here, field) if field in entry else (*here, "source", field)
        elsewhere, around = inventory.namesakes(kind, name, namespace)
        if inventory.find(other, name, namespace):
            fix = Fix("rename", NAMED_BY[other], safe=False)
            hint: str | Advice = Advice(f'"{name}" is a {other}: name it with {NAMED_BY[other]}', fix)
        elif elsewhere:
            where = listed(elsewhere)
            hint = Meant(f"it exists in namespace {where}, but a pod can use only objects of its own namespace")
        else:
            known = in_place(name, around, f"{kind}s in namespace {namespace}", field)
            hint = context.or_in_cluster(known)
        message = context.missing(f'{kind} "{name}"', f" in namespace {namespace}", f"{who} pending")
        yield finding(path, message, hint)


@rule("Pod", needs=("PodGroup",), of_field=True)
def pod_group_not_found(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod belongs to a PodGroup that does not exist in its namespace, or that is not among the manifests.

    The scheduler does not look at such a pod, and sets no condition that explains it. The name cannot be changed once
    the pod is created.
    """
    namespace, name = group_of(pod)
    if name and not context.inventory.exists("PodGroup", name, namespace):
        _, around = context.inventory.namesakes("PodGroup", name, namespace)
        known = in_place(name, around, f"PodGroups in namespace {namespace}")
        message = context.missing(f'PodGroup "{name}"', f" in namespace {namespace}", "the pod stays pending")
        yield finding(("spec", "schedulingGroup", "podGroupName"), message, context.or_in_cluster(known))


WITHOUT_DEVICES: Final = ": the container starts without devices"
"""The consequence of a request that does not exist; answers that state it in their own words leave it out."""


@rule("Pod", of_field=True)
def request_not_found(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A container asks for a request that its claim does not have.

    The pod is scheduled, and the container starts without the claim's devices: kubelet (cdiDevicesAsList in
    pkg/kubelet/cm/dra/claiminfo.go) looks up the devices of that request, and finds none. The request is one of the
    names in spec.devices.requests of the claim or of the template; leave it out to get the devices of all requests.
    """
    entries = {text(each, "name"): each for each in items(pod, "spec", "resourceClaims")}
    for path, _, use in uses_of(pod):
        request, entry = text(use, "request"), entries.get(text(use, "name"))
        devices = _devices_of(pod, entry, context) if request and entry else None
        known = [text(each, "name") for each in items(devices, "requests")]
        if devices and request not in known:
            message = f'claim "{text(use, "name")}" has no request "{request}"{WITHOUT_DEVICES}'
            yield finding((*path, "request"), message, in_place(request, known, "requests"))


def _devices_of(pod: JSONObject, entry: JSONObject, context: Context) -> JSONObject | None:
    """Return the requests of a pod's claim, None if unknown."""
    found = claim_or_template(pod, entry, context)
    return mapping(found, *devices_path(found)) if found else None


@rule("Pod")
def claim_not_used(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod has a claim that none of its containers uses.

    The devices are allocated, but no container sees them. List the claim in resources.claims of the containers that
    should use it. Network drivers give their devices to the pod, so that no container needs to name their claims.
    """
    used = {text(use, "name") for _, _, use in uses_of(pod)}
    listed = {text(entry, "name"): (path, entry) for path, entry in placed(pod, "spec", "resourceClaims")}
    # A name that is not listed is misspelt, or filled in later: it may stand for any of them.
    for name, (path, entry) in listed.items() if used <= listed.keys() else ():
        if name and name not in used and not _is_of_network(pod, entry, context):
            hint = f"list it in resources.claims of a container: - name: {name}"
            yield finding((*path, "name"), f'no container uses the claim "{name}"', hint, "NotUsed")


_NETWORK = Pattern(r"(?<![a-z])(net(dev)?|nics?|m?rdma|roce|cni|infiniband)(?![a-z])|network|sriov|dranet")
"""Parts of the names of network drivers and of their classes: dra.net, sriovnetwork.k8snetworkplumbingwg.io."""


def _is_of_network(pod: JSONObject, entry: JSONObject, context: Context) -> bool:
    """Tell whether a claim is for devices of a network driver, by the names of its classes and their drivers.

    If they are unknown, the names of the claim and of its source decide.
    """
    claim = claim_or_template(pod, entry, context)
    if claim is None:
        names = {text(entry, "name"), *(source(entry, field) for field in NAMED_BY.values())}
    else:
        requests = context.requests(claim)
        names = {each.class_name for each in requests}.union(*(drivers_of(each.of_class, context) for each in requests))
    return any(map(_NETWORK.search, names))


@rule("Pod", level=NOTE)
def claim_shared_by_replicas(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """All replicas of a workload share one ResourceClaim, and so its devices, on the nodes that have them.

    That is legal and sometimes meant. If each replica should have its own devices, name a ResourceClaimTemplate in
    resourceClaimTemplateName: a claim is then created for every pod. Claims that are meant for several pods are left
    out: for admin access, with parameters about sharing, or for devices that the profile of a driver calls shared.
    """
    replicas = mapping(pod, "owner").get("pods") or 1
    if replicas == 1:
        return
    who = f"{replicas} replicas share" if isinstance(replicas, int) else f"the pods {replicas} share"
    for path, entry in placed(pod, "spec", "resourceClaims"):
        name = source(entry, "resourceClaimName")
        known = context.inventory.find("ResourceClaim", name, namespace_of(pod))
        if known and not _is_to_share(known, context):
            message = f'{who} the devices of one ResourceClaim, "{name}"'
            if not isinstance(replicas, int):
                message += "; those on nodes that cannot reach them stay pending"
            elif replicas > _CONSUMERS and _ends(pod):
                message += f"; it can be reserved for {_CONSUMERS} at once, and the others wait until these have ended"
            yield finding((*path, "resourceClaimName"), message, _ONE_EACH, "Shared")


_ONE_EACH: Final = "a ResourceClaimTemplate (resourceClaimTemplateName) gives each pod devices of its own"


def _ends(pod: JSONObject) -> bool:
    return text(pod, "spec", "restartPolicy") not in {"", "Always"}


def _is_to_share(claim: JSONObject, context: Context) -> bool:
    """Tell whether all devices of a claim are meant for several pods."""
    if any(at(each, "opaque", "parameters", "sharing") for each in items(claim, "spec", "devices", "config")):
        return True
    own = (each for each in context.requests(claim) if each.content.get("adminAccess") is not True)
    return all(context.is_shared(each.class_name) for each in own)


@rule("Pod")
def claim_of_another(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod names a ResourceClaim that was made for another pod, or that no more pods can use.

    A claim that was made from a template belongs to its pod and is deleted with it. A claim can be reserved for 256
    consumers at most; pods that run until they are deleted leave none of it to further replicas.
    """
    replicas = mapping(pod, "owner").get("pods")
    for here, entry in placed(pod, "spec", "resourceClaims"):
        name, path = source(entry, "resourceClaimName"), (*here, "resourceClaimName")
        claim = context.inventory.find("ResourceClaim", name, namespace_of(pod))
        owner = controller_of(claim or {})
        if text(owner, "kind") == "Pod" and text(owner, "name") != name_of(pod):
            message = f'ResourceClaim "{name}" belongs to pod {text(owner, "name")} and is deleted with it'
            yield finding(path, message, "make a claim of your own, or use a template", "NotOwner")
        consumers = reserved_for(claim)
        if len(consumers) >= _CONSUMERS and not any(each.name == name_of(pod) for each in consumers):
            message = f'ResourceClaim "{name}" is reserved for {len(consumers)} consumers, and can have no more'
            yield finding(path, message, reason="InUse")
        if name and isinstance(replicas, int) and replicas > _CONSUMERS and not _ends(pod):
            message = f'ResourceClaim "{name}" can be reserved for {_CONSUMERS} of {replicas} replicas'
            yield finding(path, f"{message}; the others stay pending", _ONE_EACH, "InUse")


_CONSUMERS = 256


@rule("Pod", level=NOTE)
def no_grace_period(pod: JSONObject, _: Context) -> Iterator[Problem]:
    """A pod with claims is removed at once when it is deleted, and its devices are free before kubelet releases them.

    With terminationGracePeriodSeconds 0, the API server does not wait for kubelet, as with kubectl delete --force:
    other pods can get the devices while the containers still run, and a pod with a claim of the same name has to wait.
    """
    if at(pod, "spec", "resourceClaims") and at(pod, "spec", path := "terminationGracePeriodSeconds") == 0:
        message = "a deleted pod is gone before its containers have ended and its devices are released"
        yield finding(("spec", path), message, "state at least 1")


@rule("Pod", level=NOTE)
def no_preemption_for_devices(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod has a priority and claims devices: others are not evicted for devices.

    The scheduler evicts pods of lower priority to make room for cpu and memory, not for devices
    (kubernetes/enhancements#5690). A pod of high priority waits until devices become free. With admin access, it gets
    devices that are in use.
    """
    name = text(pod, "spec", "priorityClassName")
    claims = [claim_or_template(pod, each, context) for each in items(pod, "spec", "resourceClaims")]
    wanted = (each for claim in filter(None, claims) for each in context.requests(claim))
    if name and not all(each.content.get("adminAccess") for each in wanted):  # which takes no devices from others
        message = f'priority class "{name}" does not free devices: the scheduler evicts no pods for them'
        yield finding(("spec", "priorityClassName"), message, reason="NoPreemption")


@rule("Pod", of_field=True)
def no_node_matches(pod: JSONObject, _: Context) -> Iterator[Problem]:
    """No node can meet the required node affinity of a pod, whatever labels it has: the pod stays pending.

    A node must meet all conditions of a term, and the nodeSelector. Conditions on a label contradict each other, Gt or
    Lt compares with a value that is not an integer, or a term is empty.
    """
    if not mapping(pod, "spec", "affinity"):
        return
    from webhook.inventory.affinity import unmatched  # few pods have an affinity

    hint = "all conditions of a term must hold: write alternatives as values of one In, or as further terms"
    for path, reason, contradicts in unmatched(mapping(pod, "spec")):
        yield finding(("spec", *path), f"{reason}, so the pod stays pending", hint if contradicts else "", "NoNode")


@rule("Pod", needs=("DeviceClass",), of_field=True)
def extended_resource_unknown(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A container requests an extended resource that neither a device class nor a node provides.

    The pod stays pending with "Insufficient"; one that states the name of a class alone is refused. A class provides
    the resource that its extendedResourceName states, and from Kubernetes 1.36 always
    ``deviceclass.resource.kubernetes.io/NAME``; a device plugin's are in the status of nodes. Where no nodes are known,
    only names that resemble those of classes, or name one, are reported.
    """
    named = ((*each, name) for each in containers_of(pod) for name in container_requests(each[1]))
    for path, container, name in named:
        where = "limits" if name in mapping(container, "resources", "limits") else "requests"
        if "/" not in name and context.inventory.find("DeviceClass", name):
            message = f'"{name}" is a device class, and no resource of containers: the API server refuses the pod'
            hint = f'request devices by a claim, or, from Kubernetes 1.36 on, by "{IMPLICIT_PREFIX}{name}"'
            yield finding((*path, "resources", where, name), message, hint)
            continue
        may_be_provided = is_extended(name) or is_implicit(name)
        if not may_be_provided or context.extended.has(name) or name in context.of_nodes:
            continue
        classes, nodes = (context.inventory.all(kind) for kind in ("DeviceClass", "Node"))
        known = [stated for each in classes if (stated := text(each, "spec", "extendedResourceName"))]
        known += [*(f"{IMPLICIT_PREFIX}{name_of(each)}" for each in classes), *context.of_nodes]
        hint = did_you_mean(name, known, did_you_mean(as_in_pods(name), known, quotes='"'), quotes='"')
        class_name = name.removeprefix(IMPLICIT_PREFIX)
        if not hint and class_name != name and not context.is_installed(class_name):
            hint = context.or_in_cluster(Advice(f"device classes: {listed(map(name_of, classes))}")).hint
        if nodes or hint:
            beside = ", and no node has it" if nodes else ""
            message = f'no device class provides the extended resource "{name}"{beside}'
            yield finding((*path, "resources", where, name), message, hint)


@rule("Pod")
def plugin_beside_claim(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A pod claims devices of a driver, and requests the resource by which a device plugin provides the same ones.

    The scheduler counts the resource and the devices apart, and neither the plugin nor the driver knows what the other
    has given away: the container gets more devices than meant, or one that is in use. Where a device class provides the
    resource, nothing is wrong.
    """
    resources = [
        (name, (*path, "resources", where, name))
        for path, container in containers_of(pod)
        for where in ("limits", "requests")
        for name, amount in amounts(mapping(container, "resources", where)).items()
        if amount and is_extended(name) and not context.extended.has(name)
    ]
    if not resources or not items(pod, "spec", "resourceClaims"):
        return
    drivers = {
        driver: text(entry, "name")
        for entry in items(pod, "spec", "resourceClaims")
        for request in context.requests(claim_or_template(pod, entry, context) or {})
        for driver in sorted(drivers_of_request(request, context))
    }
    said = set[str]()
    for driver, claim in drivers.items():
        profile = context.profile(driver)
        for name, path in resources:
            if profile and name not in said and profile.has_plugin_resource(name):
                said.add(name)
                message = (
                    f'a device plugin provides "{name}", and claim "{claim}" is for such devices of driver "{driver}"'
                )
                hint = "neither knows what the other gives away: request the devices by one of them"
                yield finding(path, message, hint, "Twice")


@rule("Pod", needs=("DeviceClass",))
def prescheduled_extended_resource(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A new pod with spec.nodeName requests an extended resource that a device class provides: it gets no devices.

    Such a pod bypasses the scheduler, which alone makes the claim for the resource and allocates its devices. `draguard
    mutate --pods all` replaces spec.nodeName by a constraint that the scheduler obeys.
    """
    node = text(pod, "spec", "nodeName")
    if not node or text(pod, "metadata", "uid") or items(pod, "spec", "resourceClaims"):  # claims have their own rule
        return
    from webhook.engine.prescheduled import RewriteOptions, rewrite_manifest  # few pods name their node

    if rewrite_manifest({**pod, "apiVersion": "v1"}, RewriteOptions(pods="all")) is None:
        return
    is_on = "DRAExtendedResource" in context.gates
    provided = ExtendedResources(context.inventory.all("DeviceClass"), context.release, is_on=is_on)
    of_plugins = amounts(mapping(context.inventory.find("Node", node), "status", "allocatable"))
    for _, container in containers_of(pod):
        for name, amount in amounts(container_requests(container)).items():
            if amount and provided.has(name) and name not in of_plugins:
                message = f'bypasses the scheduler, which alone allocates devices for the resource "{name}"'
                hint = "`draguard mutate --pods all` makes it a constraint that the scheduler obeys"
                yield finding(("spec", "nodeName"), message, hint, "NeverAllocated")
                return


@rule("Pod")
def kueue_unsupported(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """A workload in a queue of Kueue has claims that Kueue does not count, so it is not admitted.

    Kueue takes claims from ResourceClaimTemplates only, whose requests state an exact count: not ResourceClaims by
    name, not firstAvailable, not allocationMode All but for admin access (kubernetes-sigs/kueue pkg/dra/claims.go). Of
    each request, the deviceClassMappings of its Configuration must name the class, and ClusterQueues cover the resource
    as which it is counted.
    """
    mapped = by_key((name, resource) for resource, name in context.inventory.names(MAPPED))
    covered = {resource for resource, _ in context.inventory.names(COVERED)}
    if not text(mapping(pod, "owner", "labels"), QUEUE) and not text(mapping(pod, "metadata", "labels"), QUEUE):
        return
    refused = "Kueue does not admit a workload that"
    for path, entry in placed(pod, "spec", "resourceClaims"):
        if source(entry, "resourceClaimName"):
            hint = "name a ResourceClaimTemplate, with resourceClaimTemplateName"
            yield finding((*path, "resourceClaimName"), f"{refused} names a ResourceClaim", hint, "Unsupported")
            continue
        for request in items(_devices_of(pod, entry, context), "requests"):
            exactly = mapping(request, "exactly")
            name, is_admin = text(exactly, "deviceClassName"), exactly.get("adminAccess") is True
            resources, mode = mapped.get(name, []), text(exactly, "allocationMode")
            if "firstAvailable" in request or (mode == "All" and not is_admin):
                what = "firstAvailable" if "firstAvailable" in request else "allocationMode All"
                why, hint = f'{what}: request "{text(request, "name")}"', "request an exact count of one class"
            elif mapped and not is_admin and not resources:
                why, hint = f'DeviceClass "{name}", which its {MAPPED} lack', instead(name, mapped, "they have")
            elif covered and not is_admin and resources and covered.isdisjoint(resources):
                why = f'DeviceClass "{name}", which it counts as {listed(resources)}: no ClusterQueue covers that'
                hint = f"list it in {COVERED} of the ClusterQueue, with a nominalQuota"
            else:
                continue
            yield finding((*path, "resourceClaimTemplateName"), f"{refused} requests {why}", hint, "Unsupported")


QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""The label of workloads that Kueue admits."""
