"""DRA objects in other versions of their API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy.examples import CLAIM, POD
from tests.rows import each_row
from webhook.policy.evaluation.policyset import ConfigurationError
from webhook.policy.evaluation.session import convert
from webhook.policy.manifest.kinds import Kind

GROUP = "resource.k8s.io"
SLICE: dict[str, Any] = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {"driver": "d", "devices": [{"name": "a", "attributes": {"x": {"int": 1}}, "capacity": {}}, {"name": "b"}]},
}
TEMPLATE = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "t"},
    "spec": {"spec": CLAIM["spec"]},
}


def to(obj: dict[str, Any] | None, version: str) -> Any:
    kind = str(obj["kind"]) if obj else "ResourceClaim"
    return convert(obj, Kind(GROUP, version, kind))


def test_nothing_stays_nothing() -> None:
    assert to(None, "v1") is None


def test_a_request_has_its_fields_in_exactly_or_not() -> None:
    beta = to(CLAIM, "v1beta1")
    request = {"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2}
    assert beta == CLAIM | {"apiVersion": f"{GROUP}/v1beta1", "spec": {"devices": {"requests": [request]}}}
    assert to(beta, "v1") == CLAIM
    assert to(beta, "v1beta2") == CLAIM | {"apiVersion": f"{GROUP}/v1beta2"}


def test_alternatives_stay_where_they_are() -> None:
    requests = [{"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "x"}]}]
    claim = CLAIM | {"spec": {"devices": {"requests": requests}}}
    assert to(to(claim, "v1beta1"), "v1") == claim


def test_templates_and_slices_are_converted() -> None:
    for obj in (TEMPLATE, SLICE):
        beta = to(obj, "v1beta1")
        assert beta != obj | {"apiVersion": f"{GROUP}/v1beta1"}
        back = to(beta, "v1")
        assert back == obj


def test_a_capacity_is_a_plain_quantity_in_v1alpha3() -> None:
    with_capacity = SLICE | {"spec": {"devices": [{"name": "a", "capacity": {"memory": {"value": "1Gi"}}}]}}
    alpha = to(with_capacity, "v1alpha3")
    assert alpha["spec"]["devices"] == [{"name": "a", "basic": {"capacity": {"memory": "1Gi"}}}]
    assert to(alpha, "v1beta1")["spec"]["devices"] == [
        {"name": "a", "basic": {"capacity": {"memory": {"value": "1Gi"}}}}
    ]
    assert to(alpha, "v1") == with_capacity


def test_other_kinds_are_alike() -> None:
    device_class = {"apiVersion": f"{GROUP}/v1", "kind": "DeviceClass", "metadata": {"name": "c"}, "spec": {}}
    assert to(device_class, "v1beta1")["apiVersion"] == f"{GROUP}/v1beta1"


def test_the_options_of_a_subresource_are_no_object_to_convert() -> None:
    assert convert(POD, Kind("", "v1", "Eviction")) == POD


@pytest.mark.parametrize("obj", [CLAIM | {"apiVersion": f"{GROUP}/v1alpha2"}, POD | {"kind": "ResourceClaim"}])
def test_what_is_not_known_is_said(obj: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="draguard cannot convert"):
        to(obj, "v1")


@each_row(
    "spec", [None, [], {"devices": 1}, {"devices": {"requests": {}}}, {"devices": {"requests": [1, {"exactly": 1}]}}]
)
def test_what_is_malformed_stays_as_it_is(spec: Any) -> None:
    claim = CLAIM | {"spec": spec}
    assert to(to(claim, "v1beta1"), "v1")["apiVersion"] == f"{GROUP}/v1"


def test_an_event_has_other_names_in_its_own_group() -> None:
    event = {"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "p"}, "message": "pulled", "reason": "r"}
    new = convert(event, Kind("events.k8s.io", "v1", "Event"))
    assert new == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "regarding": {"name": "p"},
        "note": "pulled",
        "reason": "r",
    }
    assert convert(new, Kind("", "v1", "Event")) == event
