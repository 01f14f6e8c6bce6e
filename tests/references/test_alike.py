"""Claims that differ only in their names are checked once."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests import structured
from tests.command import findings
from tests.rows import each_row
from webhook.api.gates import enabled
from webhook.api.templates import pod_template
from webhook.api.versions import NEWEST
from webhook.explain.text import example
from webhook.inventory import CLAIMS, Inventory
from webhook.objects import JSONObject
from webhook.problem import value_at
from webhook.references.lookup import every_rule
from webhook.references.rules import Alike, Context, ReferenceFindings, pod_view


def claim(name: str, **asks: Any) -> dict[str, Any]:
    asked = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **asks}}
    return structured.claim(asked) | {"metadata": {"name": name}}


def looks(alike: Alike, *objects: dict[str, Any]) -> int:
    """Count the objects that are looked at."""
    times = 0

    def look() -> ReferenceFindings:
        nonlocal times
        times += 1
        return ReferenceFindings([], [])

    for each in objects:
        alike.find(each, look)
    return times


def test_what_differs_by_name_is_looked_at_once() -> None:
    assert looks(Alike(), claim("a"), claim("b"), claim("c")) == 1
    assert looks(Alike(), pod("a"), pod("b"), pod("c")) == 1


@each_row(
    "others",
    [claim("b", count=2)],
    [claim("b", deviceClassName="other.example.com")],
    [claim("")],
    [claim("b") | {"kind": "ResourceClaimTemplate"}],
    [claim("b", count=1), claim("c", count=True), claim("d", count=1.0)],
)
def test_what_differs_by_more_is_looked_at_again(others: list[dict[str, Any]]) -> None:
    assert looks(Alike(), claim("a"), *others) == 1 + len(others)


@each_row(
    "about",
    {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"},
    {"apiVersion": "example.com/v1", "kind": "ResourceClaim"},
)
def test_objects_of_other_kinds_are_each_looked_at(about: dict[str, Any]) -> None:
    objects = [{**about, "metadata": {"name": name}, "spec": {}} for name in ("a", "b")]
    assert looks(Alike(), *objects) == 2


def pod(name: str, source: str = "resourceClaimTemplateName", **spec: Any) -> dict[str, Any]:
    spec["resourceClaims"] = [{"name": "gpu", source: "gpu"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@each_row(
    ("one", "other"),
    (pod("a"), pod("b", nodeName="node-1")),
    (pod("a"), pod("b") | {"metadata": {"name": "b", "namespace": "team"}}),
    (pod("a", "resourceClaimName"), pod("b", "resourceClaimName")),
)
def test_pods_that_differ_by_more_or_name_a_claim_are_each_looked_at(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert looks(Alike(), one, other) == 2


def test_what_has_no_room_is_not_remembered_and_takes_none_from_others() -> None:
    assert looks(Alike(most=10), claim("a"), claim("b")) == 2
    assert looks(Alike(most=3_000), claim("a", driver="d" * 3_000), claim("a"), claim("b")) == 2
    alike = Alike(most=10_000)
    assert looks(alike, *PODS, *PODS[:2]) == 20
    assert looks(alike, claim("a"), claim("b")) == 1


PODS = [pod("a", nodeName=f"node-{number}") for number in range(20)]


def test_what_is_nested_deep_is_looked_at_each_time() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3_000):
        deep = {"a": deep}
    assert looks(Alike(), claim("a", extra=deep), claim("b", extra=deep)) == 2


class _Metadata(dict[str, Any]):
    """Metadata of which only the name may be read."""

    def get(self, key: str, default: Any = None) -> Any:
        assert key == "name"
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        assert key == "name"
        return super().__getitem__(key)


@each_row("rule", *(name for name, each in every_rule().items() if set(CLAIMS) & set(each.kinds)))
def test_rules_about_claims_read_no_metadata_but_the_name(rule: str) -> None:
    context = Context(Inventory(), NEWEST, enabled(NEWEST))
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    asked = {**claim("a", count=40, selectors=[selector]), "metadata": _Metadata(name="a", namespace="b", labels={})}
    renamed = {**asked, "metadata": _Metadata(name="other", namespace="c", annotations={"x": "y"})}
    check = every_rule()[rule].check
    assert list(check(asked, context)) == list(check(renamed, context))


OF_CLAIMS_BY_NAME = {"claim-not-found", "claim-of-another", "claim-shared-by-replicas", "quota-exceeded"}
"""Rules about pods that find nothing in those of templates."""
ALL_DEVICES = {"spec": claim("", allocationMode="All")["spec"]}
TEMPLATE = {**claim("gpu"), "kind": "ResourceClaimTemplate", "spec": ALL_DEVICES}


def view_of(pod: JSONObject) -> JSONObject:
    steps = pod_template(pod)
    assert steps is not None
    return pod_view(pod, value_at(pod, steps))


@each_row("rule", *(name for name, each in every_rule().items() if "Pod" in each.kinds))
def test_rules_about_pods_of_templates_do_not_depend_on_their_names(rule: str) -> None:
    shown = example(rule)
    assert shown
    objects = list(yaml.safe_load_all(shown.fails.replace("resourceClaimName", "resourceClaimTemplateName")))
    context = Context(Inventory([TEMPLATE, *objects]), NEWEST, enabled(NEWEST))
    context.uses_allocator = True
    (asking,) = (each for each in objects if pod_template(each) is not None)
    renamed = {**asking, "metadata": {**asking["metadata"], "name": "other"}}
    check = every_rule()[rule].check
    found = list(check(view_of(asking), context))
    assert bool(found) == (rule not in OF_CLAIMS_BY_NAME)
    assert list(check(view_of(renamed), context)) == found


def test_each_of_those_alike_has_its_findings(tmp_path: Path) -> None:
    file = tmp_path / "claims.yaml"
    file.write_text("\n---\n".join(json.dumps(claim(name, count=33)) for name in ("a", "b")), encoding="utf-8")
    found = findings("validate", file)
    assert [(each["rule"], each["line"], each["name"]) for each in found] == [
        ("too-many-devices", 1, "a"),
        ("too-many-devices", 3, "b"),
    ]
