"""At admission an object is judged by a release that serves it, whatever release the webhook was given."""

from typing import Any

from tests.admission.reviews import asked
from tests.rows import each_row
from webhook.admission import ReviewOptions, review


def reviewed(api_version: str, spec: Any, kubernetes: str) -> dict[str, Any]:
    """Review a new claim."""
    obj = {"apiVersion": api_version, "kind": "ResourceClaim", "metadata": {"name": "claim"}, "spec": spec}
    response: dict[str, Any] = review(asked(obj), "validate", ReviewOptions(kubernetes=kubernetes))["response"]
    return response


@each_row("kubernetes", ["1.27", "1.33", "1.36"])
def test_a_cluster_that_was_upgraded_is_not_blocked(kubernetes: str) -> None:
    assert reviewed("resource.k8s.io/v1", {"devices": {}}, kubernetes)["allowed"]


@each_row("kubernetes", ["1.27", "1.30", "1.36"])
def test_the_rules_hold_all_the_same(kubernetes: str) -> None:
    assert not reviewed("resource.k8s.io/v1alpha2", {"resourceClassName": "A b"}, kubernetes)["allowed"]
    assert not reviewed("resource.k8s.io/v1", {"devices": {"requests": [{"name": "A"}]}}, kubernetes)["allowed"]


REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}


def warned(exactly: Any, options: ReviewOptions) -> list[str]:
    """Review a new claim with a special request; return the warnings."""
    request = {**REQUEST, "exactly": {**REQUEST["exactly"], **exactly}}  # type: ignore[dict-item]
    obj = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    response = review(asked(obj), "validate", options)
    assert response["response"]["allowed"]
    warnings: list[str] = response["response"].get("warnings", [])
    return warnings


SHARES = {"capacity": {"requests": {"memory": "1Gi"}}}


def test_every_gate_may_be_on_unless_it_is_stated_which() -> None:
    assert warned(SHARES, ReviewOptions(kubernetes="1.34")) == []
    (warning,) = warned(SHARES, ReviewOptions(kubernetes="1.34", feature_gates={}))
    assert "dropped: this field needs the feature gate DRAConsumableCapacity" in warning
    assert warned(SHARES, ReviewOptions(kubernetes="1.34", feature_gates={"DRAConsumableCapacity": True})) == []


def test_a_gate_that_a_later_release_has_locked_does_not_fail_its_objects() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "rule"},
        "spec": {"deviceSelector": {}, "taint": {"key": "a", "effect": "NoSchedule"}},
    }
    options = ReviewOptions(kubernetes="1.34", feature_gates={"DRAAdminAccess": False, "AllBeta": False})
    answered = review(asked(rule), "validate", options)
    assert answered["response"]["allowed"]


@each_row("kubernetes", ["1.34", "1.36", None])
def test_the_label_of_a_namespace_is_left_to_the_api_server(kubernetes: str | None) -> None:
    assert warned({"adminAccess": True}, ReviewOptions(kubernetes=kubernetes)) == []
