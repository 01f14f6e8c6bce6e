"""Suggests changes that would make a pending pod fit, the smallest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import combinations, islice
from time import monotonic
from typing import Final

from webhook.allocation.selecting import Fault
from webhook.budget import Budget, DeadlineExceededError, current, limited
from webhook.inventory.claims import DeviceID
from webhook.objects import JSONObject, full_name_of
from webhook.records import NamedTuple
from webhook.simulation.changes import NODES_MAX, RELEASE, Change, of_claims, of_cluster, of_pods, releases
from webhook.simulation.cluster import Cluster
from webhook.simulation.rejections import Explainer, NodeGroup
from webhook.simulation.scheduler import Needs, Round, Verdicts

_TRIED_MAX: Final = 24
"""The number of single changes that are tried."""
_PAIRED_MAX: Final = 60
"""The number of pairs of changes that are tried, if none helps alone."""
_CLOSER_MAX: Final = 8
"""How many changes that do less are tried in place of one that helps."""
_FILTERED_MAX: Final = 100_000
"""The number of checks of nodes for one pod, all changes together."""
_SECONDS: Final = 10.0
"""The time in which changes are tried for one pod."""


class Made(NamedTuple):
    """The outcome for a pod with a change made.

    Args:
        needs: The needs of the pod then.
        devices: The devices that it would get.
        released: The claims that are released, by full name.
        objects: The objects of the cluster that differ then.
        is_manifest: Whether it is all in manifests: of the pod, its claims, and these objects.
        is_release: Whether it is nothing but the release of a claim.
    """

    needs: Needs
    devices: Sequence[DeviceID]
    released: Sequence[str] = ()
    objects: Sequence[JSONObject] = ()
    is_manifest: bool = True
    is_release: bool = False

    @classmethod
    def on(cls, node: int, round_: Round) -> Made:
        """Let a pod have its devices on a node."""
        result = round_.result_on(node)
        each = result.devices if result else ()
        return cls(round_.needs, [(driver, pool, device) for found in each for _, driver, pool, device in found])


class Suggestion(NamedTuple):
    """Changes that together let a pending pod fit.

    Args:
        change: The changes, combined into one.
        nodes: The number of nodes that they open.
        at_least: Whether nodes were left untried, so that they may open more.
        opened: The places of these nodes, the best first, as far as they are known.
        made: Makes the changes for a while, to see what the pod would get on the first of them.
        changes: The changes that were tried.
    """

    change: str
    nodes: int
    at_least: bool = False
    opened: Sequence[int] = ()
    made: Callable[[], Made] | None = None
    changes: tuple[Change, ...] = ()

    @property
    def selects_less(self) -> bool:
        """Whether a selector is dropped."""
        return any(each.selects_less for each in self.changes)

    def as_json(self) -> JSONObject:
        """Return it as JSON."""
        return {"change": self.change, "nodes": self.nodes, "atLeast": self.at_least}


class Advice(NamedTuple):
    """The changes that would let a pod fit.

    Args:
        suggestions: The changes, the smallest first.
        is_complete: Whether there was time to try all.
    """

    suggestions: list[Suggestion]
    tried: int
    is_complete: bool


class Suggestions:
    """Suggests changes that let pending pods fit, by trying them.

    Args:
        cluster: The cluster, as it was when the pod was refused; suggestions do not change it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._filtered = self._tried = 0

    def of(self, needs: Needs, groups: Sequence[NodeGroup], error: Fault) -> Advice:
        """List the changes that would let a pod fit.

        Args:
            error: The error that made the scheduler give up on it; empty without one.
        """
        self._filtered = self._tried = 0
        best: list[Suggestion] = []
        try:
            end, outer = monotonic() + _SECONDS, current().deadline
            with limited(Budget(deadline=end if outer is None else min(end, outer))):
                for each in self._every(needs, groups, error):
                    best.append(each)  # noqa: PERF402 - those found until the deadline count
        except DeadlineExceededError:
            is_complete = False
        else:
            is_complete = True
        # What is tried first costs less; selectors are dropped last.
        best.sort(key=lambda each: (each.selects_less, sum(one.size for one in each.changes), -each.nodes))
        return Advice(best, self._tried, is_complete)

    def _every(self, needs: Needs, groups: Sequence[NodeGroup], error: Fault) -> Iterator[Suggestion]:
        """Try changes to the pod, then those to the cluster; if none of these helps, one of each together."""
        helps = False
        cluster = self._cluster
        changes = self._of_pod(needs, groups, error)
        if other := [each for each in changes if not each.size or each.selects_less][:1]:
            with self._changed(needs, other) as round_:  # to see what a selector hides
                groups = [*groups, *Explainer(cluster).groups(self._verdicts(round_).by_node, round_)]
            changes = self._of_pod(needs, groups, error)
        if needs.claims or any(group.requests for group in groups):
            changes = _smallest([*changes, *releases(cluster, needs, groups)])
        for found in self._alone_or_paired(needs, changes):
            helps = True
            yield found
        updates = list(of_cluster(cluster, needs, groups, error))
        updated = False
        for update in updates:
            if not (updated and update.about == RELEASE):
                for found in self._try(needs, (update,)):
                    helps = True
                    updated = updated or update.about == RELEASE
                    yield found
        if not helps:
            yield from self._paired(needs, [(change, update) for update in updates for change in changes])

    def _of_pod(self, needs: Needs, groups: Sequence[NodeGroup], error: Fault) -> list[Change]:
        """Return the changes to a pod and its claims."""
        return _smallest(
            [*of_claims(self._cluster, needs.claims, groups, error), *of_pods(self._cluster, needs, groups)]
        )

    def _alone_or_paired(self, needs: Needs, changes: Sequence[Change]) -> Iterator[Suggestion]:
        """Try each change alone; if none helps, in pairs.

        If only the loss of a selector helps, pairs that keep all selectors are tried, too.
        """
        alone: list[Suggestion] = []
        for change in changes:
            self._tried += 1
            for found in self._try(needs, (change,)):
                if not any(found.nodes <= each.nodes and found.changes[0].exceeds(each.changes[0]) for each in alone):
                    alone.append(found)
                    yield found
        if all(each.selects_less for each in alone):
            for found in self._paired(needs, combinations(changes, 2)):
                if not (alone and found.selects_less):
                    yield found

    def _paired(self, needs: Needs, pairs: Iterable[tuple[Change, Change]]) -> Iterator[Suggestion]:
        """Try pairs of changes of different things, the smallest first."""
        different = [pair for pair in pairs if pair[0].about != pair[1].about]
        for pair in sorted(different, key=lambda pair: pair[0].size + pair[1].size)[:_PAIRED_MAX]:
            self._tried += 1
            yield from islice(self._try(needs, pair), 1)

    def _try(self, needs: Needs, changes: tuple[Change, ...]) -> Iterator[Suggestion]:
        """Try changes together: with the smallest that help in place of each, and that open as many nodes."""
        fitting, at_least = self._nodes(needs, changes)
        if not fitting:
            return
        exact, nodes = self._least(needs, changes, fitting, opening=1)
        yield self._suggestion(needs, exact, nodes, at_least=at_least)
        if len(fitting) > len(nodes):
            most, nodes = self._least(needs, changes, fitting, opening=len(fitting))
            yield self._suggestion(needs, most, nodes, at_least=at_least)

    def _suggestion(
        self, needs: Needs, changes: tuple[Change, ...], opened: Sequence[int], *, at_least: bool
    ) -> Suggestion:
        said, made = " and ".join(each.text for each in changes), partial(self._made, needs, changes, opened[0])
        return Suggestion(said, len(opened), at_least, opened, made, changes)

    def _least(
        self, needs: Needs, changes: tuple[Change, ...], fitting: list[int], *, opening: int
    ) -> tuple[tuple[Change, ...], list[int]]:
        """Put the smallest change in place of each that still opens some number of nodes; return the nodes, too."""
        exact, nodes = changes, fitting
        for place, change in enumerate(changes):
            for closer in islice(change.closer(fitting), _CLOSER_MAX):
                less = (*exact[:place], closer, *exact[place + 1 :])
                found, _ = self._nodes(needs, less)
                if len(found) >= opening:
                    exact, nodes = less, found
                    break
        return exact, nodes

    def _nodes(self, needs: Needs, changes: Sequence[Change]) -> tuple[list[int], bool]:
        """Return the nodes that would accept the pod, and whether others were left untried."""
        with self._changed(needs, changes) as round_:
            if self._filtered > _FILTERED_MAX:
                raise DeadlineExceededError
            if not round_.is_reservable:
                return [], False
            fitting, errors = (verdicts := self._verdicts(round_)).fitting, verdicts.errors
            nodes = [] if errors else sorted(fitting, key=lambda node: (-fitting[node], node))
            return _concerned(changes, nodes), bool(_concerned(changes, verdicts.nodes[NODES_MAX:]))

    def _verdicts(self, round_: Round) -> Verdicts:
        verdicts = Verdicts(round_.cluster, round_.needs.demand)
        verdicts.update(round_, at_most=NODES_MAX)
        self._filtered += len(verdicts.by_node)
        return verdicts

    def _made(self, needs: Needs, changes: Sequence[Change], node: int) -> Made:
        with self._changed(needs, changes) as round_:
            made = Made.on(node, round_)
        return made._replace(
            released=[full_name_of(each.released) for each in changes if each.released is not None],
            objects=[obj for each in changes for obj in each.objects],
            is_manifest=all(each.released is None and (each.cluster is None or each.objects) for each in changes),
            is_release=len(changes) == 1 and changes[0].released is not None,
        )

    @contextmanager
    def _changed(self, needs: Needs, changes: Sequence[Change]) -> Iterator[Round]:
        """Make changes for a while, to check nodes."""
        with ExitStack() as gone:
            for change in changes:
                if change.released is not None:
                    gone.enter_context(self._cluster.without(change.released))
            cluster = next((change.cluster for change in changes if change.cluster is not None), self._cluster)
            yield Round(cluster, _edited(needs, changes))


def _smallest(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that are tried, the smallest first."""
    return sorted(changes, key=lambda each: each.size)[:_TRIED_MAX]


def _edited(needs: Needs, changes: Sequence[Change]) -> Needs:
    for change in changes:
        needs = change.edit(needs)
    return needs


def _concerned(changes: Sequence[Change], nodes: Iterable[int]) -> list[int]:
    """Return the nodes that all of some changes concern."""
    return [node for node in nodes if all(each.nodes is None or node in each.nodes for each in changes)]
