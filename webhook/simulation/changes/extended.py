"""Changes to extended resources that devices provide: smaller counts, and near names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Final

from webhook.inventory.resources import amounts, container_requests, is_extended
from webhook.inventory.resources import requests as pod_requests
from webhook.objects import JSONObject, items, mapping, text
from webhook.records import NamedTuple
from webhook.simulation.changes.change import Change
from webhook.simulation.cluster import Cluster
from webhook.simulation.rejections import Group
from webhook.simulation.verdicts import Needs
from webhook.spelling import nearest

_SIZE: Final = 2


class _Asking(NamedTuple):
    """A container that wants an extended resource.

    Args:
        is_only: Whether no other container of the pod wants the resource.
    """

    container: str
    resource: str
    wanted: int
    is_only: bool

    def with_count(self, count: int) -> Change:
        """Return the change to another count."""
        where = "" if self.is_only else f" in container {self.container}"
        what = f"with {self.resource} {count} in place of {self.wanted}{where}"
        return Change(what, _SIZE, f"{self.resource} of {self.container}", lambda needs: self._edit(needs, count))

    def _edit(self, needs: Needs, count: int) -> Needs:
        pod = deepcopy(needs.pod)
        for each in _containers_requesting(pod, self.resource):
            if text(each, "name") == self.container:
                for field in ("requests", "limits"):
                    each["resources"][field] = {**mapping(each, "resources", field), self.resource: str(count)}
        return _with_pod(needs, pod)


def changes(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
    """Return changes to smaller counts of extended resources that some node could provide; and near names."""
    yield from _respelt(cluster, needs)
    had = {each["together"] or each["enough"] for group in groups for each in group.requests}
    for name in filter(cluster.extended.has, needs.demand.requests):
        containers = _containers_requesting(needs.pod, name)
        for each in containers:
            wanted = amounts(container_requests(each))[name]
            if wanted > 1:
                yield _fewer(_Asking(text(each, "name"), name, wanted, len(containers) == 1), had)


def _respelt(cluster: Cluster, needs: Needs) -> Iterator[Change]:
    """Correct the names of resources that neither classes nor nodes provide."""
    wanted = [name for name in needs.demand.requests if is_extended(name) and not cluster.extended.has(name)]
    known = {*cluster.extended.names, *(name for node in cluster.nodes if wanted for name in node.allocatable)}
    for name in wanted:
        if name not in known and (meant := nearest(name, known)):
            yield Change(f"with {meant} in place of {name}", 0, name, partial(_renamed, name, meant))


def _renamed(name: str, meant: str, needs: Needs) -> Needs:
    pod = deepcopy(needs.pod)
    for each in _containers_requesting(pod, name):
        for field, amounts_ in each["resources"].items():
            if field in {"requests", "limits"}:
                each["resources"][field] = {meant if key == name else key: value for key, value in amounts_.items()}
    return _with_pod(needs, pod)


def _with_pod(needs: Needs, pod: JSONObject) -> Needs:
    return needs._replace(pod=pod, demand=needs.demand._replace(requests=pod_requests(pod)))


def _fewer(asking: _Asking, had: Iterable[int]) -> Change:
    counts = sorted({each for each in (*had, asking.wanted - 1) if 1 < each < asking.wanted}, reverse=True)
    return asking.with_count(1)._replace(closer=lambda _: map(asking.with_count, counts))


def _containers_requesting(pod: JSONObject, resource: str) -> list[JSONObject]:
    """Return the containers that want a resource."""
    containers = (*items(pod, "spec", "initContainers"), *items(pod, "spec", "containers"))
    return [each for each in containers if resource in container_requests(each)]
