"""Simulates kube-scheduler offline, and explains its decisions.

Programs need only :func:`simulate`. The parts: :mod:`cluster <webhook.simulation.cluster>` holds the state,
:mod:`scheduler <webhook.simulation.scheduler>` runs the scheduling cycle, :mod:`verdicts
<webhook.simulation.verdicts>` checks the nodes; :mod:`webhook.allocation` allocates devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.inventory import Inventory
from webhook.simulation.answers import Answers
from webhook.simulation.cluster import DEFAULT_RELEASE, Cluster, Settings
from webhook.simulation.queue import in_order
from webhook.simulation.running import Running
from webhook.simulation.scheduler import Placement, Scheduler
from webhook.simulation.workloads import pods_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["DEFAULT_RELEASE", "Cluster", "Inventory", "Placement", "Scheduler", "Settings", "simulate"]


def simulate(
    objects: Iterable[dict[str, Any]],
    pods: Iterable[dict[str, Any]],
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> list[dict[str, Any]]:
    """Schedule pods into a cluster; see :func:`webhook.simulate`."""
    inventory = Inventory(_listed(objects))
    nodes = inventory.all("Node")
    running = Running(inventory.running())
    workloads = ({"apiVersion": "v1", "kind": "Pod", **each} for each in _listed(pods))
    made = (pod for each in workloads for pod in pods_of(each, nodes, running))
    given = [taken for pod in made if (taken := inventory.take(pod))]
    scheduler = Scheduler(Cluster(inventory, Settings.of(kubernetes, feature_gates)))
    tell = Answers(scheduler)
    answers = {index: tell.of(scheduler.schedule(given[index])) for index in in_order(given, inventory)}
    return [answers[index] for index in range(len(given))]


def _listed(objects: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Iterate over objects, including those in lists such as kubectl prints.

    Raises:
        ValueError: Something is not an object.
    """
    for each in objects:
        if not isinstance(each, dict):
            raise ValueError(f"an object is a dict, not {type(each).__name__}")  # noqa: TRY004 - as for all other input
        if str(each.get("kind", "")).endswith("List") and isinstance(each.get("items"), list):
            yield from _listed(each["items"])
        else:
            yield each
