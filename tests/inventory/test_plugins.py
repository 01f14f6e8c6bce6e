"""Which DaemonSets run the kubelet plugins of drivers."""

from typing import Any

from tests.rows import each_row
from webhook.inventory.plugins import plugins, trouble_of
from webhook.objects import JSONObject


def daemon_set(name: str, path: str = "/var/lib/kubelet/plugins_registry", **container: Any) -> JSONObject:
    volumes = [{"name": "plugins", "hostPath": {"path": path}}]
    spec = {"volumes": volumes, "containers": [{"name": "c", **container}]}
    metadata = {"name": name, "namespace": "drivers", "uid": name}
    return {"kind": "DaemonSet", "metadata": metadata, "spec": {"template": {"spec": spec}}}


def pod(node: str, **status: Any) -> JSONObject:
    return {"kind": "Pod", "spec": {"nodeName": node}, "status": status}


OWN = daemon_set("a", "/var/lib/kubelet/plugins/gpu.example.com")


@each_row(
    ("daemon_sets", "pods", "served", "drivers", "expected"),
    [
        ([OWN, daemon_set("b")], {}, {}, {"gpu.example.com"}, {"a": ["gpu.example.com"], "b": []}),
        ([daemon_set("a", args=["--driver=x.com"])], {}, {}, {"x.com", "y.com"}, {"a": ["x.com"]}),
        ([daemon_set("x"), daemon_set("csi", image="csi/node-driver-registrar:1")], {}, {}, {"x.com"}, {"x": []}),
        ([daemon_set("a"), daemon_set("b")], {"b": [pod("n")]}, {"z.com": {"n"}}, {"z.com"}, {"a": [], "b": ["z.com"]}),
        ([daemon_set("a"), daemon_set("b")], {}, {"z.com": {"n"}}, {"z.com"}, {"a": [], "b": []}),
        (
            [daemon_set("intel-gpu"), daemon_set("amd")],
            {},
            {},
            {"gpu.intel.com"},
            {"intel-gpu": ["gpu.intel.com"], "amd": []},
        ),
        (
            [daemon_set("intel-old"), daemon_set("intel-new")],
            {},
            {},
            {"gpu.intel.com"},
            {"intel-old": ["gpu.intel.com"], "intel-new": ["gpu.intel.com"]},
        ),
        ([daemon_set("nvidia-gpu")], {}, {}, {"gpu.intel.com", "gpu.nvidia.com"}, {"nvidia-gpu": ["gpu.nvidia.com"]}),
        ([daemon_set("cpus")], {"cpus": [pod("n")]}, {"x.com": {"n"}}, {"dra.cpu", "x.com"}, {"cpus": ["x.com"]}),
        ([daemon_set("a", "/var/lib/other", image="x.com")], {}, {}, {"x.com"}, {}),
    ],
)
def test_a_driver_is_run_by_the_daemon_set_that_names_it_or_is_on_its_nodes(
    daemon_sets: list[JSONObject],
    pods: dict[str, list[JSONObject]],
    served: dict[str, set[str]],
    drivers: set[str],
    expected: dict[str, list[str]],
) -> None:
    found = plugins(((each, pods.get(each["metadata"]["name"], [])) for each in daemon_sets), served, drivers)
    assert {each.workload["metadata"]["name"]: list(each.drivers) for each in found} == expected


@each_row(
    ("status", "expected"),
    [
        ({"phase": "Running"}, ""),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}, "it is not ready"),
        ({"phase": "Failed", "reason": "Evicted"}, "it is not running: Failed (Evicted)"),
        (
            {
                "phase": "Running",
                "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            },
            "a is not running (CrashLoopBackOff)",
        ),
    ],
)
def test_the_trouble_of_a_pod(status: JSONObject, expected: str) -> None:
    assert trouble_of(pod("n", **status)) == expected
