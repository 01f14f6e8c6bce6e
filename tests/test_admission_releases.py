"""At admission an object is judged by a release that serves it, whatever release the webhook was told."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.admission import Options, review


def reviewed(api_version: str, spec: Any, kubernetes: str) -> dict[str, Any]:
    """Ask for a new claim."""
    group, _, version = api_version.partition("/")
    obj = {"apiVersion": api_version, "kind": "ResourceClaim", "metadata": {"name": "claim"}, "spec": spec}
    request = {
        "uid": "1",
        "operation": "CREATE",
        "kind": {"group": group, "version": version, "kind": "ResourceClaim"},
        "object": obj,
    }
    asked = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response: dict[str, Any] = review(asked, "validate", Options(kubernetes=kubernetes))["response"]
    return response


@pytest.mark.parametrize("kubernetes", ["1.27", "1.33", "1.36"])
def test_a_cluster_that_was_upgraded_is_not_blocked(kubernetes: str) -> None:
    assert reviewed("resource.k8s.io/v1", {"devices": {}}, kubernetes)["allowed"]


@pytest.mark.parametrize("kubernetes", ["1.27", "1.30", "1.36"])
def test_the_rules_hold_all_the_same(kubernetes: str) -> None:
    assert not reviewed("resource.k8s.io/v1alpha2", {"resourceClassName": "A b"}, kubernetes)["allowed"]
    assert not reviewed("resource.k8s.io/v1", {"devices": {"requests": [{"name": "A"}]}}, kubernetes)["allowed"]
