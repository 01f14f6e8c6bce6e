"""A cluster that scans itself: an API server with lists, roles and reports, and ``draguard scan --every`` beside it."""

import copy
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests import apiserver
from tests.apiserver import ApiServer, Json, Refusal
from tests.kubectl import answers_of
from tests.serving import eventually

REPORTS = "/apis/openreports.io/v1alpha1"
_BEGIN = (
    "import sys, pathlib, webhook.cluster.options as options\n"
    "options.SERVICE_ACCOUNT = pathlib.Path(sys.argv.pop(1))\n"
    "from webhook.cli import main, scan\n"
    "from webhook.cluster import scanner\n"
    "scan._SHORTEST = scanner._RETRY_SECONDS = 1.0\n"  # for tests to wait less
    "sys.exit(main())"
)


class Scanned:
    """The API server of a cluster, with reports that are written by server-side apply.

    Args:
        server: What listens; its roles hold, if it has any.
        objects: What the cluster stores.
    """

    def __init__(self, server: ApiServer, objects: Iterable[Json]) -> None:
        self.server = server
        self.set(objects)
        self.is_served = True
        """Whether it has the kinds of openreports.io."""
        self.asked: list[tuple[str, str]] = []
        """The verbs and paths of requests."""
        self._leases = server.answer
        server.answer = self.answer  # type: ignore[method-assign, assignment]

    def set(self, objects: Iterable[Json]) -> None:
        self._answers = answers_of(objects)
        self._answers["/metrics"] = ""

    @property
    def reports(self) -> dict[str, Json]:
        """The reports, by namespace and name."""
        stored = {path: each for path, each in self.server.objects.items() if path.startswith(REPORTS)}
        return {f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}": each for each in stored.values()}

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(verb, path) for verb, path in self.asked if verb in {"patch", "delete"}]

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        url = urlsplit(target)
        path, query = url.path, {name: values[0] for name, values in parse_qs(url.query).items()}
        if "/leases/" in path:
            return self._leases(method, target, headers, body)
        verb = "list" if method == "GET" and (path in self._answers or path.startswith(REPORTS)) else method.lower()
        if path in {"/version", "/apis", "/metrics"}:
            verb = "get"
        self.asked.append((verb, path))
        try:
            self.server.before(verb, path)
            self._admit(verb, path, headers)
            if path.startswith(REPORTS):
                return 200, self._reported(verb, path, query, headers, body)
            if path not in self._answers:
                return 404, {"kind": "Status", "message": "the server could not find the requested resource"}
            found = self._answers[path]
            return 200, found.encode() if isinstance(found, str) else _part(found, query)
        except Refusal as refusal:
            return refusal.code, {"kind": "Status", "message": str(refusal), "code": refusal.code}

    def _admit(self, verb: str, path: str, headers: Mapping[str, str]) -> None:
        if headers.get("Authorization") != "Bearer first":
            raise Refusal(401, "Unauthorized")
        rules = [rule for role in self.server.roles if role["kind"] == "ClusterRole" for rule in role["rules"]]
        if path in {"/version", "/apis"} or not rules:  # system:discovery; where no role is tested
            return
        if not any(_allows(rule, verb, path) for rule in rules):
            self.server.refused.append((verb, path))
            raise Refusal(403, f'User "draguard" cannot {verb} {path}')

    def _reported(self, verb: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes) -> Any:
        if not self.is_served:
            raise Refusal(404, "the server could not find the requested resource")
        if verb == "list":
            assert headers["Accept"].startswith("application/json;as=PartialObjectMetadataList")
            assert query["labelSelector"] == "app.kubernetes.io/managed-by=draguard"
            resource = path.rpartition("/")[2]
            found = [
                {"metadata": each["metadata"]}
                for name, each in sorted(self.server.objects.items())
                if f"/{resource}/" in name
                and each["metadata"]["labels"].get("app.kubernetes.io/managed-by") == "draguard"
            ]
            return _part(found, query)
        if verb == "delete":
            return self.server.objects.pop(path)
        assert headers["Content-Type"] == "application/apply-patch+yaml"
        assert query["force"] == "true"
        obj = json.loads(body)
        if len(body) > 3 << 19:
            raise Refusal(413, "Request entity too large")
        obj["metadata"]["managedFields"] = [{"manager": query["fieldManager"], "operation": "Apply"}]
        stored = copy.deepcopy(self.server.objects.get(path, {"metadata": {}}))
        stored["metadata"].pop("resourceVersion", None)
        if stored != obj:
            self.server.put(path, obj)
        return self.server.objects[path]


def _part(found: Any, query: Mapping[str, str]) -> Any:
    if not isinstance(found, list):
        return found
    start, limit = int(query.get("continue", 0)), int(query["limit"])
    more = str(start + limit) if start + limit < len(found) else ""
    return {"kind": "List", "metadata": {"continue": more}, "items": found[start : start + limit]}


def _allows(rule: Json, verb: str, path: str) -> bool:
    if path in rule.get("nonResourceURLs", ()):
        return verb in rule["verbs"]
    _, api, *rest = path.split("/")
    group = "" if api == "api" else rest.pop(0)
    resource = rest[-1] if verb == "list" else rest[-2]
    verbs = {"patch": {"patch", "create"}}.get(verb, {verb})  # server-side apply creates, too
    return (
        group in rule.get("apiGroups", ())
        and resource in rule["resources"]
        and verbs <= set(rule["verbs"])
        and "resourceNames" not in rule
    )


class Process:
    """A running ``draguard scan --every``."""

    def __init__(self, started: subprocess.Popen[str], log: Path) -> None:
        self.started, self._log = started, log

    @property
    def lines(self) -> list[Json]:
        """The lines of its log."""
        return [json.loads(line) for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    @property
    def said(self) -> str:
        return "\n".join(line.get("message", "") for line in self.lines)

    def page(self, path: str) -> tuple[int, str]:
        url = self.said.partition("metrics and probes on ")[2].partition("\n")[0]
        try:
            with urllib.request.urlopen(url + path, timeout=10) as answer:  # noqa: S310 - its own URL
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        """The metrics of the cluster and of the scan, as the process writes them."""
        families = text_string_to_metric_families(self.page("/metrics")[1])
        return {
            each.name
            + (json.dumps(each.labels, separators=(",", ":"), sort_keys=True) if each.labels else ""): each.value
            for family in families
            for each in family.samples
        }

    def ends(self) -> int:
        self.started.terminate()
        return self.started.wait(40)


@contextmanager
def cluster(account: Path, objects: Iterable[Json], roles: Iterable[Json] = ()) -> Iterator[Scanned]:
    """Serve a cluster until the block ends."""
    with apiserver.running(account, roles) as server:
        yield Scanned(server, objects)


@contextmanager
def scanner(scanned: Scanned, log: Path, *arguments: str, pod: str = "scan-1") -> Iterator[Process]:
    """Run the command in a pod of the cluster, until it serves its pages."""
    host, _, port = scanned.server.address.rpartition(":")
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "POD_NAME": pod, "PATH": ""}
    command = [sys.executable, "-c", _BEGIN, str(scanned.server.account), *arguments]
    with log.open("w") as errors, subprocess.Popen(command, env=variables, stderr=errors, text=True) as started:
        running = Process(started, log)
        try:
            assert eventually(lambda: "metrics and probes on" in running.said), log.read_text()
            yield running
        finally:
            started.kill()
