"""The metrics exported to Prometheus, and their use in the dashboard, the alerts and the documentation."""

import json
import re
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from tests.policies import POLICY
from tests.reviews import recorded
from tests.rows import each_row
from tests.serving import look
from webhook.admission import Call, Endpoint, Record, ReviewOptions, answer
from webhook.admission.record import RecordedFinding
from webhook.certificates import certs
from webhook.policy import load
from webhook.reloading import Reloaded, UnusableError
from webhook.server import Certificate
from webhook.server.messages import HTTPRequest
from webhook.server.metrics import OTHER, REFUSALS, Metrics

ROOT = Path(__file__).parents[2]
FILES = ROOT / "charts" / "draguard" / "files"
OF_TARGETS = {"namespace", "instance"}
"""Labels that Prometheus adds."""


class Exported:
    """The metrics that Prometheus reads."""

    def __init__(self, metrics: Metrics, accept: str = "") -> None:
        text, _ = metrics.exposition(is_open=bool(accept))
        self.families = list((open_metrics if accept else text_format)(text.decode()))
        self.samples = [sample for family in self.families for sample in family.samples]

    def __getitem__(self, name: str) -> float:
        """The sum of a metric's samples, such as ``draguard_reviews_total{kind="Pod"}``."""
        name, _, rest = name.partition("{")
        labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        found = [each for each in self.samples if each.name == name and labels.items() <= each.labels.items()]
        assert found, name
        return sum(float(each.value) for each in found)

    def labels(self, name: str) -> list[dict[str, str]]:
        return [each.labels for each in self.samples if each.name == name]


@pytest.fixture(scope="module")
def pair() -> certs.Pair:
    return certs.ephemeral(["localhost"])


@pytest.fixture
def certificate(pair: Any) -> Certificate:
    return Certificate(pair.certificate, pair.key)


@pytest.fixture
def metrics(certificate: Certificate) -> Metrics:
    return Metrics(certificate, Reloaded("policies", tuple, ReviewOptions), "1.34", version=version("draguard"))


def record_of(kind: str = "Pod", group: str = "", **result: Any) -> Record:
    request = {"operation": "CREATE", "kind": {"kind": kind, "group": group, "version": "v1"}}
    return Record("validate", request=request, **result)


OPEN = "application/openmetrics-text"


@each_row(
    ("accept", "is_open"),
    (f"{OPEN}; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),  # Prometheus 2.0
    (f"application/vnd.google.protobuf;q=0.6,{OPEN};version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.1", True),
    (f"{OPEN.upper()};Q=0.1", True),
    *((f"{OPEN}; version={each}", True) for each in ("x", "1.0.0 x", "9999999999.0.0")),
    ("*/*", False),
    ("text/plain", False),
    ("", False),
)
def test_metrics_are_in_the_format_that_the_client_reads(metrics: Metrics, accept: str, *, is_open: bool) -> None:
    page = metrics.page(HTTPRequest(b"GET", "/metrics", b"", {b"accept": accept.encode()}))
    assert page.content_type.startswith(OPEN if is_open else "text/plain; version=0.0.4")
    assert page.body.endswith(b"# EOF\n") is is_open


class TestReviews:
    def test_are_counted_by_what_they_are_about_and_what_was_decided(self, metrics: Metrics) -> None:
        for each in recorded():
            endpoint: Endpoint = "mutate" if each.endpoint == "mutate" else "validate"
            result = answer(json.dumps(each.review).encode(), Call(endpoint), ReviewOptions()).record
            assert result
            metrics.reviewed(result, 0.001)
        metrics.reviewed(record_of(decision="denied"), 0.001)
        exported = Exported(metrics)
        assert exported["draguard_reviews_total"] == len(recorded()) + 1
        assert exported["draguard_reviews_total{decision='denied'}".replace("'", '"')] == 1
        claims = 'draguard_reviews_total{kind="ResourceClaim.resource.k8s.io",operation="DELETE",endpoint="mutate"}'
        assert exported[claims] == sum(
            each.review["request"]["kind"]["kind"] == "ResourceClaim"
            and each.review["request"]["operation"] == "DELETE"
            and each.endpoint == "mutate"
            for each in recorded()
        )

    def test_of_kinds_that_are_not_known_are_counted_together(self, metrics: Metrics) -> None:
        for number in range(300):
            metrics.reviewed(record_of(f"Kind{number}", f"group{number}\n"), 0.001)
        metrics.reviewed(record_of("Pod", "example.com"), 0.001)
        metrics.reviewed(Record("validate", "malformed"), 0.001)
        assert {labels["kind"] for labels in Exported(metrics).labels("draguard_reviews_total")} == {OTHER}
        assert Exported(metrics)["draguard_reviews_total"] == 302

    def test_are_timed(self, metrics: Metrics) -> None:
        for seconds in (0.00005, 0.0002, 0.002, 7, 99):
            metrics.reviewed(record_of(), seconds)
        exported = Exported(metrics)
        name = "draguard_review_duration_seconds"
        assert exported[f'{name}_count{{endpoint="validate"}}'] == 5
        counted = {most: exported[f'{name}_bucket{{endpoint="validate",le="{most}"}}'] for most in ("0.0001", "10.0")}
        assert counted == {"0.0001": 1, "10.0": 4}

    def test_tell_their_findings_errors_costs_and_changes(self, metrics: Metrics) -> None:
        found = [
            RecordedFinding("count-for-mode", "", "deny"),
            RecordedFinding("", "few-devices", "warn"),
            RecordedFinding("", "few-devices", "deny", is_error=True),
            RecordedFinding("", "few-devices", "audit", is_error=True),
        ]
        metrics.reviewed(record_of(decision="denied", found=found, cost=41, patched=True), 0.001)
        metrics.reviewed(record_of(decision="failed", cost=1), 0.001)
        exported = Exported(metrics)
        assert exported['draguard_findings_total{rule="count-for-mode",mode="deny"}'] == 1
        assert exported['draguard_policy_findings_total{policy="few-devices",mode="warn"}'] == 1
        assert exported['draguard_policy_findings_total{policy="few-devices",mode="deny"}'] == 1
        assert exported['draguard_policy_errors_total{policy="few-devices"}'] == 1
        assert exported["draguard_cel_cost_total"] == 42
        assert exported['draguard_patched_total{kind="Pod"}'] == 1
        assert exported['draguard_review_failures_total{endpoint="validate"}'] == 1


class TestSeries:
    def test_of_what_is_rare_begin_at_zero_so_that_the_first_event_is_seen(self, metrics: Metrics) -> None:
        exported = Exported(metrics)
        for status in REFUSALS:
            assert exported[f'draguard_http_requests_refused_total{{status="{status}"}}'] == 0
        for endpoint in ("validate", "mutate"):
            assert exported[f'draguard_review_failures_total{{endpoint="{endpoint}"}}'] == 0
        metrics.refused(413)
        assert Exported(metrics)['draguard_http_requests_refused_total{status="413"}'] == 1

    def test_tell_what_is_running_and_what_it_takes(self, metrics: Metrics) -> None:
        metrics.connections = lambda: 7
        before = Exported(metrics)
        running = {"version": version("draguard"), "python": sys.version.split()[0], "kubernetes": "1.34"}
        assert (before.labels("draguard_build_info"), before["draguard_build_info"]) == ([running], 1)
        assert before["draguard_open_connections"] == 7
        assert before["process_resident_memory_bytes"] > 1 << 20
        assert 0 < before["process_start_time_seconds"] < time.time() + 1
        taken = before["process_cpu_seconds_total"]
        assert time.process_time() * 0.5 < taken < time.process_time() * 2 + 1
        assert taken <= Exported(metrics)["process_cpu_seconds_total"] < 2 * (taken + 1)

    @each_row("accept", "", OPEN)
    def test_keep_any_text_of_a_label(self, metrics: Metrics, accept: str) -> None:
        name = 'back\\slash, "quotes", {braces}\nand a line'
        metrics.reviewed(record_of(found=[RecordedFinding("", name, "warn")]), 0.001)
        assert Exported(metrics, accept).labels("draguard_policy_findings_total") == [{"policy": name, "mode": "warn"}]

    @each_row("accept", "", OPEN)
    def test_are_of_the_same_types_for_every_reader(self, metrics: Metrics, accept: str) -> None:
        types = {family.name: family.type for family in Exported(metrics, accept).families}
        assert types["draguard_reviews"] == types["process_cpu_seconds"] == "counter"
        assert types["draguard_review_duration_seconds"] == "histogram"
        assert types["draguard_open_connections"] == types["draguard_build_info"] == "gauge"
        assert "unknown" not in types.values()

    def test_are_the_same_in_both_formats(self, metrics: Metrics) -> None:
        metrics.reviewed(record_of(), 0.001)
        assert metrics.exposition(is_open=True)[1].startswith(f"{OPEN}; version=1.0.0")
        assert metrics.exposition(is_open=False)[1].startswith("text/plain; version=0.0.4")
        names = [{each.name for each in Exported(metrics, kind).samples} for kind in ("", OPEN)]
        assert names[0] == names[1]
        assert not any(name.endswith("_created") for name in names[0])


class TestCertificates:
    def test_tell_when_they_expire_and_of_failures(self, metrics: Metrics, certificate: Certificate) -> None:
        assert certificate.value.not_after
        end = Exported(metrics)["draguard_certificate_expiration_timestamp_seconds"]
        assert end == certificate.value.not_after.timestamp() > time.time()
        assert Exported(metrics)["draguard_tls_handshake_failures_total"] == 0
        certificate.failed_handshakes += 2
        assert Exported(metrics)["draguard_tls_handshake_failures_total"] == 2

    def test_tell_that_new_ones_are_refused_until_one_is_good(self, pair: Any, tmp_path: Path) -> None:
        files = tmp_path / "tls.crt", tmp_path / "tls.key"
        for file, content in zip(files, (pair.certificate, pair.key), strict=True):
            file.write_bytes(content)
        certificate = Certificate(*files)
        metrics = Metrics(certificate, Reloaded("policies", tuple, ReviewOptions))

        def after(content: bytes) -> list[float]:
            if content != files[0].read_bytes():
                files[0].write_bytes(content)
            look(certificate)
            exported, names = Exported(metrics), ("reload_failures_total", "last_reload_successful")
            return [exported[f"draguard_certificate_{name}"] for name in names]

        assert after(pair.certificate) == [0, 1]
        assert after(b"broken") == [1, 0]
        assert after(b"broken") == [1, 0]
        assert after(pair.certificate) == [1, 1]


def test_processes_that_were_ended_are_counted(certificate: Certificate) -> None:
    ended = [0]
    metrics = Metrics(certificate, Reloaded("policies", tuple, ReviewOptions), ended=lambda: ended[0])
    assert Exported(metrics)["draguard_heavy_processes_ended_total"] == 0
    ended[0] = 2
    assert Exported(metrics)["draguard_heavy_processes_ended_total"] == 2


def test_evaluated_policies_are_counted_and_it_is_stated_whether_they_are_current(
    certificate: Certificate, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.touch()

    def make() -> ReviewOptions:
        text = file.read_text(encoding="utf-8")
        if text == "broken":
            raise UnusableError(text)
        return ReviewOptions(policies=load.load(yaml.safe_load_all(text)) if text else None)

    answering = Reloaded("policies", lambda: [str(file)], make)
    metrics = Metrics(certificate, answering)

    def after(text: str) -> list[float]:
        if text != file.read_text(encoding="utf-8"):
            file.write_text(text, encoding="utf-8")
        look(answering)
        exported = Exported(metrics)
        of_files = ("policies_last_reload_successful", "policy_reload_failures_total")
        return [exported[f"draguard_{name}"] for name in ("policies", "policy_set_generation", *of_files)]

    assert after("") == [0, 1, 1, 0]
    assert after(POLICY.format(expression="'true'")) == [1, 2, 1, 0]
    assert Exported(metrics)['draguard_policy_errors_total{policy="names"}'] == 0
    assert after("broken") == [1, 2, 0, 1]
    assert after("") == [0, 3, 1, 1]


def exported_names(metrics: Metrics) -> dict[str, set[str]]:
    """Export all metrics; return the labels of each by its name."""
    found = [RecordedFinding("rule", "", "deny"), RecordedFinding("", "policy", "deny", is_error=True)]
    metrics.reviewed(record_of(found=found, patched=True), 0.001)
    names: dict[str, set[str]] = {}
    for sample in Exported(metrics).samples:
        names.setdefault(sample.name, set()).update(sample.labels)
    return names


def named_in(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Find the metrics in an expression, and the labels that select them."""
    for name, selected in re.findall(r"\b((?:draguard|process)_\w+)(?:\{([^}]*)\})?", expression):
        yield name, set(re.findall(r"(\w+)\s*[!=]~?", selected))


def rules(file: str) -> list[Any]:
    """Read the alerts of a file of the chart."""
    return [rule for group in yaml.safe_load((FILES / file).read_text())["groups"] for rule in group["rules"]]


def panels(file: str) -> list[Any]:
    """Read the panels of a dashboard of the chart."""
    found: list[Any] = json.loads((FILES / file).read_text(encoding="utf-8"))["panels"]
    return found


def expressions(panels: list[Any]) -> list[str]:
    return [target["expr"] for panel in panels for target in panel["targets"]]


def check(expression: str, names: dict[str, set[str]]) -> None:
    """Check the names of metrics and labels in an expression."""
    found = list(named_in(expression))
    assert found, expression
    for name, labels in found:
        assert name in names, expression
        assert labels <= names[name] | OF_TARGETS, expression
    grouped = {label.strip() for by in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression) for label in by.split(",")}
    assert grouped <= OF_TARGETS.union(*(names[name] for name, _ in found)), expression


class TestWhatIsBuiltOnThem:
    def test_every_panel_shows_metrics_that_are_exported(self, metrics: Metrics) -> None:
        names, shown_in = exported_names(metrics), expressions(panels("dashboard.json"))
        for expression in shown_in:
            check(expression, names)
        shown = {name for expression in shown_in for name, _ in named_in(expression)}
        ours = {re.sub(r"_(bucket|sum|count)$", "_bucket", name) for name in names if name.startswith("draguard_")}
        assert ours - shown == {
            "draguard_certificate_last_reload_successful",  # alerts look at them
            "draguard_policies_last_reload_successful",
        }

    def test_every_panel_asks_the_replicas_that_are_chosen(self) -> None:
        dashboard = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))
        assert [each["name"] for each in dashboard["templating"]["list"]] == ["datasource", "namespace", "instance"]
        chosen = 'namespace=~"$namespace",instance=~"$instance"'
        assert all(chosen in expression for expression in expressions(dashboard["panels"]))

    @each_row("file", "dashboard.json", "scan-dashboard.json")
    def test_panels_do_not_overlap_and_ask_the_data_source_that_is_chosen(self, file: str) -> None:
        taken: set[tuple[int, int]] = set()
        assert len({panel["id"] for panel in panels(file)}) == len(panels(file))
        for panel in panels(file):
            assert panel["datasource"]["uid"] == "${datasource}"
            at = panel["gridPos"]
            cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
            assert not cells & taken, panel["title"]
            assert at["x"] + at["w"] <= 24
            taken |= cells

    @each_row(
        ("file", "document", "severities"),
        ("alerts.yaml", "observability.md", {"warning", "critical"}),
        ("scan-alerts.yaml", "scan.md", {"warning"}),
    )
    def test_every_alert_is_documented_and_says_what_to_do(
        self, file: str, document: str, severities: set[str]
    ) -> None:
        text = (ROOT / "docs" / document).read_text(encoding="utf-8")
        assert sorted(alert["alert"] for alert in rules(file)) == sorted(set(re.findall(r"\| (Draguard\w+) \|", text)))
        for alert in rules(file):
            assert alert["labels"]["severity"] in severities
            assert alert["annotations"].keys() == {"summary", "description"}
            named = re.findall(r"\$labels\.(\w+)", alert["annotations"]["description"])
            assert all(re.search(rf"\bby \([^)]*\b{label}\b", alert["expr"]) for label in named), alert["alert"]

    def test_every_alert_looks_at_metrics_that_are_exported(self, metrics: Metrics) -> None:
        for alert in rules("alerts.yaml"):
            check(alert["expr"], exported_names(metrics))

    def test_the_documentation_has_every_metric_with_its_labels(self, metrics: Metrics) -> None:
        text = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
        result = {
            name: set(filter(None, labels.split(", ")))
            for name, labels in re.findall(r"\| `((?:draguard|process)_\w+)(?:\{(.*?)\})?` \|", text)
        }
        kinds = {family.name + ("_total" if family.type == "counter" else "") for family in Exported(metrics).families}
        labels = exported_names(metrics)
        kinds |= {name for name in labels if not re.search(r"_(bucket|sum|count)$", name)}
        assert result == {name: labels.get(name, labels.get(f"{name}_count", set())) for name in kinds}
