"""Simulates kube-scheduler offline, and explains its decisions.

Programs need only :func:`simulate`. The parts: :mod:`cluster <webhook.simulation.cluster>` holds the state,
:mod:`scheduler <webhook.simulation.scheduler>` runs the scheduling cycle, :mod:`verdicts
<webhook.simulation.verdicts>` checks the nodes; :mod:`webhook.allocation` allocates devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from webhook.inventory import Inventory
from webhook.simulation.answers import Answers
from webhook.simulation.cluster import Cluster, Settings, release_in
from webhook.simulation.scheduler import Placement, Scheduler
from webhook.simulation.workloads import Running, distinct, in_order, is_workload, pods_of, stand_ins
from webhook.workloads.runtimes import Templates

__all__ = ["Cluster", "Inventory", "Placement", "Scheduler", "Settings", "release_in", "simulate"]


def _without_notes(*_: object) -> Callable[[dict[str, Any], Placement, dict[str, Any]], None]:
    """Make an annotator that adds no notes."""
    return lambda *_: None


def simulate(
    objects: Iterable[dict[str, Any]],
    pods: Iterable[dict[str, Any]],
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    annotator: Callable[..., Callable[[dict[str, Any], Placement, dict[str, Any]], None]] = _without_notes,
) -> list[dict[str, Any]]:
    """Schedule pods into a cluster; see :func:`webhook.simulate`.

    Args:
        pods: The pods, or workloads that make them, and objects to add; if empty, the cluster's pending pods.
        feature_gates: Gates that differ from the release's defaults.
        annotator: Returns a function that adds notes about a placement to its answer, as
            :func:`webhook.references.pending.annotator` does.
    """
    cluster = list(_listed(objects))
    makers, others = _sorted(pods, cluster)
    given = [*cluster, *others]
    inventory = Inventory(given)
    nodes = inventory.all("Node")
    running = Running(inventory.running())
    workloads = makers or list(inventory.pending())
    made = [(each, pod) for each in workloads for pod in pods_of(_typed(each), nodes, running)]
    twice: list[str] = []
    named = list(distinct((pod for _, pod in made), twice))
    if twice:
        raise ValueError(twice[0])
    wanted = [(each, taken) for (each, _), pod in zip(made, named, strict=True) if (taken := inventory.take(pod))]
    scheduler = Scheduler(Cluster(inventory, Settings.of(kubernetes, feature_gates)))
    tell, annotate = Answers(scheduler), annotator(scheduler.cluster, given, feature_gates)
    answers: dict[int, dict[str, Any]] = {}
    for index in in_order([pod for _, pod in wanted], inventory):
        submitted, pod = wanted[index]
        placement = scheduler.schedule(pod)
        answers[index] = tell.of(placement)
        annotate(answers[index], placement, submitted)
    return [answers[index] for index in range(len(wanted))]


def _sorted(
    objects: Iterable[Any], cluster: Iterable[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the pods and workloads among some objects, and the others.

    Raises:
        ValueError: There are only others.
    """
    makers: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    every = list(_listed(objects))
    templates = Templates([*cluster, *every])
    for each in every:
        if is_workload(_typed(each)):
            makers.append(each)
        elif made := stand_ins(each, templates).workloads:
            makers += made
        else:
            others.append(each)
    if others and not makers:
        kinds = ", ".join(dict.fromkeys(str(each.get("kind")) for each in others))
        raise ValueError(f"pods has neither pods nor workloads that make them, only {kinds}")
    return makers, others


def _typed(pod: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with its type; a workload has it already."""
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _listed(objects: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Iterate over objects, including those in lists such as kubectl prints.

    Raises:
        ValueError: Something is not an object.
    """
    for each in objects:
        if not isinstance(each, dict):
            raise ValueError(f"an object is a dict, not {type(each).__name__}")
        if str(each.get("kind", "")).endswith("List") and isinstance(each.get("items"), list):
            yield from _listed(each["items"])
        else:
            yield each
