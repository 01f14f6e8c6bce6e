"""Changes to extended resources that devices provide: smaller counts."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from webhook.inventory.resources import container_requests
from webhook.inventory.resources import requests as pod_requests
from webhook.objects import items, mapping
from webhook.simulation.change import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webhook.objects import JSONObject
    from webhook.simulation.cluster import Cluster
    from webhook.simulation.rejections import Group
    from webhook.simulation.verdicts import Needs

_SIZE: Final = 2


def changes(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
    """Return changes to smaller counts of extended resources, each as many as some node could provide.

    Args:
        cluster: The cluster.
        needs: The needs of the pod.
        groups: How nodes refuse the pod.
    """
    had = {each["together"] or each["enough"] for group in groups for each in group.requests}
    for name, wanted in needs.demand.requests.items():
        # With several containers, it is unclear which one should want less.
        if wanted > 1 and cluster.extended.has(name) and len(_containers_requesting(needs.pod, name)) == 1:
            yield _fewer(name, wanted, {*had, wanted - 1})


def _fewer(resource: str, wanted: int, had: Iterable[int]) -> Change:
    counts = sorted((each for each in had if 1 < each < wanted), reverse=True)
    return _of(resource, wanted, 1)._replace(closer=lambda _: [_of(resource, wanted, each) for each in counts])


def _of(resource: str, wanted: int, count: int) -> Change:
    def edit(needs: Needs) -> Needs:
        pod = deepcopy(needs.pod)
        for container in _containers_requesting(pod, resource):
            for field in ("requests", "limits"):
                container["resources"][field] = {**mapping(container, "resources", field), resource: str(count)}
        return needs._replace(pod=pod, demand=needs.demand._replace(requests=pod_requests(pod)))

    return Change(f"with {resource} {count} in place of {wanted}", _SIZE, resource, edit)


def _containers_requesting(pod: JSONObject, resource: str) -> list[JSONObject]:
    """Return the containers that want a resource."""
    containers = (*items(pod, "spec", "initContainers"), *items(pod, "spec", "containers"))
    return [each for each in containers if resource in container_requests(each)]
