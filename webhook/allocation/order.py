"""Whether the order of slices, of claims, or of Go's maps could change the devices that upstream gives."""

from __future__ import annotations

from webhook.allocation.demand import Ask
from webhook.allocation.memory import leaves_traces
from webhook.allocation.selecting import SelectorFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from webhook.allocation.demand import Demand
    from webhook.allocation.devices import Catalog
    from webhook.allocation.view import NodeView


def depends_on_order(demand: Demand, view: NodeView, catalog: Catalog, *, has_devices: bool) -> bool:
    """Tell whether another order could change the result on a node.

    Args:
        demand: The requests of the claims.
        catalog: The slices of the cluster.
        has_devices: Whether the search found devices; one that found none has tried all, in whatever order.
    """
    if view.is_ambiguous or (len(demand.claims) > 1 and _depends_on_claims(demand, view)):
        return True
    if mixed_up(demand, view, catalog):
        return True
    if view.variant.is_sorted:
        return False
    asks = [check for check in demand.checks if isinstance(check, Ask)]
    if every := [ask for ask in asks if ask.is_all]:
        unusable = sum(pool.is_incomplete or pool.is_invalid for pool in view.pools)
        if unusable:
            choices = (ask.chooser.choose(device.content) for ask in every for device in view.devices)
            return unusable > 1 or any(isinstance(choice, SelectorFault) for choice in choices)
    if view.broken and len({(pool.driver, pool.name) for pool in view.pools}) > 1:
        return True
    return _depends_on_slices(demand, view, has_devices=has_devices)


def _depends_on_slices(demand: Demand, view: NodeView, *, has_devices: bool) -> bool:
    """Tell whether the order of slices could matter; the devices of each are tried in their order."""
    may_fail = several = False
    for ask in demand.asks:
        slices = set()
        for device in view.devices:
            if choice := ask.chooser.choose(device.content):
                slices.add(id(device.slice))
                may_fail = may_fail or isinstance(choice, SelectorFault)
        several = several or len(slices) > 1
    return several and (has_devices or may_fail or leaves_traces(demand, view))


def _depends_on_claims(demand: Demand, view: NodeView) -> bool:
    """Tell whether the order of the claims could matter.

    The traces of a refused device matter to later claims only; a device that an administrator's claim got is in use
    for others, but not the other way round; a selector with an error may not be reached.
    """
    if leaves_traces(demand, view):
        return True
    asks = demand.asks
    some_are_admin = any(ask.is_admin for ask in asks)
    for content in {device.content.index: device.content for device in view.devices}.values():
        choices = [(ask, ask.chooser.choose(content)) for ask in asks]
        if any(isinstance(choice, SelectorFault) for _, choice in choices):
            return True
        if some_are_admin and len({ask.is_admin for ask, choice in choices if choice}) > 1:
            return True
    return False


def mixed_up(demand: Demand, view: NodeView, catalog: Catalog) -> dict[str, Collection[str]]:
    """Return the pools whose counters upstream mixes up, with the drivers whose devices requests may get.

    Upstream keeps counters by the name of the pool, whatever the driver (``availableCounters``): it checks those of
    the driver whose device it tries first. It looks them up only for devices that consume any, and after the selectors.

    Args:
        demand: The requests of the claims.
        catalog: The slices of the cluster.
    """
    if not view.consumes:
        return {}
    names = dict.fromkeys(pool.name for pool in view.pools if catalog.is_pool_name_shared(pool.name))
    tried = {
        name: [each for each in catalog.drivers_of(name) if _tries(demand, catalog, (each, name))] for name in names
    }
    return {name: drivers for name, drivers in tried.items() if len(drivers) > 1}


def _tries(demand: Demand, catalog: Catalog, pool: tuple[str, str]) -> bool:
    """Tell whether a request may get a device of a pool, of any node, that consumes counters."""
    contents = [
        device.content for slice_ in catalog.by_pool[pool] for device in slice_.devices if device.content.consumes
    ]
    return any(ask.chooser.choose(content) is not False for ask in demand.asks for content in contents)
