"""Changes to pods that the scheduler checks no node for: it misses an object, or they name their node themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Final

from webhook.inventory import CLAIMS, Inventory
from webhook.inventory.claims import Blocked, allocation_of, claims_of, source
from webhook.objects import JSONObject, items, mapping, namespace_of, text
from webhook.simulation.changes.suggestions import Advice, Suggestion
from webhook.simulation.rejections import requests
from webhook.simulation.scheduler import PRIORITIZED_LIST, Placement, Scheduler
from webhook.simulation.verdicts import Needs, Verdicts
from webhook.spelling import nearest

_FIELDS: Final = {f"{kind[0].lower()}{kind[1:]}Name": kind for kind in CLAIMS}
"""The kinds that entries of a pod's claims name, by field."""
_TEMPLATE: Final = "ResourceClaimTemplate"
_HOSTNAME: Final = "kubernetes.io/hostname"
_NOTHING: Final = Advice([], 0, is_complete=True)


def advice(scheduler: Scheduler, placement: Placement, explained: Callable[[Verdicts, Needs], JSONObject]) -> Advice:
    """Correct what keeps a pod from all nodes, and count the nodes that would accept it then, or with one change more.

    Args:
        scheduler: The scheduler; its cluster stays as it is.
        placement: A pod for which the scheduler checked no node.
        explained: Returns what would help a pod that nodes refuse.
    """
    if items(placement.pod, "spec", "schedulingGates"):
        return _NOTHING
    inventory = scheduler.cluster.inventory
    pod, done = deepcopy(placement.pod), []
    for entry in items(pod, "spec", "resourceClaims"):
        done += _with_source(entry, namespace_of(pod), inventory)
    uses = claims_of(pod, _named_by(pod, inventory), groups=False)
    if isinstance(uses, Blocked):
        return _NOTHING
    uses = [use if allocation_of(use.claim) else use._replace(claim=deepcopy(use.claim)) for use in uses]
    for use in uses:
        if not allocation_of(use.claim):
            done += [*_with_classes(use.claim, inventory), *_without_alternatives(use.claim, inventory)]
    tries = list(_without_node_name(pod))
    is_gate_off = PRIORITIZED_LIST not in scheduler.cluster.settings.gates
    asked = (each for use in uses for each in items(use.claim, "spec", "devices", "requests"))
    needs_gate = is_gate_off and any(items(each, "firstAvailable") for each in asked)
    if not done and not needs_gate and not text(pod, "spec", "nodeName"):
        return _NOTHING
    for tried, (change, other) in enumerate(tries, 1):
        verdicts, round_ = scheduler.filter(other, uses)
        if verdicts.fitting and not verdicts.errors:
            what = " and ".join([*done, *change])
            return Advice([Suggestion(what, len(verdicts.fitting))], tried, is_complete=True)
    found = explained(verdicts, round_.needs)
    suggestions = [
        Suggestion(" and ".join([*done, *change, each["change"]]), each["nodes"], each["atLeast"])
        for each in found["help"]
    ]
    return Advice(suggestions, len(tries) + found["tried"], is_complete=found["allTried"])


def _without_node_name(pod: JSONObject) -> Iterator[tuple[list[str], JSONObject]]:
    """Return a pod that leaves its node to the scheduler, with the change: the same node first, then any."""
    spec = mapping(pod, "spec")
    node = text(spec, "nodeName")
    if not node:
        yield [], pod
        return
    rest = {key: value for key, value in spec.items() if key != "nodeName"}
    selector = {**mapping(spec, "nodeSelector"), _HOSTNAME: node}
    what = f"with nodeSelector {_HOSTNAME}: {node} in place of nodeName (draguard mutate)"
    yield [what], {**pod, "spec": {**rest, "nodeSelector": selector}}
    yield ["without nodeName"], {**pod, "spec": rest}


def _named_by(pod: JSONObject, inventory: Inventory) -> Inventory:
    """Return the claims and templates that a pod names, for a trial that other pods do not see."""
    found = Inventory()
    namespace = namespace_of(pod)
    named = [
        (kind, source(entry, field))
        for entry in items(pod, "spec", "resourceClaims")
        for field, kind in _FIELDS.items()
    ]
    named += [
        ("ResourceClaim", text(each, "resourceClaimName")) for each in items(pod, "status", "resourceClaimStatuses")
    ]
    for kind, name in named:
        if (obj := inventory.find(kind, name, namespace)) is not None:
            found.put(obj)
    return found


def _with_source(entry: JSONObject, namespace: str, inventory: Inventory) -> list[str]:
    """Let an entry of a pod's claims name an object that exists; return the change."""
    for field, kind in _FIELDS.items():
        name = text(entry, field)
        if name and inventory.find(kind, name, namespace) is None:
            known = [each for space, each in inventory.names(kind) if space == namespace]
            # A lone claim may be somebody else's; a lone template is for all pods of the namespace.
            only = known[0] if kind == _TEMPLATE and len(known) == 1 else ""
            if meant := nearest(name, known) or only:
                entry[field] = meant
                return [f"with {field}: {meant} in place of {name}"]
    return []


def _with_classes(claim: JSONObject, inventory: Inventory) -> list[str]:
    """Let the requests of a claim name classes that exist; return the changes."""
    changes = []
    for request, asks in requests(claim):
        name = text(asks, "deviceClassName")
        is_known = inventory.find("DeviceClass", name) is not None
        if not is_known and (meant := nearest(name, [each for _, each in inventory.names("DeviceClass")])):
            asks["deviceClassName"] = meant
            changes.append(f"with deviceClassName: {meant} in place of {name} in request {request}")
    return changes


def _without_alternatives(claim: JSONObject, inventory: Inventory) -> Iterator[str]:
    """Leave out the alternatives whose classes do not exist, if others are left; yield the changes."""
    for request in items(claim, "spec", "devices", "requests"):
        left: list[JSONObject] = []
        lost: list[JSONObject] = []
        for each in items(request, "firstAvailable"):
            is_known = inventory.find("DeviceClass", text(each, "deviceClassName")) is not None
            (left if is_known else lost).append(each)
        if left and lost:
            request["firstAvailable"] = left
            yield from (f"without alternative {text(each, 'name')} of request {text(request, 'name')}" for each in lost)
