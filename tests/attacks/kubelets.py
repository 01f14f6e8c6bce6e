"""Pods that pretend to be a kubelet's, so that they keep the name of their node and bypass the scheduler."""

import itertools
import json
from typing import Any

from tests.attacks import Attack
from tests.attacks.target import Target, pod

NODE = "node-1"
PRETENDING: list[dict[str, Any]] = [
    {},
    {"annotations": {"kubernetes.io/config.mirror": "x"}},
    {"annotations": {"kubernetes.io/config.source": "file"}},
    {"annotations": {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "http"}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "1", "controller": True}]},
]
USERS: list[dict[str, Any]] = [
    {"username": "mallory", "groups": ["system:authenticated"]},
    {"username": f"system:node:{NODE}"},
    {"username": f"system:node:{NODE}", "groups": ["system:nodes:", "system:node"]},
    {"username": "system:node:node-2", "groups": ["system:nodes"]},
    {"username": "system:node:", "groups": ["system:nodes"]},
    {"username": "mallory", "groups": ["system:nodes"]},
]


def _pretend(target: Target) -> list[str]:
    faults = []
    for number, (metadata, user) in enumerate(itertools.cycle(itertools.product(PRETENDING, USERS))):
        if target.is_over:
            break
        spec = {"nodeName": NODE, "containers": [{"name": "main", "image": "image"}]}
        body = pod(spec, {"name": f"pod-{number}", **metadata}, userInfo=user)
        for status, answer in target.flood([body], path="/mutate"):
            if status != 200 or "patch" not in json.loads(answer)["response"]:
                faults.append(f"{user['username']} keeps the node's name with {metadata}")
    return faults


TEXT = "pods that pretend to be a kubelet's, by what they say and who creates them"
ATTACK = Attack(TEXT, _pretend, options=("--pods=all",))
