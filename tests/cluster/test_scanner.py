"""``draguard scan --every`` in a pod: a real process, and an API server that it reads and writes over TLS."""

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.apiserver import Json, Refusal, refusing
from tests.cluster.scanned import REPORTS, Scanned, cluster, scanner
from tests.command import draguard, usage_error
from tests.rows import each_row
from tests.scan.clusters import claim, device, device_class, made, node, pod, slices
from tests.serving import eventually
from webhook.cluster.api import Api
from webhook.cluster.errors import ClusterError, Conflict
from webhook.cluster.reports import ReportWriter
from webhook.cluster.scanner import Numbers, Scanner
from webhook.cluster.tasks import Task
from webhook.findings import Finding, Identity
from webhook.problem import WARNING, Problem
from webhook.problem import Path as FieldPath
from webhook.report.openreports import reports

pytestmark = pytest.mark.process

ZOMBIE = claim("gpu", "a", pods=("gone",))
COMMAND = ("scan", "--live", "--every", "1s", "--write-reports", "--monitoring-port=0", "--monitoring-host=127.0.0.1")
STRANDED = 'draguard_stranded_devices{"class":"","driver":"gpu.example.com","reason":"no-class"}'
LEASE = "/apis/coordination.k8s.io/v1/namespaces/draguard-system/leases/draguard-scan"
ENDLESS: Json = {"metadata": {"continue": "x"}, "items": []}
OWN = {"app.kubernetes.io/managed-by": "draguard"}
NUMBERS = Numbers({"claim": 1}, {("gpu.example.com", "", "taint"): 2}, {"gpu.example.com": 0})


def objects(*more: Json) -> list[Json]:
    """Return a cluster of two nodes with a GPU each, one of which a claim keeps whose pod is gone."""
    entry = {"name": "x", "resourceClaimName": "no"}
    waiting = made("Pod", "waits", "ml", spec={"containers": [], "resourceClaims": [entry]})
    published = [slices(device("a", {"model": "x"}), on=each) for each in ("n1", "n2")]
    tpus = device_class("tpu", 'device.driver == "tpu.example.com"')
    return [node(), node("n2"), tpus, *published, pod(claims=()), waiting, *more]


@pytest.fixture
def account(tmp_path: Path) -> Path:
    found = tmp_path / "account"
    found.mkdir()
    return found


@pytest.fixture
def scanned(account: Path) -> Iterator[Scanned]:
    with cluster(account, objects(ZOMBIE)) as found:
        yield found


def writer_of(scanned: Scanned, *leads: Callable[[], bool]) -> ReportWriter:
    return ReportWriter(Api(scanned.server.account, scanned.server.address), *leads)


@pytest.fixture
def writer(scanned: Scanned) -> ReportWriter:
    return writer_of(scanned)


def finding(namespace: str, name: str = "gpu", message: str = "wrong") -> Finding:
    about = Identity("resource.k8s.io/v1", "ResourceClaim", namespace, name)
    problem = Problem(WARNING, "claim-zombie", "Stored", FieldPath(), message)
    return Finding(problem, "", 0, 0, "", identity=about)


class TestProcess:
    def test_it_reports_counts_and_follows_the_cluster(self, scanned: Scanned, tmp_path: Path) -> None:
        with scanner(scanned, tmp_path / "log", *COMMAND) as running:
            assert eventually(lambda: running.page("/readyz")[0] == 200)
            assert running.page("/healthz") == (200, "ok\n")
            (result,) = scanned.reports["default/draguard"]["results"]
            assert (result["policy"], result["resources"][0]["name"]) == ("claim-zombie", "gpu")
            assert scanned.reports.keys() == {"/draguard", "default/draguard", "ml/draguard"}
            metrics = running.metrics()
            assert metrics['draguard_pending_pods{"cause":"claim"}'] == 1
            assert metrics['draguard_pending_pods{"cause":"devices-in-use"}'] == 0
            assert metrics[STRANDED] == 1
            assert metrics['draguard_incomplete_pools{"driver":"gpu.example.com"}'] == 0
            assert metrics["draguard_scan_successful"] == 1
            assert eventually(lambda: "3 reports, 3 written, 0 deleted" in running.said)
            scanned.asked.clear()
            scanned.set(objects())
            assert eventually(lambda: "default/draguard" not in scanned.reports)
            assert scanned.writes == [("delete", f"{REPORTS}/namespaces/default/reports/draguard")]
            assert eventually(lambda: running.metrics()[STRANDED] == 2)
            running.started.terminate()  # twice, as timeout sends it to its group, too
            time.sleep(0.05)
            assert running.ends() == 0
        log = (tmp_path / "log").read_text()
        assert ("Traceback" in log, "Exception" in log) == (False, False)

    def test_an_api_server_that_refuses_is_asked_again_and_what_was_found_stays(
        self, scanned: Scanned, tmp_path: Path
    ) -> None:
        (scanned.server.account / "token").write_text("old\n")
        with scanner(scanned, tmp_path / "log", *COMMAND) as running:
            assert eventually(lambda: "the cluster cannot be read: Unauthorized" in running.page("/readyz")[1])
            assert "draguard_pending_pods" not in running.page("/metrics")[1]
            scanned.server.set_token("first")
            assert eventually(lambda: running.page("/readyz")[0] == 200)
            scanned.server.before = refusing(500, "etcd is away", "/api/v1/pods")
            assert eventually(lambda: running.page("/readyz") == (503, "not ready: pods not read: etcd is away\n"))
            assert running.metrics()["draguard_scan_successful"] == 0
            assert running.metrics()['draguard_pending_pods{"cause":"claim"}'] == 1
            assert scanned.reports.keys() == {"/draguard", "default/draguard", "ml/draguard"}
            scanned.server.before = lambda _verb, _path: None
            assert eventually(lambda: running.page("/readyz")[0] == 200)
            failed = [line["message"] for line in running.lines if line["level"] == "error"]
            assert failed[1:] == ["pods not read: etcd is away"]
            assert eventually(lambda: "in order again" in running.said)

    def test_without_the_kinds_of_reports_metrics_go_on(self, scanned: Scanned, tmp_path: Path) -> None:
        scanned.is_served = False
        with scanner(scanned, tmp_path / "log", *COMMAND) as running:
            assert eventually(lambda: running.page("/readyz")[0] == 200)
            assert eventually(lambda: "the cluster does not serve openreports.io/v1alpha1" in running.said)
            assert running.metrics()['draguard_pending_pods{"cause":"claim"}'] == 1

    def test_a_kind_that_is_forbidden_is_said_once_and_the_rest_is_judged(
        self, scanned: Scanned, tmp_path: Path
    ) -> None:
        scanned.server.before = refusing(403, "no", "/api/v1/resourcequotas")
        with scanner(scanned, tmp_path / "log", *COMMAND) as running:
            assert eventually(lambda: running.said.count("reports, ") == 2)
            assert running.said.count("resourcequotas not read: forbidden: no") == 1
            assert "default/draguard" in scanned.reports

    def test_silent_clients_do_not_keep_others_out_and_a_signal_ends_it_while_the_api_server_hangs(
        self, scanned: Scanned, tmp_path: Path
    ) -> None:
        hangs, ended = threading.Event(), threading.Event()

        def hang(_: str, path: str) -> None:
            if path == "/api/v1/pods":
                hangs.set()
                ended.wait(60)

        with scanner(scanned, tmp_path / "log", *COMMAND) as running, ExitStack() as stack:
            stack.callback(ended.set)
            assert eventually(lambda: running.page("/readyz")[0] == 200)
            port = int(running.said.partition("http://127.0.0.1:")[2].partition("\n")[0])
            for _ in range(300):
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            assert running.page("/metrics")[0] == 200
            scanned.server.before = hang
            assert hangs.wait(30)
            began = time.monotonic()
            assert running.ends() == 0
            assert time.monotonic() - began < 10


class TestLease:
    def test_one_replica_scans_and_another_follows_when_it_ends(self, account: Path, tmp_path: Path) -> None:
        rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "patch"]}]
        role = {"kind": "Role", "metadata": {"namespace": "draguard-system"}, "rules": rules}
        command = (*COMMAND, "--lease=draguard-system/draguard-scan")
        with cluster(account, objects(ZOMBIE), [role]) as scanned:
            scanned.server.put(LEASE, {"metadata": {"name": "draguard-scan"}, "spec": {}})
            with scanner(scanned, tmp_path / "one", *command, pod="scan-1") as first:
                assert eventually(lambda: "draguard_pending_pods" in first.page("/metrics")[1])
                with scanner(scanned, tmp_path / "two", *command, pod="scan-2") as second:
                    assert eventually(lambda: second.page("/readyz")[0] == 200)
                    time.sleep(3)
                    assert "draguard_" not in second.page("/metrics")[1]
                    assert scanned.server.objects[LEASE]["spec"]["holderIdentity"].startswith("scan-1_")
                    assert first.ends() == 0
                    # On a busy machine, requests may time out, which makes pauses longer.
                    assert any(eventually(lambda: "draguard_pending" in second.page("/metrics")[1]) for _ in range(3))
                    assert scanned.server.objects[LEASE]["spec"]["holderIdentity"].startswith("scan-2_")


class TestWriter:
    def test_only_what_has_changed_is_written(self, scanned: Scanned, writer: ReportWriter) -> None:
        found = [finding("a"), finding("b")]
        assert writer.write(reports(found)) == "3 reports, 3 written, 0 deleted"
        assert writer.write(reports(found)) == "3 reports, 0 written, 0 deleted"
        assert writer.write(reports([finding("a", message="worse"), *found[1:]])) == "3 reports, 1 written, 0 deleted"
        path = f"{REPORTS}/namespaces/b/reports/draguard"
        scanned.server.put(path, {**scanned.server.objects[path], "results": []})
        assert writer.write(reports(found)) == "3 reports, 2 written, 0 deleted"
        assert scanned.reports["b/draguard"]["summary"]["warn"] == 1

    def test_only_its_own_are_deleted(self, scanned: Scanned, writer: ReportWriter) -> None:
        writer.write(reports([finding("a"), finding("b")]))
        managed = {"labels": OWN, "managedFields": [{"manager": "kubectl"}]}
        for namespace, name, metadata in (("c", "draguard", managed), ("d", "other", {"labels": {}})):
            report = {"metadata": {"name": name, "namespace": namespace, **metadata}}
            scanned.server.put(f"{REPORTS}/namespaces/{namespace}/reports/{name}", report)
        assert writer.write(reports([])) == "1 report, 0 written, 2 deleted"
        assert scanned.reports.keys() == {"/draguard", "c/draguard", "d/other"}

    def test_a_restarted_process_knows_its_reports(self, scanned: Scanned, writer: ReportWriter) -> None:
        writer.write(reports([finding("a")]))
        before = scanned.reports["/draguard"]
        assert writer_of(scanned).write(reports([])) == "1 report, 1 written, 1 deleted"
        assert scanned.reports == {"/draguard": before}

    def test_many_results_are_split_and_parts_that_are_not_needed_any_more_deleted(
        self, scanned: Scanned, writer: ReportWriter
    ) -> None:
        found = [finding("a", f"gpu-{number}", "x" * 10_000) for number in range(120)]
        assert writer.write(reports(found)) == "4 reports, 4 written, 0 deleted"
        assert {"a/draguard", "a/draguard-2", "a/draguard-3"} < scanned.reports.keys()
        parts = [scanned.reports[f"a/draguard{part}"] for part in ("", "-2", "-3")]
        assert sum(len(each["results"]) for each in parts) == 120
        assert sum(each["summary"]["warn"] for each in parts) == 120
        assert writer.write(reports(found[:3])) == "2 reports, 1 written, 2 deleted"

    def test_lists_come_in_parts(self, writer: ReportWriter, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.cluster.live.CHUNK", 2)
        writer.write(reports([finding(each) for each in "abcdefg"]))
        assert writer.write(reports([])) == "1 report, 0 written, 7 deleted"

    def test_reports_of_others_may_be_many_and_long(
        self, scanned: Scanned, writer: ReportWriter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("webhook.cluster.reports.MAX_RESPONSE", 20_000)
        metadata = {"labels": OWN, "annotations": {"x": "y" * 15_000}}
        for name in "abcdefgh":
            own = {**metadata, "name": name, "namespace": "t"}
            scanned.server.put(f"{REPORTS}/namespaces/t/reports/{name}", {"metadata": own})
        assert writer.write(reports([finding("a")])) == "2 reports, 2 written, 0 deleted"
        assert writer.write(reports([finding("a")])) == "2 reports, 0 written, 0 deleted"

    @each_row(
        ("answer", "said"),
        (ENDLESS, "a list that does not go on"),
        ({**ENDLESS, "items": [{"metadata": {"name": "a", "resourceVersion": "1"}}]}, "a list that does not go on"),
        (b"<html>", "the answer is not that of an API server"),
    )
    def test_what_is_not_a_list_is_an_error(
        self, scanned: Scanned, writer: ReportWriter, answer: Any, said: str
    ) -> None:
        scanned.server.answer = lambda *_: (200, answer)  # type: ignore[method-assign]
        with pytest.raises(ClusterError, match=said):
            writer.write(reports([]))

    def test_a_namespace_that_is_gone_or_ends_does_not_keep_others_from_their_reports(
        self, scanned: Scanned, writer: ReportWriter
    ) -> None:
        def refuse(verb: str, path: str) -> None:
            if verb == "patch" and "/namespaces/a/" in path:
                raise Refusal(404, "namespaces a not found")
            if verb == "patch" and "/namespaces/b/" in path:
                raise Refusal(403, "namespace b is being terminated")

        scanned.server.before = refuse
        done = writer.write(reports([finding(each) for each in "abc"]))
        assert done.startswith("4 reports, 2 written, 0 deleted, 1 refused, such as: cannot patch report ")
        assert "403 Forbidden, namespace b is being terminated" in done
        assert scanned.reports.keys() == {"/draguard", "c/draguard"}

    def test_an_api_server_that_refuses_all_is_not_asked_for_long(self, scanned: Scanned, writer: ReportWriter) -> None:
        scanned.server.before = refusing(503, "busy", verb="patch")
        with pytest.raises(ClusterError, match="busy"):
            writer.write(reports([finding(f"n{number}") for number in range(50)]))
        assert len(scanned.writes) == 6

    def test_nothing_is_written_once_the_lead_is_lost(self, scanned: Scanned) -> None:
        leads = iter([True, True, False])
        with pytest.raises(Conflict, match="the lead was lost"):
            writer_of(scanned, lambda: next(leads)).write(reports([finding(each) for each in "abc"]))
        assert len(scanned.writes) == 2


class Election:
    """An election whose outcome tests choose."""

    leading = False

    def __init__(self) -> None:
        self.task = Task(self.campaign, 2)

    def campaign(self) -> None:
        if self.leading is None:
            raise ClusterError("the Lease is gone")

    def release(self) -> None:
        self.leading = False


def running_in_a_thread(scanner: Scanner) -> threading.Thread:
    """Run a scanner until it is interrupted."""

    def run() -> None:
        with pytest.raises(KeyboardInterrupt):
            scanner.run()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_replica_that_does_not_lead_tells_nothing_and_one_that_leads_again_scans_at_once() -> None:
    election, looks, ended = Election(), [], threading.Event()

    def look() -> tuple[list[Finding], Numbers]:
        if ended.is_set():
            raise KeyboardInterrupt
        looks.append(time.monotonic())
        return [], NUMBERS

    found = Scanner(look, 3600.0, None, election)  # type: ignore[arg-type]

    def told() -> bool:
        return any(each.name == "draguard_pending_pods" for each in found.collect())

    thread = running_in_a_thread(found)
    assert not told()
    assert list(found.unready()) == []
    for times in (1, 2):
        election.leading = True
        assert eventually(told)
        assert len(looks) == times
        election.leading = False
        assert eventually(lambda: not told())
    ended.set()
    election.leading = True
    thread.join(30)
    assert not thread.is_alive()
    assert not election.leading


def test_a_scan_that_is_stuck_makes_the_process_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.cluster.scanner._LONGEST_SCAN", 0.2)
    goes_on = threading.Event()

    def look() -> Any:
        goes_on.wait(30)
        raise KeyboardInterrupt

    found = Scanner(look, 60.0)

    pages: Any = found.pages()
    request = SimpleNamespace(path="/healthz", method=b"GET")
    assert pages.answer(request, None).status == 200
    thread = running_in_a_thread(found)
    assert eventually(lambda: pages.answer(request, None).status == 503)
    goes_on.set()
    thread.join(30)


@each_row(
    ("options", "said"),
    ("--live --every 5s --write-reports", "--every: 5 seconds are too short: give at least 10s"),
    ("--cluster x.yaml --every 5m --write-reports", "--every: files do not change by themselves"),
    ("--live --context a --every 5m --write-reports", "--every: files do not change"),
    ("--live --every 5m", "--every: what is found goes nowhere"),
    ("--live --every 5m --write-reports -o json", "--every writes no files, and prints no report"),
    ("--live --every 5m --write-reports --lease scan", "--lease: 'scan': give NAMESPACE/NAME"),
    ("--live --every 5m --monitoring-port 99999", "cannot listen on port 99999"),
    ("--cluster x.yaml --monitoring-port 1", "--lease and --monitoring-port are for scans that are repeated"),
    ("--live --every 5m --write-reports --ignore nothing-such", "--ignore"),
    ("--live --every nonsense", "'nonsense' is not a positive number of seconds, minutes (5m) or hours (1h)"),
)
def test_options_that_do_not_fit(options: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "localhost")
    done = draguard("scan", *options.split())
    assert (done.code, said in done.err) == (2, True), done.err


def test_reports_are_written_in_pods_with_a_token_only(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("scan", "--cluster", "examples/scan/cluster.yaml", "--write-reports")
    elsewhere = "; elsewhere, `draguard scan --live --output openreports | kubectl apply --server-side -f -`"
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert elsewhere.removeprefix("; ") in usage_error(*command)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    done = draguard(*command)
    assert (done.code, done.err.count("serviceaccount/token"), elsewhere in done.err) == (2, 1, True)


@pytest.fixture
def in_pod(scanned: Scanned, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let this process be in a pod of the cluster."""
    host, _, port = scanned.server.address.partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setattr("webhook.cluster.options.SERVICE_ACCOUNT", scanned.server.account)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("in_pod")
def test_it_ends_as_it_should_when_it_is_interrupted(
    scanned: Scanned, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupt(_: str, path: str) -> None:
        if path == "/version" and "/draguard" in scanned.reports:
            signal.raise_signal(signal.SIGINT)
        if path == "/api/v1/resourcequotas":
            raise Refusal(403, "no")

    monkeypatch.setattr("webhook.logs.configure", lambda *_: None)
    monkeypatch.setattr("webhook.cluster.scanner._RETRY_SECONDS", 0.1)
    monkeypatch.setattr("webhook.cli.scan._SHORTEST", 0.0)
    scanned.server.before = interrupt
    done = draguard("scan", "--live", "--every", "0.2", "--write-reports", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert scanned.reports.keys() == {"/draguard", "default/draguard", "ml/draguard"}
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        "resourcequotas not read: forbidden: no"
    ]


@pytest.mark.usefixtures("in_pod")
def test_reports_are_written_once_without_every(scanned: Scanned) -> None:
    out = draguard("scan", "--live", "--write-reports").out
    assert ("claim-zombie" in out, "3 reports, 3 written, 0 deleted" in out) == (True, True)
    assert "default/draguard" in scanned.reports
    (scanned.server.account / "token").write_text("old")
    assert draguard("scan", "--cluster", "examples/scan/cluster.yaml", "--write-reports").code == 2
