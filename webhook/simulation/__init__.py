"""Simulates kube-scheduler offline, and explains its decisions.

:func:`simulate` is the whole of it for a program. The parts: :mod:`cluster <webhook.simulation.cluster>` is the state,
:mod:`scheduler <webhook.simulation.scheduler>` goes through the scheduling cycle, :mod:`standing
<webhook.simulation.standing>` asks the nodes; the allocator of devices is :mod:`webhook.allocation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.inventory import Inventory
from webhook.simulation.answers import Answers
from webhook.simulation.cluster import DEFAULT_RELEASE, Cluster, Settings
from webhook.simulation.queue import in_order
from webhook.simulation.scheduler import Placement, Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["DEFAULT_RELEASE", "Cluster", "Inventory", "Placement", "Scheduler", "Settings", "simulate"]


def simulate(
    objects: Iterable[dict[str, Any]],
    pods: Iterable[dict[str, Any]],
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> list[dict[str, Any]]:
    """Schedule pods into a cluster; see :func:`webhook.simulate`."""
    inventory = Inventory(objects)
    given = [taken for each in pods if (taken := inventory.take({"apiVersion": "v1", "kind": "Pod", **each}))]
    scheduler = Scheduler(Cluster(inventory, Settings.of(kubernetes, feature_gates)))
    tell = Answers(scheduler)
    answers = {index: tell.of(scheduler.schedule(given[index])) for index in in_order(given, inventory)}
    return [answers[index] for index in range(len(given))]
