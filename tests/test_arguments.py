"""Wrong arguments of the public functions: each raises an error that names it."""

from collections.abc import Callable
from typing import Any

import pytest

import webhook
from tests.rows import each_row

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
NODES = [{"metadata": {"name": "n"}}]

CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "validate, gates": (lambda bad: webhook.validate(POD, feature_gates=bad), "feature_gates must be a mapping"),
    "validate, release": (lambda bad: webhook.validate(POD, kubernetes=bad), "kubernetes must be a string"),
    "validate, subresource": (lambda bad: webhook.validate(POD, subresource=bad), "subresource must be a string"),
    "validate, labels": (lambda bad: webhook.validate(POD, namespace_labels=bad), "namespace_labels must be a mapping"),
    "simulate, gates": (lambda bad: webhook.simulate([], [POD], feature_gates=bad), "feature_gates must be a mapping"),
    "simulate, release": (lambda bad: webhook.simulate([], [POD], kubernetes=bad), "kubernetes must be a string"),
    "simulate, objects": (lambda bad: webhook.simulate(bad, [POD]), "objects must be a list of objects"),
    "simulate, pods": (lambda bad: webhook.simulate([], bad), "pods must be a list of objects"),
    "convert, version": (lambda bad: webhook.convert(CLAIM, bad), "api_version must be a string"),
    "allocate": (webhook.allocate, "a scenario must be an object"),
    "allocate, nodes": (lambda bad: webhook.allocate({"nodes": bad}), "nodes must be a list of objects"),
    "allocate, node": (lambda bad: webhook.allocate({"nodes": [bad]}), r"nodes\[0\] must be an object"),
    "allocate, slice": (
        lambda bad: webhook.allocate({"slices": [{"metadata": {}, "spec": bad}]}),
        r"slices\[0\]\.spec must be an object",
    ),
    "allocate, features": (lambda bad: webhook.allocate({"features": bad}), "features must be a mapping"),
    "allocate, release": (lambda bad: webhook.allocate({"nodes": NODES, "release": str(bad)}), "release must be"),
    "allocate, enable": (lambda bad: webhook.allocate({"nodes": NODES, "enable": bad}), "enable must be a list"),
}


@each_row("name", CALLS)
@each_row("bad", [3, 2.5, object()])
def test_are_refused_by_name(name: str, bad: object) -> None:
    call, message = CALLS[name]
    with pytest.raises(ValueError, match=message):
        call(bad)


@pytest.mark.parametrize("gates", [{"DRAPrioritizedList": "true"}, {1: True}])
def test_gates_are_true_or_false_by_name(gates: Any) -> None:
    with pytest.raises(ValueError, match="feature_gates must be a mapping from str to bool: "):
        webhook.validate(POD, feature_gates=gates)


@each_row("text", ["", b"", {"kind": "Pod"}])
def test_text_and_mappings_are_no_lists(text: Any) -> None:
    with pytest.raises(ValueError, match="pods must be a list of objects"):
        webhook.simulate([], text)
