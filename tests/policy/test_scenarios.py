"""Scenarios recorded on a kube-apiserver 1.36: policies, bindings and parameters, one request, the verdict.

The first line of the file is the namespace. Containers and other values that a mutating policy adds carry the server's
own defaults in ``changes``: what the policy itself wrote is compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from tests.policy.examples import evaluate
from tests.rows import each_row
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load
from webhook.policy.manifest.policies import GROUP, is_policy, validate_policy
from webhook.problem import Problem
from webhook.release import Release

pytestmark = pytest.mark.no_cover

LINES = (Path(__file__).parent / "scenarios-1.36.jsonl").read_text().splitlines()
NAMESPACE = json.loads(LINES[0])["namespace"]
SCENARIOS: list[dict[str, Any]] = [json.loads(line) for line in LINES[1:]]
ADMIN = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}


def of(*fields: str) -> pytest.MarkDecorator:
    chosen = [each for each in SCENARIOS if all(field in each for field in fields)]
    return pytest.mark.parametrize("scenario", [pytest.param(each, id=each["name"]) for each in chosen])


def as_refusal(obj: dict[str, Any], problems: list[Problem]) -> str:
    """Spell problems as the API server does when it refuses a policy or binding."""
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{obj["kind"]}.{GROUP} "{obj["metadata"]["name"]}" is invalid: {joined}'


def verdict_on(scenario: dict[str, Any]) -> Verdict:
    policies = load([NAMESPACE, *scenario["resources"]], Release(36))
    obj = None if scenario["op"] == "DELETE" else scenario["object"]
    return evaluate(obj, scenario.get("stored"), policies=policies, operation=scenario["op"], user=ADMIN, dry_run=True)


@each_row("scenario", SCENARIOS)
def test_the_same_policies_and_bindings_are_refused_with_the_same_words(scenario: dict[str, Any]) -> None:
    refused = {
        (each["kind"], each["metadata"]["name"]): as_refusal(each, problems)
        for each in scenario["resources"]
        if is_policy(each) and (problems := validate_policy(each, Release(36)))
    }
    recorded = {(each["kind"], each["resource"]): each["verdict"]["message"] for each in scenario.get("refused", ())}
    assert refused == recorded


@of("verdict")
def test_requests_get_the_same_verdict(scenario: dict[str, Any]) -> None:
    verdict = verdict_on(scenario)
    got: dict[str, Any] = {"allowed": verdict.allowed}
    if not verdict.allowed:
        got |= {
            "code": verdict.code,
            "reason": verdict.reason,
            "message": verdict.message,
            "causes": [["", "", cause] for cause in verdict.causes],
        }
    assert got == scenario["verdict"]
    assert list(verdict.warnings) == scenario.get("warnings", [])


@of("changes")
def test_objects_are_changed_in_the_same_way(scenario: dict[str, Any]) -> None:
    verdict = verdict_on(scenario)
    changed = jsonpatch.apply_patch(scenario["object"], scenario["changes"])
    assert _without_defaults(verdict.object) == _without_defaults(changed)


_DEFAULTED = {"resources", "volumeMounts", "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"}


def _without_defaults(obj: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields that the server adds to containers."""
    spec = dict(obj["spec"])
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [{name: each[name] for name in each if name not in _DEFAULTED} for each in spec[field]]
    return obj | {"spec": spec}
