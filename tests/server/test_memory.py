"""The memory of a serving process: unneeded modules would take a third more."""

import http.client
import json
import re
from pathlib import Path

import pytest

from benchmarks.reviews import POLICIES, reviews
from tests import processes
from tests.serving import JSON, SOON

pytestmark = pytest.mark.process

UNNEEDED = {
    "click",
    "cryptography",
    "flask",
    "importlib.metadata",
    "jinja2",
    "webhook.certificates.certs",
    "webhook.cluster",
    "webhook.simulation",
    "werkzeug",
}
_IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)


def test_reviews_probes_and_metrics_need_few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    trust = processes.certificate(tmp_path)
    with processes.serving(tmp_path, "--policies", POLICIES, "--monitoring-port", "0") as running:
        connection = http.client.HTTPSConnection("127.0.0.1", running.port, timeout=SOON, context=trust)
        for path in ("/validate", "/mutate"):
            for _ in range(20):
                connection.request("POST", path, json.dumps(reviews()["pods"]), JSON)
                response = connection.getresponse()
                assert (response.status, b'"allowed": true' in response.read()) == (200, True)
        connection.close()
        (port,) = re.findall(r"metrics and probes on http://\S+?:(\d+)\b", running.log)

        def look(path: str) -> None:
            plain = http.client.HTTPConnection("127.0.0.1", int(port), timeout=SOON)
            plain.request("GET", path)
            assert plain.getresponse().status == 200
            plain.close()

        for path in ("/", "/healthz", "/readyz", "/metrics"):
            look(path)
        imported = set(_IMPORTED.findall(running.log))
        assert "webhook.policy.evaluation.validate" in imported
        assert not UNNEEDED & imported
