"""``--policies`` of ``validate`` and ``mutate``."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.manifests import CLAIM as ALPHA
from tests.cli.manifests import Write
from tests.cli.policy.manifests import CONFIG, LACKING, LIMITED, NODELESS, Found, refusing, telling
from tests.command import ROOT, Done, draguard, findings, usage_error
from tests.objects import seeded, value
from tests.policy.examples import CLAIM, POD, binding, mutating, policy, rule
from tests.policy.examples import spec as with_spec
from tests.rows import each_row
from tests.test_start_up import imported
from webhook.documents.dump import dump

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"tier": "small"}}}
PRODUCTION = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"tier": "prod"}}}
WIDGET: dict[str, Any] = {"apiVersion": "apps/v1", "kind": "Widget", "metadata": {"name": "w"}}
DEPLOYER = "system:serviceaccount:ci:deployer"
LABEL = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
BAD = NODELESS | {"metadata": {"name": "bad"}}
ASKING = refusing("authorizer.path('/x').check('get').allowed()")


def named(name: str, **metadata: Any) -> dict[str, Any]:
    return NODELESS | {"metadata": {"name": name, **metadata}}


class TestValidate:
    def test_a_finding_shows_the_object_and_the_expression(self, write: Write) -> None:
        folder = write(policies__p=LIMITED, pod=[BAD])
        done = draguard("validate", "--policies", folder / "policies", folder / "pod.yaml")
        kind = "ValidatingAdmissionPolicy"
        how = "have no such objects: add them, or give the objects of the cluster with --cluster"
        limited = f"{kind} 'limited'"
        assert done.code == 1
        assert done.out.splitlines() == [
            f"{folder}/pod.yaml:1:1: error policy: {limited} with binding 'everywhere' denied request: bad name",
            f"policy: {folder}/policies/p.yaml:10:7: spec.validations[0].expression of {kind} limited",
            '10 |       object.metadata.name != "bad"',
            "   |       ^^^^^^^^^^^^^^^^^^^^",
            "",
            f"note: references not checked: ResourceClaim shared ({folder}/pod.yaml:14); the manifests {how}",
            "1 document in 1 file: 1 error (Kubernetes 1.37)",
        ]

    def test_json_names_the_policy_its_binding_and_the_expression(self, judged: Found, tmp_path: Path) -> None:
        (found,) = judged(LIMITED, BAD)
        assert (found["level"], found["rule"], found["reason"], found["name"]) == ("error", "policy", "Invalid", "bad")
        binding = {"kind": "ValidatingAdmissionPolicy", "name": "limited", "binding": "everywhere", "params": ""}
        place = {"file": f"{tmp_path}/p.yaml", "line": 10, "column": 7}
        assert found["policy"] == {**binding, "field": "spec.validations[0].expression", **place}

    @each_row(
        ("actions", "level", "codes"),
        (["Deny", "Audit"], "error", (1, 1)),
        (["Warn", "Audit"], "warning", (0, 1)),
        (["Audit"], "note", (0, 0)),
    )
    def test_the_level_is_that_of_the_bindings_actions(
        self, actions: list[str], level: str, codes: tuple[int, int], judged: Found, tmp_path: Path
    ) -> None:
        assert [each["level"] for each in judged([refusing()[0], binding(validationActions=actions)])] == [level]
        command = ("validate", "--policies", tmp_path / "p.yaml", tmp_path / "pod.yaml")
        assert (draguard(*command).code, draguard(*command, "--strict").code) == codes
        assert draguard(*command).out.endswith(f"1 document in 1 file: 1 {level} (Kubernetes 1.37)\n")

    @each_row(("failure_policy", "level"), ("Fail", "error"), ("Ignore", "note"))
    def test_an_evaluation_error_is_reported_under_every_failure_policy(
        self, failure_policy: str, level: str, judged: Found
    ) -> None:
        (found,) = judged(refusing("object.metadata.labels.absent == 'a'", failurePolicy=failure_policy))
        assert (found["level"], found["rule"]) == (level, "policy-error")
        assert found["message"].endswith("no such key: absent")

    def test_parameters_and_namespaces_are_found_among_the_policies(self, write: Write) -> None:
        expression = "size(object.spec.containers) < int(params.data.most)"
        said = {"expression": expression, "messageExpression": "'in ' + namespaceObject.metadata.labels.tier"}
        asking = policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=[said])
        bound = binding(paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
        config = {**CONFIG, "metadata": {"name": "limits", "namespace": "team"}}
        folder = write(policies__p=[asking, bound], policies__context=[config, NAMESPACE], pod=[named("p")])
        command: list[str | Path] = ["validate", "--policies", folder / "policies", folder / "pod.yaml"]
        (found,) = findings(*command, "--namespace", "team")
        assert found["message"].endswith("denied request: in small")
        assert found["policy"]["params"] == "team/limits"
        (elsewhere,) = findings(*command)
        assert (elsewhere["rule"], elsewhere["policy"]["field"]) == ("policy-error", "")
        assert "no params found for policy binding" in elsewhere["message"]
        text = draguard(*command).out
        assert " |   paramRef:\n" in text

    def test_several_paths_make_one_set(self, judged: Found, write: Write) -> None:
        made, bound = refusing()
        options = ("--policies", write(b=[bound]) / "b.yaml")
        assert [each["rule"] for each in judged([made], options=options)] == ["policy"]

    def test_objects_go_into_their_namespace_before_policies_see_them(self, judged: Found) -> None:
        put = refusing("object.metadata.namespace == 'team' && request.namespace == 'team'")
        assert judged(put, named("p"), options=("-n", "team")) == []
        assert len(judged(put, named("p"))) == 1

    def test_defaults_are_set_before_policies_see_objects(self, judged: Found) -> None:
        assert judged(refusing("object.spec.restartPolicy == 'Always'")) == []

    @each_row(
        ("options", "username", "groups"),
        ([], "kubernetes-admin", ["kubeadm:cluster-admins", "system:authenticated"]),
        (["--as", "jane"], "jane", ["system:authenticated"]),
        (["--as", "jane", "--as-group", "a", "--as-group", "b"], "jane", ["a", "b", "system:authenticated"]),
        (["--as", "jane", "--as-group", "system:authenticated"], "jane", ["system:authenticated"]),
        (["--as", "system:anonymous"], "system:anonymous", ["system:unauthenticated"]),
        (["--as", DEPLOYER], DEPLOYER, ["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"]),
    )
    def test_the_user_is_given_in_kubectls_words(
        self, options: list[str], username: str, groups: list[str], judged: Found
    ) -> None:
        user = telling("request.userInfo.username + ' ' + request.userInfo.groups.join(' ')")
        (found,) = judged(user, options=tuple(options))
        assert found["message"].endswith(f"denied request: {username} {' '.join(groups)}")

    @each_row(("releases", "comment"), ("1.36", ""), ("1.35,1.36", ""), ("1.36", "# draguard: misread\n"))
    def test_problems_of_policies_are_in_the_order_of_files_and_lines(
        self, releases: str, comment: str, write: Write
    ) -> None:
        wrong = [policy(validations=[{"expression": "object."}], variables=[{"name": "a", "expression": "1 +"}])]
        folder = write(p__b=wrong, p__c="a: [", p__a=[binding(policyName="q"), *wrong], p_x=comment + dump([NODELESS]))
        policies: list[str | Path] = ["--policies", folder / "p"]
        found = findings("validate", *policies, "--kubernetes-version", releases, folder / "p_x.yaml")
        places = [(each["file"][len(str(folder)) + 3 :], each["line"], each["column"]) for each in found]
        assert places == sorted(places)
        names = ["a.yaml"] * 3 + ["b.yaml"] * 2 + ["c.yaml"] + ["x.yaml"] * bool(comment)
        assert [name for name, _, _ in places] == names

    @each_row("command", "validate", "mutate")
    def test_options_that_only_policies_read_need_some(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for option in ("--as=jane", "--as-group=dev", "--as-user-extra=a=b", "--authorizer=rules.yaml"):
            name = option.partition("=")[0]
            said = usage_error(command, option, "examples/fixed")
            assert said.endswith(f"{name} is for policies: give them with --policies, or leave out {name}\n")
        monkeypatch.setenv("DRAGUARD_AS", "jane")
        assert draguard(command, "examples/fixed").code == 0

    def test_the_user_has_extra_values(self, judged: Found) -> None:
        options = ("--as", "jane", "--as-user-extra", "example.com/Node=a=b", "--as-user-extra", "example.com/node=c")
        (found,) = judged(telling("request.userInfo.extra['example.com/node'].join(' ')"), options=options)
        assert found["message"].endswith("denied request: a=b c")

    @each_row(
        ("options", "rules"),
        ((), ["unserved-version"]),
        (("--runtime-config", "resource.k8s.io/v1beta1=true"), ["policy"]),
        (("--kubernetes-version", "1.34"), ["unserved-version"]),
    )
    def test_objects_are_matched_in_versions_that_the_cluster_serves(
        self, judged: Found, options: tuple[str, ...], rules: list[str]
    ) -> None:
        beta = rule("resourceclaims", group="resource.k8s.io", apiVersions=["v1beta1"])
        policies = refusing("false", matchConstraints={"resourceRules": [beta]})
        assert [each["rule"] for each in judged(policies, CLAIM, options=options)] == rules

    def test_with_an_old_state_it_is_an_update(self, judged: Found, tmp_path: Path) -> None:
        policies = telling("request.operation + (oldObject == null ? '' : ' of old')")
        assert judged(policies)[0]["message"].endswith(": CREATE")
        (found,) = judged(policies, options=("--old", tmp_path / "pod.yaml"))
        assert found["message"].endswith(": UPDATE of old")

    @each_row(
        ("path", "value", "changed"), ("/metadata/labels", "{'a': 'b'}", ""), ("/spec/hostPID", "true", "hostPID")
    )
    def test_an_update_is_compared_with_the_old_state_as_the_api_server_completes_it(
        self, judged: Found, tmp_path: Path, path: str, value: str, changed: str
    ) -> None:
        policies = mutating("m", f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]")
        found = judged(policies, NODELESS, options=("--old", tmp_path / "pod.yaml"))
        assert [each["hint"] for each in found] == [f"changed: {changed}"] * bool(changed)

    def test_mutating_policies_change_objects_before_the_rules(self, judged: Found, tmp_path: Path) -> None:
        pod = with_spec(NODELESS, resourceClaims=[*POD["spec"]["resourceClaims"], {}])
        assert judged(mutating("m", "[JSONPatch{op: 'remove', path: '/spec/resourceClaims/1'}]"), pod) == []
        assert findings("validate", tmp_path / "pod.yaml") != []

    def test_no_policy_changes_an_object_that_cannot_be_decoded(self, judged: Found) -> None:
        pod = with_spec(NODELESS, resourceClaims=[{**POD["spec"]["resourceClaims"][0], "unknown": True}])
        (found,) = judged(mutating("m", "[JSONPatch{op: 'remove', path: '/spec/resourceClaims/0/unknown'}]"), pod)
        assert found["rule"] == "unknown-field"

    def test_a_mutating_policy_that_fails_is_reported(self, judged: Found) -> None:
        (found,) = judged(mutating("m", "Object{metadata: Object.metadata{labels: {'a': object.spec.absent}}}"))
        assert (found["level"], found["policy"]["name"]) == ("error", "m")
        assert found["message"].startswith("policy 'm' with binding 'm' denied request: ")

    def test_an_undecodable_change_is_reported_and_what_fails_before_it_keeps_its_message(self, judged: Found) -> None:
        breaking = mutating("m", "[JSONPatch{op: 'add', path: '/spec/containers', value: 'x'}]")
        (found,) = judged(breaking)
        assert (found["level"], found["rule"], found["reason"]) == ("error", "policy-error", "InternalError")
        assert found["policy"]["name"] == "m"
        assert found["policy"]["field"] == "spec.mutations[0].jsonPatch.expression"
        failing = [each for name in "ab" for each in mutating(name, "Object{metadata: object.spec.absent}")]
        said = sorted((each["policy"]["name"], each["reason"]) for each in judged([*failing, *breaking]))
        assert said == [("a", "Invalid"), ("b", "Invalid"), ("m", "InternalError")]

    def test_what_cannot_be_decoded_reaches_no_policy(self, judged: Found) -> None:
        assert [each["rule"] for each in judged(refusing(), with_spec(NODELESS, containers=3))] == ["wrong-type"]

    def test_a_release_that_does_not_serve_policies_may_have_them(self, write: Write) -> None:
        of_claims = {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1alpha2"], "resources": ["resourceclaims"]}
        rules = [of_claims | {"operations": ["*"]}]
        claim = yaml.safe_load(ALPHA)
        label = mutating("m", LABEL, matchConstraints={"resourceRules": rules})
        folder = write(p=[*refusing("object.metadata.labels.a != 'b'", rules=rules), *label], claim=[claim])
        claim["metadata"]["labels"] = {"a": "b"}
        for release in ("1.27", "1.30"):
            options = ("--kubernetes-version", release, "--policies", folder / "p.yaml", folder / "claim.yaml")
            (found,) = findings("validate", *options)
            assert (found["level"], found["rule"], found["kubernetes"]) == ("error", "policy", release)
            done = draguard("mutate", *options)
            assert (done.code, done.out) == (0, dump([claim]))
        assert draguard("policy", "check", "--kubernetes-version", "1.27", folder / "p.yaml").code == 1

    def test_namespaces_among_the_manifests_count(self, judged: Found) -> None:
        every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"]}
        constraints = {
            "resourceRules": [every | {"resources": ["resourceclaims", "widgets"]}],
            "namespaceSelector": {"matchLabels": {"tier": "prod"}},
        }
        policies = refusing("namespaceObject.metadata.labels.tier != 'prod'", matchConstraints=constraints)
        objects = [each | {"metadata": {"name": "a", "namespace": "prod"}} for each in (CLAIM, WIDGET)]
        assert {each["level"] for each in judged(policies, *objects)} == {"note"}
        known = judged(policies, *objects, PRODUCTION)
        assert [(each["level"], each["kind"]) for each in known] == [("error", "ResourceClaim"), ("error", "Widget")]
        assert judged(policies, *objects, PRODUCTION, options=("--namespace-labels", "prod=tier=dev")) == []

    def test_objects_of_any_kind_are_judged_by_policies(self, judged: Found, tmp_path: Path) -> None:
        rules = [{"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["*"], "resources": ["widgets"]}]
        assert [each["kind"] for each in judged(refusing(rules=rules), WIDGET, CONFIG)] == ["Widget"]
        done = draguard("validate", "--policies", tmp_path / "p.yaml", tmp_path / "pod.yaml")
        assert "1 skipped (of other kinds: 1 ConfigMap)" in done.out

    def test_an_assumption_about_the_authorizer_is_reported(self, judged: Found, write: Write) -> None:
        found = judged(ASKING)
        assert [(each["level"], each["rule"]) for each in found] == [("error", "policy"), ("note", "assumed")]
        assert "--authorizer" in found[1]["hint"]
        rules = write(rules="rules: [{nonResourceURLs: [/x], verbs: [get]}]") / "rules.yaml"
        assert judged(ASKING, options=("--authorizer", rules)) == []

    def test_an_assumption_is_reported_once_with_the_number_of_objects(self, judged: Found) -> None:
        found = judged(ASKING, *map(named, "abc"))
        assert [each["rule"] for each in found] == ["policy", "assumed", "policy", "policy"]
        assert found[1]["message"].endswith(" (and of 2 more objects)")

    def test_assumed_labels_of_a_namespace_are_reported(self, judged: Found, write: Write) -> None:
        tier = "!has(namespaceObject.metadata.labels.tier) || namespaceObject.metadata.labels.tier != 'small'"
        picked = {"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}
        given = ([refusing(tier)[0], binding(matchResources=picked)], named("a", namespace="team"))
        (found,) = judged(*given)
        assert (found["level"], found["rule"]) == ("note", "assumed")
        assert "--namespace-labels" in found["hint"]
        beside = ("--policies", write(namespace=[NAMESPACE]) / "namespace.yaml")
        for options in (("--namespace-labels=team=tier=small",), beside):
            assert [each["rule"] for each in judged(*given, options=options)] == ["policy"]
        assert judged(*given, options=(*beside, "--namespace-labels=team=tier=large")) == []

    def test_policies_that_the_api_server_refuses_are_findings_in_their_files(self, judged: Found) -> None:
        found = judged(LIMITED.replace('!= "bad"', "!="))[0]
        assert (found["file"][-6:], found["line"], found["column"], found["level"]) == ("p.yaml", 10, 30, "error")

    @each_row(
        ("policies", "options", "complaint"),
        ("{}/pod.yaml", [], "--policies: no policies found in {}/pod.yaml"),
        ("-", ["--old", "-"], "standard input (-) cannot be both the policies and something else"),
        ("-", ["--cluster", "-"], "standard input (-) cannot be both the policies and something else"),
        ("{}/p.yaml", ["--as-group", "a"], "--as-group: groups go with a user: add --as"),
        ("{}/p.yaml", ["--as-user-extra", "a=b"], "--as-user-extra: extra values go with a user"),
        ("{}/p.yaml", ["--as", "a", "--as-user-extra", "b"], "--as-user-extra: 'b' is not KEY=VALUE"),
        ("{}/p.yaml", ["--authorizer", "{}/gone"], "--authorizer: {}/gone: no such file or directory"),
        ("{}/p.yaml", ["--authorizer", "{}/p.yaml"], "--authorizer: {}/p.yaml must hold one document"),
        ("{}/p.yaml", ["--authorizer", "{}/pod.yaml"], "--authorizer: {}/pod.yaml: rules is missing"),
        ("{}/p.yaml", ["--authorizer", "{}/cut.yaml"], "--authorizer: {}/cut.yaml:1: "),
        (
            "{}/p.yaml",
            ["--authorizer", "{}/long.yaml"],
            f'--authorizer: {{}}/long.yaml: rules: "{"x" * 999}\u2026 (19002 more',
        ),
    )
    def test_usage_errors_are_reported(self, policies: str, options: list[str], complaint: str, write: Write) -> None:
        folder = write(p=LIMITED, pod=[NODELESS], cut="a: [", long=f"rules: {'x' * 20_000}")
        given = [each.format(folder) for each in ("--policies", policies, *options)]
        said = usage_error("validate", *given, folder / "pod.yaml")
        assert said.startswith(f"draguard validate: error: {complaint.format(folder)}")

    def test_policies_may_come_from_standard_input(self, write: Write) -> None:
        folder = write(pod=[BAD])
        done = draguard("validate", "--policies", "-", folder / "pod.yaml", stdin=LIMITED.encode())
        assert (done.code, done.err) == (1, "")
        assert "policy: <stdin>:10:7: " in done.out

    def test_a_path_that_does_not_exist_is_wrong_use(self, write: Write) -> None:
        folder = write(pod=[NODELESS])
        done = draguard("validate", "--policies", folder / "gone", folder / "pod.yaml")
        assert (done.code, done.err) == (2, "")
        assert done.out.startswith(f"{folder}/gone: error unreadable: no such file or directory")

    @pytest.mark.process
    def test_the_engine_is_imported_for_policies_only(self) -> None:
        loaded = imported("validate", f"{ROOT}/examples/pre-scheduled")
        assert not [each for each in loaded if each.startswith(("webhook.cel", "webhook.policy"))]


class TestMutate:
    @staticmethod
    def mutated(folder: Path, *options: str) -> Done:
        return draguard("mutate", *options, "--policies", folder / "p.yaml", folder / "pod.yaml")

    def test_mutating_policies_change_manifests(self, write: Write) -> None:
        folder = write(p=mutating("m", LABEL), pod=[named("p"), CONFIG, [3]])
        assert self.mutated(folder) == (0, dump([named("p", labels={"a": "b"}), CONFIG, [3]]), "")
        patch = self.mutated(folder, "--patch").out
        assert json.loads(patch)["patch"] == [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]

    def test_the_scheduler_is_brought_in_after_them(self, write: Write) -> None:
        done = self.mutated(write(p=mutating("m", "Object{spec: Object.spec{nodeName: 'node-2'}}"), pod=[POD]))
        assert "kubernetes.io/hostname: node-2" in done.out
        assert "warning prescheduled" in done.err

    def test_namespaces_among_the_manifests_count(self, write: Write) -> None:
        label = "Object{metadata: Object.metadata{labels: {'tier': namespaceObject.metadata.labels.tier}}}"
        rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
        production = {"resourceRules": rules, "namespaceSelector": {"matchLabels": {"tier": "prod"}}}
        policies = mutating("m", label, matchConstraints=production)
        pod, labelled = named("p", namespace="prod"), named("p", namespace="prod", labels={"tier": "prod"})
        for pods, changed in (([pod], pod), ([pod, PRODUCTION], labelled)):
            assert dump([changed]) in self.mutated(write(p=policies, pod=pods)).out

    @each_row(
        "mutation",
        "Object{metadata: Object.metadata{labels: {'a': object.spec.absent}}}",  # an error, then a contradiction
        "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'kubernetes.io/hostname': 'other'}}]",
    )
    def test_an_object_whose_change_fails_stays_as_it_is(self, mutation: str, write: Write) -> None:
        folder = write(p=mutating("m", mutation), pod=[NODELESS, POD])
        done = self.mutated(folder)
        assert done.code == 1
        assert done.out.endswith((folder / "pod.yaml").read_text(encoding="utf-8").rpartition("---\n")[2])
        assert f"{folder}/pod.yaml:" in done.err

    def test_an_ignored_failure_of_a_policy_is_reported(self, write: Write) -> None:
        ignoring = mutating("m", "Object{spec: Object.spec{nodeName: object.spec.absent}}", failurePolicy="Ignore")
        done = self.mutated(write(p=ignoring, pod=[NODELESS]))
        assert (done.code, done.out) == (0, dump([NODELESS]))
        assert "note policy-error: " in done.err

    def test_a_change_is_not_to_blame_for_what_was_there_before(self, write: Write) -> None:
        labelling = mutating("m", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]")
        done = self.mutated(write(p=labelling, pod=[with_spec(NODELESS, later=True)]))
        assert (done.code, done.err) == (0, "")


class TestMissingParameters:
    def test_what_was_looked_for_is_named(self, judged: Found) -> None:
        (finding,) = judged([*LACKING, CONFIG])
        where = 'the ConfigMap "limits" (v1) in the namespace "team"; there is one in "default"'
        assert (finding["rule"], finding["hint"]) == ("policy-error", f"add to what --policies names: {where}")

    def test_a_kind_that_is_not_known_is_named(self, judged: Found) -> None:
        quota = {"apiVersion": "example.com/v1", "kind": "Quota"}
        (finding,) = judged([with_spec(LACKING[0], paramKind=quota), LACKING[1]])
        added = "the CustomResourceDefinition of Quota (example.com/v1), or such an object"
        assert finding["hint"] == f"add to what --policies names: {added}"

    def test_a_suite_names_what_was_looked_for(self, write: Write) -> None:
        case = {"name": "a", "object": NODELESS, "expect": {"allowed": True}}
        finding = findings("policy", "test", write(p=LACKING, tests=[{"cases": [case]}]))[0]
        assert finding["message"].endswith('(add to its context: the ConfigMap "limits" (v1) in the namespace "team")')


def test_the_documentation_does_what_it_says(write: Write) -> None:
    text = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
    policies, _, rules = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    folder = write(policy=policies, rules=rules)
    options = ("--policies", folder / "policy.yaml", "--authorizer", folder / "rules.yaml")
    done = draguard("validate", *options, folder / "policy.yaml")
    assert (done.code, done.err) == (0, "")


NAMES = ("cases", "object", "expect", "allowed", "kind", "metadata", "name", "spec", "patch", "context")
JSON = seeded(lambda dice: {name: value(dice, NAMES) for name in NAMES if dice.random() < 0.5}) | seeded(value)
CASES = {"cases": st.lists(JSON, min_size=1, max_size=3) | JSON}
TYPE = {"apiVersion": st.sampled_from(["v1", "apps/v1"]), "kind": st.just("Pod")}


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suite=st.fixed_dictionaries(CASES, optional={"objects": JSON, "context": JSON}),
    obj=st.fixed_dictionaries(TYPE, optional={"metadata": JSON, "spec": JSON}),
    policies=st.sampled_from([LIMITED, dump(mutating("m", LABEL))]),
)
def test_nothing_makes_a_command_raise(suite: Any, obj: Any, policies: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(policies, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(json.dumps(suite), encoding="utf-8")
    (tmp_path / "object.json").write_text(json.dumps(obj), encoding="utf-8")
    for command in ("policy test", "policy check", "validate --policies {}", "mutate --policies {}"):
        assert draguard(*command.format(tmp_path).split(), tmp_path).code in {0, 1, 2}
