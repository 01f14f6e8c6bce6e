"""``snapshot --redact``: nothing tells whose a cluster is, and all that is said of it stays."""

import json
import re
from collections.abc import Collection
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT, draguard
from tests.rows import each_row_beside
from tests.scan.clusters import daemon_set, made
from tests.simulation.recorded import case_objects, cases
from tests.why.test_causes import records
from webhook import simulate
from webhook.cluster.redaction import Redaction
from webhook.objects import JSONObject
from webhook.spelling import nearest

_WORD = re.compile(r"[A-Za-z0-9]+")


def redaction_of(*objects: JSONObject) -> Redaction:
    redaction = Redaction()
    for each in objects:
        redaction.learn(each)
    return redaction


def redacted(*objects: JSONObject) -> list[JSONObject]:
    redaction = redaction_of(*objects)
    return [redaction.hidden(each) for each in objects]


def names_of(redaction: Redaction) -> set[str]:
    """Return the words of all names, before and after: they may be words of messages, too, and are left out of both."""
    replaced = redaction._replaced.items()  # noqa: SLF001 - nothing else needs them
    return {word for before, after in replaced if before != after for word in _WORD.findall(f"{before} {after}")}


def nameless(value: Any, names: Collection[str]) -> str:
    """Write an answer with the same word for all names, without what is random or left out."""
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if key not in {"shareID", "allocationTimestamp", "parameters"}}
        return str({nameless(key, names): nameless(each, names) for key, each in kept.items()})
    if isinstance(value, list):
        return str([nameless(each, names) for each in value])
    return _WORD.sub(lambda match: "N" if match[0] in names else match[0], str(value))


@pytest.mark.slow
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case["id"].removeprefix("scheduler/"))
def test_pods_fare_the_same(case: dict[str, Any]) -> None:
    objects, pods, gates = case_objects(case)
    redaction = redaction_of(*objects, *pods)
    others, hidden = map(redaction.hidden, objects), map(redaction.hidden, pods)
    answers = simulate(deepcopy(objects), deepcopy(pods), kubernetes="1.36", feature_gates=gates)
    after = simulate(others, hidden, kubernetes="1.36", feature_gates=gates)
    names = names_of(redaction)
    assert nameless(after, names) == nameless(answers, names)


def _with_texts_of(value: Any, hidden: Any) -> Any:
    """Return an object with what its containers wrote as it is written in the redacted one."""
    if isinstance(value, list) and isinstance(hidden, list):
        return [_with_texts_of(*each) for each in zip(value, hidden, strict=True)]
    if isinstance(value, dict) and isinstance(hidden, dict):
        found = {key: _with_texts_of(each, hidden.get(key)) for key, each in value.items()}
        return {**found, "message": hidden["message"]} if "exitCode" in value and "message" in value else found
    return value


@pytest.mark.slow
@pytest.mark.parametrize("record", records(), ids=lambda record: record["id"])
def test_causes_stay(record: JSONObject, tmp_path: Path) -> None:
    objects = record["objects"]["items"]
    redaction = redaction_of(*objects)
    hidden = [redaction.hidden(each) for each in objects]
    kind, slash, name = record["pod"].rpartition("/")
    asked = f"{kind}{slash}{redaction.redacted(name)}"
    names = names_of(redaction)
    causes = []
    for pod, namespace, items in (
        (record["pod"], record["namespace"], [_with_texts_of(*each) for each in zip(objects, hidden, strict=True)]),
        (asked, redaction.redacted(record["namespace"]), hidden),
    ):
        file = tmp_path / "cluster.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
        done = draguard("why", pod, "-n", namespace, "--cluster", file, "--output", "json")
        cause = nameless(json.loads(done.out)["cause"], names)
        cause = cause.partition(" (unknown field")[0]  # opaque parameters are left out
        causes.append(re.sub(r"N(?:[-.:]N)+", "N", cause))
    assert causes[0] == causes[1]


_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
DRIVER = "gpu.nvidia.com"
UUID = "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c"
CLUSTER = list(yaml.safe_load_all((ROOT / "tests/cluster/redacted.yaml").read_text(encoding="utf-8")))


def test_nothing_tells_whose_it_is() -> None:
    found = json.dumps(redacted(*CLUSTER))
    assert "lab" not in _WORD.findall(found)
    for secret in ("acme", "jane", "10.1.2.3", UUID, "single", "t0p", "trainer", "i-0123", "special", "KEY"):
        assert secret not in found
    for kept in (DRIVER, "NVIDIA A100", "linux", "FailedResourceClaimCreation", "not found on", "v1.36.3"):
        assert kept in found


@each_row_beside("objects", "kept")
def test_what_tells_whose_it_is_is_hidden_and_all_else_stays(objects: list[JSONObject], kept: list[str]) -> None:
    found = json.dumps(redacted(*objects))
    others = found.replace("gpu.acme.com", "")  # a driver
    assert [each for each in ("acme", "Acme", "jane", "hunter2", "5432", "8812345") if each in others] == []
    assert [each for each in kept if each not in found] == []


def test_names_as_kubelet_joins_them_are_replaced() -> None:
    uid = "675a7d1d-0717-41c4-8e50-916edd131b21"
    said = f"back-off 5m0s restarting failed container=main pod=trainer_ml-lab({uid})"
    status = {"containerStatuses": [{"state": {"waiting": {"message": said}}}]}
    pod = made("Pod", "trainer", "ml-lab", metadata={"uid": uid}, status=status)
    pod, event = redacted(pod, made("Event", "a", message=said))
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    hidden = said.replace("trainer_ml-lab", f"{name}_{namespace}")
    assert event["message"] == pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"] == hidden


def test_references_stay() -> None:
    node, _, slice_, template, pod, event, quota, special, bound, policy = redacted(*CLUSTER)
    name = node["metadata"]["name"]
    assert name == node["metadata"]["labels"]["kubernetes.io/hostname"] == slice_["spec"]["nodeName"]
    assert name.endswith("-7")
    assert node["metadata"]["annotations"] == {_APPLIED: '{"apiVersion":"v1"}'}
    uuid = slice_["spec"]["devices"][0]["attributes"]["uuid"]["string"]
    expression = template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"][0]["cel"]["expression"]
    assert expression == f'device.attributes["{DRIVER}"].uuid == "{uuid}"'
    assert pod["spec"]["nodeSelector"].items() <= node["metadata"]["labels"].items()
    assert pod["spec"]["tolerations"][0]["value"] == node["spec"]["taints"][0]["value"]
    namespace, wanted = pod["metadata"]["namespace"], pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
    assert event["involvedObject"]["name"] == pod["metadata"]["name"]
    assert event["message"] == (
        f'{namespace}/{pod["metadata"]["name"]} at 0.0.0.0: resourceclaimtemplate "{wanted}" not found on {name}'
    )
    assert [*quota["spec"]["hard"]][1].startswith(f"{special['metadata']['name']}.deviceclass.")
    assert bound["spec"]["policyName"] == policy["metadata"]["name"]
    # A slip of a name stays one.
    assert nearest(wanted, [template["metadata"]["name"], name]) == template["metadata"]["name"]


def test_names_keep_their_order_and_are_not_slips_of_each_other() -> None:
    names = [f"{a}{b}-{c}" for a in "aeiou" for b in "bcdfghjklmnpqrstvwxyz" for c in ("x", "yz", "zzz9")]
    found = [each["metadata"]["name"] for each in redacted(*(made("Node", each) for each in names))]
    assert sorted(found) == [name for _, name in sorted(zip(names, found, strict=True))]
    assert len(set(found)) == len(names)
    assert not [each for each in found[::20] if nearest(f"{each}", [one for one in found if one != each])]


def test_the_plugin_of_a_driver_is_still_known_as_one() -> None:
    containers = [{"name": "gpus", "image": "nvcr.io/nvidia/dra:1"}]
    plugin = daemon_set("/var/lib/kubelet/plugins", "nvidia-dra-driver", containers=containers)
    assert redacted(plugin) == [plugin]


def test_a_file_is_redacted(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": CLUSTER}))
    done = draguard("snapshot", "--cluster", file, "--redact")
    assert (done.code, done.err, "acme" in done.out) == (0, "", False)
    assert json.loads(done.out)["items"] == redacted(*CLUSTER)
    assert json.loads(draguard("snapshot", "--cluster", file).out)["items"] == CLUSTER
    broken = draguard("snapshot", "--cluster", tmp_path / "none.json", "--redact")
    assert (broken.code, broken.out, "none.json" in broken.err) == (2, "", True)
    assert draguard("snapshot", "--redact").code == 2


def test_resources_finalizers_and_schedulers_of_owners_are_replaced() -> None:
    resources = {"requests": {"acme.corp/fpga": "1", "cpu": "1"}}
    spec = {"schedulerName": "acme-sched", "containers": [{"name": "c", "resources": resources}]}
    pod = made("Pod", "p", metadata={"finalizers": ["acme.corp/keep"]}, spec=spec)
    quota = made("ResourceQuota", "q", spec={"hard": {"requests.acme.corp/fpga": "2"}})
    said = {"message": "0/1 nodes are available: 1 Insufficient acme.corp/fpga.", "reportingComponent": "acme-sched"}
    event = made("Event", "e", involvedObject={"kind": "Pod", "name": "p"}, **said)
    class_ = made("DeviceClass", "f", spec={"extendedResourceName": "acme.corp/fpga"})
    hidden = redacted(pod, quota, event, class_)
    assert "acme" not in json.dumps(hidden)
    (resource,) = hidden[0]["spec"]["containers"][0]["resources"]["requests"].keys() - {"cpu"}
    assert hidden[1]["spec"]["hard"] == {f"requests.{resource}": "2"}
    assert resource in hidden[2]["message"]
    assert hidden[2]["reportingComponent"] == hidden[0]["spec"]["schedulerName"]
    assert hidden[3]["spec"]["extendedResourceName"] == resource


def test_that_an_interface_is_in_its_pod_stays_and_its_addresses_do_not() -> None:
    data = {"interfaceName": "eth7", "ips": ["10.9.8.7/24"], "hardwareAddress": "00:11:22:33:44:55"}
    devices = [{"driver": "dra.net", "pool": "n", "device": "d", "networkData": data}]
    (claim,) = redacted({"kind": "ResourceClaim", "metadata": {"name": "c"}, "status": {"devices": devices}})
    assert claim["status"]["devices"][0]["networkData"] == {}
    device = {"name": "d", "attributes": {"interfaceName": {"string": "eth7"}}}
    (slice_,) = redacted({"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {"devices": [device]}})
    assert slice_["spec"]["devices"][0]["attributes"].keys() == {"interfaceName"}, "selectors may read it"
