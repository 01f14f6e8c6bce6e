"""The claims whose devices a DeviceTaintRule is about, where the scheduler does not apply these rules."""

from __future__ import annotations

from webhook.allocation.devices import TaintRule
from webhook.deviceselectors.parts import parts_of
from webhook.deviceselectors.reads import drivers
from webhook.inventory.claims import allocation_of
from webhook.objects import items, text
from webhook.simulation.rejections import requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from webhook.objects import JSONObject
    from webhook.simulation.cluster import Cluster


def concerned(claim: JSONObject, cluster: Cluster) -> bool:
    """Tell whether a rule taints devices of a claim; of one without devices, those of the drivers that it may get."""
    rules = [TaintRule.of(each) for each in cluster.inventory.all("DeviceTaintRule")]
    allocation = allocation_of(claim)
    if allocation:
        return any(_taints(rule, each) for rule in rules for each in items(allocation, "devices", "results"))
    found = [_drivers(text(asks, "deviceClassName"), cluster) for _, asks in requests(claim)]
    return any(not each or rule.driver in {None, *each} for rule in rules for each in found)


def _taints(rule: TaintRule, result: JSONObject) -> bool:
    named = zip(rule[1:], (text(result, field) for field in ("driver", "pool", "device")), strict=True)
    return all(wanted in {None, given} for wanted, given in named)


def _drivers(name: str, cluster: Cluster) -> set[str]:
    """Return the drivers that a class selects by name; none if it does not."""
    settings, found = cluster.settings, set[str]()
    for each in items(cluster.inventory.find("DeviceClass", name), "spec", "selectors"):
        parts = parts_of(text(each, "cel", "expression"), settings.release, settings.gates)
        found |= drivers(parts.all) if parts else set()
    return found
