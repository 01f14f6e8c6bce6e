"""One replica leads at a time, and writes nothing over what is newer."""

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import ApiServer, Refusal
from tests.cluster.objects import LEASE, MUTATING, SECRET, VALIDATING
from tests.cluster.replicas import DAY, Clock, Replica, age, all_trust, bundles, held, options_of, trusted_if_published
from webhook.cluster.manager import Manager
from webhook.cluster.options import Lifetimes
from webhook.cluster.rotation import step
from webhook.cluster.secret import Step, encode_all

pytestmark = pytest.mark.process


@pytest.mark.no_cover
@pytest.mark.parametrize("writes", range(6))
def test_another_leader_goes_on_where_one_has_died(api: ApiServer, tmp_path: Path, writes: int) -> None:
    age(api)
    today = api.now
    first, second = Replica(api, tmp_path / "a"), Replica(api, tmp_path / "b")
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
        trusted_if_published(api, first, second)
    api.before = lambda _verb, _path: None

    second.round()
    assert second.leading
    for minutes in (75, 85, 150):
        api.now = today + timedelta(minutes=minutes)
        second.round(10)
        all_trust(api, first, second)
    assert first.rotations["switch"] + second.rotations["switch"] == 1


def test_a_leader_that_was_paused_writes_nothing_over_what_is_newer(api: ApiServer, tmp_path: Path) -> None:
    first, second = Replica(api, tmp_path / "a"), Replica(api, tmp_path / "b")
    first.tick()
    second.round(10)
    api.change(VALIDATING, {"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"})

    def pause(verb: str, path: str) -> None:
        if (verb, path) == ("patch", VALIDATING):
            api.before = lambda _verb, _path: None
            api.now += 61 * DAY
            first.time.seconds += 40
            second.round(40)

    api.before = pause
    first.round(10)
    assert second.rotations == {"renew": 1}
    assert (first.leading, second.leading) == (False, True)
    assert set(bundles(api)) == {held(api)["ca.crt"]}
    assert first.errors == 0, "a conflict is not an error"


@pytest.mark.parametrize("read", [VALIDATING, MUTATING, SECRET])
def test_a_bundle_is_never_replaced_by_an_older_one(api: ApiServer, tmp_path: Path, read: str) -> None:
    replica = Replica(api, tmp_path / "pair")
    replica.tick()
    newer = step({**held(api), "ca.key": b""}, api.now, replica.names, Lifetimes(), None)
    assert newer

    seen: list[bytes] = []

    def go_on(verb: str, path: str) -> None:
        if (verb, path) == ("get", read):
            api.before = lambda _verb, _path: seen.extend(bundles(api))
            api.put(SECRET, {"data": encode_all(newer.data)})
            for configured in (VALIDATING, MUTATING):
                bundle = base64.b64encode(newer.data["ca.crt"]).decode()
                for place in range(len(api.objects[configured]["webhooks"])):
                    written = f"/webhooks/{place}/clientConfig/caBundle"
                    api.change(configured, {"op": "add", "path": written, "value": bundle})

    api.before = go_on
    replica.round(10)
    assert {*seen, *bundles(api)} == {newer.data["ca.crt"]} == {held(api)["ca.crt"]}


def test_a_leader_whose_time_is_over_writes_no_secret(api: ApiServer, tmp_path: Path) -> None:
    clock = Clock()

    def pause(*question: Any, **more: Any) -> Step | None:
        clock.seconds += 11
        return step(*question, **more)

    replica = Manager(options_of(api, tmp_path / "pair"), decide=pause, clock=clock)
    replica.tick()
    assert not replica.leading
    assert held(api) == {}
    assert ("patch", SECRET) not in api.requests


def test_a_secret_written_by_somebody_else_in_between_is_read_again(api: ApiServer, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path / "pair")

    def interfere(verb: str, path: str) -> None:
        if (verb, path) == ("patch", SECRET):
            api.before = lambda _verb, _path: None
            api.change(SECRET, {"op": "add", "path": "/data", "value": {"note": "eA=="}})

    api.before = interfere
    replica.tick()
    assert held(api) == {"note": b"x"}
    replica.round(10)
    assert held(api)["note"] == b"x"
    all_trust(api, replica)
