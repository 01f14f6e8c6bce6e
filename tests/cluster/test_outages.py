"""What is missing, refused or out of reach is reported, while serving goes on."""

from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Refusal
from tests.cluster.objects import LEASE, MUTATING, SECRET, VALIDATING, configuration
from tests.cluster.replicas import DAY, Replica, all_trust, bundles, held
from webhook.cluster.errors import ClusterError

pytestmark = pytest.mark.process


def test_a_secret_that_is_deleted_is_reported_while_serving_goes_on(
    api: ApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    replica = Replica(api, tmp_path / "pair")
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
    api: ApiServer, tmp_path: Path, path: str, name: str
) -> None:
    del api.objects[path]
    replica = Replica(api, tmp_path / "pair")
    with pytest.raises(ClusterError, match=rf"no serving certificate yet: cannot get {name} .*make it anew.*given up"):
        replica.obtain(0)


def test_a_replica_that_starts_waits_for_the_leader(api: ApiServer, tmp_path: Path) -> None:
    api.put(LEASE, {"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 15, "renewTime": "now"}})
    replica = Replica(api, tmp_path / "pair")
    replica.tick()
    assert "; ".join(replica.unready()) == (
        "no serving certificate yet: waiting for the leader to fill Secret draguard-system/draguard-certificates"
    )


def test_ca_bundles_that_others_change_are_written_again(api: ApiServer, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path / "pair")
    replica.tick()
    api.put(VALIDATING, configuration(3))
    api.change(MUTATING, {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "b3RoZXI="})
    replica.round(10)
    assert bundles(api) == [held(api)["ca.crt"]] * 4


def test_a_configuration_that_is_missing_is_waited_for(
    api: ApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    missing = api.objects.pop(MUTATING)
    replica = Replica(api, tmp_path / "pair")
    replica.round()
    assert bundles(api) == [held(api)["ca.crt"]] * 2
    assert caplog.text.count("MutatingWebhookConfiguration draguard: 404") == 1
    api.put(MUTATING, missing)
    replica.round(10)
    assert bundles(api) == [held(api)["ca.crt"]] * 3


def test_a_configuration_out_of_reach_does_not_keep_the_others_from_trusting(api: ApiServer, tmp_path: Path) -> None:
    def fail(_verb: str, path: str) -> None:
        if path == VALIDATING:
            raise Refusal(500, "it is broken")

    api.before = fail
    replica = Replica(api, tmp_path / "pair")
    replica.round()
    assert bundles(api) == [b"", b"", held(api)["ca.crt"]]
    assert replica.last_error.endswith(
        "ValidatingWebhookConfiguration draguard: 500 Internal Server Error, it is broken"
    )


def test_all_configurations_out_of_reach_are_reported(api: ApiServer, tmp_path: Path) -> None:
    def fail(_verb: str, path: str) -> None:
        if path in {VALIDATING, MUTATING}:
            raise Refusal(500)

    api.before = fail
    replica = Replica(api, tmp_path / "pair")
    replica.tick()
    assert replica.last_error.count("500 Internal Server Error") == 2
    assert replica.rotations == {"recover": 1}


def test_an_api_server_that_is_away_for_a_day_does_no_harm(api: ApiServer, tmp_path: Path) -> None:
    def fail(_verb: str, _path: str) -> None:
        raise Refusal(503, "away")

    replica = Replica(api, tmp_path / "pair")
    replica.tick()
    served, before = replica.fingerprint(), len(api.requests)
    api.before = fail
    replica.round(1800)
    asked = len(api.requests) - before
    assert 1800 / 30 < asked < 2 * 1800 / 20, "it asks on, but not all the time"
    assert not replica.leading
    assert list(replica.unready()) == []
    assert 0 < replica.errors <= asked

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
    again.obtain(0)
    assert "Connection refused" in again.last_error
    assert list(again.unready()) == []


def test_a_renewed_token_is_used(api: ApiServer, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path / "pair")
    replica.tick()
    api.set_token("second")
    replica.round(10)
    assert replica.errors == 0


def test_a_token_that_is_not_accepted_is_reported(api: ApiServer, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path / "pair")
    (api.account / "token").write_text("wrong")
    replica.tick()
    assert "401 Unauthorized, Unauthorized: the service account's token is not accepted" in replica.last_error
