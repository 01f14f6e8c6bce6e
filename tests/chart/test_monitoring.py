"""The port for probes and metrics, and the chart's objects for monitoring."""

import json
from typing import Any

import pytest
import yaml

from charts.render import CHART
from tests.chart.rendering import VALUES, rendered

pytestmark = [pytest.mark.tools, pytest.mark.no_cover]

PORTED = [name for name, values in VALUES.items() if values.get("monitoring", {}).get("enabled", True)]
PROBES = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
KINDS = {"ServiceMonitor", "PrometheusRule"}


def probed(values: str) -> dict[str, dict[str, Any]]:
    container = rendered(values).container
    return {name: container[name]["httpGet"] for name in container if name.endswith("Probe")}


class TestPort:
    @pytest.mark.parametrize("values", PORTED)
    def test_probes_need_no_certificate(self, values: str) -> None:
        assert probed(values) == {
            name: {"path": path, "port": "monitoring", "scheme": "HTTP"} for name, path in PROBES.items()
        }

    @pytest.mark.parametrize("values", sorted(VALUES.keys() - PORTED))
    def test_without_the_port_probes_ask_where_reviews_go(self, values: str) -> None:
        assert probed(values) == {
            name: {"path": path, "port": "https", "scheme": "HTTPS"} for name, path in PROBES.items()
        }
        assert "monitoring-port" not in rendered(values).options
        assert not KINDS & {manifest["kind"] for manifest in rendered(values).manifests}

    @pytest.mark.parametrize("values", PORTED)
    def test_draguard_listens_where_the_service_says(self, values: str) -> None:
        release = rendered(values)
        ports = {port["name"]: port["containerPort"] for port in release.container["ports"]}
        assert str(ports["monitoring"]) == release.options["monitoring-port"]
        assert len(set(ports.values())) == len(ports)

    def test_who_may_read_metrics_can_be_said(self) -> None:
        reviews, metrics = rendered("monitored").network_policy()["spec"]["ingress"]
        assert "from" not in reviews
        assert metrics["from"] == VALUES["monitored"]["networkPolicy"]["monitoringFrom"]
        assert metrics["ports"] == [{"port": 9090, "protocol": "TCP"}]


class TestLogs:
    def test_their_form_and_number_can_be_chosen(self) -> None:
        options = rendered("monitored").options
        assert (options["log-format"], options["log-level"], options["log-allowed"]) == ("text", "debug", "1/50")
        assert "log-allowed" not in rendered().options


class TestExtras:
    def test_they_are_imported_on_first_use(self) -> None:
        assert not KINDS & {manifest["kind"] for manifest in rendered().manifests}
        assert rendered().all("ConfigMap") == []

    def test_the_operator_finds_the_port_by_its_service(self) -> None:
        release = rendered("monitored")
        monitor, service = release.one("ServiceMonitor"), release.one("Service")
        (endpoint,) = monitor["spec"]["endpoints"]
        assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
        assert monitor["metadata"]["labels"]["release"] == "stack"
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert endpoint == {"port": "monitoring", "path": "/metrics", "interval": "1m", "scrapeTimeout": "5s"}
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}

    def test_alerts_are_those_of_the_file_and_each_says_what_to_do(self) -> None:
        rule = rendered("monitored").one("PrometheusRule")
        assert rule["apiVersion"] == "monitoring.coreos.com/v1"
        assert rule["metadata"]["labels"]["release"] == "stack"
        assert rule["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))
        alerts = [alert for group in rule["spec"]["groups"] for alert in group["rules"]]
        assert len({alert["alert"] for alert in alerts}) == len(alerts) > 0
        for alert in alerts:
            assert alert["expr"]
            assert alert["labels"]["severity"]
            assert alert["annotations"].keys() >= {"summary", "description"}

    def test_the_dashboard_is_that_of_the_file_and_labelled_for_grafana(self) -> None:
        config = rendered("monitored").one("ConfigMap")
        assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert config["metadata"]["annotations"] == {"grafana_folder": "DRA"}
        dashboard = json.loads(config["data"]["draguard.json"])
        assert dashboard == json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
        assert dashboard["panels"]
