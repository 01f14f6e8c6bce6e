"""AllocationResults, as the scheduler writes them into the status of claims.

Follows the end of upstream's ``Allocate``, and ``createNodeSelector``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webhook.allocation.compatibility import snapshot
from webhook.allocation.demand import Ask, ClaimDemand
from webhook.allocation.state import Pick
from webhook.allocation.view import NodeView
from webhook.objects import JSONObject


class UnsupportedSelectorError(Exception):
    """A slice's node selector has more than one term; upstream fails then, for all nodes."""


def allocation(
    claim: ClaimDemand, asks: Sequence[Ask], picks: Sequence[Pick], view: NodeView, *, shares: int
) -> JSONObject:
    """Return an AllocationResult, as in the API.

    Args:
        asks: The alternative chosen for each of its requests.
        shares: The number of share IDs assigned before; upstream's are random, here they are numbered.

    Raises:
        UnsupportedSelectorError: A slice's node selector has more than one term.
    """
    results = []
    for pick in picks:
        result = _result(pick, view)
        if pick.take is not None:
            result["shareID"] = f"share-{shares}"
            shares += 1
        results.append(result)
    devices: JSONObject = {"results": results} if results else {}
    is_once = view.variant.configures_once
    config = [*_class_configuration(asks), *_claim_configuration(claim, asks, is_once=is_once)]
    if is_once:
        config = [_for_all(each, asks) for each in config]
    if config:
        devices["config"] = config
    found: JSONObject = {"devices": devices}
    selector = node_selector(picks, view)
    if selector is not None:
        found["nodeSelector"] = selector
    return found


def _result(pick: Pick, view: NodeView) -> JSONObject:
    ask, device = pick.ask, view.devices[pick.device]
    others = device.content.others
    result: JSONObject = {
        "request": ask.full_name,
        "driver": device.slice.driver,
        "pool": device.slice.pool,
        "device": device.name,
    }
    if ask.is_admin:
        result["adminAccess"] = True
    if ask.tolerations and view.variant.records_tolerations:
        result["tolerations"] = list(ask.tolerations)
    if view.variant.features.DeviceBindingAndStatus:
        for name in ("bindingConditions", "bindingFailureConditions"):
            if others.get(name):
                result[name] = others[name]
    if view.variant.features.CompatibilityGroups and (groups := snapshot(others)):
        result["compatibilityGroups"] = groups
    if view.variant.features.OptionalNodeOperations and device.slice.skipped_operations:
        result["skipNodeOperations"] = list(device.slice.skipped_operations)
    if pick.take is not None and pick.take.texts:
        result["consumedCapacity"] = dict(pick.take.texts)
    return result


def _class_configuration(asks: Sequence[Ask]) -> list[JSONObject]:
    """Return the configuration of classes; that of each class is added once, for all its requests."""
    found: list[JSONObject] = []
    by_class: dict[str, list[JSONObject]] = {}
    for ask in asks:
        name = ask.class_["metadata"]["name"]
        if name in by_class:
            for each in by_class[name]:
                each["requests"].append(ask.full_name)
            continue
        by_class[name] = [
            {"source": "FromClass", "requests": [ask.full_name], **_device_configuration(config)}
            for config in (ask.class_.get("spec") or {}).get("config") or ()
        ]
        found += by_class[name]
    return found


def _claim_configuration(claim: ClaimDemand, asks: Sequence[Ask], *, is_once: bool) -> list[JSONObject]:
    """Return the configuration of a claim; until 1.36, one that names several requests appears once for each."""
    found: list[JSONObject] = []
    for config in claim.raw.get("config") or ():
        names = config.get("requests") or ()
        added = {"source": "FromClaim", **({"requests": names} if names else {}), **_device_configuration(config)}
        if not names:
            found.append(added)
        else:
            repeated = [added for ask in asks if ask.base in names or ask.full_name in names]
            found += repeated[:1] if is_once else repeated
    return found


def _for_all(config: JSONObject, asks: Sequence[Ask]) -> JSONObject:
    """Leave out the requests of a configuration that applies to all requests."""
    names = config.get("requests") or ()
    if not names or not all(ask.base in names or ask.full_name in names for ask in asks):
        return config
    return {key: value for key, value in config.items() if key != "requests"}


def _device_configuration(config: JSONObject) -> JSONObject:
    return {"opaque": config["opaque"]} if config.get("opaque") is not None else {}


def node_selector(picks: Sequence[Pick], view: NodeView) -> JSONObject | None:
    """Return a selector of the nodes that can use some devices, None for all nodes (``createNodeSelector``).

    Raises:
        UnsupportedSelectorError: A slice's node selector has more than one term.
    """
    terms: dict[str, list[JSONObject]] = {"matchFields": [], "matchExpressions": []}
    for pick in picks:
        device = view.devices[pick.device]
        name, selector = device.slice.node_name, device.slice.node_selector
        if device.slice.is_per_device:
            name, selector = device.content.others.get("nodeName"), device.content.others.get("nodeSelector")
        if name is not None or (device.content.others.get("bindsToNode") and view.variant.knows_capacity):
            field = {"key": "metadata.name", "operator": "In", "values": [view.node]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        if selector is not None:
            given = selector.get("nodeSelectorTerms") or ()
            if len(given) > 1:
                raise UnsupportedSelectorError(f"unsupported ResourceSlice.NodeSelector with {len(given)} terms")
            for term in given:
                _merge(term, terms)
    term = {name: found for name, found in terms.items() if found}
    return {"nodeSelectorTerms": [term]} if term else None


def _merge(term: Mapping[str, Any], into: Mapping[str, list[JSONObject]]) -> None:
    for name, known in into.items():
        for each in term.get(name) or ():
            if not any(_is_same(each, other) for other in known):
                known.append(each)


def _is_same(one: JSONObject, other: JSONObject) -> bool:
    return (
        one.get("key") == other.get("key")
        and one.get("operator") == other.get("operator")
        and set(one.get("values") or ()) == set(other.get("values") or ())
    )
