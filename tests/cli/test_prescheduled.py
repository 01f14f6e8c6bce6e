"""Warnings of ``draguard validate`` about pre-scheduled pods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.command import findings
from tests.policy.examples import POD
from tests.policy.examples import spec as with_spec


def test_a_pod_that_can_never_run_is_warned_of(write: Callable[..., Path]) -> None:
    (found,) = findings("validate", write(pod=[POD]))
    assert (found["level"], found["rule"], found["field"]) == ("warning", "prescheduled", "spec.nodeName")
    assert "draguard mutate" in found["hint"]


def test_a_template_of_such_a_pod_is_warned_of(write: Callable[..., Path]) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": POD["spec"] | {"restartPolicy": "Never"}}},
    }
    (found,) = findings("validate", write(job=[job]))
    assert (found["rule"], found["field"]) == ("prescheduled", "spec.template.spec.nodeName")


def test_a_pod_that_contradicts_itself_is_warned_of(write: Callable[..., Path]) -> None:
    (found,) = findings("validate", write(pod=[with_spec(POD, nodeSelector={"kubernetes.io/hostname": "other"})]))
    assert (found["level"], found["rule"]) == ("warning", "prescheduled-contradiction")
    assert found["message"].startswith("rules out node ")


def test_a_stored_pod_may_have_been_scheduled(write: Callable[..., Path]) -> None:
    stored = POD | {"metadata": POD["metadata"] | {"uid": "5a1e7e4c-3d3c-4f0e-8a59-9a3b5c0f8f3e"}}
    folder = write(pod=[stored])
    assert findings("validate", folder) == []
    assert findings("validate", "--old", folder, folder) == []
