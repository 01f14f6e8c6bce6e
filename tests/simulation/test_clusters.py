"""Clusters in YAML: what becomes of pods there, why, and what would help.

A file is a case, and so are its ``cases`` and what stands below ``cured``: each has the objects, ``pods`` and
``options`` of the case around it. The objects of its ``cluster`` are added, or replace those of the same kind and
name; it is ``without`` some. `manifest` adds what objects leave out. The rest of a case is what a user sees of the
answer for its pod, or of the ``answers`` for several; what is empty may be stated, too. ``text`` is what the command
prints, or how it begins, with ``…`` for anything; a case that states it may leave out all else.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.command import Done, draguard
from tests.examples import sampled
from tests.rows import each_row, read
from tests.simulation.clusters import (
    allocated,
    claim,
    device_class,
    devices,
    node,
    pod,
    ran,
    selector,
    template,
    written,
)
from tests.simulation.recorded import agreement, cases
from tests.stored import manifest
from webhook import simulate
from webhook.allocation.devices import decode_amount, quantity_text
from webhook.objects import JSONObject
from webhook.report.simulated import PodReport, gets_devices
from webhook.report.text import uncolored

CLUSTERS = sorted(Path(__file__).parent.glob("*.yaml"))

_SETTINGS: Final = frozenset({"cluster", "without", "pods", "options", "cases", "cured"})
_ALWAYS: Final = ("node", "devices", "reason", "help", "withoutDevices", "notes")
"""What is compared in each case, unless it is empty; the rest only in the cases that state it."""


def shown(answer: JSONObject) -> JSONObject:
    """Return what a user sees of an answer; a change is followed by the number of nodes that it opens."""
    condition, why = answer["condition"] or {}, answer["why"]
    requests = [(group, each) for group in why["nodes"] for each in group["requests"]]
    holders = [each for _, request in requests for each in request["heldBy"]]
    return {
        "node": answer["node"],
        "candidates": None if answer["node"] else answer["candidates"],
        "condition": ": ".join(filter(None, map(condition.get, ("reason", "message")))) or condition.get("status"),
        "devices": [
            f"{name}: {each['request']} is {each['driver']}/{each['pool']}/{each['device']}"
            for name, allocation in answer["claims"].items()
            for each in allocation["devices"].get("results", ())
        ],
        "reason": why["reason"],
        "groups": [f"{', '.join(each['nodes'])}: {', '.join(each['reasons'])}" for each in why["nodes"]],
        "details": [detail for each in why["nodes"] for detail in each["details"]],
        "because": [f"{each['for']} on {group['nodes'][0]}: {each['because']}" for group, each in requests],
        "byDevices": [each["byDevices"] for each in why["nodes"]],
        "left": [f"{each['free']} of {each['seen']}" for _, each in requests],
        "unused": [pool for _, each in requests for pool in each["unused"]],
        "lacking": [each["lacking"] for _, each in requests],
        "held": sorted({f"{each['claim']}: {each['state'] or ', '.join(each['pods'])}" for each in holders}),
        "help": [f"{each['change']} ({each['nodes']}{'+' if each['atLeast'] else ''})" for each in why["help"]],
        "tried": None if why["help"] else why["tried"],
        "withoutDevices": why["withoutDevices"],
        "getsDevices": gets_devices(answer),
        "notes": why["notes"],
    }


def flat(case: JSONObject, outer: JSONObject, *names: str) -> Iterator[JSONObject]:
    """Yield a case and those within, each with all of its objects and its answers."""
    path = ": ".join(names)
    objects, without = {named(each): each for each in map(manifest, case.get("cluster", ()))}, case.get("without", ())
    assert len(objects) == len(case.get("cluster", ())), f"{path}: two objects of a kind and name"
    assert outer["cluster"].keys() >= {*without}, f"{path}: without {without}"
    cluster = {key: each for key, each in outer["cluster"].items() if key not in {*objects, *without}} | objects
    inner = {**outer, **case, "cluster": cluster, "name": path}
    within, answer = case.get("cases", {}), {field: case[field] for field in case.keys() - _SETTINGS}
    assert not (answer if within else answer.keys() - {"answers"} if "answers" in answer else ()), f"{path}: {answer}"
    if not within:
        yield {**inner, "answers": answer.get("answers", [answer])}
    for name, each in within.items() if isinstance(within, dict) else enumerate(within, 1):
        yield from flat(each, inner, *names, str(name))
    if "cured" in case:
        yield from flat(case["cured"], inner, *names, "cured")


def named(obj: JSONObject) -> str:
    return f"{obj['kind']} {obj.get('metadata', {}).get('name')}"


def printed(answer: JSONObject) -> str:
    text = PodReport()
    return "\n".join([*map(uncolored, text.answers([answer])), text.summary([answer], None)])


def pattern(text: str) -> str:
    return ".*".join(map(re.escape, re.split(" ?… ?", text.rstrip("\n"))))


@pytest.mark.parametrize("file", CLUSTERS, ids=lambda each: each.stem)
def test_pods_fare_as_the_cluster_says(file: Path) -> None:
    around: JSONObject = {"cluster": {}, "pods": [], "options": {}}
    for case in flat(read(file), around):
        answers = simulate([*case["cluster"].values()], [*map(manifest, case["pods"])], **case["options"])
        for whole, wanted in zip(answers, case["answers"], strict=True):
            answer = shown(whole)
            if "text" in wanted:
                assert re.match(pattern(wanted["text"]), printed(whole), re.DOTALL), printed(whole)
                continue
            compared = wanted.keys() | {field for field in _ALWAYS if answer[field]}
            assert {field: answer[field] for field in answer if field in compared} == wanted, case["name"]


@pytest.mark.no_cover
@pytest.mark.parametrize("case", sampled(cases(), one_of=2))
def test_pods_fare_as_with_the_real_scheduler(case: dict[str, Any]) -> None:
    found = agreement(case)
    assert (found.conditions, found.nodes, found.claims) == (True, True, True), found.details


AROUND = (node("a"), device_class(), devices("a"))


def test_a_device_is_not_the_only_one_if_some_nodes_are_not_asked() -> None:
    around: JSONObject = {"cluster": {}, "pods": [], "options": {}}
    cases = flat(read(Path(__file__).with_name("binding-conditions.yaml")), around)
    (case,) = (each for each in cases if each["name"] == "the scheduler has waited for too long")
    others = [each for number in range(40) for each in (node(f"b{number}"), devices(f"b{number}"))]
    (found,) = simulate([*case["cluster"].values(), *others], [*map(manifest, case["pods"])])
    assert found["why"]["reason"].endswith("tries again; it gets d0 again")


def test_containers_without_devices_are_a_failure(tmp_path: Path) -> None:
    wanted = pod(claims={"gpu": "c"})
    (use,) = wanted["spec"]["containers"][0]["resources"]["claims"]
    for request, code, said in (("rr", 1, "1 scheduled, but without devices"), ("r", 0, "1 scheduled")):
        use["request"] = request
        done = ran(tmp_path, wanted, cluster=[*AROUND, claim()])
        assert done.code == code
        assert f"1 pod: {said}\n" in done.out
    wanted = pod(claims={"gpu": "t"})
    wanted["spec"]["containers"][0]["resources"]["claims"][0]["request"] = "rr"
    out = ran(tmp_path, wanted, cluster=[*AROUND, template()], options=["--fit"]).out
    assert 'once scheduled, container c gets no devices: claim "gpu" has no request "rr"' in out


def test_only_other_objects_are_an_error() -> None:
    with pytest.raises(ValueError, match="neither pods nor workloads that make them, only ResourceClaimTemplate"):
        simulate(AROUND, [template()])


def test_what_holds_for_several_pods_is_said_once(tmp_path: Path) -> None:
    unlimited = written(tmp_path / "all.yaml", {"kind": "Node", "metadata": {"name": "a"}}, pod("p"), pod("q"))
    assert draguard("simulate", "--cluster", unlimited).out.count("count as unlimited") == 1
    failing = template(selectors=[selector('device.attributes["other.example.com"].model == "a100"')])
    of_pods = {"metadata": {"labels": {"app": "web"}}, "spec": pod(claims={"gpu": "t"})["spec"]}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": of_pods}
    done = ran(tmp_path, {"kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}, cluster=[*AROUND, failing])
    assert done.out.startswith("default/web-XXXXX-0 … web-XXXXX-2 (3 pods): pending: "), done.err


@each_row(
    ("pods", "others", "said"),
    ([], [("batch", "jobs")], "jobs.batch o0"),
    ([], [("", "configmaps")], "configmaps o0"),
    ([], [("metrics.k8s.io", "pods")], "pods.metrics.k8s.io o0"),
    ([], [("scheduling.k8s.io", "podgroups")], "PodGroup o0"),
    ([], [("scheduling.volcano.sh", "podgroups")], "podgroups.scheduling.volcano.sh o0"),
    (["a", "b", "d"], [("batch", "jobs")], "pod a, b, …, jobs.batch o0"),
    ([], [("batch", "jobs")] * 3, "jobs.batch o0, jobs.batch o1, …"),
    (["a"], [], "pod a"),
)
def test_all_consumers_are_named(pods: list[str], others: list[tuple[str, str]], said: str) -> None:
    held = allocated("held", "a", "d0", *pods)
    held["status"]["reservedFor"] += [
        {"apiGroup": group, "resource": resource, "name": f"o{index}", "uid": f"UID:{index}"}
        for index, (group, resource) in enumerate(others)
    ]
    (answer,) = simulate([*AROUND, claim(), held], [pod(claims={"gpu": "c"})])
    ((request,),) = (group["requests"] for group in answer["why"]["nodes"])
    (holder,) = request["heldBy"]
    assert (holder["pods"], len(holder["others"])) == (pods, len(others))
    helps = {each["change"]: each["nodes"] for each in answer["why"]["help"]}
    assert helps == {f"once claim default/held is released ({said})": 1}


@each_row("amount", "2G", "10G", "40Gi", "8000Ki", "1536", "1M", "250m", "0")
def test_amounts_are_written_as_people_do(amount: str) -> None:
    assert quantity_text(decode_amount(amount)) == amount


def test_what_a_claim_cannot_match_is_explained(tmp_path: Path) -> None:
    def matched(wanted: JSONObject, *cluster: JSONObject) -> Done:
        return ran(tmp_path, wanted, cluster=cluster, command="match")

    misspelt = matched(claim(deviceClassName="gpus"), device_class(), devices("a"))
    assert 'DeviceClass "gpus" not found: did you mean "gpu"?' in misspelt.out
    for nodes, note in (
        ([node("b")], "note: slices name node a, which is not among the nodes\n"),
        ([node("a")], ""),
        ([], ""),
    ):
        assert matched(claim(), device_class(), devices("a"), *nodes).err == note
