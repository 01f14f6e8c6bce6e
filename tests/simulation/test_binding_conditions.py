"""Pods whose devices have binding conditions: fresh, waiting, timed out and failed are told apart."""

import pytest

from tests.rows import each_row
from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod
from webhook import simulate
from webhook.objects import JSONObject
from webhook.report.simulated import gets_devices

CONDITIONS = {"bindingConditions": ["attached"], "bindingFailureConditions": ["attach-failed"]}
NOT_READY = ("attached", "False", "Attaching", "slot 3")
FAILED = ("attach-failed", "True", "NoSlot", "no slot")
WAITS = "waits until attached is True for d0 (at most {}), to be bound to node a"
BACK = "the scheduler takes the device back and tries again"
AGAIN = f"{BACK}; it is the only one, so it gets d0 again"


def held(*reported: tuple[str, str, str, str]) -> JSONObject:
    """Make a claim whose device is not ready, allocated at midnight."""
    made = allocated("c", "a", "d0", "p")
    (result,) = made["status"]["allocation"]["devices"]["results"]
    result |= CONDITIONS
    said = [dict(zip(("type", "status", "reason", "message"), each, strict=True)) for each in reported]
    made["status"]["devices"] = [{"driver": DRIVER, "pool": "a", "device": "d0", "conditions": said}]
    return made


def answer(used: JSONObject, now: str, count: int = 1, elsewhere: int = 0) -> JSONObject:
    wanted = pod(claims={"gpu": "c"})
    wanted["metadata"] |= {"uid": "UID:p"}
    home = node("a")
    home["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": now}]
    others = [each for n in range(elsewhere) for each in (node(f"b{n}"), devices(f"b{n}", 1))]
    (found,) = simulate([device_class(), devices("a", count, **CONDITIONS), home, *others, used], [wanted])
    return found


@each_row(
    ("used", "now", "reason", "runs"),
    [
        (claim(), "00:00:00", WAITS.format("600 s"), True),
        (held(), "00:01:30", f"{WAITS.format('510 s more')}; not True within 600 s: {AGAIN}", True),
        (held(), "00:10:01", f"d0: attached not True within 600 s: attached is not reported: {AGAIN}", True),
        (held(FAILED), "00:01:00", f"d0: attach-failed is True (NoSlot: no slot): {AGAIN}", False),
    ],
)
def test_the_states_of_a_device_differ(used: JSONObject, now: str, reason: str, runs: bool) -> None:
    found = answer(used, f"2026-01-01T{now}Z")
    why = found["why"]
    assert (found["node"], why["reason"], gets_devices(found)) == (None, reason, runs)
    assert [each["nodes"] for each in why["nodes"]] == [["a"]]
    (change,) = why["help"]
    assert change["change"].startswith("once attached is True for d0")
    assert why["notes"][0].startswith(f"times are as of 2026-01-01T{now}Z, the newest one in the cluster's objects")


@pytest.mark.parametrize(
    ("used", "now", "until"),
    [(held(), "00:01:30", ": the scheduler waits until 2026-01-01T00:10:00Z"), (held(FAILED), "00:01:30", "")],
)
def test_the_time_at_which_the_scheduler_stops_waiting_is_stated(used: JSONObject, now: str, until: str) -> None:
    times = f"times are as of 2026-01-01T{now}Z, the newest one in the cluster's objects"
    assert answer(used, f"2026-01-01T{now}Z")["why"]["notes"][0] == times + until


def test_what_happens_to_a_held_device_is_stated_if_the_claim_has_the_only_time() -> None:
    found = answer(held(), "")
    assert found["why"]["reason"] == f"{WAITS.format('600 s')}; not True within 600 s: {AGAIN}"


def test_a_device_elsewhere_would_do_once_the_one_that_is_held_is_taken_back() -> None:
    reason = answer(held(), "2026-01-01T00:01:30Z", elsewhere=1)["why"]["reason"]
    assert reason == f"{WAITS.format('510 s more')}; not True within 600 s: {BACK}"


def test_more_nodes_than_are_asked_do_not_make_a_device_the_only_one() -> None:
    reason = answer(held(), "2026-01-01T00:10:01Z", elsewhere=40)["why"]["reason"]
    assert reason.endswith("tries again; it gets d0 again")


def test_the_driver_s_reason_is_shown_while_the_pod_waits() -> None:
    (group,) = answer(held(NOT_READY), "2026-01-01T00:01:00Z")["why"]["nodes"]
    assert group["details"] == ["d0: attached is False (Attaching: slot 3)"]


def test_a_claim_that_others_use_says_why_its_devices_are_not_available() -> None:
    used = held(FAILED)
    used["status"]["reservedFor"].append({"resource": "pods", "name": "other", "uid": "UID:other"})
    found = answer(used, "2026-01-01T00:01:00Z")
    assert found["why"]["reason"] == "claim default/c: d0: attach-failed is True (NoSlot: no slot)"


def test_a_pod_whose_device_is_replaced_waits_for_another() -> None:
    used = held(FAILED)
    (result,) = used["status"]["allocation"]["devices"]["results"]
    result["device"] = used["status"]["devices"][0]["device"] = "d9"
    found = answer(used, "2026-01-01T00:01:00Z")
    assert found["why"]["reason"].startswith("waits until attached is True for d0 (at most 600 s)")
    assert any(each.endswith("tries again, with another device") for each in found["why"]["notes"])
    assert gets_devices(found)


def test_a_device_that_is_not_the_only_one_is_given_again_as_it_comes_first() -> None:
    reason = answer(held(FAILED), "2026-01-01T00:01:00Z", count=2)["why"]["reason"]
    assert reason.endswith("tries again; it gets d0 again")


@each_row("now", ["soon", "2026-01-01T00:10:00", ""])
def test_what_is_no_time_is_left_out(now: str) -> None:
    assert "(at most 600 s)" in answer(held(), now)["why"]["reason"]
