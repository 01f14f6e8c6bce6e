"""Notes of `webhook.simulate`: names that were meant, and what the API server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, template
from webhook import simulate
from webhook.objects import JSONObject

AROUND = (node("a"), device_class(), devices("a", 3))
ADMIN = "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label"


def notes(*objects: JSONObject, wanted: JSONObject) -> list[str]:
    first, *_ = simulate([*AROUND, *objects], [wanted])
    found: list[str] = first["why"]["notes"]
    return found


def submitted(obj: JSONObject, version: str = "resource.k8s.io/v1") -> JSONObject:
    return {**obj, "apiVersion": version}


class TestNames:
    def test_the_class_that_was_meant(self) -> None:
        (note,) = notes(claim(deviceClassName="gpus"), wanted=pod(claims={"gpu": "c"}))
        assert note.endswith('did you mean "gpu"?')

    def test_the_template_that_was_meant(self) -> None:
        (note,) = notes(template("large"), wanted=pod(claims={"gpu": "tlarge"}))
        assert note.endswith('did you mean "large"?')

    def test_the_namespace_of_a_template(self) -> None:
        other = template()
        other["metadata"]["namespace"] = "other"
        (note,) = notes(other, wanted=pod(claims={"gpu": "t"}))
        assert "it exists in namespace other" in note

    def test_nothing_about_a_pod_that_is_scheduled(self) -> None:
        assert notes(claim(), wanted=pod(claims={"gpu": "c"})) == []


@pytest.mark.parametrize(("holders", "is_noted"), [((), True), (("other",), False)])
def test_claims_of_which_the_scheduler_takes_either_back(holders: tuple[str, ...], *, is_noted: bool) -> None:
    held = [allocated("one", "a"), allocated("next", "b", "d0", *holders)]
    cluster = [*AROUND, node("b"), devices("b", 3), *held]
    (answer,) = simulate(cluster, [pod(claims={"one": "one", "next": "next"})])
    note = "it takes the devices of default/one or default/next back, whichever comes first"
    assert answer["node"] == "b"
    assert any(note in each for each in answer["why"]["notes"]) is is_noted


@each_row(("asked", "shared", "is_noted"), [(True, False, True), (True, True, False), (False, False, False)])
def test_devices_in_use_that_cannot_be_shared(*, asked: bool, shared: bool, is_noted: bool) -> None:
    capacity = {"memory": {"value": "8Gi"}}
    made = devices("a", capacity=capacity, **({"allowMultipleAllocations": True} if shared else {}))
    wanted = claim(capacity={"requests": {"memory": "1Gi"}} if asked else {})
    objects = [node("a"), device_class(), made, allocated("held", "a"), wanted]
    (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
    note = 'request "r" gets a whole device: none of the class can be shared'
    assert (note in answer["why"]["notes"]) is is_noted


class TestRefusals:
    def test_of_the_pod_although_it_is_simulated(self) -> None:
        wanted = submitted(pod(claims={"gpu": "c"}), "v1")
        wanted["spec"]["resourceClaim"] = []
        answer, *_ = simulate([*AROUND, claim()], [wanted])
        assert answer["node"] == "a"
        (note,) = answer["why"]["notes"]
        unknown = 'strict decoding error: unknown field "spec.resourceClaim" (did you mean "resourceClaims"?)'
        assert note == f"the API server refuses Pod p: spec.resourceClaim: {unknown}"

    def test_of_a_workload(self) -> None:
        made = {**pod(claims={"gpu": "t"}), "metadata": {"labels": {"app": "a"}}}
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "b"}}, "template": made}
        workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
        del made["kind"]
        made["spec"]["containers"][0]["resources"]["claims"][0]["name"] = "other"
        for answer in simulate([*AROUND, template()], [workload]):
            assert any(note.startswith("the API server refuses Deployment d: ") for note in answer["why"]["notes"])

    @pytest.mark.parametrize(("make", "name"), [(claim, "c"), (template, "t")])
    def test_of_what_it_names(self, make: Any, name: str) -> None:
        made = submitted(make(counts=2))
        (note,) = notes(made, wanted=pod(claims={"gpu": name}))
        assert note.startswith(f"the API server refuses {made['kind']} {name}: ")
        assert note.endswith('exactly.counts" (did you mean "count"?)')

    def test_of_admin_access_where_the_namespace_is_known(self) -> None:
        made = submitted(claim(adminAccess=True))
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        assert notes(made, wanted=pod(claims={"gpu": "c"})) == []
        (note,) = notes(made, space, wanted=pod(claims={"gpu": "c"}))
        assert ADMIN in note

    def test_not_of_objects_of_the_cluster(self) -> None:
        stored = {**submitted(claim(counts=2)), "status": {"reservedFor": [{"resource": "pods"}]}}
        assert not any("refuses" in each for each in notes(stored, wanted=pod(claims={"gpu": "c"})))
