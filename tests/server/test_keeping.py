"""A serving process keeps little: few objects for the garbage collector, and no modules that it does not need."""

import gc
import http.client
import json
import re
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.reviews import POLICIES, reviews
from tests import processes
from tests.serving import JSON, SOON, Served, ask, echo, eventually, exchange, post, serving
from webhook.admission import Call, Endpoint, ReviewOptions, answer
from webhook.documents import Document, read
from webhook.memory import kept_survivors
from webhook.policy.load import load
from webhook.server import Reviews


class Cyclic:
    """Something that only garbage collection finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _without_objects_of_other_tests() -> None:
    gc.freeze()


def test_what_survives_a_full_collection_is_not_looked_at_again() -> None:
    def looked_at() -> int:
        return sum(isinstance(each, Cyclic) for each in gc.get_objects())

    held = [Cyclic()]
    with kept_survivors():
        gc.collect(1)
        assert looked_at() == 1
        gc.collect()
        assert looked_at() == 0
    held.append(Cyclic())
    gc.collect()
    assert looked_at() == 1


RELEASING = """
import gc, sys, weakref
from pathlib import Path
from webhook.reloading import Reloaded
from webhook.memory import keep, kept_survivors

class Cyclic:
    def __init__(self):
        self.itself = self
        made.append(weakref.ref(self))

made = []
file = Path(sys.argv[1])
file.write_text("1")
reloaded = Reloaded("values", lambda: [str(file)], Cyclic)
with kept_survivors():
    keep()
    for number in range(3):
        file.write_text(f"{number} again")
        reloaded.follow()
        reloaded.follow()  # content is used once it is found twice
        gc.collect()
print([each() is reloaded.value for each in made], [each() is None for each in made])
"""


@pytest.mark.process
def test_a_value_is_released_when_it_is_replaced(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RELEASING, str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{[False, False, False, True]} {[True, True, True, False]}\n"


def own() -> Counter[str]:
    """Count the objects of draguard's own types."""
    found = (type(each) for each in gc.get_objects())
    return Counter(each.__name__ for each in found if str(each.__module__).startswith("webhook."))


def test_nothing_of_a_review_needs_collecting() -> None:
    options = ReviewOptions(policies=load(each.data for each in read([POLICIES]) if isinstance(each, Document)))
    bodies = [json.dumps(each).encode() for each in reviews().values()]

    def ask() -> None:
        endpoints: tuple[Endpoint, ...] = ("validate", "mutate")
        for body in bodies:
            for endpoint in endpoints:
                assert answer(body, Call(endpoint), options).status == 200

    for _ in range(20):
        ask()
    gc.collect()
    gc.disable()
    try:
        before = own()
        for _ in range(10):
            ask()
        assert own() - before == Counter()
    finally:
        gc.enable()


@pytest.mark.process
def test_nothing_of_a_connection_needs_collecting() -> None:
    def connect(served: Served) -> None:
        exchange(served, post("Content-Length: 1\r\nConnection: close\r\n", b"1"))
        exchange(served, b"no HTTP\r\n\r\n")
        with socket.create_connection((served.host, served.port)) as plain:
            plain.sendall(b"no TLS\r\n\r\n")
            while plain.recv(100):
                pass
        assert eventually(lambda: len(served.server.port.crowd) == 0)

    with serving(Reviews(echo)) as served:
        for _ in range(3):
            connect(served)
        gc.collect()
        gc.disable()
        try:
            before = own()
            for _ in range(5):
                connect(served)
            assert eventually(lambda: own() - before == Counter())
        finally:
            gc.enable()


UNNEEDED = {
    *("click", "cryptography", "flask", "importlib.metadata", "jinja2", "werkzeug"),
    *("webhook.certificates.certs", "webhook.cluster", "webhook.simulation"),
}
_IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)


@pytest.mark.process
def test_reviews_probes_and_metrics_need_few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    trust = processes.certificate(tmp_path)
    with processes.serving(tmp_path, "--policies", POLICIES, "--monitoring-port", "0") as running:
        connection = http.client.HTTPSConnection("127.0.0.1", running.port, timeout=SOON, context=trust)
        for path in ("/validate", "/mutate"):
            for _ in range(20):
                connection.request("POST", path, json.dumps(reviews()["pods"]), JSON)
                response = connection.getresponse()
                assert (response.status, b'"allowed":true' in response.read()) == (200, True)
        connection.close()
        (port,) = re.findall(r"metrics and probes on http://\S+?:(\d+)\b", running.log)
        for path in ("/", "/healthz", "/readyz", "/metrics"):
            assert ask(int(port), "GET", path)[0] == 200
        imported = set(_IMPORTED.findall(running.log))
        assert "webhook.policy.evaluation.validate" in imported
        assert not UNNEEDED & imported
