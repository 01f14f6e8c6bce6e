"""The command of the image with the arguments, the certificate and the user of the chart, without a container."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.admission.reviews import POD, asked
from tests.chart import process
from tests.chart.process import NAME, PRIVILEGED, Running
from tests.chart.rendering import VALUES, with_values
from webhook.certificates import certs

pytestmark = pytest.mark.process

PAIR = certs.ephemeral([NAME])
SECRET = {"name": "given", "caBundle": PAIR.ca.decode()}
RELEASE = with_values(
    **VALUES["policies"], certificates={"source": "secret", "secret": SECRET}, enforce={"mode": "deny"}
)
USER = RELEASE.pod["spec"]["securityContext"]["runAsUser"]


@contextmanager
def running() -> Iterator[Running]:
    """Mount the Secret and the ConfigMaps, and run the entry point."""
    with process.open_directory() as directory:
        secret = {"tls.crt": PAIR.certificate, "tls.key": PAIR.key}
        process.mount(RELEASE, directory / "tls", secret, RELEASE.volumes["tls"]["secret"]["defaultMode"])
        for config in RELEASE.all("ConfigMap"):
            files = {name: content.encode() for name, content in config["data"].items()}
            process.mount(RELEASE, directory / config["metadata"]["name"].removeprefix("draguard-"), files, 0o644)
        with process.running(RELEASE, directory, authorities=RELEASE.ca_bundles) as started:
            yield started


@pytest.fixture(scope="module")
def draguard() -> Iterator[Running]:
    with running() as started:
        yield started


class TestEntryPoint:
    def test_it_runs_without_any_privilege(self, draguard: Running) -> None:
        status = draguard.status()
        assert set(status["Uid"].split()) == {str(USER if PRIVILEGED else os.geteuid())}
        assert int(status["CapEff"], 16) == 0

    def test_probes_find_it_alive_and_ready(self, draguard: Running) -> None:
        probes = {key: value["httpGet"] for key, value in RELEASE.container.items() if key.endswith("Probe")}
        assert probes.keys() == {"startupProbe", "livenessProbe", "readinessProbe"}
        for probe in probes.values():
            assert probe["port"] == "monitoring"
            assert draguard.probe(probe["path"]) == (200, b"ok\n")

    def test_prometheus_finds_metrics(self, draguard: Running) -> None:
        code, metrics = draguard.probe("/metrics")
        assert code == 200
        assert b"draguard_build_info" in metrics

    def test_the_api_server_trusts_it_and_gets_answers_from_every_webhook(self, draguard: Running) -> None:
        for name, webhook in RELEASE.webhooks.items():
            path = webhook["clientConfig"]["service"]["path"]
            code, body = draguard.request("POST", f"{path}?timeout=5s", json.dumps(asked(POD)).encode())
            response = json.loads(body)["response"]
            is_rewritten = path.startswith("/mutate/")
            assert (name, code, response["allowed"], "patch" in response) == (name, 200, True, is_rewritten)

    def test_policies_are_evaluated(self, draguard: Running) -> None:
        claim = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {},
        }

        def response(group: str) -> Any:
            review = asked(claim, userInfo={"username": "a", "groups": [group]})
            return json.loads(draguard.request("POST", "/validate", json.dumps(review).encode())[1])["response"]

        assert response("boss")["allowed"]
        refused = response("others")
        assert not refused["allowed"]
        assert "begin the name with that of your team" in refused["status"]["message"]

    def test_it_takes_little_memory(self, draguard: Running) -> None:
        resident = int(draguard.status()["VmRSS"].split()[0])
        assert resident < 96 * 1024, f"{resident} KiB: more than the chart requests"

    def test_it_ends_in_the_time_that_it_is_given(self) -> None:
        with running() as draguard:
            started = time.monotonic()
            draguard.process.send_signal(signal.SIGTERM)
            assert draguard.process.wait(RELEASE.pod["spec"]["terminationGracePeriodSeconds"]) == 0
        assert time.monotonic() - started > 1, "it stops accepting connections before others can know"
