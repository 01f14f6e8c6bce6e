"""Raw manifests under policies get the answers that a real API server gave."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
import yaml

from tests.policy.examples import evaluate
from tests.policy.manifests import Case, cases, differences
from webhook.api.versions import release_of
from webhook.documents import parse
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load

pytestmark = pytest.mark.no_cover

DIFFERING: Final[Mapping[str, str]] = {
    "scalar/data-infinity": "kubectl refuses it with this text; the server adds the first bytes of the request",
    "admission/sa-unknown": "a ServiceAccount that is not among the files may be there",
    "admission/priority-unknown": "a PriorityClass that is not among the files may be there",
    "mutation/patch-map-of-objects": "the server panics",
}
"""The cases that differ, and why; `docs/trust.md` sums them up."""


def sampled() -> Iterator[Any]:
    """Yield all cases; the quick lane takes every fifth."""
    for number, case in enumerate(cases()):
        yield pytest.param(case, id=case["id"], marks=[pytest.mark.slow] if number % 5 else [])


@pytest.mark.parametrize("case", [*sampled()])
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
