"""The requests that reach draguard: the rules, selectors and match conditions of the webhooks.

They are written as policies that refuse everything, and the policy engine evaluates them as API servers do.
"""

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests.chart.rendering import NAMESPACE, Manifest, rendered, with_values
from tests.reviews import recorded
from tests.rows import each_row, each_row_beside
from tests.structured import claim, of_kind
from webhook.api.versions import NEWEST, VERSIONS
from webhook.engine import prescheduled
from webhook.policy.evaluation.policyset import PolicySet, match
from webhook.policy.evaluation.request import Request, request_of, request_of_review
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds, kind_of
from webhook.release import Release

pytestmark = [pytest.mark.tools, pytest.mark.no_cover]

GROUP = "resource.k8s.io"
KUBELET = {"username": "system:node:a", "groups": ["system:nodes", "system:authenticated"]}
NOBODY: dict[str, Any] = {"username": "a"}  # the API server leaves an empty list of groups out


def as_policies(webhooks: Mapping[str, Manifest], release: int) -> PolicySet:
    """Write webhooks as policies that refuse the requests that would reach them."""
    objects: list[Any] = []
    for name, webhook in webhooks.items():
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": webhook["rules"],
                "namespaceSelector": webhook["namespaceSelector"],
                "matchPolicy": webhook["matchPolicy"],
            },
            "matchConditions": webhook["matchConditions"],
            "validations": [{"expression": "false", "message": name}],
        }
        kind = "ValidatingAdmissionPolicy"
        head = {"apiVersion": f"admissionregistration.k8s.io/{'v1' if release >= 30 else 'v1beta1'}"}
        objects.append({**head, "kind": kind, "metadata": {"name": f"{name}.example.com"}, "spec": spec})
        binding = {"policyName": f"{name}.example.com", "validationActions": ["Deny"]}
        objects.append({**head, "kind": f"{kind}Binding", "metadata": {"name": f"{name}.example.com"}, "spec": binding})
    return load(objects, Release(release))


@cache
def policies(values: str = "defaults", release: int = NEWEST) -> PolicySet:
    return as_policies(rendered(values, f"1.{release}").webhooks, release)


def reached(request: Request, values: str = "defaults", release: int = NEWEST) -> set[str]:
    """Return the webhooks that a request reaches; an error of a condition fails the test."""
    decisions = validate(request, policies(values, release)).decisions
    assert not any(decision.is_error for decision in decisions)
    return {decision.policy.name.partition(".")[0] for decision in decisions if decision.denied}


def ask(obj: Manifest, values: str = "defaults", **request: Any) -> set[str]:
    return reached(request_of(obj, kinds=Kinds(NEWEST), **request), values)


def pod(**spec: Any) -> Manifest:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": spec}


CLAIMS = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}
CLAIM = claim()


def rules_of(*webhooks: str) -> set[tuple[str, str, str]]:
    """List the rules of webhooks: API version, resource, operation."""
    return set(_rules(rendered().webhooks, webhooks))


def _rules(webhooks: Mapping[str, Manifest], names: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    for name in names:
        for rule in webhooks[name]["rules"]:
            for group in rule["apiGroups"]:
                for version in rule["apiVersions"]:
                    for resource in rule["resources"]:
                        for operation in rule["operations"]:
                            yield f"{group}/{version}".lstrip("/"), resource, operation


def resource_of(version: str, kind: str) -> str:
    """Return the resource name of a kind; that of ``…Parameters`` follows no rule of English."""
    if kind.endswith("Parameters"):
        return kind.lower()
    return Kinds(NEWEST).resource_of(kind_of(version, kind)).resource


def known(*, status: bool = False) -> set[tuple[str, str]]:
    """List API versions and resources of the kinds that draguard judges; or of DRA's kinds that have a status."""
    return {
        (version, resource_of(version, name) + ("/status" if status else ""))
        for version, kinds in VERSIONS.items()
        for name, kind in kinds.kinds.items()
        if not status or (version.startswith(GROUP) and "status" in kind.type.fields)
    }


class TestRules:
    def test_every_kind_is_covered_in_every_known_version(self) -> None:
        wanted = {(*each, operation) for each in known() for operation in ("CREATE", "UPDATE")}
        assert rules_of("resources", "pods", "workloads") == wanted

    def test_the_status_of_every_kind_of_dra_is_covered(self) -> None:
        assert rules_of("status") == {(*each, "UPDATE") for each in known(status=True)}

    def test_only_new_pods_are_rewritten(self) -> None:
        assert rules_of("prescheduled") == {("v1", "pods", "CREATE")}

    def test_scopes_are_those_of_the_resources(self) -> None:
        for webhook in rendered().webhooks.values():
            for rule in webhook["rules"]:
                for version in rule["apiVersions"]:
                    for resource in rule["resources"]:
                        name = f"{rule['apiGroups'][0]}/{version}".lstrip("/")
                        (kind,) = (
                            served.type
                            for kind, served in VERSIONS[name].kinds.items()
                            if resource_of(name, kind) == resource.partition("/")[0]
                        )
                        assert rule["scope"] in {"*", "Namespaced" if kind.namespaced else "Cluster"}

    @pytest.mark.parametrize("release", range(28, NEWEST + 1))
    @pytest.mark.parametrize("values", ["defaults", "everything differs"])
    def test_api_servers_take_rules_selectors_and_conditions(self, values: str, release: int) -> None:
        assert [finding.problem for finding in policies(values, release).errors] == []

    @each_row("policy", "Fail", "Ignore")
    def test_names_are_qualified_and_paths_say_what_a_failure_leads_to(self, policy: str) -> None:
        names = rendered("policies").webhooks
        for name, webhook in with_values(
            webhooks={name: {"enabled": True, "failurePolicy": policy} for name in names}
        ).webhooks.items():
            assert webhook["name"].count(".") >= 2
            assert webhook["failurePolicy"] == policy
            endpoint = "mutate" if name in {"prescheduled", "mutation"} else "validate"
            assert webhook["clientConfig"]["service"]["path"] == f"/{endpoint}/{policy.lower()}"

    def test_answers_have_no_side_effects_and_come_in_time(self) -> None:
        for webhook in rendered().webhooks.values():
            assert webhook["sideEffects"] == "None"
            assert webhook["admissionReviewVersions"] == ["v1"]
            assert webhook["timeoutSeconds"] == 5

    def test_what_only_draguard_ensures_fails_closed_once_anything_is_refused(self) -> None:
        for values, closed in (("defaults", set()), ("modes", set()), ("denying", {"resources", "prescheduled"})):
            webhooks = rendered(values).webhooks
            assert {name for name, webhook in webhooks.items() if webhook["failurePolicy"] == "Fail"} == closed
        stated = with_values(webhooks={"pods": {"failurePolicy": "Fail"}}).webhooks
        assert [name for name, webhook in stated.items() if webhook["failurePolicy"] == "Fail"] == ["pods"]
        assert rendered().webhooks["prescheduled"]["reinvocationPolicy"] == "IfNeeded"

    def test_conditions_of_one_s_own_come_on_top(self) -> None:
        conditions = rendered("everything differs").webhooks["resources"]["matchConditions"]
        assert [condition["name"] for condition in conditions] == ["changes-more-than-finalizers", "not-me"]


class TestReach:
    @each_row(
        ("spec", "webhooks"),
        ({}, set()),
        ({"nodeName": "a"}, set()),
        ({"nodeName": "a", "resourceClaims": []}, set()),
        (CLAIMS, {"pods"}),
        ({"nodeName": "", **CLAIMS}, {"pods"}),
        ({"nodeName": "a", **CLAIMS}, {"pods", "prescheduled"}),
    )
    def test_pods_without_claims_never_reach_draguard(self, spec: Any, webhooks: set[str]) -> None:
        assert ask(pod(**spec)) == webhooks
        assert ask(pod(**spec), user=NOBODY) == webhooks
        assert ask(pod(**spec), user=KUBELET) == webhooks - {"prescheduled"}
        for groups, name in (([], "a"), (["system:nodes"], "b"), (["system:nodes"], ""), (["system:nodes:x"], "a")):
            assert ask(pod(**spec), user={"username": f"system:node:{name}", "groups": groups}) == webhooks

    def test_with_all_pods_those_that_name_their_node_do(self) -> None:
        everything = with_values(serve={"pods": "all"}).webhooks
        asked = as_policies({"prescheduled": everything["prescheduled"]}, NEWEST)
        for spec, denied in (({}, False), ({"nodeName": "a"}, True)):
            request = request_of(pod(**spec), kinds=Kinds(NEWEST))
            assert any(each.denied for each in validate(request, asked).decisions) == denied

    def test_every_pod_that_is_rewritten_gets_there(self) -> None:
        rewritten = 0
        for each in recorded():
            asked = each.review["request"]
            request = request_of_review(asked)
            is_new = asked["operation"] == "CREATE" and asked["resource"]["resource"] == "pods"
            if is_new and prescheduled.rewrite(request.object, prescheduled.RewriteOptions(), user=asked["userInfo"]):
                assert "prescheduled" in reached(request)
                rewritten += 1
        assert rewritten

    def test_recorded_requests_reach_one_validating_webhook_at_most(self) -> None:
        count = 0
        for each in recorded():
            request = request_of_review(each.review["request"])
            found = reached(request) - {"prescheduled"}
            assert len(found) <= 1
            if request.resource.group == GROUP:
                wanted = {"status" if request.subresource else "resources"}
                assert found == (wanted if request.operation != "DELETE" else set())
                count += 1
        assert count > 100

    @each_row(
        ("version", "kind", "path"),
        *(("apps/v1", kind, "spec.template.spec") for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
        ("batch/v1", "CronJob", "spec.jobTemplate.spec.template.spec"),
        ("batch/v1", "Job", "spec.template.spec"),
        ("v1", "PodTemplate", "template.spec"),
        ("v1", "ReplicationController", "spec.template.spec"),
    )
    def test_templates_reach_it_if_they_have_claims(self, version: str, kind: str, path: str) -> None:
        empty = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
        for spec, webhooks in (({}, set()), (CLAIMS, {"workloads"})):
            body: Any = spec
            for step in reversed(path.split(".")):
                body = {step: body}
            assert ask({**empty, **body}) == webhooks
        assert ask({**empty, "spec": {}}) == ask(empty) == set()

    def test_a_group_of_pods_reaches_it_if_it_has_claims(self) -> None:
        about = {"group": "scheduling.k8s.io", "version": "v1alpha2"}
        kind, resource = about | {"kind": "PodGroup"}, about | {"resource": "podgroups"}
        for spec, webhooks in ((CLAIMS, {"pods"}), ({}, set())):
            obj = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": {}, "spec": spec}
            review = {"operation": "CREATE", "namespace": "default", "kind": kind, "resource": resource, "object": obj}
            assert reached(request_of_review(review)) == webhooks

    @each_row_beside("changes", "reaches")
    def test_what_is_being_deleted_can_lose_finalizers_and_do_nothing_else_unseen(
        self, changes: dict[str, Any], *, reaches: bool
    ) -> None:
        metadata = {**CLAIM["metadata"], "labels": {"team": "a"}, "finalizers": ["a", "b"]}
        old = {**CLAIM, "metadata": {**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {}}
        new = copy.deepcopy(old)
        for path, value in changes.items():
            *steps, last = path.split(".")
            holder = new[steps[0]] if steps else new
            holder[last] = value
            if value is None:
                del holder[last]
        assert ask(new, old=old) == ({"resources"} if reaches else set())
        assert ask(new, old={**old, "metadata": metadata}) == {"resources"}
        assert ask(new, "policies", old=old) == ({"resources", "mutation"} if reaches else set())
        assert ask(new, old=None) == {"resources"}, "on a create a deletionTimestamp is what a user has written"

    def test_nor_does_its_status_change_unseen(self) -> None:
        old = {**CLAIM, "metadata": {**CLAIM["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {}}
        assert ask(old, old=old, subresource="status") == set()
        assert ask({**old, "status": {"reservedFor": []}}, old=old, subresource="status") == {"status"}

    @each_row(("namespace", "reaches"), ("default", True), ("kube-system", False), (NAMESPACE, False))
    def test_exempt_namespaces_never_reach_it(self, namespace: str, *, reaches: bool) -> None:
        theirs = CLAIM | {"metadata": {"name": "a", "namespace": namespace}}
        assert ask(theirs) == ({"resources"} if reaches else set())
        mine = pod(nodeName="a", **CLAIMS)
        mine["metadata"]["namespace"] = namespace
        assert ask(mine) == ({"pods", "prescheduled"} if reaches else set())

    @pytest.mark.parametrize("labels", [{"draguard.github.io/exempt": value} for value in ("", "true", "no")])
    def test_nor_do_namespaces_with_a_label_that_exempts_if_one_is_named(self, labels: dict[str, str]) -> None:
        labels = {"kubernetes.io/metadata.name": "default", **labels}
        for values, is_exempt in (("denying", True), ("defaults", False), ("everything differs", False)):
            webhook = rendered(values).webhooks["pods"]
            (hook,) = as_policies({"pods": webhook | {"matchConditions": []}}, NEWEST).validating
            request = request_of(pod(**CLAIMS), kinds=Kinds(NEWEST))
            found = match(hook.policy.match, request, Kinds(NEWEST), lambda _name: {"guarded": "yes", **labels})
            assert (found is None) == is_exempt

    def test_objects_of_the_cluster_do_deletions_do_not_and_requirements_of_one_s_own_narrow_the_namespaces(
        self,
    ) -> None:
        assert ask(of_kind("DeviceClass", {}, "v1")) == ask(CLAIM) == {"resources"}
        assert ask(CLAIM, operation="DELETE") == set()
        assert ask(CLAIM, "everything differs") == set()
        assert ask(CLAIM, "everything differs", user={"username": "me"}) == set()

    @each_row("version", "v1", "v1beta2", "v1beta1")
    def test_an_object_is_sent_in_the_version_that_it_was_written_in(self, version: str) -> None:
        hooks = policies().validating
        (resources,) = (hook.policy for hook in hooks if hook.policy.name.startswith("resources."))
        request = request_of(CLAIM | {"apiVersion": f"{GROUP}/{version}"}, kinds=Kinds(NEWEST))
        matched = match(resources.match, request, Kinds(NEWEST), lambda name: {"kubernetes.io/metadata.name": name})
        assert matched
        assert matched.resource.version == version
