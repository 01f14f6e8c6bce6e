"""Nothing that happens to a running webhook loses a review: each of them is counted."""

from __future__ import annotations

import http.client
import os
import signal
import ssl
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.policies import POLICY
from tests.processes import Process, certificate, loading, post, serving
from tests.serving import eventually
from webhook import certs

if TYPE_CHECKING:
    from collections.abc import Iterator

ADMITTED, REFUSED = (200, True), (200, False)


def mount(directory: Path, **files: str) -> None:
    """Change files as kubelet changes those of a mounted volume: all at once, by a symbolic link to a directory."""
    data = directory / f"..{len(list(directory.iterdir()))}"
    data.mkdir(parents=True)
    for name, text in files.items():
        (data / f"{name}.yaml").write_text(text, encoding="utf-8")
        if not (directory / f"{name}.yaml").is_symlink():
            (directory / f"{name}.yaml").symlink_to(Path("..data") / f"{name}.yaml")
    (directory / "new").symlink_to(data.name)
    (directory / "new").rename(directory / "..data")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("webhook")


@pytest.fixture(scope="module")
def trust(directory: Path) -> ssl.SSLContext:
    return certificate(directory)


class TestFiles:
    def test_policies_that_cannot_be_used_make_it_unready_if_told_so(self, tmp_path: Path) -> None:
        trust, policies = certificate(tmp_path), tmp_path / "policies"
        policies.mkdir()
        mount(policies, names=POLICY.format(expression="'true'"))
        options = ("--policies", policies, "--on-broken-policies", "unready", "--workers", "2")
        with serving(tmp_path, *options) as server:
            assert readiness(server, trust)[0] == 200
            mount(policies, names="no policy")
            assert server.says("the old ones kept", times=3)
            status, body = readiness(server, trust)
            assert status == 503
            assert body.startswith(b"not ready: the policies in the files cannot be used: ")
            mount(policies, names=POLICY.format(expression="'true'"))
            assert server.says("are in use, generation 2", times=3)
            assert {readiness(server, trust)[0] for _ in range(10)} == {200}

    def test_a_new_certificate_and_new_policies(self, tmp_path: Path) -> None:
        trust, policies = certificate(tmp_path), tmp_path / "policies"
        policies.mkdir()
        mount(policies, names=POLICY.format(expression="'true'"))
        with serving(tmp_path, "--policies", policies) as server, loading([server.port], trust) as load:
            before = ssl.get_server_certificate(("127.0.0.1", server.port))
            for name in ("tls.crt", "tls.key"):
                (tmp_path / name).unlink()
            certs.issue(tmp_path, ["127.0.0.1"])
            assert server.says("serving with the new certificate")
            assert ssl.get_server_certificate(("127.0.0.1", server.port)) != before
            assert load.goes_on()
            assert REFUSED not in load.answers
            mount(policies, names=POLICY.format(expression="object.metadata.name != 'gpu'"))
            assert server.says("the new policies are in use, generation 2")
            admitted = load.answers[ADMITTED]
            assert load.goes_on()
            assert load.answers[ADMITTED] - admitted <= 4  # what the clients had been told before
            mount(policies, names=POLICY.format(expression="object.metadata.nam"))
            assert server.says("the new policies are not used, the old ones kept")
            assert load.goes_on()
        assert load.failures == []
        assert set(load.answers) == {ADMITTED, REFUSED}


@pytest.fixture(scope="module")
def server(directory: Path, trust: ssl.SSLContext) -> Iterator[Process]:  # noqa: ARG001 - makes the certificate
    with serving(directory, "--workers", "2") as running:
        yield running


class TestWorkers:
    def test_all_are_replaced_on_sighup(self, server: Process, trust: ssl.SSLContext) -> None:
        before = server.workers
        with loading([server.port], trust) as load:
            server.process.send_signal(signal.SIGHUP)
            assert eventually(lambda: len(server.workers) == 2 and not {*before} & {*server.workers})
        assert load.failures == []
        assert set(load.answers) == {ADMITTED}

    def test_the_webhook_stays_ready_meanwhile(self, server: Process, trust: ssl.SSLContext) -> None:
        before = server.workers
        server.process.send_signal(signal.SIGHUP)
        statuses = set()
        while {*before} & {*server.workers}:
            statuses.add(readiness(server, trust)[0])
        assert statuses == {200}

    def test_one_that_is_told_to_end_is_replaced_first(self, server: Process, trust: ssl.SSLContext) -> None:
        told = server.workers[0]
        with loading([server.port], trust) as load:
            os.kill(told, signal.SIGTERM)
            assert eventually(lambda: len(server.workers) == 3)
            assert eventually(lambda: len(server.workers) == 2 and told not in server.workers)
        assert load.failures == []
        assert set(load.answers) == {ADMITTED}

    def test_one_that_is_killed_takes_its_own_connections_with_it_and_no_others(
        self, server: Process, trust: ssl.SSLContext
    ) -> None:
        """What is in flight in it is lost: nobody else has it, and nobody may send a POST again."""
        killed, other = server.workers
        with ExitStack() as stack:
            with paused(other):
                own = [connected(server, trust, stack) for _ in range(3)]
            with paused(killed):
                others = [connected(server, trust, stack) for _ in range(3)]
                with loading([server.port], trust) as load:
                    os.kill(killed, signal.SIGKILL)
                    assert eventually(lambda: len(server.workers) == 2 and killed not in server.workers)
                    assert [post(each)[0] for each in others] == [200] * 3
                    for connection in own:
                        with pytest.raises((ConnectionError, ssl.SSLError)):
                            post(connection)
                        connection.close()
                        assert post(connection)[0] == 200
        assert load.failures == []
        assert set(load.answers) == {ADMITTED}
        assert server.says(f"(process {killed}) has ended by SIGKILL")


def readiness(server: Process, trust: ssl.SSLContext) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=trust)
    connection.request("GET", "/readyz")
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


@contextmanager
def paused(worker: int) -> Iterator[None]:
    """Let no connections go to a worker."""
    os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)


def connected(server: Process, trust: ssl.SSLContext, stack: ExitStack) -> http.client.HTTPSConnection:
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=trust)
    stack.callback(connection.close)
    assert post(connection)[0] == 200
    return connection
