import logging
import re
import ssl
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from tests.apiserver import ApiServer, Refusal, refusing
from tests.cluster.replicas import (
    DAY,
    LEASE,
    MUTATING,
    NAME,
    SECRET,
    VALIDATING,
    Clock,
    Replica,
    age,
    all_trust,
    bundles,
    configuration,
    held,
    holder,
    options_of,
)
from tests.serving import eventually
from webhook.cluster import election, manager, rotation
from webhook.cluster.errors import ClusterError
from webhook.cluster.manager import Manager
from webhook.cluster.options import Step, encode_all
from webhook.cluster.rotation import step

pytestmark = pytest.mark.process


@pytest.fixture
def replica(api: ApiServer, tmp_path: Path) -> Replica:
    return Replica(api, tmp_path / "pair")


@pytest.fixture
def two(api: ApiServer, tmp_path: Path) -> tuple[Replica, Replica]:
    return Replica(api, tmp_path / "a"), Replica(api, tmp_path / "b")


def test_three_replicas_that_start_at_once_serve_one_certificate(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(election, "RETRY_SECONDS", 0.1)
    replicas = [Manager(replace(options_of(api, tmp_path / f"{n}"), identity=f"pod-{n}")) for n in range(3)]
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(Manager.start, replicas))
        assert len({(tmp_path / f"{n}/tls.pem").read_bytes() for n in range(3)}) == 1
        assert [replica.leading for replica in replicas].count(True) == 1
        assert sum(replica.rotations["recover"] for replica in replicas) == 1
        assert not [reason for replica in replicas for reason in replica.unready()]
    finally:
        for replica in replicas:
            replica.stop()
    assert holder(api) is None, "the lead is free at once"


def test_the_files_can_be_read_by_their_owner_only_and_only_ca_bundles_are_changed(
    api: ApiServer, replica: Replica
) -> None:
    replica.tick()
    assert stat.S_IMODE(replica.path.stat().st_mode) == 0o600
    assert replica.files() == (held(api)["tls.crt"], held(api)["tls.key"])
    assert set(bundles(api)) == {held(api)["ca.crt"]}
    for path, webhooks in ((VALIDATING, 2), (MUTATING, 1)):
        stored = api.objects[path]
        for webhook in stored["webhooks"]:
            del webhook["clientConfig"]["caBundle"]
        assert stored["webhooks"] == configuration(webhooks)["webhooks"]


def test_every_step_of_a_rotation_is_trusted_by_real_clients(api: ApiServer, two: tuple[Replica, Replica]) -> None:
    age(api)
    today, old = api.now, held(api)["ca.crt"]
    leader, other = two
    leader.tick()
    other.tick()
    all_trust(api, leader, other)

    seen = []
    for minutes in range(0, 90, 10):
        api.now = today + timedelta(minutes=minutes)
        leader.round(10)
        seen.append(leader.handshake(bundles(api)[0]))
        all_trust(api, leader, other)
        other.round(10)
        all_trust(api, leader, other)
    assert leader.rotations == {"announce": 1, "await": 1, "switch": 1}
    assert len(set(seen)) == 2
    with pytest.raises(ssl.SSLCertVerificationError):
        leader.handshake(old)

    for days in (85, 122):
        api.now = today + days * DAY
        leader.round(20)
    assert leader.rotations == {"announce": 1, "await": 1, "switch": 1, "renew": 1, "retire": 1}
    assert set(bundles(api)) == {held(api)["ca.crt"]}
    assert len(x509.load_pem_x509_certificates(held(api)["ca.crt"])) == 1


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("how", "restarted"),
    [*product(["emptied", "recreated", "without its authority"], [False, True]), ("of a stranger", False)],
)
def test_a_secret_that_loses_its_data_costs_no_handshake(
    api: ApiServer, two: tuple[Replica, Replica], tmp_path: Path, how: str, restarted: bool
) -> None:
    api.wait(timedelta(hours=-3))
    leader, other = two
    leader.tick()
    other.tick()
    today, old, data = api.now, leader.fingerprint(), held(api)
    if how == "recreated":
        del api.objects[SECRET]
        leader.round(10)
        other.round(10)
    left = {
        "without its authority": {**data, "ca.crt": b"", "ca.key": b""},
        "of a stranger": step({}, today, (NAME,), None).data,  # type: ignore[union-attr]
    }
    api.put(SECRET, {"data": encode_all(left.get(how, {}))})
    if restarted:  # on another node, so that it knows of no pair
        leader.stop()
        leader = Replica(api, tmp_path / "c")
    for _ in range(12):
        leader.time.seconds += 2.5
        leader.tick()
        if leader.certificate:
            all_trust(api, leader)
        all_trust(api, other)
        if how == "of a stranger":  # which others may serve with before the leader can know it
            leader.round(10)
        other.round(5)
        all_trust(api, other)
    all_trust(api, leader, other)
    assert held(api)["tls.crt"] == (leader if restarted else other).files()[0]
    for minutes in (70, 80, 90):
        api.now = today + timedelta(minutes=minutes)
        leader.round(10)
        all_trust(api, leader, other)
    assert leader.fingerprint() != old


def test_a_restarted_container_restores_what_is_on_its_disk(api: ApiServer, tmp_path: Path) -> None:
    Replica(api, tmp_path / "pair").tick()
    api.put(SECRET, {})
    api.put(LEASE, {"spec": {}})
    again = Replica(api, tmp_path / "pair")
    before = again.fingerprint()
    again.tick()
    assert (again.rotations, again.fingerprint()) == ({"restore": 1}, before)
    all_trust(api, again)


def test_a_manager_without_directory_keeps_the_secret_and_the_cluster_s_version(
    api: ApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replica = Replica(api, tmp_path / "pair", directory=None)
    replica.tick()
    assert not (tmp_path / "pair").exists()
    assert (replica.rotations, list(replica.unready())) == ({"recover": 1}, [])
    assert held(api)["kubernetes.version"] == b"v1.34.1-gke.7"
    served = held(api)["tls.crt"]

    api.version = "v1.35.0"
    replica.time.seconds += 800
    replica.round(15)
    assert held(api)["kubernetes.version"] == b"v1.35.0"
    assert replica.rotations == {"recover": 1, "version": 1}
    api.put(SECRET, {})
    replica.round(10)
    assert (held(api)["tls.crt"], held(api)["kubernetes.version"]) == (served, b"v1.35.0")

    api.before = refusing(403, "no", "/version")
    api.version = "v1.36.0"
    with caplog.at_level(logging.ERROR):
        replica.time.seconds += 800
    replica.round(15)
    assert "cannot get the cluster's version: 403" in caplog.text
    assert held(api)["kubernetes.version"] == b"v1.35.0"


def test_what_is_revoked_is_trusted_no_more(api: ApiServer, replica: Replica) -> None:
    replica.tick()
    old = bundles(api)[0]
    api.change(SECRET, {"op": "replace", "path": "/data", "value": {"revoke": "eWVz"}})
    replica.round(10)
    all_trust(api, replica)
    with pytest.raises(ssl.SSLCertVerificationError):
        replica.handshake(old)
    assert sorted(held(api)) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


def test_a_clock_far_ahead_and_back_ends_in_what_is_trusted(api: ApiServer, replica: Replica) -> None:
    now = api.now
    replica.tick()
    api.now = now + 4000 * DAY
    replica.round()
    api.now = now
    replica.round()
    assert replica.rotations["recover"] == 3
    all_trust(api, replica)


def test_the_time_is_that_of_the_api_server(api: ApiServer, tmp_path: Path) -> None:
    api.now = datetime(2040, 1, 1, tzinfo=UTC)
    Replica(api, tmp_path / "pair").tick()
    assert x509.load_pem_x509_certificate(held(api)["tls.crt"]).not_valid_after_utc == api.now + 90 * DAY


def faults(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the errors that were logged, each once while it lasts."""
    return [each.message for each in caplog.records if each.levelno >= logging.ERROR]


def test_a_broken_pair_in_the_secret_is_not_served_but_renewed_by_the_leader(
    api: ApiServer, two: tuple[Replica, Replica], caplog: pytest.LogCaptureFixture
) -> None:
    leader, other = two
    leader.tick()
    other.tick()
    served = other.fingerprint()
    api.change(SECRET, {"op": "replace", "path": "/data/tls.key", "value": "Z2FyYmFnZQ=="})
    other.round(10)
    assert "the pair in the Secret is refused, the one in use kept" in other.last_error
    assert other.fingerprint() == served
    assert other.files()[1] != b"garbage"
    leader.round(10)
    assert faults(caplog) == [other.last_error]
    assert leader.rotations == {"recover": 1, "renew": 1}
    all_trust(api, leader, other)


def test_keys_are_never_logged(api: ApiServer, replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    age(api)
    for _ in range(4):
        replica.round(10)
        api.wait(timedelta(hours=1))
    assert replica.rotations["switch"] == 1
    assert "PRIVATE" not in caplog.text
    keys = re.findall(r"[\w+/]{40,}", held(api)["tls.key"].decode())
    assert not any(line in caplog.text for line in keys)


def test_an_unexpected_fault_ends_nothing(api: ApiServer, replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    api.put(VALIDATING, {"webhooks": [{"name": "without a client"}]})
    replica.tick()
    assert replica.last_error == "an internal error: KeyError"
    assert "Traceback" in caplog.text
    api.put(VALIDATING, configuration())
    replica.round()
    assert replica.last_error == ""
    all_trust(api, replica)


def test_the_thread_follows_until_it_ends(api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager, "LOOK_SECONDS", 0.02)
    replica = Manager(options_of(api, tmp_path / "pair"))
    replica.start()
    first = (tmp_path / "pair/tls.pem").read_bytes()
    api.wait(61 * DAY)
    assert eventually(lambda: (tmp_path / "pair/tls.pem").read_bytes() != first)
    replica.stop()
    assert holder(api) is None


def test_a_start_can_be_stopped(api: ApiServer, tmp_path: Path) -> None:
    del api.objects[SECRET]
    waiting = threading.Event()
    api.at("get", SECRET, waiting.set)
    replica = Manager(options_of(api, tmp_path / "pair"))
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(replica.start)
        assert waiting.wait(30)
        replica.stop()
        assert str(starting.exception(30)) == "stopped before there was a serving certificate"
    assert holder(api) is None


@pytest.mark.no_cover
@pytest.mark.parametrize("writes", range(6))
def test_another_leader_goes_on_where_one_has_died(api: ApiServer, two: tuple[Replica, Replica], writes: int) -> None:
    age(api)
    today = api.now
    first, second = two
    left = writes

    def die(verb: str, path: str) -> None:
        nonlocal left
        if verb == "patch" and path != LEASE:
            left -= 1
            if left < 0:
                raise Refusal(503)

    api.before = die
    for minutes in (0, 5, 70):
        api.now = today + timedelta(minutes=minutes)
        first.round(10)
        second.tick()
        all_trust(api, first, second, that=len)  # the clients that know an authority
    api.before = lambda _verb, _path: None

    second.round()
    assert second.leading
    for minutes in (75, 85, 150):
        api.now = today + timedelta(minutes=minutes)
        second.round(10)
        all_trust(api, first, second)
    assert first.rotations["switch"] + second.rotations["switch"] == 1


def test_a_leader_that_was_paused_writes_nothing_over_what_is_newer(
    api: ApiServer, two: tuple[Replica, Replica], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = two
    first.tick()
    second.round(10)
    api.change(VALIDATING, {"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"})

    def pause() -> None:
        api.now += 61 * DAY
        first.time.seconds += 40
        second.round(40)

    api.at("patch", VALIDATING, pause)
    first.round(10)
    assert second.rotations == {"renew": 1}
    assert (first.leading, second.leading) == (False, True)
    assert set(bundles(api)) == {held(api)["ca.crt"]}
    assert faults(caplog) == [], "a conflict is not an error"


@pytest.mark.parametrize("read", [VALIDATING, MUTATING, SECRET])
def test_a_bundle_is_never_replaced_by_an_older_one(api: ApiServer, replica: Replica, read: str) -> None:
    replica.tick()
    newer = step({**held(api), "ca.key": b""}, api.now, replica.names, None)
    assert newer

    data, seen = encode_all(newer.data), list[bytes]()

    def go_on() -> None:
        api.before = lambda _verb, _path: seen.extend(bundles(api))
        api.put(SECRET, {"data": data})
        for configured in (VALIDATING, MUTATING):
            for place in range(len(api.objects[configured]["webhooks"])):
                written = f"/webhooks/{place}/clientConfig/caBundle"
                api.change(configured, {"op": "add", "path": written, "value": data["ca.crt"]})

    api.at("get", read, go_on)
    replica.round(10)
    assert {*seen, *bundles(api)} == {newer.data["ca.crt"]} == {held(api)["ca.crt"]}


def test_a_leader_whose_time_is_over_writes_no_secret(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    def pause(*question: Any, **more: Any) -> Step | None:
        clock.seconds += 11
        return step(*question, **more)

    monkeypatch.setattr(rotation, "step", pause)
    replica = Manager(options_of(api, tmp_path / "pair"), clock=clock)
    replica.tick()
    assert not replica.leading
    assert held(api) == {}
    assert ("patch", SECRET) not in api.requests


def test_a_secret_that_another_client_writes_in_between_is_read_again(api: ApiServer, replica: Replica) -> None:
    note = {"op": "add", "path": "/data", "value": {"note": "eA=="}}
    api.at("patch", SECRET, lambda: api.change(SECRET, note))
    replica.tick()
    assert held(api) == {"note": b"x"}
    replica.round(10)
    assert held(api)["note"] == b"x"
    all_trust(api, replica)


def test_a_secret_that_is_deleted_is_reported_while_serving_goes_on(
    api: ApiServer, replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    replica.tick()
    served = replica.fingerprint()
    del api.objects[SECRET]
    replica.round()
    assert "kubectl create secret generic draguard-certificates --namespace draguard-system" in replica.last_error
    assert caplog.text.count("cannot get Secret draguard-system/draguard-certificates: 404") == 1
    assert list(replica.unready()) == []
    assert replica.fingerprint() == served
    assert not [request for request in api.requests if request[0] not in {"get", "patch"}]

    api.put(SECRET, {})
    replica.round()
    assert replica.last_error == ""
    assert replica.fingerprint() == served
    all_trust(api, replica)


@pytest.mark.parametrize(("path", "name"), [(SECRET, "Secret"), (LEASE, "Lease")])
def test_a_replica_that_starts_without_its_objects_says_what_is_missing(
    api: ApiServer, replica: Replica, path: str, name: str
) -> None:
    del api.objects[path]
    with pytest.raises(ClusterError, match=rf"no serving certificate yet: cannot get {name} .*make it anew.*given up"):
        replica.start(0)


def test_a_replica_that_starts_waits_for_the_leader(api: ApiServer, replica: Replica) -> None:
    api.put(LEASE, {"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 15, "renewTime": "now"}})
    replica.tick()
    assert "; ".join(replica.unready()) == (
        "no serving certificate yet: waiting for the leader to fill Secret draguard-system/draguard-certificates"
    )


def test_ca_bundles_that_others_change_are_written_again(api: ApiServer, replica: Replica) -> None:
    replica.tick()
    api.put(VALIDATING, configuration(3))
    api.change(MUTATING, {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "b3RoZXI="})
    replica.round(10)
    assert bundles(api) == [held(api)["ca.crt"]] * 4


def test_configurations_out_of_reach_are_reported_once_and_do_not_keep_others_from_trusting(
    api: ApiServer, replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    api.before = refusing(500, "", VALIDATING, MUTATING)
    replica.tick()
    assert replica.last_error.count("500 Internal Server Error") == 2
    assert replica.rotations == {"recover": 1}
    api.before = refusing(500, "it is broken", VALIDATING)
    replica.round()
    assert bundles(api) == [b"", b"", held(api)["ca.crt"]]
    fault = "ValidatingWebhookConfiguration draguard: 500 Internal Server Error, it is broken"
    assert replica.last_error.endswith(fault)

    api.before = lambda _verb, _path: None
    missing = api.objects.pop(MUTATING)
    replica.round()
    assert bundles(api) == [held(api)["ca.crt"]] * 2
    assert caplog.text.count("MutatingWebhookConfiguration draguard: 404") == 1
    api.put(MUTATING, missing)
    replica.round(10)
    assert bundles(api) == [held(api)["ca.crt"]] * 3


def test_an_api_server_that_is_away_for_a_day_does_no_harm(api: ApiServer, replica: Replica) -> None:
    replica.tick()
    served, before = replica.fingerprint(), len(api.requests)
    api.before = refusing(503, "away")
    replica.round(1800)
    asked = len(api.requests) - before
    assert 1800 / 30 < asked < 2 * 1800 / 20, "it asks on, but not all the time"
    assert not replica.leading
    assert list(replica.unready()) == []
    assert replica.last_error

    api.before = lambda _verb, _path: None
    api.wait(DAY)
    replica.round(80)
    assert replica.leading
    assert replica.fingerprint() == served
    all_trust(api, replica)


def test_a_restarted_container_serves_with_what_is_on_disk_if_the_api_server_is_away(
    api: ApiServer, tmp_path: Path
) -> None:
    Replica(api, tmp_path / "pair").tick()
    again = Replica(api, tmp_path / "pair", server="localhost:1")
    again.start(0)
    again.stop()
    assert "Connection refused" in again.last_error
    assert list(again.unready()) == []


def test_a_renewed_token_is_used(api: ApiServer, replica: Replica, caplog: pytest.LogCaptureFixture) -> None:
    replica.tick()
    api.set_token("second")
    replica.round(10)
    assert faults(caplog) == []
