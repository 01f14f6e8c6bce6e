"""``draguard policy generate``: a generated policy decides as its rule does."""

from collections import Counter
from typing import Any

import pytest
import yaml

from tests.command import draguard, usage_error
from tests.conformance.recorded import FILES, NAMESPACE_LABELS, cases
from tests.policy.examples import CLAIM, of
from tests.rows import each_row
from webhook.documents.dump import dump
from webhook.engine.manifests import review
from webhook.engine.offline import Sender
from webhook.policy.generate import checks, generate, limits
from webhook.policy.load import load
from webhook.policy.manifest.model import Given
from webhook.policy.tools.check import check_policies
from webhook.problem import Problem
from webhook.release import Release

RECORDED = [file for file in FILES if file.name.split("-")[0] in {"v1", "v1beta1", "v1beta2"}]
BEYOND = {"claim-not-used", "prescheduled", "asks-for-nothing"}
"""Rules about input that the API server accepts; :func:`validate` does not run them."""


def asked(*rules: str, release: int = 36, **limited: int) -> Sender:
    """Load the generated policies."""
    given = [Given(each) for each in generate(rules, limited, actions=["Deny"], release=Release(release))]
    return Sender(load(given, Release(release)), given)


def refused(sender: Sender, obj: Any, kubernetes: str = "1.36") -> set[str]:
    """Return the rules whose policies refuse an object."""
    outcome = review(obj, kubernetes=kubernetes, sender=sender, rules=False)
    return {each.policy.name.partition(".")[0] for each in outcome.decisions if each.denied}


@pytest.mark.no_cover
@pytest.mark.parametrize("release", [32, *(pytest.param(each, marks=pytest.mark.slow) for each in range(33, 37)), 37])
def test_policies_pass_policy_check(release: int) -> None:
    limited = dict.fromkeys(limits(), 4)
    given = [Given(each) for each in generate(checks(), limited, actions=["Deny"], release=Release(release))]
    assert check_policies(given, Release(release)).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: str(file.name))
def test_a_policy_refuses_what_the_rule_refuses(file: Any) -> None:
    sender, seen = None, Counter[str]()
    rules = set(checks()) - BEYOND
    for case in cases(file, one_of=10):
        if case.kind not in _KINDS or case.line["op"] != "CREATE" or any(map(_is_undecodable, case.errors)):
            continue
        kubernetes = case.base["kubernetes"]
        if sender is None:
            sender = asked(*rules, release=int(kubernetes.removeprefix("1.").partition(".")[0]))
            sender.know([_namespace(case.base["object"]["metadata"].get("namespace", "default"))])
        found = {each.rule for each in case.errors} & rules
        ours = refused(sender, case.sent, kubernetes)
        assert found <= ours, case.id
        # The API server does not run all rules on values with an error, such as a list that is too long.
        assert not ours or not case.expected["allowed"], case.id
        seen.update(found)
    assert len(seen) >= 2, seen  # some recordings have no pods


_KINDS = {"ResourceClaim", "ResourceClaimTemplate", "Pod"}


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": NAMESPACE_LABELS}}


def _is_undecodable(problem: Problem) -> bool:
    return problem.reason == "BadRequest"


POD: dict[str, Any] = of(
    "Pod",
    spec={
        "containers": [{"name": "main", "image": "a", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
    },
)
UNUSED = POD["spec"] | {"containers": [{"name": "main", "image": "a"}]}
WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": UNUSED}}


@each_row(
    ("obj", "rules"),
    (POD, set()),
    (CLAIM | {"spec": {}}, {"asks-for-nothing"}),
    (POD | {"spec": UNUSED}, {"claim-not-used"}),
    (of("Deployment", version="apps/v1", spec=WORKLOAD), {"claim-not-used"}),
)
def test_a_policy_refuses_what_a_rule_only_warns_of(obj: Any, rules: set[str]) -> None:
    assert refused(asked(*checks()), obj) == rules


def test_a_pod_that_names_its_node_is_rewritten_or_refused() -> None:
    pod = {**POD, "spec": {**POD["spec"], "nodeName": "node-a"}}
    outcome = review(pod, kubernetes="1.36", sender=asked("prescheduled"), rules=False)
    assert outcome.object["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "node-a"}
    assert "nodeName" not in outcome.object["spec"]
    long = {**POD, "spec": {**pod["spec"], "nodeName": "a" * 64}}
    assert refused(asked("prescheduled"), long) == {"prescheduled"}
    assert refused(asked("prescheduled", release=33), pod, "1.33") == {"prescheduled"}


def test_a_limit_counts_what_is_requested() -> None:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "gpu.example.com"}},
        {"name": "b", "firstAvailable": [{"name": "c", "deviceClassName": "gpu.example.com"}]},
    ]
    claim = CLAIM | {"spec": {"devices": {"requests": requests}}}
    assert [refused(asked(devices=most), claim) for most in (2, 1)] == [set(), {"limit-devices"}]
    for number, nouns in ((1, ("claim", "device", "request")), (2, ("claims", "devices", "requests"))):
        made = dump(generate([], dict.fromkeys(limits(), number), actions=["Deny"], release=Release(36)))
        assert all(made.count(f"at most {number} {noun}") == 2 for noun in nouns)
        assert number > 1 or not any(f"1 {noun}s" in made for noun in nouns)


class TestCommand:
    def test_it_prints_all_policies(self) -> None:
        printed = draguard("policy", "generate", "--from-rules", "--limit", "claims=2", "--kubernetes-version", "1.34")
        assert (printed.code, printed.err) == (0, "")
        given = generate(checks(), {"claims": 2}, actions=["Deny"], release=Release(34))
        assert [*yaml.safe_load_all(printed.out)] == [*given]

    def test_chosen_rules_and_actions(self) -> None:
        printed = draguard("policy", "generate", "--from-rules", "claim-not-used", "--enforce", "warn")
        assert [each["kind"] for each in yaml.safe_load_all(printed.out)] == [
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ]
        assert "- Warn" in printed.out
        listed = draguard("policy", "generate", "--list").out
        assert (
            "before policies see the object:\n  count-of-zero        The count 0 is the default by then, 1.\n" in listed
        )
        can, server = listed.index("container-claims"), listed.index("the API server itself enforces them")
        assert can < listed.index("  template-not-found") < server < listed.index("  dns-label")

    @each_row(
        ("arguments", "message"),
        ([], "--from-rules [RULE ...] or --limit NAME=NUMBER"),
        (["--from-rules", "claim-not-usd"], "unknown name claim-not-usd; did you mean claim-not-used?"),
        (["--from-rules", "template-not-found"], "CEL policies cannot state template-not-found; choose from"),
        (["--limit", "devices=many"], "give a number, such as devices=8"),
        (["--limit", "xyz=1"], "choose from claims, devices, requests"),
        (["--from-rules", "--kubernetes-version", "1.30"], "the policies are for Kubernetes 1.32 and later"),
    )
    def test_wrong_usage(self, arguments: list[str], message: str) -> None:
        assert message in usage_error("policy", "generate", *arguments)
