"""Properties of every cluster: no device is allocated twice, and releasing restores the state."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.simulation.clusters import device_class, devices, node, pod, template
from webhook import simulate
from webhook.inventory import Inventory
from webhook.inventory.claims import allocation_of
from webhook.objects import JSONObject
from webhook.simulation import Cluster, Scheduler, Settings
from webhook.simulation.scheduler import fit

CLUSTERS = st.lists(st.integers(0, 3), min_size=1, max_size=4)
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=6)


def cluster_of(sizes: list[int]) -> list[JSONObject]:
    names = [f"n{number}" for number in range(len(sizes))]
    slices = [devices(name, size) for name, size in zip(names, sizes, strict=True)]
    return [device_class(), *slices, *map(node, names)]


@given(CLUSTERS, COUNTS)
@examples(60)
def test_no_device_is_handed_out_twice(sizes: list[int], counts: list[int]) -> None:
    templates = [template(f"t{number}", count=number) for number in (1, 2, 3)]
    pods = [pod(f"p{index}", {"gpu": f"t{count}"}) for index, count in enumerate(counts)]
    answers = simulate([*cluster_of(sizes), *templates], pods)
    used = [
        (each["pool"], each["device"])
        for answer in answers
        for allocation in answer["claims"].values()
        for each in allocation["devices"]["results"]
    ]
    assert len(used) == len(set(used))
    for answer, count in zip(answers, counts, strict=True):
        assert (answer["node"] is not None) == bool(answer["claims"])
        for allocation in answer["claims"].values():
            assert [each["pool"] for each in allocation["devices"]["results"]] == [answer["node"]] * count


@given(CLUSTERS, COUNTS)
@examples(60)
def test_what_is_released_is_as_it_was(sizes: list[int], counts: list[int]) -> None:
    inventory = Inventory([*cluster_of(sizes), *(template(f"t{number}", count=number) for number in (1, 2, 3))])
    scheduler = Scheduler(Cluster(inventory, Settings.of()))
    first = inventory.take(pod("first", {"gpu": "t1"}))
    assert first is not None
    before = _fit(scheduler, first)
    for index, count in enumerate(counts):
        known = inventory.take(pod(f"p{index}", {"gpu": f"t{count}"}))
        assert known is not None
        scheduler.schedule(known)
    for claim in inventory.all("ResourceClaim"):
        if allocation_of(claim):
            scheduler.cluster.deallocate(claim)
    assert _fit(scheduler, first) == before


def _fit(scheduler: Scheduler, each: JSONObject) -> str:
    """Fill the cluster, empty it again, and return how many pods fitted where."""
    found = fit(scheduler, each)
    for claim in scheduler.cluster.inventory.all("ResourceClaim"):
        scheduler.cluster.delete(claim)
    return json.dumps(found.nodes, sort_keys=True)


@given(CLUSTERS, st.integers(1, 3))
@examples(30)
def test_what_is_tried_for_help_leaves_the_cluster_as_it_was(sizes: list[int], count: int) -> None:
    objects = [*cluster_of(sizes), template("t", count=count), template("tbig", count=30)]
    alone = simulate(objects, [pod("p", {"gpu": "t"})])
    after = simulate(objects, [pod("big", {"gpu": "tbig"}), pod("p", {"gpu": "t"})])
    assert after[0]["node"] is None
    assert after[1]["claims"] == alone[0]["claims"]
