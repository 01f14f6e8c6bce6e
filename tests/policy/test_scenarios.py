"""Scenarios recorded on a kube-apiserver 1.36: policies, bindings and parameters, one request, the verdict.

The first line of the file is the namespace. Containers and other values that a mutating policy adds carry the server's
own defaults in ``changes``: what the policy itself wrote is compared.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import jsonpatch
import pytest
import yaml

from tests.examples import sampled
from tests.policy.examples import evaluate
from tests.policy.manifests import Case, cases, differences
from tests.rows import each_row
from webhook.api.versions import release_of
from webhook.documents import parse
from webhook.engine import offline
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.evaluation.validate import validate
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


def as_refusal(obj: dict[str, Any], problems: list[Problem]) -> str:
    """Spell problems as the API server does when it refuses a policy or binding."""
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f'{obj["kind"]}.{GROUP} "{obj["metadata"]["name"]}" is invalid: {joined}'


def verdict_on(scenario: dict[str, Any]) -> Verdict:
    policies = load([NAMESPACE, *scenario["resources"]], Release(36))
    obj = None if scenario["op"] == "DELETE" else scenario["object"]
    request = request_of(obj, scenario.get("stored"), kinds=policies.kinds, operation=scenario["op"], user=ADMIN)
    options = None if request.options is None else {**request.options, "dryRun": ["All"]}
    return offline.evaluate(request._replace(dry_run=True, options=options), policies)


@each_row("scenario", *SCENARIOS)
def test_the_same_policies_and_bindings_are_refused_with_the_same_words(scenario: dict[str, Any]) -> None:
    refused = {
        (each["kind"], each["metadata"]["name"]): as_refusal(each, problems)
        for each in scenario["resources"]
        if is_policy(each) and (problems := validate_policy(each, Release(36)))
    }
    recorded = {(each["kind"], each["resource"]): each["verdict"]["message"] for each in scenario.get("refused", ())}
    assert refused == recorded


@each_row("scenario", *(each for each in SCENARIOS if "verdict" in each))
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


@each_row("scenario", *(each for each in SCENARIOS if "changes" in each))
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


DIFFERING: Final[Mapping[str, str]] = {
    "scalar/data-infinity": "kubectl refuses it with this text; the server adds the first bytes of the request",
    "admission/sa-unknown": "a ServiceAccount that is not among the files may be there",
    "admission/priority-unknown": "a PriorityClass that is not among the files may be there",
    "mutation/patch-map-of-objects": "the server panics",
}
"""The cases that differ, and why; `docs/trust.md` sums them up."""


@pytest.mark.parametrize("case", sampled(cases(), one_of=10))
def test_answers_are_those_of_the_server(case: Case) -> None:
    found = {what: texts for what, texts in differences(case).items() if texts}
    assert bool(found) == (case["id"] in DIFFERING), found


BY_SERVER: Final = ("uid", "creationTimestamp", "managedFields")
"""Metadata that is the server's own; without the managers of fields, as the record leaves them out."""
OPENSHIFT: Final = {
    "configMap": {"name": "openshift-service-ca.crt", "items": [{"key": "service-ca.crt", "path": "service-ca.crt"}]}
}
"""What only the ServiceAccount plugin of the recorded server, one of OpenShift, adds to a token's volume."""


def created() -> Iterator[Case]:
    """Yield the cases in which a new object was stored as its sender left it, but for the server's defaults."""
    for case in cases():
        is_mutated = "kind: MutatingAdmissionPolicy\n" in case["policies"]
        if case["operation"] == "CREATE" and not is_mutated and case.get("verdict", {}).get("stored"):
            yield case


def comparable(obj: dict[str, Any]) -> Any:
    """Return an object without what differs from server to server."""
    metadata = {name: each for name, each in obj["metadata"].items() if name not in BY_SERVER}
    if obj["kind"] == "Job":  # the server reads the stored job, and so sets its labels, after policies were asked
        metadata.pop("labels", None)
    text = json.dumps({**obj, "metadata": metadata}).replace(json.dumps(OPENSHIFT), "null")
    text = re.sub("kube-api-access-x+", "kube-api-access-", text.replace(", null]", "]"))
    return json.loads(text.replace(obj["metadata"]["uid"], "UID").replace("10.96.0.10", "CLUSTER-IP"))


def test_validating_policies_see_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[Any]()

    def noting(request: Request, *rest: Any) -> Any:
        seen.append(request.object)
        return validate(request, *rest)

    monkeypatch.setattr("webhook.engine.offline.validate", noting)
    for case in created():
        policies = load([*yaml.safe_load_all(case["policies"]), *case["setup"]], release_of("1.36"))
        obj = next(parse(case["manifest"].encode())).data  # type: ignore[union-attr]
        seen.clear()
        evaluate(obj, policies=policies, namespace=case["namespace"] or "default")
        assert [comparable(each) for each in seen] == [comparable(case["verdict"]["stored"])], case["id"]
