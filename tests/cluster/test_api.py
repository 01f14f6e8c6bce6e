import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import apiserver
from tests.apiserver import ApiServer, refusing
from tests.cluster.replicas import Clock
from tests.rows import each_row
from webhook.certificates import certs
from webhook.cluster import api
from webhook.cluster.api import Api, ObjectRef
from webhook.cluster.election import Election
from webhook.cluster.errors import ClusterError, Conflict
from webhook.cluster.manager import Pair
from webhook.cluster.options import ManagerOptions, decode
from webhook.cluster.rotation import step

pytestmark = pytest.mark.process

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LEASE = ObjectRef("Lease a/b", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "make it")
ROLE = {
    "kind": "Role",
    "metadata": {"namespace": "a"},
    "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "patch"]}],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    account = tmp_path / "account"
    account.mkdir()
    with apiserver.running(account, [ROLE]) as running:
        running.put(LEASE.path, {"metadata": {"name": "b"}})
        yield running


@pytest.fixture
def client(server: ApiServer) -> Api:
    return Api(server.account, server.address)


def candidates(client: Api) -> tuple[list[Election], Clock]:
    clock = Clock()
    return [Election(client, LEASE, name, clock) for name in ("first", "second")], clock


def holder(server: ApiServer) -> object:
    return server.objects[LEASE.path]["spec"].get("holderIdentity")


def test_the_address_is_that_of_every_pod(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    host, _, port = server.address.partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    assert Api(server.account).get(LEASE)["metadata"]["name"] == "b"


def test_out_of_a_cluster_is_said_so(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ClusterError, match="works in a pod only"):
        Api(server.account).get(LEASE)


def test_no_secret_goes_to_a_server_of_another_authority(server: ApiServer, client: Api) -> None:
    (server.account / "ca.crt").write_bytes(certs.ephemeral().ca)
    with pytest.raises(ClusterError, match="certificate verify failed"):
        client.get(LEASE)
    assert server.requests == []


@each_row(
    ("name", "content", "fault"),
    ("token", "", "holds no token"),
    ("token", "a\nb: c", "holds no token"),
    ("token", "ä", "cannot read .*token"),
    ("token", "wrong", "401 Unauthorized, Unauthorized: the service account's token is not accepted"),
    ("token", None, "cannot read .*token"),
    ("ca.crt", "garbage", "cannot read the cluster's authority"),
    ("ca.crt", None, "cannot read the cluster's authority"),
)
def test_an_account_that_is_of_no_use_is_reported(
    server: ApiServer, client: Api, name: str, content: str | None, fault: str
) -> None:
    server.set_token("first")
    path = server.account / name
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(ClusterError, match=fault):
        client.get(LEASE)


def test_missing_permissions_are_reported(server: ApiServer, client: Api) -> None:
    server.roles = []
    with pytest.raises(ClusterError, match=r"get Lease a/b: 403 Forbidden, .*: grant this to the service account"):
        client.get(LEASE)


def test_an_object_that_another_client_has_changed_is_a_conflict(server: ApiServer, client: Api) -> None:
    seen = client.get(LEASE)
    server.put(LEASE.path, {"metadata": {"name": "b"}, "spec": {}})
    with pytest.raises(Conflict, match="409 Conflict, the object has been modified"):
        client.patch(LEASE, seen, [{"op": "add", "path": "/spec", "value": {"leaseTransitions": 1}}])


def test_a_server_that_hangs_is_given_up(server: ApiServer, client: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    server.before = lambda _verb, _path: ended.wait(10)
    monkeypatch.setattr(api, "TIMEOUT", 0.2)
    with pytest.raises(ClusterError, match=r"get Lease a/b: the request to the API server failed: it took more"):
        client.get(LEASE)
    ended.set()


def test_an_answer_that_trickles_is_given_up(server: ApiServer, client: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    server.pause = 0.05
    monkeypatch.setattr(api, "TIMEOUT", 0.3)
    with pytest.raises(ClusterError, match=r"failed: (it took more than 0.3 seconds|.*timed out)"):
        client.get(LEASE)


@each_row("answer", b'["a", "list"]', b"<html>a proxy", b"\xff", b"[" * 100_000)
def test_an_answer_that_is_not_an_object_is_an_error(
    server: ApiServer, client: Api, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(server, "answer", lambda *_request: (200, answer))
    with pytest.raises(ClusterError, match=r"cannot get Lease a/b: 200 OK$"):
        client.get(LEASE)


def test_without_a_date_the_time_is_that_of_this_machine(client: Api) -> None:
    before = datetime.now(UTC)
    assert before <= api._time("")  # noqa: SLF001 - every API server sends one
    assert abs((client.now - before).total_seconds()) < 60


def test_one_candidate_leads_until_it_no_longer_renews(server: ApiServer, client: Api) -> None:
    (first, second), clock = candidates(client)
    for seconds in range(0, 33, 2):
        clock.seconds = 1000 + seconds
        if seconds < 20:
            first.campaign()
            assert first.leading
        second.campaign()
        assert not second.leading
    assert not first.leading, "it has stopped before the other may begin"
    clock.seconds = 1034
    second.campaign()
    assert second.leading
    assert server.objects[LEASE.path]["spec"]["leaseTransitions"] == 2
    first.campaign()
    assert not first.leading


def test_a_leader_that_is_replaced_leads_no_more(server: ApiServer, client: Api) -> None:
    election = Election(client, LEASE, "first", Clock())
    election.campaign()
    server.put(LEASE.path, {"metadata": {}, "spec": {"holderIdentity": "other", "leaseDurationSeconds": None}})
    election.campaign()
    election.release()
    assert (election.leading, holder(server)) == (False, "other")


def test_only_one_of_two_that_try_at_once_leads(server: ApiServer, client: Api) -> None:
    (first, second), _ = candidates(client)
    server.at("patch", LEASE.path, second.campaign)
    with pytest.raises(Conflict):
        first.campaign()
    assert (first.leading, second.leading) == (False, True)


def test_a_released_lease_is_taken_at_once(server: ApiServer, client: Api) -> None:
    (first, second), _ = candidates(client)
    first.campaign()
    server.change(LEASE.path, {"op": "add", "path": "/spec/strategy", "value": "kept"})
    first.release()
    assert not first.leading
    second.campaign()
    assert second.leading
    assert server.objects[LEASE.path]["spec"]["strategy"] == "kept"


def test_a_release_that_fails_does_no_harm(server: ApiServer, client: Api) -> None:
    election = Election(client, LEASE, "first", Clock())
    election.campaign()
    server.before = refusing(500)
    election.release()
    assert (election.leading, holder(server)) == (False, "first")
    server.before = lambda _verb, _path: None
    election.campaign()
    server.put(LEASE.path, {"spec": {"holderIdentity": "other"}})
    election.release()
    assert (election.leading, holder(server)) == (False, "other")


def begun() -> dict[str, bytes]:
    """Return the data of a Secret that was filled just now."""
    return step({}, NOW, ["a.svc"], None).data  # type: ignore[union-attr]


def test_a_process_that_serves_does_not_load_cryptography() -> None:
    show = "print(json.dumps([m for m in sys.modules if 'cryptography' in m]))"
    script = f"import sys, json, webhook.cluster.manager; {show}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert json.loads(done.stdout) == []


def test_a_pair_is_replaced_as_a_whole_and_nothing_is_left_behind(tmp_path: Path) -> None:
    pair = Pair(tmp_path / "pair/tls.pem")
    assert pair.content() is None
    for _ in range(3):
        pair.path.parent.mkdir(exist_ok=True)
        (tmp_path / "pair/tls.new").write_text("remains of a crash")
        data = begun()
        pair.put(data["tls.crt"], data["tls.key"])
        assert pair.content() == (data["tls.crt"], data["tls.key"])
        assert stat.S_IMODE(pair.path.stat().st_mode) == 0o600
        assert [*pair.path.parent.iterdir()] == [pair.path]


def test_a_pair_that_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    one, other = begun(), begun()
    pair = Pair(tmp_path / "tls.pem")
    pair.put(one["tls.crt"], one["tls.key"])
    with pytest.raises(ClusterError, match=r"refused, the one in use kept: KEY_VALUES_MISMATCH"):
        pair.put(other["tls.crt"], one["tls.key"])
    assert pair.content() == (one["tls.crt"], one["tls.key"])
    assert [*tmp_path.iterdir()] == [pair.path]


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClusterError, match=r"cannot write to .*: Not a directory"):
        Pair(tmp_path / "file/pair/tls.pem").put(b"", b"")


def test_base64_that_is_none_is_nothing() -> None:
    assert decode("a") == b""
    assert decode(3) == b""


def test_options_that_cannot_be_are_refused(tmp_path: Path) -> None:
    options = ManagerOptions(namespace="a", secret="b", lease="c", names=("d",), directory=tmp_path)  # noqa: S106 - its name
    assert options.identity != replace(options, identity="other").identity
    with pytest.raises(ClusterError, match="no DNS names are given"):
        replace(options, names=())
    with pytest.raises(ClusterError, match=r"'\.\./x' cannot be the name of an object"):
        replace(options, webhooks=("../x",))
