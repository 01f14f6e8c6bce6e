"""The cases that a real kube-scheduler decided, and how far draguard agrees with it."""

import gzip
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Final, NamedTuple

from webhook import simulate
from webhook.objects import JSONObject

RECORDED: Final = Path(__file__).parent / "scheduler-1.36.jsonl.gz"
_KINDS: Final = {
    "classes": "DeviceClass",
    "nodes": "Node",
    "slices": "ResourceSlice",
    "claims": "ResourceClaim",
    "taintRules": "DeviceTaintRule",
    "pods": "Pod",
}
_NAMESPACED: Final = frozenset({"ResourceClaim", "Pod"})
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SHARE: Final = re.compile(r'"shareID": "([^"]+)"')
_POLL: Final = 5
"""Seconds after which the scheduler looks again whether devices are ready."""


def cases() -> Iterator[JSONObject]:
    """Read the cases that the API server accepted and the scheduler decided."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            if "outcomes" in case:
                yield case


def case_objects(case: JSONObject) -> tuple[list[JSONObject], list[JSONObject], dict[str, bool] | None]:
    """Return the objects of a case, its pods, and its feature gates."""
    world = _World(case)
    return [*world._objects.values()], [*world._pods.values()], world._gates  # noqa: SLF001 - the class of this module


class Agreement(NamedTuple):
    """The agreement of a case with its record, after each step."""

    conditions: bool
    nodes: bool
    claims: bool
    details: str


def agreement(case: JSONObject) -> Agreement:
    world = _World(case)
    found = Agreement(conditions=True, nodes=True, claims=True, details="")
    for step, recorded in zip([None, *case.get("then", ())], case["outcomes"], strict=True):
        answers = world.after(step)
        found = _joined(found, _compared(answers, recorded))
    return found


def _joined(one: Agreement, other: Agreement) -> Agreement:
    return Agreement(
        one.conditions and other.conditions,
        one.nodes and other.nodes,
        one.claims and other.claims,
        one.details or other.details,
    )


def _compared(answers: dict[str, JSONObject], recorded: JSONObject) -> Agreement:
    expected = {"p": recorded, **recorded.get("otherPods", {})}
    same_conditions = same_nodes = same_claims = True
    details = []
    for name, outcome in expected.items():
        if name not in answers:
            continue
        answer = answers[name]
        if _comparable(answer["condition"]) != _comparable(outcome["condition"]):
            same_conditions = False
            details.append(f"{name}: {answer['condition']} is not {outcome['condition']}")
        if answer["node"] != outcome["node"] and outcome["node"] not in answer["candidates"]:
            same_nodes = False
            details.append(f"{name}: {answer['node']} is not {outcome['node']}")
    answer = answers["p"]
    for name, claim in recorded["claims"].items():
        if "allocation" not in claim or name not in answer["claims"] or answer["node"] != recorded["node"]:
            continue
        if not answer["node"] and len(answer["candidates"]) > 1:  # it waits, and does not say on which node
            continue
        if _devices(answer["claims"][name]) != _devices(claim["allocation"]):
            same_claims = False
            details.append(f"{name}: {answer['claims'][name]} is not {claim['allocation']}")
    return Agreement(same_conditions, same_nodes, same_claims, "; ".join(details))


def _devices(allocation: JSONObject) -> JSONObject:
    """Return an allocation without its random parts, the share IDs and the time."""
    kept = {key: value for key, value in allocation.items() if key != "allocationTimestamp"}
    text = json.dumps(kept)
    for index, share in enumerate(dict.fromkeys(_SHARE.findall(text))):
        text = text.replace(share, f"share-{index}")
    found: JSONObject = json.loads(text)
    return found


def _comparable(condition: JSONObject | None) -> JSONObject | None:
    return condition and {key: _TIME.sub("TIME", value) for key, value in condition.items()}


class _World:
    """The cluster of a case, as its steps change it."""

    def __init__(self, case: JSONObject) -> None:
        self._case = case
        self._objects = {
            (kind, each["metadata"]["name"]): _typed(kind, each)
            for group, kind in _KINDS.items()
            for each in deepcopy(case.get(group, []))
        }
        self._pods = {"p": _typed("Pod", deepcopy(case["pod"]))}
        self._pods["p"]["metadata"]["creationTimestamp"] = "2026-01-01T01:00:00Z"  # the newest time
        self._answers: dict[str, JSONObject] = {}
        self._gates = case.get("scheduler", {}).get("gates")
        self._is_impatient = "bindingTimeout" in case.get("scheduler", {}).get("args", {})

    def after(self, step: JSONObject | None) -> dict[str, JSONObject]:
        """Apply a step, and schedule the pods that are not bound."""
        if step is not None and not self._apply(step):
            return self._answers
        waiting = {name: pod for name, pod in self._pods.items() if not self._is_bound(name)}
        placed = [
            {**pod, "spec": {**pod["spec"], "nodeName": self._answers[name]["node"]}}
            for name, pod in self._pods.items()
            if name not in waiting
        ]
        found = simulate(
            [*self._objects.values(), *placed], list(waiting.values()), kubernetes="1.36", feature_gates=self._gates
        )
        for name, answer in zip(waiting, found, strict=True):
            self._answers[name] = answer
            for claim, allocation in answer["claims"].items():
                self._keep(name, answer, claim, allocation)
        return self._answers

    def _keep(self, pod: str, answer: JSONObject, claim: str, allocation: JSONObject) -> None:
        """Store the allocation of a claim in the cluster."""
        obj = self._objects.get(("ResourceClaim", claim))
        if obj is None:
            return
        status = obj.setdefault("status", {})
        if not status.get("allocation"):
            hour = 0 if self._is_impatient else 1
            status["allocation"] = {**allocation, "allocationTimestamp": f"2026-01-01T0{hour}:00:00Z"}
        failed = answer["condition"] and answer["condition"]["status"] == "False"
        consumer = {"resource": "pods", "name": pod, "uid": f"UID:{pod}"}
        if not failed and consumer not in status.setdefault("reservedFor", []):
            status["reservedFor"].append(consumer)

    def _is_bound(self, name: str) -> bool:
        return self._answers.get(name, {}).get("node") is not None

    def _apply(self, step: JSONObject) -> bool:
        """Apply a recorded action to the cluster; tell whether it made the scheduler retry."""
        for group, kind in _KINDS.items():
            if group in step:
                obj = _typed(kind, deepcopy(step[group]))
                if kind == "Pod":
                    self._pods[obj["metadata"]["name"]] = obj
                else:
                    self._objects[kind, obj["metadata"]["name"]] = obj
        for action in ("status", "patch"):
            if action in step:
                group, name, change = step[action]
                obj = self._object(group, name)
                _merge(obj.setdefault("status", {}) if action == "status" else obj, change)
        if "delete" in step:
            group, name = step["delete"]
            del self._objects[_KINDS[group], name]
            return False  # the deletion of a claim wakes no pod
        if "schedulerExited" in self._case:
            return False
        answer = self._answers["p"]
        waits = answer["node"] is None and answer["condition"] is None and bool(answer["claims"])
        return not waits or step.get("wait", 0) >= _POLL

    def _object(self, group: str, name: str) -> JSONObject:
        if group == "pods" and name in self._pods:
            return self._pods[name]
        return self._objects[_KINDS[group], name]


def _merge(obj: JSONObject, change: JSONObject) -> None:
    for name, value in change.items():
        if isinstance(value, dict) and isinstance(obj.get(name), dict):
            _merge(obj[name], value)
        elif value is None:
            obj.pop(name, None)
        else:
            obj[name] = value


def _typed(kind: str, obj: JSONObject) -> JSONObject:
    if kind in _NAMESPACED:
        obj["metadata"].setdefault("namespace", "NAMESPACE")
    if obj["metadata"].pop("deleted", False):
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": kind, **obj}
