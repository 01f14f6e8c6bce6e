"""Situations of clusters: every lack of a node, changes that help, and objects that are missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row
from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod, selector, template
from webhook import simulate
from webhook.allocation.devices import decode_amount, quantity_text
from webhook.objects import JSONObject

MODEL = 'device.attributes["gpu.example.com"].model == "a100"'
A100: JSONObject = {"attributes": {"model": {"string": "a100"}}}


def deployment(replicas: int, **spec: Any) -> JSONObject:
    made = pod(claims={"gpu": "t"}, **spec)
    of_pods = {"metadata": {"labels": {"app": "web"}}, "spec": made["spec"]}
    given = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": of_pods}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": given}


def cures(answer: JSONObject) -> dict[str, int]:
    return {each["change"]: each["nodes"] for each in answer["why"]["help"]}


class TestContainersWithoutDevices:
    @staticmethod
    def wanting(request: str) -> JSONObject:
        made = pod(claims={"gpu": "c"})
        made["spec"]["containers"] = [
            {"name": "main", "image": "i", "resources": {"claims": [{"name": "gpu", "request": request}]}}
        ]
        return made

    def test_a_request_that_the_claim_does_not_have(self) -> None:
        (answer,) = simulate([node("a"), device_class(), devices("a"), claim()], [self.wanting("rr")])
        assert answer["node"] == "a"
        assert answer["why"]["withoutDevices"] == ["main"]
        (note,) = answer["why"]["notes"]
        assert note == (
            'scheduled, but container main gets no devices: claim "gpu" has no request "rr": did you mean "r"?'
        )

    def test_the_command_fails(self, tmp_path: Path) -> None:
        cluster, given = tmp_path / "cluster.json", tmp_path / "pod.json"
        cluster.write_text(json.dumps({"kind": "List", "items": [node("a"), device_class(), devices("a"), claim()]}))
        for request, code, said in (("rr", 1, "1 scheduled, but without devices"), ("r", 0, "1 scheduled")):
            given.write_text(json.dumps({"apiVersion": "v1", **self.wanting(request)}))
            done = draguard("simulate", given, "--cluster", cluster)
            assert done.code == code
            assert f"1 pod: {said}\n" in done.out


class TestPodsArgument:
    AROUND = (node("a"), device_class(), devices("a"))

    def test_other_objects_belong_to_the_cluster(self) -> None:
        (answer,) = simulate(self.AROUND, [template(), pod(claims={"gpu": "t"})])
        assert answer["node"] == "a"

    def test_only_other_objects_are_an_error(self) -> None:
        with pytest.raises(ValueError, match="neither pods nor workloads that make them, only ResourceClaimTemplate"):
            simulate(self.AROUND, [template()])

    def test_without_pods_those_that_are_pending(self) -> None:
        (answer,) = simulate([*self.AROUND, claim(), pod(claims={"gpu": "c"})], [])
        assert answer["node"] == "a"
        assert simulate(self.AROUND, []) == []


class TestAllocatable:
    def test_a_node_that_states_nothing_is_unlimited_and_that_is_said(self) -> None:
        nodes: list[JSONObject] = [{"kind": "Node", "metadata": {"name": name}} for name in ("a", "b")]
        answers = simulate(nodes, [pod("p", requests={"cpu": "1000"}), pod("q")])
        note = "a, b state no status.allocatable: cpu, memory and pods count as unlimited"
        assert [each["node"] for each in answers] == ["a", "a"]
        assert [each["why"]["notes"] for each in answers] == [[note], [note]]

    def test_the_text_says_it_once(self, tmp_path: Path) -> None:
        given = tmp_path / "all.json"
        pods = [{"apiVersion": "v1", **pod(name)} for name in ("p", "q")]
        given.write_text(json.dumps({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "a"}}, *pods]}))
        assert draguard("simulate", "--cluster", given).out.count("count as unlimited") == 1

    @pytest.mark.parametrize(
        ("stated", "reason", "detail"),
        [
            ({"cpu": "8", "memory": "8Gi"}, "Too many pods", "status.allocatable states no pods, which counts as 0"),
            ({"memory": "8Gi", "pods": "9"}, "Insufficient cpu", "status.allocatable states no cpu, which counts as 0"),
        ],
    )
    def test_what_a_node_leaves_out_counts_as_none(self, stated: JSONObject, reason: str, detail: str) -> None:
        small = {**node("a"), "status": {"allocatable": stated}}
        (answer,) = simulate([small], [pod(requests={"cpu": "1"})])
        (group,) = answer["why"]["nodes"]
        assert (group["reasons"], group["details"]) == ([reason], [detail])


class TestSelectorsThatStay:
    def test_pairs_that_keep_a_selector_come_before_its_loss(self) -> None:
        dedicated = node("a", {"taints": [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}]})
        wanted = claim(selectors=[selector(MODEL)])
        objects = [dedicated, node("b"), device_class(), devices("a", **A100), devices("b"), wanted]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        first, last = cures(answer)
        assert first.startswith("with the selector of request r guarded: has(")
        assert first.endswith(" and if the pod tolerates dedicated=ml:NoSchedule")
        assert last == 'without the selector model = "a100" of request r'

    def test_the_loss_of_a_selector_comes_after_a_claim_of_others(self) -> None:
        objects = [node("a"), node("b"), device_class(), devices("a", **A100), devices("b", **_model("h100"))]
        wanted = claim(selectors=[selector(MODEL)])
        (answer,) = simulate([*objects, wanted, allocated("held", "a")], [pod(claims={"gpu": "c"})])
        assert list(cures(answer)) == [
            'with model = "h100" in request r',
            "once claim default/held is released (used by no pod)",
        ]


def _model(name: str) -> JSONObject:
    return {"attributes": {"model": {"string": name}}}


class TestMissingNames:
    AROUND = (node("a"), device_class(), devices("a"))

    def test_the_template_that_is_the_only_one(self) -> None:
        (answer,) = simulate([*self.AROUND, template("small")], [pod(claims={"gpu": "t"})])
        assert cures(answer) == {"with resourceClaimTemplateName: small in place of t": 1}

    def test_no_claim_that_may_be_of_others(self) -> None:
        (answer,) = simulate([*self.AROUND, claim("data")], [pod(claims={"gpu": "c"})])
        assert cures(answer) == {}

    def test_no_class_that_is_not_near(self) -> None:
        (answer,) = simulate([*self.AROUND, claim(deviceClassName="net")], [pod(claims={"gpu": "c"})])
        assert cures(answer) == {}

    def test_what_has_to_be_changed_besides(self) -> None:
        unmet = claim(deviceClassName="gpus", count=2)
        (answer,) = simulate([*self.AROUND, unmet], [pod(claims={"gpu": "c"})])
        better = "with deviceClassName: gpu in place of gpus in request r"
        assert cures(answer) == {f"{better} and with count 1 in request r": 1}
        (answer,) = simulate([node("a"), device_class(), unmet], [pod(claims={"gpu": "c"})])
        assert (cures(answer), answer["why"]["tried"]) == ({}, 4)

    def test_no_claim_stays_behind(self) -> None:
        pods = [pod("p", claims={"gpu": "tt"}), pod("q", claims={"gpu": "t"})]
        first, second = simulate([*self.AROUND, template()], pods)
        assert (first["node"], second["node"]) == (None, "a")

    def test_a_node_of_its_own(self) -> None:
        labelled = node("a", labels={"kubernetes.io/hostname": "a"})
        objects = [labelled, node("b"), device_class(), devices("a"), devices("b"), claim()]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"}, nodeName="a")])
        mutated = "with nodeSelector kubernetes.io/hostname: a in place of nodeName (draguard mutate)"
        assert cures(answer) == {mutated: 1}
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"}, nodeName="gone")])
        assert cures(answer) == {"without nodeName": 2}
        tainted = {**labelled, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
        (answer,) = simulate([tainted, device_class(), devices("a"), claim()], [pod(claims={"gpu": "c"}, nodeName="a")])
        assert cures(answer) == {"without nodeName and if the pod tolerates k:NoSchedule": 1}


class TestReplicas:
    AROUND = (node("a", memory="32Gi"), device_class(), devices("a"), template())

    def test_no_replica_is_ended_for_another(self) -> None:
        first, second = simulate(self.AROUND, [deployment(2)])
        assert (first["node"], second["node"]) == ("a", None)
        assert cures(second) == {}

    def test_nor_one_that_runs_already(self) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}
        metadata = {"name": "web-1-x", "labels": {"pod-template-hash": "1"}, "ownerReferences": [owner]}
        runs = {**pod(nodeName="a"), "metadata": metadata, "status": {"phase": "Running"}}
        held = allocated("held", "a", "d0", "web-1-x")
        *_, last = simulate([*self.AROUND, runs, held], [deployment(2)])
        assert (last["node"], cures(last)) == (None, {})

    def test_the_devices_that_are_missing_besides(self) -> None:
        *_, last = simulate(self.AROUND, [deployment(2, requests={"memory": "20Gi"})])
        (group,) = last["why"]["nodes"]
        assert group["reasons"] == ["Insufficient memory"]
        assert not group["byDevices"]
        assert last["why"]["reason"].endswith("memory 20Gi wanted, 12Gi of 32Gi free, and too few devices")
        assert [(each["free"], each["heldBy"][0]["pods"]) for each in group["requests"]] == [(0, ["web-XXXXX-0"])]

    def test_their_claims_have_their_own_names(self) -> None:
        failing = template(selectors=[selector('device.attributes["other.example.com"].model == "a100"')])
        answers = simulate([node("a"), device_class(), devices("a"), failing], [deployment(2)])
        for index, answer in enumerate(answers):
            ((reason,),) = (group["reasons"] for group in answer["why"]["nodes"])
            assert reason.startswith(f"claim default/web-XXXXX-{index}-gpu-XXXXX: selector #0")

    def test_the_text_has_one_group_of_them(self, tmp_path: Path) -> None:
        failing = template(selectors=[selector('device.attributes["other.example.com"].model == "a100"')])
        cluster, given = tmp_path / "cluster.json", tmp_path / "pods.json"
        items = [node("a"), device_class(), devices("a"), {"apiVersion": "resource.k8s.io/v1", **failing}]
        cluster.write_text(json.dumps({"kind": "List", "items": items}))
        given.write_text(json.dumps(deployment(3)))
        done = draguard("simulate", given, "--cluster", cluster)
        assert done.out.startswith("default/web-XXXXX-0 … web-XXXXX-2 (3 pods): pending: "), done.err


class TestHolders:
    @pytest.mark.parametrize(
        ("pods", "others", "said"),
        [
            ([], [("batch", "jobs")], "jobs.batch o0"),
            ([], [("", "configmaps")], "configmaps o0"),
            ([], [("metrics.k8s.io", "pods")], "pods.metrics.k8s.io o0"),
            ([], [("scheduling.k8s.io", "podgroups")], "PodGroup o0"),
            ([], [("scheduling.volcano.sh", "podgroups")], "podgroups.scheduling.volcano.sh o0"),
            (["a", "b", "d"], [("batch", "jobs")], "pod a, b, …, jobs.batch o0"),
            ([], [("batch", "jobs")] * 3, "jobs.batch o0, jobs.batch o1, …"),
            (["a"], [], "pod a"),
        ],
    )
    def test_all_consumers_are_named(self, pods: list[str], others: list[tuple[str, str]], said: str) -> None:
        held = allocated("held", "a", "d0", *pods)
        held["status"]["reservedFor"] += [
            {"apiGroup": group, "resource": resource, "name": f"o{index}", "uid": f"UID:{index}"}
            for index, (group, resource) in enumerate(others)
        ]
        (answer,) = simulate([node("a"), device_class(), devices("a"), claim(), held], [pod(claims={"gpu": "c"})])
        ((request,),) = (group["requests"] for group in answer["why"]["nodes"])
        (holder,) = request["heldBy"]
        assert holder["pods"] == pods
        assert len(holder["others"]) == len(others)
        assert cures(answer) == {f"once claim default/held is released ({said})": 1}


class TestSlices:
    def test_of_another_class_in_a_pool_that_is_not_used(self) -> None:
        other = devices("a")
        other["spec"]["driver"] = "nic.example.com"
        other["spec"]["pool"]["resourceSliceCount"] = 2
        of_driver = device_class()
        of_driver["spec"]["selectors"] = [selector(f'device.driver == "{DRIVER}"')]
        (answer,) = simulate([node("a"), of_driver, other, claim()], [pod(claims={"gpu": "c"})])
        ((request,),) = (group["requests"] for group in answer["why"]["nodes"])
        why = "incomplete: 1 of 2 slices of generation 1"
        assert request["because"] == f"pool nic.example.com/a is {why}, and has no device of the class"
        assert (request["seen"], request["unused"]) == (0, [])

    def test_of_nodes_that_are_not_there(self) -> None:
        objects = [node("node-1"), device_class(), devices("a"), devices("b"), claim()]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        ((request,),) = (group["requests"] for group in answer["why"]["nodes"])
        nodes = "slices name a, b, not among the nodes"
        assert request["because"] == f"no ResourceSlice has devices for the node; {nodes}"

    @pytest.mark.parametrize("zone", ["z1", "z2"])
    def test_of_labels_that_no_node_has(self, zone: str) -> None:
        racks = devices("rack")
        racks["spec"].pop("nodeName")
        terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone, "z3"]}]}]
        racks["spec"]["nodeSelector"] = {"nodeSelectorTerms": terms}
        given = [node("a", labels={"zone": "z2"}, cpu="0"), node("b"), device_class(), racks, claim()]
        (answer,) = simulate(given, [pod(claims={"gpu": "c"}, requests={"cpu": "1"})])
        found = {each["because"] for group in answer["why"]["nodes"] for each in group["requests"]}
        missed = "; slices select zone In z1, z3, which no node meets" if zone == "z1" else ""
        assert f"no ResourceSlice has devices for the node{missed}" in found

    def test_of_a_driver_that_is_spelled_otherwise(self) -> None:
        misspelt = devices("a")
        misspelt["spec"]["driver"] = "gpu.exmaple.com"
        (answer,) = simulate([node("a"), device_class(), misspelt, claim()], [pod(claims={"gpu": "c"})])
        assert cures(answer) == {"if DeviceClass gpu selects driver gpu.exmaple.com": 1}
        (note,) = answer["why"]["notes"]
        assert note.startswith("DeviceClass gpu: no device meets the selectors of the class")
        assert note.endswith('one of the two is misspelt: the devices have driver "gpu.exmaple.com"')

    def test_of_another_driver(self) -> None:
        other = devices("a")
        other["spec"]["driver"] = "net.example.com"
        (answer,) = simulate([node("a"), device_class(), other, claim()], [pod(claims={"gpu": "c"})])
        assert cures(answer) == {}


class TestScheduledAllTheSame:
    AROUND = (node("a"), device_class(), devices("a"))

    def test_a_device_that_no_slice_has_any_more(self) -> None:
        held = allocated("c", "a", "d7")
        (answer,) = simulate([*self.AROUND, held], [pod(claims={"gpu": "c"})])
        assert answer["node"] == "a"
        gone = f"claim default/c has device {DRIVER}/a/d7, which is in no ResourceSlice: its driver may not prepare it"
        assert answer["why"]["notes"] == [gone]
        (answer,) = simulate([*self.AROUND, allocated("c", "a")], [pod(claims={"gpu": "c"})])
        assert answer["why"]["notes"] == []

    def test_a_claim_that_no_container_uses(self) -> None:
        unused = pod(claims={"gpu": "c"})
        unused["spec"]["containers"] = [{"name": "c", "image": "i"}]
        (answer,) = simulate([*self.AROUND, claim()], [unused])
        (note,) = answer["why"]["notes"]
        assert note.startswith('no container uses the claim "gpu"')

    def test_copies_that_fit_without_devices(self, tmp_path: Path) -> None:
        cluster, given = tmp_path / "cluster.json", tmp_path / "pod.json"
        cluster.write_text(json.dumps({"kind": "List", "items": [*self.AROUND, template()]}))
        wanted = pod(claims={"gpu": "t"})
        wanted["spec"]["containers"][0]["resources"]["claims"][0]["request"] = "rr"
        given.write_text(json.dumps({"apiVersion": "v1", **wanted}))
        out = draguard("simulate", given, "--cluster", cluster, "--fit").out
        assert 'once scheduled, container c gets no devices: claim "gpu" has no request "rr"' in out


class TestLabels:
    @each_row(
        ("selector_", "detail"),
        [
            ({"zone": "z3"}, "nodeSelector zone: z3, and the label is z1, z2"),
            ({"zone": "z1", "gpu": "yes"}, "nodeSelector gpu: yes, and the label is not there"),
            ({"disk": "ssd"}, "nodeSelector disk: ssd, and the label is hdd or not there"),
        ],
    )
    def test_what_a_node_selector_does_not_select(self, selector_: JSONObject, detail: str) -> None:
        nodes = [node("a", labels={"zone": "z1", "disk": "hdd"}), node("b", labels={"zone": "z2"})]
        (answer,) = simulate(nodes, [pod(nodeSelector=selector_)])
        ((only,),) = (group["details"] for group in answer["why"]["nodes"])
        assert only == detail

    @each_row(
        ("expression", "detail"),
        [
            ({"key": "zone", "operator": "In", "values": ["z3"]}, "zone In z3, and the label is z1, z2"),
            ({"key": "gpu", "operator": "Exists"}, "gpu Exists, and the label is not there"),
            ({"key": "zones", "operator": "Exists"}, "zones Exists, and the label is not there: did you mean zone?"),
        ],
    )
    def test_what_node_affinity_does_not_select(self, expression: JSONObject, detail: str) -> None:
        nodes = [node("a", labels={"zone": "z1"}), node("b", labels={"zone": "z2"})]
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        (answer,) = simulate(nodes, [pod(affinity=affinity)])
        ((only,),) = (group["details"] for group in answer["why"]["nodes"])
        assert only == f"node affinity {detail}"

    @each_row(
        ("term", "reason"),
        [
            (
                {},
                ("all 2 nodes didn't match Pod's node affinity/selector: node affinity: an empty term matches no node"),
            ),
            (
                {"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["x"]}]},
                (
                    "all 2 nodes didn't match Pod's node affinity/selector: "
                    "node affinity: no node matches zone Gt x: x is not an integer"
                ),
            ),
            (
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["workr-b"]}]},
                (
                    "all 2 nodes didn't satisfy plugin(s) [NodeAffinity]: "
                    "its node affinity requires workr-b, which does not exist: did you mean worker-b?"
                ),
            ),
        ],
    )
    def test_terms_that_select_no_node(self, term: JSONObject, reason: str) -> None:
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
        (answer,) = simulate([node("worker-a"), node("worker-b")], [pod(affinity=affinity)])
        assert answer["why"]["reason"] == reason
        assert answer["why"]["help"] == [{"change": "without the pod's node affinity", "nodes": 2, "atLeast": False}]

    def test_several_nodes_that_do_not_exist(self) -> None:
        fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("x", "y")]
        terms = {"nodeSelectorTerms": [{"matchFields": [each]} for each in fields]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        (answer,) = simulate([node("a")], [pod(affinity=affinity)])
        ((only,),) = (group["details"] for group in answer["why"]["nodes"])
        assert only == "its node affinity requires x, y, which do not exist"


class TestDomains:
    def test_the_only_one_that_has_the_attribute(self) -> None:
        wanted = claim(selectors=[selector('device.attributes["gpu.nvidia.com"].model == "a100"')])
        (answer,) = simulate([node("a"), device_class(), devices("a", **A100), wanted], [pod(claims={"gpu": "c"})])
        meant = f"with {DRIVER} in place of gpu.nvidia.com in the selector of request r"
        assert next(iter(cures(answer))) == meant


class TestExtendedResources:
    def test_a_feature_gate_that_is_off(self) -> None:
        provided = device_class(extendedResourceName="example.com/gpu")
        wanted = pod(requests={"example.com/gpu": "1"})
        (answer,) = simulate([node("a"), provided, devices("a")], [wanted], kubernetes="1.34")
        (note,) = answer["why"]["notes"]
        assert note.endswith("1.34 does not look for it without the feature gate DRAExtendedResource")
        (answer,) = simulate([node("a"), provided, devices("a")], [wanted])
        assert (answer["node"], answer["why"]["notes"]) == ("a", [])


@each_row("amount", ["2G", "10G", "40Gi", "8000Ki", "1536", "1M", "250m", "0"])
def test_amounts_are_written_as_people_do(amount: str) -> None:
    assert quantity_text(decode_amount(amount)) == amount


class TestMatch:
    @staticmethod
    def matched(tmp_path: Path, wanted: JSONObject, *cluster: JSONObject) -> tuple[str, str]:
        around, given = tmp_path / "cluster.json", tmp_path / "claim.json"
        around.write_text(json.dumps({"kind": "List", "items": list(cluster)}))
        given.write_text(json.dumps({"apiVersion": "resource.k8s.io/v1", **wanted}))
        done = draguard("match", given, "--cluster", around)
        return done.out, done.err

    def test_the_class_that_was_meant(self, tmp_path: Path) -> None:
        out, _ = self.matched(tmp_path, claim(deviceClassName="gpus"), device_class(), devices("a"))
        assert 'DeviceClass "gpus" not found: did you mean "gpu"?' in out

    def test_slices_of_nodes_that_are_not_there(self, tmp_path: Path) -> None:
        note = "note: slices name a, not among the nodes\n"
        assert self.matched(tmp_path, claim(), device_class(), devices("a"), node("b"))[1] == note
        assert self.matched(tmp_path, claim(), device_class(), devices("a"), node("a"))[1] == ""
        assert self.matched(tmp_path, claim(), device_class(), devices("a"))[1] == ""
