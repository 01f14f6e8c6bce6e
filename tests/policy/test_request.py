"""Requests that manifests stand for, as policies see them."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.policy.evaluation.request import request_of
from webhook.policy.manifest.kinds import Kinds

DELETED = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}


@pytest.mark.parametrize(
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
