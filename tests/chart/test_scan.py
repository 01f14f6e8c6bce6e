"""The chart's scan: what it may do, what it is started with, and that alerts and dashboard ask for what it serves."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chart.rendering import NAMESPACE, Manifest, component_of, rendered
from tests.cluster.scanned import Process, Scanned, cluster, scanner
from tests.command import ROOT
from tests.rows import each_row
from tests.scan.clusters import claim, device, device_class, made, node, pod, slices
from tests.server.test_metrics import FILES, check, expressions, named_in, panels, rules
from tests.serving import eventually
from webhook.cli.parser import make_parser
from webhook.why.scene import SORTS

pytestmark = [pytest.mark.tools, pytest.mark.process]

ALERTS, PANELS = rules("scan-alerts.yaml"), expressions(panels("scan-dashboard.json"))


def scan_of(values: str) -> Manifest:
    spec: Manifest = rendered(values).one("Deployment", "scan")["spec"]["template"]["spec"]
    return spec


class TestRunning:
    @pytest.fixture
    def scanned(self, tmp_path: Path) -> Iterator[Scanned]:
        account = tmp_path / "account"
        account.mkdir()
        gpus = slices(device("a"), device("b"), on="n1", pool={"resourceSliceCount": 2})
        objects = [node(), gpus, device_class(), claim("gpu", "a", pods=("gone",)), pod(claims=())]
        objects.append(made("PriorityClass", "low", version="scheduling.k8s.io/v1", value=1))
        objects.append(made("PodGroup", "gang", "default", version="scheduling.k8s.io/v1beta1", spec={}))
        with cluster(account, objects, [rendered("scanned").one("ClusterRole", "scan")]) as found:
            yield found

    @pytest.fixture
    def running(self, scanned: Scanned, tmp_path: Path) -> Iterator[Process]:
        (container,) = scan_of("scanned")["containers"]
        arguments = [re.sub(r"(?<=--monitoring-port=)\d+", "0", each) for each in container["args"]]
        with scanner(scanned, tmp_path / "log", *arguments) as started:
            assert eventually(lambda: started.page("/readyz")[0] == 200)
            yield started

    def test_its_role_allows_what_it_reads_and_writes_and_nothing_else(
        self, scanned: Scanned, running: Process
    ) -> None:
        assert running.started.poll() is None
        assert scanned.server.refused == []
        asked = {(verb, _resource(path)) for verb, path in scanned.asked if path not in {"/version", "/apis"}}
        rules = rendered("scanned").one("ClusterRole", "scan")["rules"]
        granted = {
            (verb, f"{resource}.{group}".rstrip("."))
            for rule in rules
            for verb in rule["verbs"]
            for group in rule.get("apiGroups", [""])
            for resource in rule.get("resources", rule.get("nonResourceURLs"))
        }
        mine = {each for each in granted if each[1].endswith("openreports.io")}
        assert asked - mine == granted - mine
        assert {verb for verb, _ in mine} == {"list", "create", "patch", "delete"}

    def test_alerts_and_dashboard_ask_for_what_it_serves(self, running: Process) -> None:
        served: dict[str, set[str]] = {}
        for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", running.page("/metrics")[1], re.MULTILINE):
            served.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
        for expression in [*PANELS, *(each["expr"] for each in ALERTS)]:
            check(expression, served)
        ours = {name for name in served if name.startswith("draguard_")}
        assert ours == {name for expression in PANELS for name, _ in named_in(expression) if name in ours}
        documented = re.findall(r"\| `(draguard_\w+)(?:\{(.*?)\})?` \|", (ROOT / "docs/scan.md").read_text())
        assert {name: set(filter(None, labels.split(", "))) for name, labels in documented} == {
            name: labels for name, labels in served.items() if name in ours
        }

    def test_reports_are_those_of_the_cluster(self, scanned: Scanned, running: Process) -> None:
        assert running.metrics()['draguard_incomplete_pools{"driver":"gpu.example.com"}'] == 1
        assert {each["policy"] for each in scanned.reports["default/draguard"]["results"]} == {"claim-zombie"}
        assert {each["policy"] for each in scanned.reports["/draguard"]["results"]} == {"pool-contradiction"}


def _resource(path: str) -> str:
    _, api, *rest = path.split("/")
    if api not in {"api", "apis"}:
        return path
    group = "" if api == "api" else rest.pop(0)
    resource = rest[-1] if rest[-1] != "draguard" else rest[-2]
    return f"{resource}.{group}".rstrip(".")


class TestMonitoring:
    def test_causes_are_those_that_there_are(self) -> None:
        text = (ROOT / "docs/scan.md").read_text(encoding="utf-8")
        assert set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == set(SORTS)
        assert all(alert["for"] for alert in ALERTS)
        (alert,) = (each for each in ALERTS if each["alert"] == "DraguardPodsWaitInVain")
        assert set(re.findall(r'!~"([^"]*)"', alert["expr"])[0].split("|")) < set(SORTS)

    def test_the_operator_and_grafana_get_both_parts(self) -> None:
        release = rendered("scanned")
        assert [each["metadata"]["name"] for each in release.all("PrometheusRule")] == ["draguard", "draguard-scan"]
        files = {name: json.loads(text) for each in release.all("ConfigMap") for name, text in each["data"].items()}
        assert files.keys() == {"draguard.json", "draguard-scan.json"}
        assert files["draguard-scan.json"] == json.loads((FILES / "scan-dashboard.json").read_text(encoding="utf-8"))
        assert release.all("PrometheusRule")[1]["spec"]["groups"][0]["rules"] == ALERTS
        selector = release.one("ServiceMonitor")["spec"]["selector"]["matchLabels"]
        service = release.one("Service", "scan")
        assert selector.items() <= service["metadata"]["labels"].items()
        assert [each["name"] for each in service["spec"]["ports"]] == ["monitoring"]


class TestObjects:
    def test_without_it_nothing_of_it_is_there(self) -> None:
        assert "scan" not in map(component_of, rendered().manifests)

    @each_row("values", "scanned", "scanned by several", "only reports", "only metrics")
    def test_its_pod_is_as_confined_as_the_webhook_s_and_draguard_takes_its_options(self, values: str) -> None:
        spec, webhook = scan_of(values), rendered(values)
        (container,) = spec["containers"]
        assert spec["securityContext"].items() <= webhook.pod["spec"]["securityContext"].items()
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == webhook.container["securityContext"]
        arguments = make_parser().parse_args(container["args"])
        assert (arguments.command, arguments.write_reports) == ("scan", values != "only metrics")
        assert (arguments.monitoring_port is None) == ("livenessProbe" not in container) == (values == "only reports")

    def test_several_replicas_have_a_lease_and_one_is_replaced_before_the_next_begins(self) -> None:
        one, several = rendered("scanned"), rendered("scanned by several")
        assert one.one("Deployment", "scan")["spec"]["strategy"] == {"type": "Recreate"}
        assert "strategy" not in several.one("Deployment", "scan")["spec"]
        (container,) = scan_of("scanned by several")["containers"]
        assert make_parser().parse_args(container["args"]).lease == f"{NAMESPACE}/draguard-scan"
        assert several.one("Lease", "scan")["metadata"]["name"] == "draguard-scan"
        (rule,) = several.one("Role", "scan")["rules"]
        assert (rule["resourceNames"], rule["verbs"]) == (["draguard-scan"], ["get", "patch"])
        assert [each["name"] for each in container["env"]] == ["POD_NAME", "TZ"]
        assert make_parser().parse_args(scan_of("scanned")["containers"][0]["args"]).lease is None

    def test_its_network_policy_lets_metrics_in_and_requests_to_api_servers_out(self) -> None:
        spec = rendered("scanned by several").network_policy("scan")["spec"]
        (ingress,) = spec["ingress"]
        assert ingress == {"ports": [{"port": 8080, "protocol": "TCP"}], "from": [{"ipBlock": {"cidr": "10.1.0.0/16"}}]}
        assert spec["egress"] == [
            {"ports": [{"port": 7443, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]}
        ]
        assert rendered("only reports").network_policy("scan")["spec"]["ingress"] == []

    def test_without_reports_it_may_only_read(self) -> None:
        may = {verb for rule in rendered("only metrics").one("ClusterRole", "scan")["rules"] for verb in rule["verbs"]}
        assert may == {"list", "get"}

    def test_an_account_of_ones_own_gets_the_role(self) -> None:
        release = rendered("only reports")
        assert release.one("ClusterRoleBinding", "scan")["subjects"][0]["name"] == "mine"
        assert scan_of("only reports")["serviceAccountName"] == "mine"
        assert "draguard-scan" not in {each["metadata"]["name"] for each in release.all("ServiceAccount")}
