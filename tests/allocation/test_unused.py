"""Pools that cannot be used, and the reasons."""

from pathlib import Path
from typing import Any

from tests.allocation.clusters import ALL, CLASSES, DRIVER, NODE, Json, claim, counters, device, request, resource_slice
from tests.command import draguard
from tests.rows import each_row
from tests.simulation import clusters as simulated
from webhook.allocation import Allocator
from webhook.allocation.devices import Catalog
from webhook.allocation.explain import Funnel
from webhook.allocation.features import RECORDED, Features, implementation
from webhook.allocation.pools import unused
from webhook.release import Release

CLAIM = claim(request())


def part(name: str, node: str = "n0", generation: int = 1, count: int = 1, *devices: str, **spec: Any) -> Json:
    made = [device(each) for each in devices or (name,)]
    where = {"nodeName": node} if node else {}
    return resource_slice(*made, name=name, pool="pool", count=count, generation=generation, **where, **spec)


OF_2 = "incomplete: 1 of 2 slices of generation 1"
DISAGREE = "incomplete: slices of generation 1 disagree on resourceSliceCount (2, 3)"
OUTDATED = "outdated: its slices for the node are older than generation 2"


@each_row(
    ("slices", "why", "devices"),
    ([part("a", count=2)], OF_2, 1),
    ([part("a"), part("b")], "incomplete: 2 slices of generation 1, but resourceSliceCount is 1", 2),
    ([part("a"), part("b", generation=3, count=2)], "incomplete: 1 of 2 slices of generation 3", 1),
    ([part("a", "n0", 1, 2, "x", "y"), part("b", "n0", 1, 2, "x")], "invalid: duplicate device name x", 3),
    ([part("a", count=3), part("b", count=2)], DISAGREE, 2),
    ([part("a", count=2), part("b", "n1", generation=2)], OUTDATED, 1),
)
def test_the_fault_of_a_pool_is_reported(slices: list[Json], why: str, devices: int) -> None:
    (funnel,) = Allocator(CLASSES, slices, features=ALL).attempt([CLAIM]).explain(NODE)
    assert funnel.counts["seen"] == 0
    assert [(each.pool, each.why, each.devices) for each in funnel.unused] == [(f"{DRIVER}/pool", why, devices)]


def test_a_pool_of_another_node_concerns_no_other() -> None:
    shared = resource_slice(name="a", pool="pool", count=2, sharedCounters=counters("s"))
    other = part("b", "n1", count=3)
    attempt = Allocator(CLASSES, [shared, other], features=ALL).attempt([CLAIM])
    for node, known in (("n0", 0), ("n1", 1)):
        (funnel,) = attempt.explain({"metadata": {"name": node}})
        assert len(funnel.unused) == known, node


def test_the_whole_cluster() -> None:
    catalog = Catalog([part("a", count=2), part("b", "n1", count=2)])
    assert unused(catalog, implementation(ALL, RECORDED)) == {}
    for count in (1, 2):  # slices of other nodes do not count if as many as stated are for the node
        catalog = Catalog([part("a", "n0", 1, count, "x"), part("b", "n1", 1, count, "x")])
        assert unused(catalog, implementation(ALL, RECORDED)) == {}
    catalog = Catalog([part("a", count=2)])
    assert unused(catalog, implementation(ALL, RECORDED)) == {0: OF_2}
    assert unused(catalog, implementation(Features(), Release(34))) == {}


@each_row("counts", (2, 3), (3, 2))
def test_slices_that_disagree_are_used_by_chance(counts: tuple[int, int]) -> None:
    first, second = (part(name, count=count) for name, count in zip("ab", counts, strict=True))
    found = unused(Catalog([first, second]), implementation(ALL, RECORDED))
    assert found == {0: DISAGREE, 1: DISAGREE}


BESIDE = "devices beside sharedCounters are ignored from Kubernetes 1.35 on, and belong into another slice"
GATE = "perDeviceNodeSelection needs feature gate DRAPartitionableDevices, which is off"
LABELLED = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}]}


def with_counters() -> Json:
    return part("a", sharedCounters=counters("s"))


def per_device() -> Json:
    return resource_slice(device("a", nodeName="n0"), name="a", pool="pool", perDeviceNodeSelection=True)


def selecting(generation: int = 1, count: int = 1, selector: Json = LABELLED) -> Json:
    return part(f"g{generation}", "", generation, count, nodeSelector=selector)


def funnels(slices: list[Json], features: Features, release: Release) -> Funnel:
    allocator = Allocator(CLASSES, slices, features=features, release=release)
    (funnel,) = allocator.attempt([CLAIM]).explain({"metadata": {"name": "n0", "labels": {"zone": "z"}}})
    return funnel


@each_row("made", with_counters, per_device)
@each_row("release", 34, 35, 36, 37)
@each_row("partitionable", *(False, True))
def test_devices_of_slices_that_a_release_ignores(*, made: Any, release: int, partitionable: bool) -> None:
    features = Features(PartitionableDevices=partitionable)
    funnel = funnels([made()], features, Release(release))
    because = {with_counters: BESIDE if release >= 35 else "", per_device: "" if partitionable else GATE}[made]
    why = f"used without slice a: {because}"
    assert funnel.counts["seen"] == (0 if because else 1)
    assert [(each.why, each.devices) for each in funnel.unused] == ([(why, 1)] if because else [])
    assert unused(Catalog([made()]), implementation(features, Release(release))) == ({0: why} if because else {})


def test_outdated_slices_may_select_nodes_by_labels() -> None:
    elsewhere = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["y"]}]}]}
    funnel = funnels([selecting(count=2), selecting(2, selector=elsewhere)], ALL, RECORDED)
    assert [(each.why, each.devices) for each in funnel.unused] == [(OUTDATED, 1)]
    assert funnels([selecting(count=2), selecting(2)], ALL, RECORDED).unused == []


@each_row(("made", "because"), (with_counters, BESIDE), (per_device, GATE))
def test_all_commands_say_so(made: Any, because: str, tmp_path: Path) -> None:
    stored = [{"kind": "Node", "metadata": {"name": "n0"}}, simulated.device_class("any", selectors=[])]
    cluster = simulated.written(tmp_path / "cluster.yaml", *stored, {"kind": "ResourceSlice", **made()})
    pod = simulated.pod(claims={"d": "c"})
    given = simulated.written(tmp_path / "given.yaml", simulated.claim(deviceClassName="any"), pod)
    gates = ("--feature-gates", "DRAPartitionableDevices=false")
    for command in ("simulate", "match", "validate"):
        done = draguard(command, given, "--cluster", cluster, "--kubernetes-version", "1.35", *gates)
        assert f"used without slice a: {because}" in done.out, (command, done)
        assert done.code == (0 if command == "validate" else 1)
        assert "1 of 1 devices match" not in done.out
