"""Enforcement modes, exemptions, and their records."""

import base64
import json
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.admission.reviews import ALLOWED, CLAIM, POD, asked, with_spec
from tests.command import draguard, usage_error
from tests.policy.examples import binding, mutating, validating
from tests.rows import each_row
from tests.structured import changed, claim
from tests.workloads.jobs import job
from webhook.admission import MODES, Call, Endpoint, Enforcement, Record, ReviewOptions, answer
from webhook.admission.enforcement import Mode
from webhook.admission.responses import MAX_ANNOTATION_BYTES, MAX_WARNING_BYTES, noted
from webhook.engine.prescheduled import RewriteOptions
from webhook.policy.load import load
from webhook.problem import WARNING, Path, Problem

LONG = with_spec(resourceClassName="x" * 300)
TORN = changed(POD, spec__nodeSelector={"kubernetes.io/hostname": "node-2"})
CLAIMLESS: dict[str, Any] = {**POD, "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]}}
BATCH = {"group": "batch", "version": "v1"}
JOBS: dict[str, Any] = {"kind": BATCH | {"kind": "Job"}, "resource": BATCH | {"resource": "jobs"}}
ADMINS = Enforcement(exempt_users=["admin"], exempt_groups=["system:nodes"])


def result(
    obj: Any,
    enforcement: Enforcement | None = None,
    endpoint: Endpoint = "validate",
    *,
    call: Call | None = None,
    options: Mapping[str, Any] | None = None,
    **request: Any,
) -> tuple[Any, Record]:
    """Answer a review; return the response and the record."""
    given = ReviewOptions(enforcement=enforcement or Enforcement(), **options or {})
    done = answer(json.dumps(asked(obj, **request)).encode(), call or Call(endpoint), given)
    assert done.record is not None
    return json.loads(done.body)["response"], done.record


def rule_of(record: Record) -> str:
    (found,) = record.found
    return found.rule


class TestBypassingTheScheduler:
    """A pod that still names its node when it is validated: the mutating webhook has not rewritten it."""

    REFUSAL = "Forbidden: bypasses the scheduler, which alone allocates resource claims, so the pod can"

    def test_a_pod_with_a_node_is_admitted_unless_its_rule_has_a_mode(self) -> None:
        for enforcement in (Enforcement(), Enforcement(rules={"attribute-values": "deny"})):
            assert result(POD, enforcement)[0] == ALLOWED

    @each_row("mode", *MODES)
    def test_its_rule_has_the_effect_of_its_mode(self, mode: Mode) -> None:
        response, record = result(POD, Enforcement(mode="warn", rules={"prescheduled": mode}))
        assert rule_of(record) == "prescheduled"
        assert response["allowed"] is (mode != "deny")
        assert self.REFUSAL in json.dumps(response)

    @each_row(
        ("obj", "request_"),
        ({**POD, "spec": {**POD["spec"], "nodeName": ""}}, {}),
        (CLAIMLESS, {}),
        (POD, {"operation": "UPDATE", "oldObject": POD}),
        (POD, {"userInfo": {"username": "system:node:node-1", "groups": ["system:nodes"]}}),
    )
    def test_other_pods_are_admitted(self, obj: dict[str, Any], request_: dict[str, Any]) -> None:
        assert result(obj, Enforcement(rules={"prescheduled": "deny"}), **request_)[0]["allowed"]

    def test_a_pod_without_claims_is_refused_where_all_are_rewritten(self) -> None:
        refusing, all_pods = Enforcement(rules={"prescheduled": "deny"}), {"prescheduled": RewriteOptions(pods="all")}
        message = result(CLAIMLESS, refusing, options=all_pods)[0]["status"]["message"]
        assert message.endswith("Forbidden: bypasses the scheduler; name the node in a nodeSelector instead")


class TestModes:
    def test_a_finding_refuses_if_nothing_else_is_said(self) -> None:
        response, record = result(LONG)
        assert not response["allowed"]
        assert [(found.mode, found.policy) for found in record.found] == [("deny", "")]
        assert (record.decision, record.message) == ("denied", response["status"]["message"])

    def test_a_finding_that_warns_says_what_the_refusal_would(self) -> None:
        cause = result(LONG)[0]["status"]["details"]["causes"][0]
        response, record = result(LONG, Enforcement(mode="warn"))
        assert response["allowed"]
        (warning,) = response["warnings"]
        assert warning.startswith(f"{cause['field']}: Invalid value"[:200])
        assert (record.decision, record.warnings) == ("allowed", 1)

    @each_row(
        ("spec", "end"),
        ({"allocationMode": "immediate"}, '"WaitForFirstConsumer" (did you mean "Immediate"?)'),
        ({"allocationMode": "Other"}, '"WaitForFirstConsumer"'),
        ({"resourceClassName": f"GPU{'x' * 90}"}, f'… (did you mean "gpu{"x" * 90}"?)'),
        ({"resourceClassName": f"GPU{'x' * 220}"}, "…"),
        ({"allocationMode": "immediate", "parametersRef": {"name": "n" * 5000, "kind": "K"}}, '"WaitForFirstConsumer"'),
    )
    def test_a_warning_of_a_small_object_says_what_was_meant(self, spec: dict[str, Any], end: str) -> None:
        (warning, *_) = result(with_spec(**spec), Enforcement(mode="warn"))[0]["warnings"]
        assert warning.endswith(end)
        assert len(warning.encode()) <= MAX_WARNING_BYTES

    def test_a_refusal_has_no_hint_and_hints_are_left_out_if_a_review_has_no_time_for_them(self) -> None:
        response = result(with_spec(allocationMode="immediate"))[0]
        assert "did you mean" not in json.dumps(response)
        wrong = claim(constraints=[{"requests": ["gpuu"], "matchAttribute": "a.io/b"}] * 30)
        inline = result(wrong, Enforcement(mode="warn"), call=Call("validate", is_inline=True))[0]["warnings"]
        later = result(wrong, Enforcement(mode="warn"))[0]["warnings"]
        hints = [[text.endswith('(did you mean "gpu"?)') for text in each] for each in (inline, later)]
        assert hints[0][0]
        assert not hints[0][-1]
        assert all(hints[1])

    def test_a_finding_for_the_audit_log_says_nothing_to_the_user(self) -> None:
        refused, denial = result(LONG)
        response, record = result(LONG, Enforcement(mode="audit"))
        cause = refused["status"]["details"]["causes"][0]
        assert (response["allowed"], "warnings" in response) == (True, False)
        assert json.loads(response["auditAnnotations"]["findings"]) == [
            {"rule": rule_of(denial), "field": cause["field"], "message": cause["message"]}
        ]
        assert (rule_of(record), record.found[0].mode) == (rule_of(denial), "audit")

    def test_annotations_have_10_kib_and_as_many_findings_as_have_room(self) -> None:
        one = Problem(WARNING, "rule", "Reason", Path(("spec",)), "message")
        room = MAX_ANNOTATION_BYTES - len(noted([one, one])["findings"])
        for surplus, findings in ((0, 2), (1, 1)):
            long = one._replace(message="message" + "x" * (room + surplus))
            assert len(json.loads(noted([one, long])["findings"])) == findings
        claims = [{"name": f"Claim {index}", "resourceClaimName": "c"} for index in range(500)]
        pod = {**POD, "spec": {**POD["spec"], "resourceClaims": claims}}
        text = result(pod, Enforcement(mode="audit"))[0]["auditAnnotations"]["findings"]
        assert len(text.encode()) <= 10 * 1024
        assert len(json.loads(text)) > 10

    def test_a_rule_has_a_mode_of_its_own_and_a_pod_that_contradicts_itself_may_pass_as_it_is(self) -> None:
        rule = rule_of(result(LONG)[1])
        assert result(LONG, Enforcement(rules={rule: "warn"}))[0]["allowed"]
        assert not result(LONG, Enforcement(mode="warn", rules={rule: "deny"}))[0]["allowed"]
        assert not result(LONG, Enforcement(rules={"another": "warn"}))[0]["allowed"]
        assert not result(TORN, endpoint="mutate")[0]["allowed"]
        response, record = result(TORN, Enforcement(mode="warn"), "mutate")
        assert (response["allowed"], record.patched) == (True, False)
        assert "keep one of the two" in response["warnings"][0]

    @each_row(
        ("enforcement", "mode"),
        (Enforcement(), "warn"),
        (Enforcement(mode="audit"), "audit"),
        (Enforcement(workloads="deny"), "deny"),
        (Enforcement(mode="warn", workloads="deny"), "deny"),
        (Enforcement(mode="audit", workloads="warn"), "warn"),
    )
    def test_findings_in_pod_templates_warn_unless_something_else_is_said(
        self, enforcement: Enforcement, mode: str
    ) -> None:
        response, record = result(job(made_from="One GPU"), enforcement, **JOBS)
        assert {found.mode for found in record.found} == {mode}
        assert response["allowed"] is (mode != "deny")
        assert bool(response.get("warnings")) is (mode == "warn")


class TestPolicies:
    """The effect of policies: at most that of their bindings."""

    def result(
        self, manifests: list[Any], endpoint: Endpoint = "validate", call: Call | None = None, **modes: Any
    ) -> tuple[Any, Record]:
        enforcement = Enforcement(**modes)
        policies = load(manifests, strongest=enforcement.strongest)
        return result(POD, enforcement, endpoint, call=call, options={"policies": policies})

    def denying(self, actions: Sequence[str] = ("Deny",), **validation: Any) -> list[Any]:
        stated, _ = validating({"expression": "false", "message": "no"} | validation)
        return [stated, binding(validationActions=list(actions))]

    @each_row("modes", {"mode": "warn"}, {"policies": {"p": "warn"}})
    def test_a_denial_becomes_a_warning(self, modes: dict[str, Any]) -> None:
        response, record = self.result(self.denying(), **modes)
        assert response["allowed"]
        assert response["warnings"] == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': no"]
        assert record.found == [("", "p", "warn", False)]

    def test_a_denial_becomes_a_note_for_the_audit_log(self) -> None:
        response, record = self.result(self.denying(), policies={"p": "audit"})
        (failure,) = json.loads(response["auditAnnotations"]["validation_failure"])
        assert (response["allowed"], "warnings" in response) == (True, False)
        assert (failure["policy"], failure["message"], failure["validationActions"]) == ("p", "no", ["Audit"])
        assert record.found == [("", "p", "audit", False)]

    def test_a_policy_has_a_mode_of_its_own(self) -> None:
        assert not self.result(self.denying(), mode="warn", policies={"p": "deny"})[0]["allowed"]
        assert not self.result(self.denying(), policies={"another": "warn"})[0]["allowed"]

    def test_bindings_may_ask_for_less(self) -> None:
        response, record = self.result(self.denying(["Warn", "Audit"]), policies={"p": "deny"})
        assert (response["allowed"], len(response["warnings"])) == (True, 1)
        assert [found.mode for found in record.found] == ["warn", "audit"]
        response, record = self.result(self.denying(["Deny", "Audit"]), policies={"p": "warn"})
        assert (response["allowed"], len(response["warnings"])) == (True, 1)
        assert [found.mode for found in record.found] == ["warn", "audit"]
        assert "warnings" not in self.result(self.denying(["Warn"]), policies={"p": "audit"})[0]

    def test_a_policy_that_cannot_be_evaluated_or_lacks_its_parameters_refuses_nothing_either(self) -> None:
        broken = self.denying(expression="object.spec.nonesuch == 1")
        assert not self.result(broken)[0]["allowed"]
        response, record = self.result(broken, mode="warn")
        assert response["allowed"]
        assert "no such key: nonesuch" in response["warnings"][0]
        assert record.found[0].is_error
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        asking, _ = validating("true", paramKind=kind)
        manifests = [asking, binding(paramRef={"name": "x", "namespace": "y", "parameterNotFoundAction": "Deny"})]
        assert not self.result(manifests)[0]["allowed"]
        assert "failed to configure binding" in self.result(manifests, mode="warn")[0]["warnings"][0]
        assert "validation_failure" in self.result(manifests, mode="audit")[0]["auditAnnotations"]

    @each_row(
        ("patch", "says"),
        ('[JSONPatch{op: "remove", path: "/spec/nonesuch"}]', "Mutation failed for MutatingAdmissionPolicy 'p'"),
        ('[JSONPatch{op: "add", path: "/spec/containers", value: "none"}]', "cannot unmarshal string into Go"),
    )
    def test_a_mutation_that_fails_changes_nothing(self, patch: str, says: str) -> None:
        label = '[JSONPatch{op: "add", path: "/metadata/labels", value: {"a": "b"}}]'
        manifests = [*mutating("p", patch), *mutating("good", label)]
        assert not self.result(manifests, "mutate")[0]["allowed"]
        response, _ = self.result(manifests, "mutate", policies={"p": "warn"})
        assert response["allowed"]
        assert [text for text in response["warnings"] if says in text]
        operations = json.loads(base64.b64decode(response["patch"]))
        assert [each["path"] for each in operations if "label" in each["path"]]
        response, record = self.result(manifests, "mutate", policies={"p": "audit"})
        (failure,) = json.loads(response["auditAnnotations"]["mutation_failure"])
        assert (failure["policy"], record.found[0].mode) == ("p", "audit")


class TestExemptions:
    @each_row(
        "enforcement",
        Enforcement(exempt_namespaces=["ci-*", "default"]),
        Enforcement(exempt_users=["system:serviceaccount:kube-system:*", "admin"]),
        Enforcement(exempt_users=["nobody"], exempt_groups=["system:auth*"]),
    )
    def test_exempt_requests_are_not_looked_at(self, enforcement: Enforcement) -> None:
        assert result(LONG, enforcement)[0] == ALLOWED
        response, record = result(POD, enforcement, "mutate")
        assert response == ALLOWED
        assert record.decision == "exempt"

    @each_row(
        ("enforcement", "request_"),
        (Enforcement(exempt_namespaces=["default"]), {"namespace": "default-2"}),
        *((Enforcement(exempt_namespaces=["*"]), {"namespace": none}) for none in ("", None)),
        (ADMINS, {"userInfo": {"username": "administrator", "groups": ["system:nodes:x"]}}),
        (ADMINS, {"userInfo": {"groups": [None]}}),
        (ADMINS, {"userInfo": None}),
    )
    def test_others_are_as_are_requests_that_do_not_say_who_they_are_from(
        self, enforcement: Enforcement, request_: dict[str, Any]
    ) -> None:
        assert not result(LONG, enforcement, **request_)[0]["allowed"]


class TestFailures:
    def test_deep_nesting_is_reported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def endless() -> Any:  # CPython 3.13.0 looks at no limit where a function with *args calls itself
            return endless()

        # The depth limit depends on the interpreter, so that no object suits all of them.
        monkeypatch.setattr("webhook.admission.decisions.judge_admitted", lambda *_, **__: endless())
        response, record = result(LONG)
        assert response["status"]["message"].endswith("the object is nested too deeply")
        assert record.decision == "failed"

    def test_policies_that_take_too_long_are_reported_as_slow(self) -> None:
        numbers = list(range(90))
        long = f"{numbers}.all(a, {numbers}.all(b, {numbers}.exists(c, c == 89)))"
        policies, soon = load(validating(*[long] * 10)), Call("validate", deadline=time.monotonic() + 0.03)
        response, record = result(POD, call=soon, options={"policies": policies})
        assert "the expressions took longer than the webhook's timeout allows" in response["status"]["message"]
        assert record.decision == "failed"


class TestRecords:
    def test_a_record_describes_the_request(self) -> None:
        _, record = result(POD, endpoint="mutate", dryRun=True)
        assert record.patched
        assert (record.uid, record.operation, record.resource) == ("c7df00db", "CREATE", "pods")
        assert (record.kind, record.namespace, record.name) == (("Pod", "", "v1"), "default", "pod")
        assert (record.user, record.dry_run, record.endpoint) == ("admin", True, "mutate")
        _, record = result(LONG, old=LONG, operation="UPDATE", subResource="status")
        assert record.resource == "resourceclaims.resource.k8s.io/status"


class TestOptions:
    def test_modes_and_exemptions_are_options(self) -> None:
        def ask(*options: str) -> Any:
            done = draguard("review", *options, "-", stdin=json.dumps(asked(LONG)).encode())
            return json.loads(done.out)["response"]

        rule = rule_of(result(LONG)[1])
        assert not ask()["allowed"]
        assert ask("--enforce", "warn")["warnings"]
        assert ask("--enforce", f"{rule}=audit")["auditAnnotations"]
        assert not ask("--enforce=audit", f"--enforce={rule}=deny")["allowed"]
        for exempt in ("--exempt-namespace=def*", "--exempt-user=admin", "--exempt-group=system:*"):
            assert ask(exempt) == ALLOWED

    @each_row(
        ("given", "says"),
        ("block", "'block': give deny, warn or audit, or RULE=MODE"),
        ("=warn", "'=warn': give deny"),
        ("min-count=block", "'min-count=block': give deny"),
        ("unknown-fields=warn", "unknown rule unknown-fields; did you mean unknown-field?"),
        ("zzz=warn", "unknown rule zzz; `draguard explain` lists them"),
        ("policy/=warn", "'policy/=warn': give deny"),
        ("policy/quota=warn", "policy quota not found in --policies"),
    )
    def test_what_is_not_known_is_wrong_use(self, given: str, says: str) -> None:
        assert says in usage_error("review", "--enforce", given, "-")


@each_row("what", "namespace", "user", "group")
def test_an_empty_pattern_exempts_no_user(what: str) -> None:
    assert f"--exempt-{what}: an empty pattern" in usage_error("review", f"--exempt-{what}=", "-")


def test_findings_that_do_not_refuse_are_recorded_and_patches_as_without_modes() -> None:
    message = result(LONG)[1].message
    for mode in MODES[1:]:
        found = result(LONG, Enforcement(mode=mode))[1].message
        assert found
        assert found in message
    strict, _ = result(POD, endpoint="mutate")
    mild, _ = result(POD, Enforcement(mode="audit"), "mutate")
    assert base64.b64decode(mild["patch"]) == base64.b64decode(strict["patch"])


WRONG = CLAIM | {"spec": {"resourceClassName": "GPU", "colour": "red"}}
IGNORE = "dns-subdomain: I may; unknown-field: I may; required: I may"
ANNOTATIONS = {
    "draguard.github.io/ignore": IGNORE,
    "draguard.github.io/level": "off",
    "kubectl.kubernetes.io/last-applied-configuration": "# draguard: ignore[dns-subdomain, unknown-field] I may\n{}",
}
IGNORING = changed(WRONG, metadata__annotations=ANNOTATIONS)


@each_row("enforcement", Enforcement(), Enforcement(rules={"dns-subdomain": "deny"}), Enforcement("warn"))
@each_row("wrong", WRONG, CLAIM | {"spec": {"resourceClassName": "GPU"}})
def test_annotations_do_not_change_an_answer(wrong: dict[str, Any], enforcement: Enforcement) -> None:
    before, _ = result(wrong, enforcement)
    assert result(changed(wrong, metadata__annotations=ANNOTATIONS), enforcement)[0] == before
    assert before["allowed"] is (enforcement.mode == "warn")
    assert before.get("warnings") or not before["allowed"]


def test_files_and_variables_do_not_change_an_answer(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".draguard.yaml").write_text("levels: {'*': off}\nexclude: ['*']\n", encoding="utf-8")
    (tmp_path / "review.json").write_text(json.dumps(asked(IGNORING)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("IGNORE", "LEVEL", "BASELINE", "ENFORCE"):
        monkeypatch.setenv(f"DRAGUARD_{name}", "warn")
    done = draguard("review", "review.json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["response"]["allowed"] is False


def test_offline_the_same_object_is_suppressed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "claim.json").write_text(json.dumps(IGNORING), encoding="utf-8")
    assert draguard("validate", "--ignore", "*-suppression,deprecated", tmp_path).code == 0
