"""The table of devices: sums as the allocator has them, and what the table shows."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.allocation.recorded import FILES, scenarios
from tests.command import ROOT, Done, draguard, usage_error
from tests.rows import each_row
from tests.scan.clusters import HEALTHY, claim, device, device_class, node, pod, slices, taint_rule
from tests.scan.clusters import listed as as_list

SHARE: dict[str, Any] = {"shareID": "57490d4c-9dce-4d24-bb17-ca7ff07a2c22", "consumedCapacity": {"memory": "1Gi"}}


def listed(*objects: Any, options: tuple[str, ...] = ()) -> Done:
    return draguard("devices", "--cluster", "-", *options, stdin=as_list(*objects).encode())


def test_kinds_that_were_not_collected_are_warned_of() -> None:
    missing = listed(node(), slices(device())).err
    assert "--cluster has no ResourceClaims: all devices look free" in missing
    assert "--cluster has no DeviceClasses: all devices look stranded" in missing
    assert "--cluster" not in listed(*HEALTHY, claim()).err
    assert "--cluster" not in listed(node(), slices(device()), options=("--quiet",)).err


def answer(*objects: Any, options: tuple[str, ...] = ()) -> Any:
    done = listed(*objects, options=("-o", "json", *options))
    assert done.code == 0, done.err
    return json.loads(done.out)


def _published(scenario: dict[str, Any]) -> Counter[tuple[str, str, str]]:
    """Count the devices of the newest generation of each pool."""
    newest: dict[tuple[str, str], int] = {}
    for each in scenario["slices"]:
        spec = each["spec"]
        key = spec["driver"], spec["pool"]["name"]
        newest[key] = max(newest.get(key, 0), spec["pool"].get("generation", 0))
    return Counter(
        (each["spec"]["driver"], each["spec"]["pool"]["name"], one["name"])
        for each in scenario["slices"]
        if each["spec"]["pool"].get("generation", 0) == newest[each["spec"]["driver"], each["spec"]["pool"]["name"]]
        for one in each["spec"].get("devices") or ()
    )


def _scenarios(file: Path, one_of: int) -> Iterator[dict[str, Any]]:
    """Read the recorded scenarios that an API server can store."""
    for each in islice(scenarios(file), 0, None, one_of):
        names = {one["metadata"]["name"] for one in each["slices"] or ()}
        if names and len(names) == len(each["slices"]) and "outcome" in each and not each["outcome"].get("invalid"):
            yield each


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("file", "one_of"),
    [
        *((file, 25) for file in FILES if "timing" not in file.name),
        *(pytest.param(file, 4, marks=pytest.mark.slow) for file in FILES),
    ],
    ids=lambda each: Path(str(each)).name,
)
def test_the_sums_are_those_of_the_allocator(file: Path, one_of: int) -> None:
    for each in _scenarios(file, one_of):
        check_sums(each)


def check_sums(scenario: dict[str, Any]) -> None:
    kinds = {"classes": "DeviceClass", "slices": "ResourceSlice", "allocated": "ResourceClaim", "nodes": "Node"}
    objects = [
        {"apiVersion": "v1" if kind == "Node" else "resource.k8s.io/v1", "kind": kind, **each}
        for name, kind in kinds.items()
        for each in scenario.get(name) or ()
    ]
    found = answer(*objects, options=("--kubernetes-version", "1.36.3"))
    published = _published(scenario)
    held = {
        (each["driver"], each["pool"], each["device"])
        for one in scenario.get("allocated") or ()
        for each in one["status"]["allocation"]["devices"]["results"]
        if not each.get("adminAccess")
    }
    sums = found["sums"]
    expected = {"total": published.total(), "held": sum(published[each] for each in held)}
    expected["free"] = expected["total"] - expected["held"]
    expected["stranded"] = sum(each["state"] == "stranded" for each in found["devices"])
    assert sums | expected == sums, scenario["id"]
    by_driver = answer(*objects, options=("--kubernetes-version", "1.36.3", "--by", "driver"))
    assert sum(each["total"] for each in by_driver["groups"]) == sums["total"]


def test_what_is_left_of_shares_and_counters_is_told() -> None:
    def memory(size: str) -> Any:
        return {"counters": {"memory": {"value": size}}}

    parts = [
        device(f"part-{size}", consumesCounters=[{"counterSet": "gpu", **memory(f"{size}Gi")}]) for size in (60, 20, 40)
    ]
    card = device("card", allowMultipleAllocations=True, capacity=memory("4Gi")["counters"])
    objects = [
        node(),
        slices(card, *parts, pool={"resourceSliceCount": 2}),
        slices(name="counters", pool={"resourceSliceCount": 2}, sharedCounters=[{"name": "gpu", **memory("80Gi")}]),
        device_class(),
        claim("a", "card", pods=("train",), **SHARE),
        claim("b", "card", pods=("train",), **SHARE),
        claim("c", "part-60", pods=("train",)),
        pod(claims="abc"),
    ]
    card, large, fits, small = answer(*objects)["devices"]
    assert (card["state"], card["shares"], card["capacity"]) == ("held", 2, {"memory": {"left": "2Gi", "total": "4Gi"}})
    assert (card["claims"], card["pods"]) == (["default/a", "default/b"], ["default/train"])
    assert (large["state"], fits["state"]) == ("held", "free")
    assert (small["state"], small["why"]) == ("stranded", "counters used up")
    assert fits["counters"] == {"gpu": {"memory": "20Gi"}}
    text = listed(*objects).out
    assert "2 shares, memory 2Gi/4Gi" in text
    assert "stranded: counters used up" in text


LOST = [{"key": "example.com/lost", "effect": "NoSchedule"}]
OTHERS = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]}


@each_row(
    ("objects", "why"),
    ([slices(device()), device_class("other", "false")], "no class"),
    ([slices(device(taints=LOST)), device_class()], "taint example.com/lost"),
    ([slices(device()), device_class(), taint_rule(pool="n1")], "taint example.com/broken"),
    ([slices(device(), pool={"resourceSliceCount": 2}), device_class()], "its pool is incomplete"),
    ([slices(device()), slices(device(), name="again"), device_class()], "its pool is incomplete"),
    ([slices(device()), device_class(), taint_rule(pool="n2")], ""),
    ([slices(device(taints=[{**LOST[0], "effect": "None"}])), device_class()], ""),
    ([slices(device(), nodeName="gone"), device_class()], "its node does not exist"),
    ([slices(device(), nodeSelector=OTHERS), device_class()], "its nodes do not exist"),
    ([slices(device(), allNodes=True), device_class()], ""),
)
def test_why_a_free_device_is_stranded(objects: list[Any], why: str) -> None:
    found = answer(node(), *objects, options=("--kubernetes-version=1.37",))
    assert [each["why"] for each in found["devices"]] == [why] * len(found["devices"])
    assert found["sums"]["stranded"] == bool(why) * len(found["devices"])


@each_row(
    ("objects", "why"),
    ([claim("a", "gpu-0", pods=("gone",)), pod("other", claims=())], "no pod uses it"),
    ([claim("a", "gpu-0"), pod("other", claims=())], "no pod uses it"),
    ([claim("a", "gpu-0", pods=("train",)), pod(claims="a", phase="Succeeded")], "no pod uses it"),
    ([claim("a", "gpu-0", pods=("train",)), pod(claims="a")], ""),
    ([claim("a", "gpu-0"), pod(claims="a", phase="Pending", on="")], ""),
    ([claim("a", "gpu-0", pods=("gone",))], ""),  # no pods were collected
    ([claim("a", "gpu-0", pods=("train",), **SHARE), claim("b", "gpu-0", **SHARE), pod(claims="a")], ""),
)
def test_a_device_is_marked_whose_claims_no_pod_uses(objects: list[Any], why: str) -> None:
    shared = slices(device(allowMultipleAllocations=True))
    (found,) = answer(node(), shared, device_class(), *objects)["devices"]
    assert (found["state"], found["why"]) == ("held", why)
    assert ("held: no pod uses it" in listed(node(), shared, device_class(), *objects).out) == bool(why)


def test_rules_that_the_scheduler_ignores_strand_no_device() -> None:
    objects = [node(), slices(device()), device_class(), taint_rule(pool="n1")]
    for patch, stranded in ((2, 0), (3, 1)):
        options = (f"--kubernetes-version=1.36.{patch}", "--feature-gates=DRADeviceTaintRules=true")
        found = answer(*objects, options=options)
        assert found["sums"]["stranded"] == stranded
        assert found["devices"][0]["taints"] == ["example.com/broken:NoExecute"]


@each_row(("release", "taints"), ("1.37", ["example.com/broken:NoSchedule"]), ("1.38", []))
def test_a_rule_without_selector_taints_as_in_the_scheduler(release: str, taints: list[str]) -> None:
    rule = taint_rule(effect="NoSchedule")
    del rule["spec"]["deviceSelector"]
    found = answer(node(), slices(device()), device_class(), rule, options=(f"--kubernetes-version={release}",))
    assert found["devices"][0]["taints"] == taints
    assert found["sums"]["stranded"] == len(taints)


@each_row(
    ("options", "stranded"),
    (("--kubernetes-version=1.35",), 1),
    (("--kubernetes-version=1.36",), 1),
    (("--kubernetes-version=1.35", "--feature-gates=DRADeviceTaints=false"), 0),
    (("--kubernetes-version=1.36", "--feature-gates=DRADeviceTaints=false"), 0),
)
def test_taints_strand_devices_unless_their_gate_is_off(options: tuple[str, ...], stranded: int) -> None:
    for objects in ([slices(device(taints=LOST))], [slices(device()), taint_rule(pool="n1", effect="NoSchedule")]):
        is_ignored = len(objects) > 1 and options == ("--kubernetes-version=1.36",)  # no rule is applied before 1.36.3
        found = answer(node(), *objects, device_class(), options=options)
        assert found["sums"]["stranded"] == (0 if is_ignored else stranded)
        assert len(found["devices"][0]["taints"]) == 1


def test_taints_of_every_effect_are_listed_and_one_device_is_a_device() -> None:
    marked = device(taints=[{**LOST[0], "effect": "None"}], allowMultipleAllocations=True)
    objects = [node(), slices(marked), device_class(), claim("a", "gpu-0", pods=("train",), **SHARE), pod(claims="a")]
    assert answer(*objects)["devices"][0]["taints"] == ["example.com/lost:None"]
    table, page = listed(*objects), listed(*objects, options=("-o", "html")).out
    assert "1 share" in table.out
    assert "1 shares" not in table.out
    assert "1 device:" in table.err
    assert "1 devices" not in page


def test_health_is_that_of_kubelet_or_of_the_driver() -> None:
    resources = [{"resourceID": "gpu.example.com/n1/a", "health": "Unhealthy"}]
    status = {"name": "main", "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": resources}]}
    objects = [
        node(),
        slices(device("a"), device("b", {"health": "Unknown"}), device("c", {"healthy": {"bool": False}}), device("d")),
        device_class(),
        claim("gpu", "a", pods=("train",)),
        pod(containerStatuses=[status]),
    ]
    assert [each["health"] for each in answer(*objects)["devices"]] == ["Unhealthy", "Unknown", "Unhealthy", ""]


def test_devices_are_chosen_and_counted() -> None:
    other = slices(device("nic-0"), driver="nic.example.com", on="n2")
    objects = [*HEALTHY, node("n2"), other, device_class("all", "true"), claim("gpu", "gpu-0", pods=("train",)), pod()]

    def names(*options: str) -> list[str]:
        return [each["device"] for each in answer(*objects, options=options)["devices"]]

    assert names() == ["gpu-0", "gpu-1", "nic-0"]
    assert names("--free") == ["gpu-1", "nic-0"]
    assert names("--class", "gpu.example.com") == ["gpu-0", "gpu-1"]
    assert names("--node", "n2") == ["nic-0"]
    assert names("--driver", "nic.example.com") == ["nic-0"]
    by_class = answer(*objects, options=("--by", "class"))["groups"]
    assert by_class == [
        {"class": "all", "total": 3, "held": 1, "free": 2, "stranded": 0},
        {"class": "gpu.example.com", "total": 2, "held": 1, "free": 1, "stranded": 0},
    ]
    by_namespace = answer(*objects, options=("--by", "namespace"))["groups"]
    assert [(each["namespace"], each["held"], each["free"]) for each in by_namespace] == [("", 0, 2), ("default", 1, 0)]
    assert listed(*objects, options=("--by", "node")).out.splitlines()[1].split() == ["n1", "2", "1", "1", "0"]


@each_row("option", "--class", "--node", "--driver")
def test_a_name_that_is_not_there_is_an_error(option: str) -> None:
    done = listed(*HEALTHY, options=(option, "nosuch"))
    known = "n1" if option == "--node" else "gpu.example.com"
    assert (done.code, done.out) == (2, "")
    assert f"{option} nosuch: no such name; there is {known}" in done.err
    assert f"did you mean {known}?" in listed(*HEALTHY, options=(option, f"{known}x")).err


def test_columns_without_content_are_left_out_and_wide_tells_devices_apart() -> None:
    objects = [node(), slices(device("a", {"model": "X", "slot": "1"}), device("b", {"model": "X", "slot": "2"}))]
    done = listed(*objects)
    assert done.out.splitlines()[0].split() == ["NODE", "DRIVER", "DEVICE", "WHAT", "STATE"]
    assert done.err.endswith("2 devices: 0 held, 2 free, 2 of them stranded\n")
    assert listed(*objects, options=("-o", "wide", "-q")).out.splitlines()[0].split()[-1] == "slot"


def test_attributes_are_written_as_in_selectors() -> None:
    objects = [node(), slices(device("a", {"rdma": {"bool": True}}), device("b", {"rdma": {"bool": False}}))]
    nics = [node(), slices(device("a", {"ifName": "eth0", "rdma": "x"}), device("b", {"rdma": {"bool": True}}))]
    assert [line.split()[3] for line in listed(*nics).out.splitlines()] == ["WHAT", "eth0", "rdma=true"]
    table = listed(*objects, options=("-o", "wide")).out.splitlines()
    assert [line.split()[-1] for line in table] == ["rdma", "true", "false"]
    page = listed(*objects, options=("-o", "html")).out
    assert "rdma true" in page
    assert "rdma True" not in page


def test_the_state_is_coloured_and_names_of_strangers_are_escaped() -> None:
    assert "\x1b[32mfree" in listed(*HEALTHY, options=("--color", "always")).out
    evil = slices(device("a\x1b[2J", {"model": "X\x1b]0;owned\x07\n::error::"}))
    for options in ((), ("-o", "wide"), ("--by", "node"), ("--color", "always")):
        done = listed(node("n1\x1b[1m"), evil, device_class("c\x07", "true"), options=options)
        assert not {"\x07"} & {*done.out}
        assert "\x1b[2J" not in done.out
        assert "\x1b]" not in done.out
        assert "\n::error::" not in done.out


def test_watching_draws_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(as_list(*HEALTHY), encoding="utf-8")
    drawn = []

    def sleep(_: float) -> None:
        drawn.append(True)
        if len(drawn) > 1:
            raise KeyboardInterrupt

    monkeypatch.setattr("webhook.cli.devices.sleep", sleep)
    done = draguard("devices", "--cluster", file, "--watch", columns=200)
    assert done.code == 130
    assert done.out.count("\x1b[H\x1b[2J") == 2
    assert done.out.count("gpu-1") == 2
    assert draguard("devices", "--cluster", "-", "--watch").code == 2


def test_mistakes_are_told_and_a_file_without_option_of_it(tmp_path: Path) -> None:
    assert draguard("devices").code == 2
    assert listed(node()).code == 2
    assert "no ResourceSlices found" in listed(node()).err
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [", encoding="utf-8")
    assert draguard("devices", "--cluster", broken).code == 1
    assert listed(*HEALTHY, options=("--kubernetes-version", "1.29")).code == 2
    file = tmp_path / "cluster.json"
    file.write_text("{}", encoding="utf-8")
    for name in ("devices", "scan"):
        assert f"to name the file, write --cluster {file}" in usage_error(name, file)


def test_the_page_shows_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/devices.md").read_text(encoding="utf-8")
    shown = [line.removeprefix("$ draguard ") for line in page.splitlines() if line.startswith("$ draguard ")]
    assert shown
    for command in shown:
        done = draguard(*command.split())
        assert f"$ draguard {command}\n{done.out}{done.err}```" in page
