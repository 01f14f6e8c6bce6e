"""Requests that manifests stand for, as policies see them."""

import importlib
import pkgutil
from typing import Any

import webhook
from tests.policy.examples import binding, evaluate, policy
from tests.rows import each_row
from webhook.configuration.options import Default
from webhook.objects import plain
from webhook.policy.evaluation.request import request_of
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds

DELETED = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}


@each_row(
    ("spec", "phase", "seconds"),
    [
        ({"nodeName": "n"}, "Running", 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Running", 7),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 0}, "Running", 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": -5}, "Running", 1),
        ({"terminationGracePeriodSeconds": 7}, "Pending", 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Succeeded", 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Failed", 0),
    ],
)
def test_a_pod_is_deleted_with_its_grace_period(spec: dict[str, Any], phase: str, seconds: int) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase}}
    assert request_of(None, pod, kinds=Kinds()).options == {**DELETED, "gracePeriodSeconds": seconds}


def test_other_objects_are_deleted_without_a_grace_period() -> None:
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
    assert request_of(None, claim, kinds=Kinds()).options == DELETED


def _subclasses(base: type) -> list[type]:
    found: list[type] = base.__subclasses__()
    return [*found, *(each for own in found for each in _subclasses(own))]


def test_expressions_see_plain_values_only() -> None:
    for module in pkgutil.walk_packages(webhook.__path__, "webhook."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    samples: dict[type, Any] = {str: "default", int: 7, float: 0.5, dict: {"a": "b"}, list: ["a"]}
    seen = set()
    for base, sample in samples.items():
        for cls in _subclasses(base):
            if cls is bool or not cls.__module__.startswith("webhook."):
                continue
            seen.add(cls.__name__)
            own = cls.__new__(cls, *([sample] if base in {str, int, float} else []))
            if base is dict:
                dict.update(own, sample)
            if base is list:
                list.extend(own, sample)
            made = plain({"a": [own]})
            assert (type(made["a"][0]), made["a"][0]) == (base, sample)
            assert plain({"a": [sample]}) == made
    assert {"Default", "UInt", "Struct"} <= seen


def test_the_assumed_namespace_is_a_string_for_expressions() -> None:
    asked = "request.namespace.startsWith('def') && object.metadata.namespace.size() == 7"
    asked += " && params.metadata.namespace + namespaceObject.metadata.name == 'defaultdefault'"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}}
    asking = policy(validations=[{"expression": asked}], paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    bound = binding(paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
    assert evaluate(pod, policies=load([asking, bound, config]), namespace=Default("default")).message == ""
