"""``draguard match``."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.manifests import CLUSTER, DEPLOYMENT
from tests.command import Done, draguard, reported
from tests.rows import each_row
from tests.scan.clusters import device, slices
from tests.schemas import Validator, closed, schema
from tests.simulation import clusters
from webhook.cli import match


def matched(expression: str, *slices: dict[str, Any], output: str = "text") -> Done:
    stdin = "\n---\n".join(map(json.dumps, slices)).encode()
    return draguard("match", "-e", expression, "--cluster", "-", "-o", output, stdin=stdin)


def _slice(index: int) -> dict[str, Any]:
    return slices(*(device(f"gpu-{number}", {"model": "A100"}) for number in range(8)), on=f"n{index:03}")


def asking(**asked: Any) -> bytes:
    return json.dumps({"apiVersion": "resource.k8s.io/v1", **clusters.claim(**asked)}).encode()


class TestMatch:
    def test_says_what_keeps_devices_out(self) -> None:
        done = draguard("match", DEPLOYMENT, "--cluster", CLUSTER)
        assert "request gpu (class gpu.example.com): 4 of 8 devices match" in done.out
        assert "  true  4 H100  node-a, node-b\n" in done.out
        assert "  false 4 A100  node-c, node-d: memory is 40Gi, wanted >= 80Gi" in done.out
        assert done.code == 0

    def test_an_expression(self) -> None:
        done = draguard("match", "-e", 'device.attributes["gpu.example.com"].color == "red"', "--cluster", CLUSTER)
        assert "error 4 A100" in done.out
        assert "no such key: color" in done.out
        assert done.code == 1

    def test_devices_without_the_capacity_that_is_asked_for_do_not_match(self) -> None:
        claim = asking(deviceClassName="gpu.example.com", capacity={"requests": {"memory": "60Gi"}})
        done = draguard("match", "-", "--cluster", CLUSTER, stdin=claim)
        assert "4 of 8 devices match" in done.out
        assert "  false 4 A100  node-c, node-d: capacity memory: a device has 40Gi, 60Gi is wanted\n" in done.out
        before = draguard("match", "-", "--cluster", CLUSTER, "--kubernetes-version", "1.34", stdin=claim)
        assert "8 of 8 devices match" in before.out  # DRAConsumableCapacity is off

    def test_a_class_that_does_not_exist_matches_nothing(self) -> None:
        done = draguard("match", "-", "--cluster", CLUSTER, stdin=asking(deviceClassName="gone"))
        assert done.code == 1
        line, released = done.out.splitlines()
        assert released == "matched as Kubernetes 1.37"
        why = 'DeviceClass "gone" not found: device classes: gpu.example.com'
        assert line.endswith(f"(class gone): 0 of 8 devices match: {why}")

    def test_pods_with_errors_beside_a_claim_do_not_count(self) -> None:
        pod = b"apiVersion: v1\nkind: Pod\nspec: {resourceClaims: [{name: A}]}\n---\n"
        done = draguard("match", "-", "--cluster", CLUSTER, stdin=pod + asking(deviceClassName="gpu.example.com"))
        assert "8 of 8 devices match" in done.out
        assert done.err == ""

    def test_an_object_that_is_refused_does_not_keep_others_from_being_matched(self) -> None:
        several = (
            asking(deviceClassName="gpu.example.com", count=-1) + b"---\n" + asking(deviceClassName="gpu.example.com")
        )
        done = draguard("match", "-", "--cluster", CLUSTER, stdin=several)
        assert (done.code, "8 of 8 devices match" in done.out, "must be greater than zero" in done.err) == (
            1,
            True,
            True,
        )

    def test_a_class_for_machines(self) -> None:
        found = [each for each in reported("match", CLUSTER, "--cluster", CLUSTER) if each["kind"] == "DeviceClass"]
        assert [(each["name"], each["matching"], each["devices"]) for each in found] == [("gpu.example.com", 8, 8)]

    def test_the_schema_holds(self, tmp_path: Path) -> None:
        validator = Validator(closed(schema("match")))
        (tmp_path / "slice.yaml").write_text(yaml.safe_dump(_slice(0)))
        expressions = "-e", "true", "-e", "false", "-e", 'device.attributes["gpu.example.com"].color == "red"'
        for given in ([DEPLOYMENT, CLUSTER], [*expressions, "--cluster", tmp_path / "slice.yaml"]):
            found = json.loads(draguard("match", *given, "--cluster", CLUSTER, "--output", "json").out)
            validator.validate(found)

    def test_an_attribute_that_is_published_twice_is_noted(self) -> None:
        made = _slice(0)
        for one in made["spec"]["devices"]:
            one["attributes"] = {"model": {"string": "a"}, "gpu.example.com/model": {"string": "b"}}
        same = 'gpu.example.com/model: it is the same attribute as "model", which has another value: the scheduler'
        for release, taken in (("1.37", "either"), ("1.38", "this one")):
            asked = "match", "-e", "true", "--cluster", "-", "--kubernetes-version", release
            done = draguard(*asked, stdin=json.dumps(made).encode())
            assert done.err.count(f"{same} takes {taken}; match takes the last") == 1
            assert done.code == 0

    def test_fields_are_matched_without_those_that_the_api_server_drops(self) -> None:
        alternatives = [{"name": "large", "deviceClassName": "gone"}]
        request = {"name": "gpu", "deviceClassName": "gpu.example.com", "firstAvailable": alternatives}
        claim = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
        stdin = json.dumps(claim | {"spec": {"devices": {"requests": [request]}}}).encode()
        done = draguard("match", "-", "--cluster", CLUSTER, "--kubernetes-version", "1.33", stdin=stdin)
        assert "request gpu (class gpu.example.com): 8 of 8 devices match" in done.out
        assert "dropped: this field needs the feature gate DRAPrioritizedList" in done.err

    def test_ten_thousand_devices_fit_on_a_screen(self) -> None:
        done = matched('device.driver == "gpu.example.com"', *map(_slice, range(300)))
        assert done.out.splitlines()[1:-1] == ["  true  2400 A100  n000 … n299 (300 nodes)"]

    def test_devices_that_are_out_for_reasons_of_their_own_fit_too(self) -> None:
        made = [_slice(index) for index in range(50)]
        for each in made:
            for one in each["spec"]["devices"]:
                one["attributes"]["uuid"] = {"string": f"{each['metadata']['name']}-{one['name']}"}
        expression = 'device.attributes["gpu.example.com"].uuid == "none"'
        done = matched(expression, *made)
        assert done.out.splitlines()[-2] == "  and 380 more devices, false for other reasons (--output json has all)"
        assert len(json.loads(matched(expression, *made, output="json").out)[0]["rows"]) == 400

    def test_devices_of_incomplete_pools_are_not_had(self) -> None:
        made = [_slice(index) for index in range(2)]
        made[0]["spec"]["pool"]["resourceSliceCount"] = 2
        done = matched('device.driver == "gpu.example.com"', *made)
        assert done.out.splitlines()[:-1] == [
            'device.driver == "gpu.example.com": 8 of 16 devices match, 8 more are not used',
            "  true   8 A100  n001",
            "  true   8 A100  n000: not used, as the pool is incomplete: 1 of 2 slices of generation 1",
        ]
        assert done.code == 0
        assert matched('device.driver == "gpu.example.com"', made[0]).code == 1

    def test_errors_on_devices_that_are_not_used_are_marked(self) -> None:
        made = [_slice(index) for index in range(2)]
        made[0]["spec"]["pool"]["resourceSliceCount"] = 2
        made[0]["spec"]["devices"] = [device("gpu-0")]
        lines = matched('device.attributes["gpu.example.com"].model == "A100"', *made).out.splitlines()
        assert lines[2].endswith("; not used, as the pool is incomplete: 1 of 2 slices of generation 1")

    def test_selectors_without_end_stop(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(match, "_WORK", 10)
        done = draguard("match", "-e", "device.driver == 'a'", DEPLOYMENT, "--cluster", CLUSTER)
        asked = "ResourceClaimTemplate team-y/large-gpu, request gpu (class gpu.example.com)"
        why = "the selectors take more work than draguard allows"
        assert done.err.startswith(f"not matched: device.driver == 'a', {asked}: {why}")
        assert done.code == 1

    def test_a_selector_needs_no_option(self) -> None:
        expression = 'device.attributes["gpu.example.com"].model == "H100"'
        with_option = draguard("match", "-e", expression, "--cluster", CLUSTER)
        assert draguard("match", expression, "--cluster", CLUSTER) == with_option
        wrong = draguard("match", 'attributes.model == "H100"', "--cluster", CLUSTER).err
        assert wrong.startswith("-e:1:1: error cel-selector: undeclared reference to 'attributes'")

    @each_row(
        ("read", "hint"),
        (
            'attributes["gpu.example.com"].modle',
            'no known device has the attribute "gpu.example.com/modle": did you mean',
        ),
        ('attributes["gpu.example.com"].colour', 'attribute "gpu.example.com/colour": it has: driverVersion, model)'),
        ('attributes["gpu.exmaple.com"].model', 'the domain "gpu.exmaple.com" in its attributes: did you mean'),
        (
            'attributes["foo.io"].model',
            'the domain "foo.io" in its attributes: did you mean device.attributes["gpu.example.com"].model?)',
        ),
        ('attributes["foo.io"].x', 'the domain "foo.io" in its attributes: domains: gpu.example.com)'),
        ('attributes["gpu.example.com"].memory', 'memory is a capacity: device.capacity["gpu.example.com"].memory'),
    )
    def test_an_attribute_in_the_wrong_place(self, read: str, hint: str) -> None:
        done = draguard("match", f'device.{read} == "H100"', "--cluster", CLUSTER)
        said = f"CEL runtime error: no such key: {read.rpartition('.')[2]} (no known device has the "
        assert (done.code, said in done.out, hint in done.out) == (1, True, True)

    def test_a_capacity_that_no_device_has(self) -> None:
        read = 'device.capacity["gpu.example.com"].colour'
        done = draguard("match", f'{read}.isGreaterThan(quantity("1"))', "--cluster", CLUSTER)
        assert 'no known device has the capacity "gpu.example.com/colour": it has: memory)' in done.out

    @each_row(
        ("devices", "hint"),
        ([device("d0", {"i": {"int": 0}}), device("d1")], "this device has no i; check first: {}"),
        ([device("d0")], "no known device has any attributes"),
    )
    def test_an_attribute_that_not_every_device_has(self, devices: list[Any], hint: str) -> None:
        read = 'device.attributes["gpu.example.com"].i'
        done = matched(f"{read} == 0", slices(*devices))
        assert (done.code, f"no such key: i ({hint.format(f'has({read}) && …')})" in done.out) == (1, True)

    def test_a_denied_value_is_right_for_a_device_without_the_attribute(self) -> None:
        read = 'device.attributes["gpu.example.com"].health'
        out = matched(f'{read} != "bad"', slices(device("d0", {"health": "bad"}), device("d1"))).out
        assert f"no such key: health (this device has no health; check first: !has({read}) || …)" in out

    @each_row(
        ("arguments", "message"),
        ((), "nothing to match: "),
        (("-", "--cluster", "-"), "standard input (-) cannot be both"),
        ((DEPLOYMENT,), "no ResourceSlices found: give the objects of the cluster with --cluster"),
        ((DEPLOYMENT, "--cluster", DEPLOYMENT), "no ResourceSlices found: --cluster has none: collect them, too"),
        (("-e", "1"), "-e:1:1: error cel-selector: must evaluate to bool or the unknown type, not int\n"),
        (("-e", "device.driver =="), "-e:1:17: error cel-selector: Syntax error: mismatched input '<EOF>'"),
        (("-e", "device.drver"), '1 | device.drver\n  |       ^^^^^^\nhelp: did you mean "driver"?'),
        (("-e", "true &&\n  driver == 'a'"), "-e:2:3: error cel-selector: undeclared reference to 'driver'"),
        (
            ("ml/notebook",),
            "ml/notebook: no such file: give manifests of claims, templates or classes, or -e with a selector",
        ),
        (("device.driver = 'a'",), "help: compare with == in place of ="),
        (
            ("-e", "true", "--kubernetes-version", "1.30"),
            "the scheduler of Kubernetes 1.30 is not simulated: give 1.31",
        ),
    )
    def test_usage_errors_are_reported(self, arguments: tuple[str | Path, ...], message: str) -> None:
        cluster = ("--cluster", CLUSTER) if DEPLOYMENT not in arguments else ()
        done = draguard("match", *arguments, *cluster)
        assert message in done.err
        assert done.code == 2
