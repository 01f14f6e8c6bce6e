"""The commands that serve, and that make certificates to serve with, as a user runs them."""

import base64
import io
import json
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from tests.apiserver import ApiServer
from tests.cli.manifests import review
from tests.cli.running import ask, running
from tests.cluster.replicas import LEASE, SECRET, bundles, managed
from tests.command import SCRIPT, draguard, process, usage_error
from tests.rows import each_row
from tests.serving import eventually
from webhook import server
from webhook.certificates import certs

pytestmark = pytest.mark.process


class TestServe:
    def test_one_command_starts_a_webhook_that_works(self) -> None:
        asked = json.dumps(review("a")).encode()
        with running("--dev") as (port, ca_bundle):
            status, body = ask(port, base64.b64decode(ca_bundle).decode(), "mutate", asked)
        response = json.loads(body)["response"]
        assert (status, response["uid"], response["patchType"]) == (200, "a", "JSONPatch")

    def test_options_reach_the_answers(self, tmp_path: Path) -> None:
        certs.issue(tmp_path)
        pair = ["--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key")]
        options = ["--host", "localhost", "--body-limit", "5000", "--select-node-by", "name"]
        authority = (tmp_path / "ca.crt").read_text(encoding="utf-8")
        with running(*pair, *options) as (port, _):
            status, body = ask(port, authority, "mutate", json.dumps(review("a")).encode())
            too_large, _ = ask(port, authority, "mutate", b" " * 5001)
        patch = json.loads(base64.b64decode(json.loads(body)["response"]["patch"]))
        assert (status, too_large) == (200, 413)
        assert [operation["path"] for operation in patch] == ["/spec/nodeName", "/spec/affinity"]

    @each_row(
        ("arguments", "complaint"),
        (["--tls-cert", "gone.crt"], "cannot read gone.crt: No such file or directory: `draguard certs` makes "),
        (["--kubernetes-version", "1.2"], "--kubernetes-version: Kubernetes 1.2 is not known here"),
        (["--dev", "--tls-key", "k"], "--dev makes a certificate on the fly: leave out --dev, or --tls-cert and"),
        (["--manage-certificate", "--tls-cert", "c"], "--manage-certificate puts its certificate into"),
        (["--manage-name", "x.y.svc"], "--manage-webhooks, --manage-name: give --manage-certificate, too"),
        (["--dev", "--manage-certificate"], "--dev makes a certificate on the fly, --manage-certificate one in"),
        (["--dev", "--authorizer", "users.yaml"], "--authorizer: give --policies, too"),
        (["--dev", "--monitoring-host", "::1"], "--monitoring-host needs --monitoring-port"),
        (["--dev", "--body-limit", "0"], "--body-limit: 0 bytes are too few for a review"),
        (["--dev", "--shutdown-delay", "-1"], "--shutdown-delay: -1 is not between 0 and 3600 seconds"),
        (["--dev", "--shutdown-delay", "nan"], "--shutdown-delay: nan is not between 0 and 3600 seconds"),
        (["--dev", "--policies", "gone.yaml"], "--policies: 1 error: `draguard policy check`"),
        (["--dev", "--host", "192.0.2.1"], "cannot listen on 192.0.2.1 port 8443: "),
        (["--dev", "--host", "a b"], "'a b' is neither an IP address nor a DNS name"),
    )
    def test_usage_errors_are_reported(self, arguments: list[str], complaint: str) -> None:
        assert f"draguard serve: error: {complaint}" in usage_error("serve", *arguments)

    def test_an_authority_is_printed_only_if_it_is_served_with(self) -> None:
        with running("--dev") as (port, _):
            done = draguard("serve", "--dev", "--port", str(port))
        assert (done.code, done.out) == (2, "")
        assert f"cannot listen on localhost port {port}: Address already in use" in done.err
        assert "caBundle" not in done.err

    @pytest.mark.parametrize(
        ("options", "host"),
        [(["--dev"], "localhost"), ([], "0.0.0.0"), (["--dev", "--host", "::1"], "::1")],  # noqa: S104 - as in a pod
    )
    def test_only_a_trial_is_kept_to_this_machine(
        self, options: list[str], host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        certs.issue(tmp_path / "certs")
        monkeypatch.chdir(tmp_path)
        hosts = []

        def listen(host: str, *_: object) -> socket.socket:
            hosts.append(host)
            return socket.socket()

        monkeypatch.setattr(server, "listen", listen)
        monkeypatch.setattr(server, "Server", mock.Mock())
        assert draguard("serve", *options).code == 0
        assert hosts == [host]

    def test_each_line_about_the_certificate_is_written_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written: list[str] = []

        class Recorder(io.StringIO):
            def write(self, text: str) -> int:
                written.append(text)
                return len(text)

        def serve(*_: object, ready: Callable[[str], None], **__: object) -> mock.Mock:
            with redirect_stderr(Recorder()), redirect_stdout(Recorder()):
                ready("https://localhost:8443")
            return mock.Mock()

        monkeypatch.setattr(server, "listen", lambda *_: socket.socket())
        monkeypatch.setattr(server, "Server", serve)
        assert draguard("serve", "--dev").code == 0
        sentence, bundle = written
        assert sentence == "caBundle of the certificate that was made on the fly:\n"
        assert base64.b64decode(bundle.removesuffix("\n")).startswith(b"-----BEGIN")


class TestCerts:
    def test_a_process_writes_them_and_says_what_to_do_next(self, tmp_path: Path) -> None:
        done = process("certs", "--dir", tmp_path, "localhost", "10.0.0.7")
        assert done.code == 0
        files = [f"{tmp_path}/{name}" for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")]
        assert sorted(done.out.splitlines()) == files
        assert "for localhost, 10.0.0.7\n" in done.err
        assert "`draguard certs --ca-bundle`" in done.err

    def test_an_authority_that_is_kept_needs_no_new_bundle(self, tmp_path: Path) -> None:
        draguard("certs", "--dir", tmp_path)
        for name in ("tls.crt", "tls.key"):
            (tmp_path / name).unlink()
        done = draguard("certs", "--dir", tmp_path)
        assert sorted(done.out.splitlines()) == [f"{tmp_path}/tls.crt", f"{tmp_path}/tls.key"]
        assert "bundle" not in done.err

    def test_nothing_is_overwritten_without_force(self, tmp_path: Path) -> None:
        assert draguard("certs", "--dir", tmp_path).code == 0
        before = (tmp_path / "ca.crt").read_bytes()
        done = draguard("certs", "--dir", tmp_path)
        assert (done.code, done.out, (tmp_path / "ca.crt").read_bytes()) == (2, "", before)
        assert done.err.startswith(f"draguard certs: error: {tmp_path}/tls.crt is already there")
        assert draguard("certs", "--dir", tmp_path, "--force").code == 0
        assert (tmp_path / "ca.crt").read_bytes() != before

    def test_the_bundle_is_the_authority_in_base64(self, tmp_path: Path) -> None:
        draguard("certs", "--dir", tmp_path)
        done = draguard("certs", "--dir", tmp_path, "--ca-bundle")
        assert base64.b64decode(done.out) == (tmp_path / "ca.crt").read_bytes()

    @each_row("option", ["--days", "0"], ["--ca-days", "0"], ["a b"], ["--ca-bundle"])
    def test_usage_errors_are_reported(self, option: list[str], tmp_path: Path) -> None:
        assert usage_error("certs", "--dir", tmp_path, *option).startswith("draguard certs: error: ")


def test_a_key_that_everybody_can_read_is_warned_of(tmp_path: Path) -> None:
    key = tmp_path / "certs" / "tls.key"
    certs.issue(key.parent, ["localhost"])
    key.chmod(0o644)
    command = [str(SCRIPT), "serve", "--port=0", f"--tls-cert={key.with_suffix('.crt')}", f"--tls-key={key}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr
        result = started.stderr.readline()
        started.kill()
    assert f"every user of this machine can read {key}" in result


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Run an API server with the needed objects, at the address that pods use."""
    with managed(tmp_path) as server:
        (server.account / "namespace").write_text("draguard-system")
        host, _, port = server.address.rpartition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        yield server


def options(api: ApiServer, tmp_path: Path) -> list[str]:
    return [
        "--manage-certificate",
        f"--manage-account={api.account}",
        f"--manage-directory={tmp_path / 'tls'}",
        "--manage-webhooks=draguard",
        "--manage-name=draguard.draguard-system.svc",
        "--manage-name=localhost",
    ]


def test_the_api_server_trusts_what_is_served_and_the_lead_is_handed_over_at_the_end(
    api: ApiServer, tmp_path: Path
) -> None:
    body = json.dumps(review("a")).encode()
    with running(*options(api, tmp_path)) as (port, _):
        assert eventually(lambda: all(bundles(api)))
        (bundle,) = set(bundles(api))
        status, _ = ask(port, bundle.decode(), "validate", body)
        assert status == 200
        assert api.objects[LEASE]["spec"].get("holderIdentity")
    assert not api.objects[LEASE]["spec"].get("holderIdentity")
    assert api.refused == []


def test_serve_waits_for_its_certificate_and_ends_at_a_signal(api: ApiServer, tmp_path: Path) -> None:
    del api.objects[SECRET]
    command = [str(SCRIPT), "serve", "--port=0", *options(api, tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        result = ""
        while "no serving certificate yet" not in result:
            result = server.stderr.readline() or pytest.fail("it has ended")
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
    assert server.returncode == 143
    assert "Secret draguard-system/draguard-certificates" in result
    assert "received SIGTERM while starting" in rest


class TestWrongUse:
    def test_names_of_the_service_are_needed(self, api: ApiServer) -> None:
        said = usage_error("serve", "--manage-certificate", f"--manage-account={api.account}")
        assert "--manage-certificate: no DNS names are given" in said

    def test_outside_a_pod_the_namespace_is_not_known(self, tmp_path: Path) -> None:
        said = usage_error("serve", "--manage-certificate", "--manage-name=x.y.svc", f"--manage-account={tmp_path}")
        assert "this is not a pod: give --manage-namespace" in said
