"""What clients send and what a mutation makes is decoded as the API server does."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

from tests.policy.examples import POD, mutating
from tests.policy.mutations import ANYTHING, made
from tests.rows import each_row_beside
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.clusterobjects import decoded, undecodable
from webhook.policy.evaluation.request import request_of
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds

CONFIG: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
OTHER: dict[str, Any] = {"apiVersion": "v1", "kind": "Other", "metadata": {"name": "s"}}


@each_row_beside("obj", "path", "value", "refusal")
def test_a_patch_makes_what_can_be_decoded(obj: dict[str, Any], path: str, value: str, refusal: str) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]"
    verdict = made(mutating("m", patch, matchConstraints={"resourceRules": [ANYTHING]}), obj=obj)
    assert verdict.allowed == (not refusal)
    assert verdict.message.startswith(f"Internal error occurred: json: cannot unmarshal {refusal}" if refusal else "")


@each_row_beside("obj", "path", "said")
def test_all_misspelt_fields_of_known_kinds_are_named(obj: dict[str, Any], path: str, said: str) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '{path}/a', value: 1}}, JSONPatch{{op: 'add', path: '{path}/b', value: 1}}]"
    sent = obj | {"spec": obj.get("spec", {}) | {"strategy": {}}} if path else obj
    verdict = made(mutating("m", patch, matchConstraints={"resourceRules": [ANYTHING]}), obj=sent)
    assert verdict.message == (said and f"Internal error occurred: {said}")


def test_a_changed_object_is_decoded_before_it_is_seen_again() -> None:
    patch = (
        "[JSONPatch{op: 'add', path: '/spec/containers/0/args', value: []}, "
        "JSONPatch{op: 'add', path: '/metadata/labels/none', value: null}, "
        "JSONPatch{op: 'add', path: '/spec/containers/-', value: "
        "{'name': dyn('d'), 'image': dyn('i'), 'command': dyn([null]), 'ports': dyn([null])}}]"
    )
    seen = "object.spec.containers.map(c, c.map(k, k).sort().join(' ')).join('; ') + '|' + object.metadata.labels.none"
    annotate = f"Object{{metadata: Object.metadata{{annotations: {{'seen': {seen}}}}}}}"
    fields = "image imagePullPolicy name resources terminationMessagePath terminationMessagePolicy"
    again = f"Object{{metadata: Object.metadata{{annotations: {{'n': {seen}}}}}}}"
    verdict = made(mutating("m", patch, annotate), mutating("n", again))
    annotations, (first, added) = verdict.object["metadata"]["annotations"], verdict.object["spec"]["containers"]
    assert added == {"name": "d", "image": "i", "command": [""], "ports": [{}]}
    assert annotations["seen"] == annotations["n"]
    assert annotations["seen"].partition("; ")[2] == f"command {fields.replace('name ', 'name ports ')}|"
    assert "args" not in annotations["seen"]
    assert first["args"] == []


def test_what_was_no_better_before_is_not_the_patchs_fault() -> None:
    before = CONFIG | {"data": {"a": 3}}
    patch = "[JSONPatch{op: 'add', path: '/data/b', value: 'c'}]"
    assert made(mutating("m", patch, matchConstraints={"resourceRules": [ANYTHING]}), obj=before).allowed


@each_row_beside("obj", "path", "value")
def test_null_in_a_map_or_list_is_an_empty_value(obj: dict[str, Any], path: str, value: Any) -> None:
    found: Any = decoded(obj, Kinds())
    for step in path.split("."):
        found = found.get(step)
    assert value in (found, found and isinstance(found, dict) and found.get("supplementalGroups"))


def test_null_in_a_container_is_an_empty_value() -> None:
    spec = {"containers": [{"name": "c", "command": ["sh", None], "args": None, "env": [None]}]}
    (container,) = decoded(POD | {"spec": spec}, Kinds())["spec"]["containers"]
    assert (container["command"], container["env"], "args" in container) == (["sh", ""], [{"name": ""}], False)


@each_row_beside("changed", "messages")
def test_what_cannot_be_decoded_is_listed(changed: dict[str, Any], messages: list[str]) -> None:
    assert [each.message for each in undecodable(CONFIG | changed, Kinds())] == messages


@each_row_beside("port", "got")
def test_a_port_is_a_text_or_a_number(port: Any, got: str) -> None:
    spec = {"ports": [{"port": 1, "targetPort": port}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    place = "Go struct field ServicePort.spec.ports.targetPort of type int32"
    refusals = [f"json: cannot unmarshal {got} into {place}"] if got else []
    assert [each.message for each in undecodable(service, Kinds())] == refusals


def test_nothing_is_kept_of_names_that_no_kind_has() -> None:
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"
    policies = load(mutating("m", patch, matchConstraints={"resourceRules": [ANYTHING]}))

    def make(number: int) -> None:
        name = f"{number}{'x' * 50_000}"
        sent = {"apiVersion": f"resource.k8s.io/v{name}", "kind": name, "metadata": {"name": "a"}}
        assert mutate(request_of(sent, kinds=Kinds()), policies).object["metadata"]["labels"] == {"a": "b"}

    make(0)
    tracemalloc.start()
    for number in range(20):
        make(number)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 100_000
