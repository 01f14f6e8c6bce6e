"""Mutations, and what they make."""

import copy
from typing import Any

from tests.policy.examples import POD
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.request import request_of
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds


def label(key: str, value: str) -> str:
    return f"Object{{metadata: Object.metadata{{labels: {{'{key}': {value}}}}}}}"


def made(*manifests: list[dict[str, Any]], obj: dict[str, Any] = POD, **options: Any) -> Verdict:
    policies = load([each for group in manifests for each in group])
    assert not policies.errors, [str(each.problem) for each in policies.errors]
    before = copy.deepcopy(obj)
    verdict = mutate(request_of(obj, kinds=Kinds(), **options), policies)
    assert obj == before
    return verdict


def labels(verdict: Verdict) -> dict[str, str]:
    found: dict[str, str] = verdict.object["metadata"]["labels"]
    return found


ANYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
QUOTA = {"apiVersion": "example.com/v1", "kind": "Quota", "metadata": {"name": "q"}}
