"""Texts of components are explained by the component that wrote them."""

import re

import pytest
import yaml

from tests.command import ROOT, draguard
from tests.rows import each_row
from webhook.explain.components import components
from webhook.explain.query import explain_answer

SCHEDULER = "kube-scheduler"
KUBELET = "kubelet"
CLAIMS = "resource claim controller of kube-controller-manager"
DEVICE_TAINTS = "device taint eviction controller of kube-controller-manager"
WORKLOAD = "controller of the workload (ReplicaSet, StatefulSet, DaemonSet, Job)"
QUOTA = "ResourceQuota of the API server"
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "

SAID = yaml.safe_load((ROOT / "tests/explain/components.yaml").read_text(encoding="utf-8"))


def speakers(out: str) -> list[str]:
    return re.findall(r"^SAID BY: +(.*)", out, re.MULTILINE)


@each_row(("answer", "by", "says"), [each.values() for each in SAID])
def test_the_speaker_decides(answer: str, by: list[str], says: str) -> None:
    out = explain_answer(answer)
    assert speakers(out) == by
    assert says in " ".join(out.split())
    assert speakers(explain_answer(f'message: "{answer}"')) == by


def test_each_text_is_said() -> None:
    answers = [each["answer"] for each in SAID]
    sayings = [saying for each in components() for saying in each.sayings]
    assert [each.pattern.pattern for each in sayings if not any(map(each.pattern.search, answers))] == []


def test_all_reasons_of_the_scheduler_are_told() -> None:
    out = explain_answer("0/2 nodes are available: 1 Insufficient cpu, 1 cannot allocate all claims. no new claims")
    assert [line.split()[0] for line in out.splitlines() if line and line[0] != " "] == [
        "SAID",
        "MEANING:",
        "TRY:",
        "MEANING:",
        "TRY:",
    ]


def test_events_are_told_one_by_one() -> None:
    events = (
        "Events:\n  Type     Reason                         Age  From     Message\n  ----     ------  "
        "----  ----  -------\n"
        "  Warning  FailedScheduling  9s  default-scheduler  0/1 nodes are available: 1 cannot "
        "allocate\n    all claims.\n"
        f"  Warning  FailedPrepareDynamicResources  1s  kubelet  {PREPARE}DRA driver a.io is not registered\n"
        '3s  Warning  FailedCreate  job/x  Error creating: pods "x" is forbidden: exceeded quota: q, '
        "requested: pods=1, "
        "used: pods=1, limited: pods=1\n"
    )
    done = draguard("explain", "-", stdin=events.encode())
    assert (done.code, speakers(done.out)) == (0, [SCHEDULER, KUBELET, WORKLOAD, QUOTA])
    assert "constraint or counter" in " ".join(done.out.split())


def test_the_last_of_many_events_is_told_too() -> None:
    events = (
        "Events:\n" + "  Normal  Pulled  1s  kubelet  pulled\n" * 50 + f"  Warning  Failed  1s  kubelet  {PREPARE}x\n"
    )
    assert speakers(explain_answer(events)) == [KUBELET]


def test_a_pod_is_told_by_its_events() -> None:
    described = "Name: train\nStatus: Pending\n" + "x: y\n" * 2000
    described += "Events:\n  Warning  Failed  1s  kubelet  Error: ErrImagePull\n"
    assert speakers(draguard("explain", "-", stdin=described.encode()).out) == [KUBELET]


@pytest.mark.parametrize(
    ("reason", "by"),
    [
        ("UnexpectedAdmissionError", KUBELET),
        ("FailedResourceClaimCreation", CLAIMS),
        ("DeviceTaintManagerEviction", DEVICE_TAINTS),
    ],
)
def test_a_reason_is_told_by_its_name(reason: str, by: str) -> None:
    assert speakers(draguard("explain", reason).out) == [by]


def test_a_refusal_that_a_component_quotes_is_described_too() -> None:
    out = explain_answer('Error creating: Pod "p" is invalid: spec.nodeName: Forbidden: may not be changed')
    assert speakers(out) == [WORKLOAD]
    assert "FIELD:       spec.nodeName  <string>" in out
