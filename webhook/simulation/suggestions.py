"""Suggests changes that would make a pending pod fit, the smallest first."""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.inventory.claims import allocation_of
from webhook.objects import name_of, namespace_of
from webhook.simulation import binding, ofclaims, ofextended, ofnodes
from webhook.simulation.affinity import named
from webhook.simulation.cluster import Cluster, Settings
from webhook.simulation.ofpools import completed
from webhook.simulation.verdicts import Round, Verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.objects import JSONObject
    from webhook.simulation.change import Change
    from webhook.simulation.rejections import Group
    from webhook.simulation.verdicts import Needs

_TRIED_MAX: Final = 24
"""The number of single changes that are tried."""
_PAIRED_MAX: Final = 60
"""The number of pairs of changes that are tried, if none helps alone."""
_CLOSER_MAX: Final = 8
"""How many changes that do less are tried in place of one that helps."""
_NODES_MAX: Final = 2000
"""The number of nodes on which a change is tried."""
_FILTERED_MAX: Final = 100_000
"""The number of checks of nodes for one pod, all changes together."""
_POOLS_MAX: Final = 3
"""The number of incomplete pools that are named."""
_WAIT: Final = 5
"""The cost of a cluster update: more than that of any change of a pod."""


class Suggestion(NamedTuple):
    """A change that lets a pending pod fit.

    Args:
        change: Its description.
        nodes: The number of nodes that it opens.
    """

    change: str
    nodes: int

    def as_json(self) -> JSONObject:
        """Return it as JSON."""
        return {"change": self.change, "nodes": self.nodes}


class _Found(NamedTuple):
    """Changes that help together, with the number of nodes that they open."""

    changes: tuple[Change, ...]
    nodes: int

    @property
    def size(self) -> int:
        return sum(each.size for each in self.changes)

    @property
    def text(self) -> str:
        return " and ".join(each.text for each in self.changes)


class Suggestions:
    """Suggests changes that let pending pods fit, by trying them.

    Args:
        cluster: The cluster, as it was when the pod was refused; suggestions do not change it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._filtered = 0

    def of(self, needs: Needs, groups: Sequence[Group], error: str) -> tuple[list[Suggestion], int]:
        """List the changes that would let a pod fit, and count those that were tried.

        Args:
            needs: The needs of the pod.
            groups: The nodes that refuse it, grouped.
            error: The error that made the scheduler give up on it; empty without one.
        """
        self._filtered = 0
        cluster = self._cluster
        every = [
            *ofclaims.changes(cluster, needs.claims, groups, error),
            *ofextended.changes(cluster, needs, groups),
            *ofnodes.changes(needs.demand, cluster.nodes[:_NODES_MAX], cluster.extended.has),
            *(ofclaims.releases(cluster, groups) if needs.claims else ()),
        ]
        changes = sorted(every, key=lambda each: each.size)[:_TRIED_MAX]
        tried = [(change,) for change in changes]
        found = [each for one in tried for each in self._try(needs, one)]
        pairs: Sequence[tuple[Change, ...]] = ()
        if not found:
            different = [pair for pair in combinations(changes, 2) if pair[0].about != pair[1].about]
            pairs = sorted(different, key=lambda pair: pair[0].size + pair[1].size)[:_PAIRED_MAX]
            found = [next(self._try(needs, pair), _Found((), 0)) for pair in pairs]
        best = [(each.size, -each.nodes, each.text) for each in found if each.nodes]
        for later in cluster.settings.later:
            if nodes := self._on_release(later, needs):
                best.append((_WAIT, -nodes, f"on Kubernetes {later}"))
                break
        pools = completed(cluster.inventory.all("ResourceSlice"))
        if pools and (nodes := self._once_published(needs, [each for slices in pools.values() for each in slices])):
            names = ", ".join("/".join(each) for each in list(pools)[:_POOLS_MAX])
            which = f"pool {names} is" if len(pools) == 1 else f"{len(pools)} pools ({names}) are"
            best.append((_WAIT, -nodes, f"once {which} complete"))
        best.sort(key=lambda each: each[:2])
        return [Suggestion(what, -nodes) for _, nodes, what in best], len(tried) + len(pairs)

    def _on_release(self, later: Settings, needs: Needs) -> int:
        """Count the nodes that would accept the pod with a later release's scheduler."""
        cluster = self._cluster
        if len(cluster.nodes) > _NODES_MAX:
            return 0
        try:
            newer = Cluster(cluster.inventory, later)
        except ValueError:
            return 0
        return self._fitting_in(newer, needs)

    def _once_published(self, needs: Needs, slices: Sequence[JSONObject]) -> int:
        """Count the nodes that would accept the pod with other slices in place of those of the same names."""
        cluster = self._cluster
        inventory = cluster.inventory
        if len(cluster.nodes) > _NODES_MAX:
            return 0
        before = [inventory.find("ResourceSlice", name_of(each)) or each for each in slices]
        for each in slices:
            inventory.put(each)
        later = Cluster(inventory, cluster.settings)
        for each in before:
            inventory.put(each)
        return self._fitting_in(later, needs)

    def _fitting_in(self, other: Cluster, needs: Needs) -> int:
        other.nodes = self._cluster.nodes
        verdicts = Verdicts(other)
        verdicts.update(Round(other, needs))
        return 0 if verdicts.errors or not _are_reservable(needs, other.settings) else len(verdicts.fitting)

    def _try(self, needs: Needs, changes: tuple[Change, ...]) -> Iterator[_Found]:
        """Try changes together: with the smallest that help in place of each, and as they are if that opens more."""
        fitting = self._nodes(needs, changes)
        if not fitting:
            return
        exact, nodes = changes, fitting
        for place, change in enumerate(changes):
            for closer in islice(change.closer(fitting), _CLOSER_MAX):
                less = (*exact[:place], closer, *exact[place + 1 :])
                if found := self._nodes(needs, less):
                    exact, nodes = less, found
                    break
        yield _Found(exact, len(nodes))
        if len(fitting) > len(nodes):
            yield _Found(changes, len(fitting))

    def _nodes(self, needs: Needs, changes: Sequence[Change]) -> list[int]:
        """Return the nodes that would accept the pod."""
        for change in changes:
            needs = change.edit(needs)
        fitting = self._fitting(needs, [change.released for change in changes if change.released is not None])
        return [node for node in fitting if all(each.nodes is None or node in each.nodes for each in changes)]

    def _fitting(self, needs: Needs, released: Sequence[JSONObject]) -> list[int]:
        if released:
            with self._cluster.without(released[0]):
                return self._fitting(needs, released[1:])
        if self._filtered > _FILTERED_MAX or not _are_reservable(needs, self._cluster.settings):
            return []
        verdicts = Verdicts(self._cluster, named(needs.demand.spec))
        verdicts.update(Round(self._cluster, needs), at_most=_NODES_MAX)
        self._filtered += len(verdicts.by_node)
        return [] if verdicts.errors else list(verdicts.fitting)


def _are_reservable(needs: Needs, settings: Settings) -> bool:
    """Tell whether the API server lets the scheduler reserve the claims that have devices already (PreBind)."""
    return not any(
        binding.refusal(claim, consumer, namespace_of(claim), timestamps=settings.has_binding_conditions)
        for claim, consumer in zip(needs.claims, needs.consumers, strict=False)
        if allocation_of(claim) and not consumer.has(claim)
    )
