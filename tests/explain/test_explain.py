import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from time import process_time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.command import ROOT, draguard, usage_error
from tests.rows import each_row, each_row_beside
from webhook.api.versions import NEWEST, VERSIONS
from webhook.explain.components import answers_in, components, cures
from webhook.explain.places import FieldPlace, children, kinds, rules
from webhook.explain.query import UnknownNameError, explain, explain_answer
from webhook.explain.text import counterpart, example, of_rule

RULES = rules(kinds(), None)


def rules_in(text: str) -> list[str]:
    lines = f"\n{text}".partition("\nRULES:\n")[2].partition("\n\n")[0].splitlines()
    return [line.strip() for line in lines if not line.startswith("    ")]


class TestOverview:
    def test_it_lists_every_kind_with_its_releases_and_every_rule(self) -> None:
        text = explain()
        for version in VERSIONS.values():
            assert all(re.search(rf"^    {name} ", text, re.MULTILINE) for name in version.kinds)
        assert re.search(r"^    ResourceClaim  +1\.27 to 1\.30  +A request for a resource", text, re.MULTILINE)
        assert all(re.search(rf"^  {rule}  ", text, re.MULTILINE) for rule in RULES)

    def test_a_release_narrows_it_down(self) -> None:
        text = explain(kubernetes="1.29")
        assert "ResourceClass " in text
        assert "ResourceSlice" not in text
        assert "data-with-structured-data" not in text


@each_row_beside("query", "options", "says", "lacks")
def test_lines_of_an_explanation(query: str, options: dict[str, Any], says: list[str], lacks: list[str]) -> None:
    text = f"\n{explain(query, **options)}\n\n"
    assert [each for each in says if f"\n{each}\n" not in text] == []
    assert [each for each in lacks if each in text] == []


def every_place() -> Iterator[FieldPlace]:
    left: list[FieldPlace] = [kind.place for kind in kinds()]
    while left:
        yield (place := left.pop())
        left += children(place, None)


@pytest.mark.slow
def test_every_field_of_every_kind_can_be_explained() -> None:
    for place in every_place():
        text = explain(str(place), api_version=place.kind.api_version)
        assert f"KIND:        {place.kind.name}" in text
        assert "DESCRIPTION:\n    " in text, place


@pytest.mark.slow
def test_every_field_but_structs_that_moved_leads_back_from_where_it_is_elsewhere() -> None:
    for place in every_place():
        own = place.kind
        for kind in (each for each in kinds() if (each.group, each.name) == (own.group, own.name) and each != own):
            other = counterpart(place, kind, None)
            if other and other.home == place.home and not place.is_box:
                assert (str(counterpart(other, place.kind, None)), kind) == (str(place), other.kind)


@each_row(
    ("field", "rule", "is_listed"),
    ("ResourceClaim.spec.devices.requests.exactly.count", "count-for-mode  at spec.devices.requests.exactly", True),
    ("ResourceClaim.spec.devices.requests.exactly.count", "immutable  at spec", True),
    ("ResourceClaim.spec.devices.requests.exactly.adminAccess", "admin-access  (create)  at ResourceClaim", True),
    ("ResourceClaim.spec.devices.requests.firstAvailable", "exactly-or-first-available", True),
    # A function that the rule calls looks at it.
    ("ResourceClaim.spec.devices.requests.firstAvailable.name", "requests-that-exist  at spec.devices", True),
    ("ResourceSlice.spec.devices.attributes", "attributes-and-capacities  at spec.devices", True),
    ("ResourceSlice.spec.devices.attributes.int", "one-attribute-value  at spec.devices.attributes", True),
    ("ResourceSlice.spec.devices.basic.taints", "fewer-advanced-devices", True),
    ("ResourceClaim.spec.devices.requests.exactly.deviceClassName", "count-for-mode", False),
)
def test_a_rule_of_a_parent_is_listed_if_it_reads_the_field(field: str, rule: str, *, is_listed: bool) -> None:
    assert any(line.startswith(rule) for line in rules_in(explain(field))) == is_listed


class TestRules:
    @each_row_beside("rule", "place")
    def test_a_rule_applies_to_each_field_that_states_it(self, rule: str, place: str) -> None:
        assert f"    {place}" in explain(rule, api_version="resource.k8s.io/v1alpha2").splitlines()

    @each_row("rule", "unknown-field", "not-served", "unreadable", "status-dropped")
    def test_a_rule_about_any_object_has_no_place(self, rule: str) -> None:
        assert "APPLIES TO:" not in explain(rule)

    def test_every_rule_can_be_explained(self) -> None:
        for rule in RULES:
            assert re.search(r"DESCRIPTION:\n    \S", of_rule(rule, RULES[rule])), rule

    def test_every_rule_that_is_named_in_passing_can_be_explained(self) -> None:
        sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "webhook").rglob("*.py"))
        named = set(re.findall(r'\.named\("([a-z-]+)"\)', sources))
        named |= set(re.findall(r'\bProblem\(\s*(?:NOTE|WARNING|ERROR),\s*"([a-z-]+)"', sources))
        assert {"resource-version", "status-dropped", "suite"} <= named
        assert named <= RULES.keys()


def test_a_command_is_not_taken_for_a_misspelt_field() -> None:
    for command in ("validate", "simulate"):
        assert f"{command} is a command: see `draguard help {command}`" in usage_error("explain", command)


@pytest.mark.slow
class TestUnknownNames:
    @each_row_beside("query", "message")
    def test_what_was_probably_meant_is_named(self, query: str, message: str) -> None:
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            explain(query)

    @each_row(
        ("query", "field"),
        *((each, "ResourceClaim") for each in ("resourceclaim", "resourceclaims", "claim", "Claim", "claims")),
        ("resources.claims", "Pod.spec.containers.resources.claims"),
        ("GATE-OFF", "gate-off"),
        ("dradevicetaints", "DRADeviceTaints"),
        ("stranded", "devices-stranded"),
        ("spec.devices.requests", "ResourceClaim.spec.devices.requests"),
        ("spec.devices.Requests[0].name", "ResourceClaim.spec.devices.requests.name"),
        ("devices.requests.exactly.count", "ResourceClaim.spec.devices.requests.exactly.count"),
        ("Device.taints", "ResourceSlice.spec.devices.taints"),
        ("ResourceClaim.Spec.Devices", "ResourceClaim.spec.devices"),
        ("po.spec.resourceClaims", "Pod.spec.resourceClaims"),
        ("slices.spec", "ResourceSlice.spec"),
        ("classes", "DeviceClass"),
        ("ds", "DaemonSet"),
        ("deployments.apps.spec", "Deployment.spec"),
        ("resourceclaims.resource.k8s.io", "ResourceClaim"),
    )
    def test_fields_kinds_rules_and_gates_are_also_found_by_shorter_names(self, query: str, field: str) -> None:
        assert explain(query) == explain(field)

    @each_row(
        "query",
        "resource.k8s.io/v1beta1/ResourceClaim.spec",
        "v1beta1.ResourceClaim.spec",
        "v1beta1/resourceclaims.spec",
        "resourceclaims.v1beta1.resource.k8s.io.spec",
    )
    def test_a_kind_may_have_its_version_and_group(self, query: str) -> None:
        assert explain(query) == explain("ResourceClaim.spec", api_version="resource.k8s.io/v1beta1")

    def test_an_api_version_needs_no_group(self) -> None:
        claim = explain("ResourceClaim.spec", api_version="resource.k8s.io/v1beta1")
        assert explain("ResourceClaim.spec", api_version="v1beta1") == claim
        assert explain("Pod.spec", api_version="v1") == explain("Pod.spec")

    @each_row_beside("query", "options", "message")
    def test_what_is_not_there_is_said(self, query: str, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            explain(query, **options) if query else explain(**options)

    def test_an_unknown_release_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"Kubernetes 1\.12 is not known here"):
            explain(kubernetes="1.12")

    @each_row("version", "v1beta1", "resource.k8s.io/v1beta1")
    def test_an_api_version_is_described_by_its_kinds(self, version: str) -> None:
        assert explain(version) == explain(api_version=version)
        with pytest.raises(UnknownNameError, match="unknown rule or kind v1beta1"):
            explain("v1beta1", api_version=version)

    @settings(max_examples=10)
    @given(st.text() | st.text("RPod.sepc[]", max_size=8))
    def test_any_text_is_explained_or_refused(self, query: str) -> None:
        try:
            result = explain(query)
        except UnknownNameError as error:
            result = str(error)
        assert result


class TestAnswers:
    @each_row_beside("answer", "about")
    def test_what_a_refusal_is_about_is_described(self, answer: str, about: list[str]) -> None:
        done = draguard("explain", answer)
        lines = done.out.splitlines()
        assert [line for line in lines if line.startswith(("FIELD:", "ResourceClaim.")) or line in about] == about
        assert lines[-1] == "`draguard validate` shows where a manifest is wrong, and what was probably meant"
        assert done.code == 0

    @each_row(
        ("kind", "version", "options", "meaning", "others"),
        ("ResourceClaim", "v1beta1", (), "1.32 to 1.37 does, if it runs with --runtime-config=", "/v1 (1.34 to 1.38),"),
        ("ResourceClaim", "v1", (), "; Kubernetes 1.34 to 1.38 does TRY:", "/v1beta1 (1.32 to 1.37),"),
        ("ResourceClaim", "v1", ("--kubernetes-version", "1.30"), "does TRY:", "are resource.k8s.io/v1alpha2 (1.27"),
        ("ResourceClass", "v1alpha2", (), "Kubernetes 1.27 to 1.30 does, if", "says what has taken its place"),
    )
    def test_a_version_that_is_not_served_has_others(
        self, kind: str, version: str, options: tuple[str, ...], meaning: str, others: str
    ) -> None:
        answer = f'no matches for kind "{kind}" in version "resource.k8s.io/{version}"'
        text = " ".join(draguard("explain", answer, *options).out.split())
        assert f"the cluster does not serve {kind} in resource.k8s.io/{version}" in text
        assert meaning in text
        assert others in text
        assert "FIELDS:" not in text

    def test_answers_are_read_from_standard_input_where_none_is_a_usage_error(self) -> None:
        said = 'The {0} "a" is invalid: spec: Required\nThe {0} "b" is invalid: metadata.name: Required'
        done = draguard("explain", "-", stdin=said.format("ResourceClaim").encode())
        assert re.findall("^FIELD: +([a-z.]+)", done.out, re.MULTILINE) == ["spec", "metadata.name"]
        assert draguard("explain", "-", stdin=b"Pod\n").out == draguard("explain", "Pod").out
        assert "standard input is empty" in usage_error("explain", "-", stdin=b"\n")

    @each_row(
        ("answer", "about"),
        (
            'strict decoding error: unknown field "spec.devices.requests[0].count", unknown field "spec.gone"',
            "a path of v1beta1, and in v1 it is ResourceClaim.spec.devices.requests.exactly.count",
        ),
        ('* spec.tolerations[0].operator: Unsupported value: "Gt"', "FIELD:       spec.tolerations.operator  <"),
    )
    def test_a_part_of_an_answer_is_about_the_only_kind_with_its_fields(self, answer: str, about: str) -> None:
        assert about in draguard("explain", answer).out

    @each_row_beside("answer", "rules")
    def test_the_rule_of_a_field_that_says_an_answer_is_described(self, answer: str, rules: list[str]) -> None:
        assert re.findall("^RULE: +(.*)", explain_answer(answer), re.MULTILINE) == rules

    @each_row("quotes", "{}", '"{}"', "'{}'", "`{}`")
    @each_row_beside("answer", "said_by")
    def test_a_message_without_a_path_is_said_by_rules(self, answer: str, said_by: list[str], quotes: str) -> None:
        text = explain_answer(quotes.format(answer))
        found = rules_in(text) or re.findall("^RULE: +(.*)", text)
        assert [each.split()[0] for each in found] == said_by

    def test_a_refusal_may_be_quoted_as_in_json_or_by_a_component(self) -> None:
        refusal = 'Pod "p" is invalid: spec.nodeName: Forbidden: may not be changed'
        for answer, by in ((json.dumps(f"The {refusal}"), []), (f"Error creating: {refusal}", [WORKLOAD])):
            out = explain_answer(answer)
            assert speakers(out) == by
            assert "FIELD:       spec.nodeName  <string>" in out

    @pytest.mark.no_cover
    def test_the_message_of_an_example_leads_to_its_rule(self) -> None:
        wrong = {
            rule
            for rule, shown in ((rule, example(rule)) for rule in RULES)
            for of, message in (shown.messages() if shown else ())
            if (of or rule) not in (text := explain_answer(f"said: {message}"))
            if not text.startswith(("GROUP:", "KIND:", "SAID BY:"))
        }
        assert wrong == {"unknown-field"}, "which has the place of the field instead"

    def test_any_other_text_and_a_field_of_several_kinds_are_usage_errors(self) -> None:
        said = usage_error("explain", "no idea what this is")
        assert '"no idea what this is" is not a name, a field, or a message of a known component: `draguard exp' in said
        usage_error("explain", '"Stopped" plugin="a" node="b" count=3 reason="c"')  # values alone are no message
        usage_error("explain", "cannot list the devices of the bus: lspci not found")  # nor is the end of many
        usage_error("explain", 'resourceslices.resource.k8s.io "a" is forbidden: for an unsupported reason')
        said = usage_error("explain", '* spec.template.spec.restartPolicy: Unsupported value: "Gt"')
        assert "write KIND.spec.template.spec.restartPolicy" in said

    @given(st.text())
    def test_any_answer_is_explained_or_refused(self, text: str) -> None:
        for head in ("", 'A "b" is invalid: spec.', 'Pod in version "v1" cannot be handled as a P: unknown field "'):
            with suppress(UnknownNameError):
                assert explain_answer(f"{head}{text}")


class TestCommand:
    def test_it_prints_what_is_declared(self) -> None:
        done = draguard("explain", "ResourceClass")
        assert (done.code, done.err) == (0, "")
        assert done.out == explain("ResourceClass") + "\n"

    def test_a_release_that_is_not_known_yet_is_noted(self, caplog: pytest.LogCaptureFixture) -> None:
        done = draguard("explain", "--kubernetes-version", "1.99", "ResourceClaim")
        assert (done.code, done.out) == (0, explain("ResourceClaim", kubernetes=f"1.{NEWEST}") + "\n")
        assert "note: --kubernetes-version: Kubernetes 1.99 is not known here yet: " in caplog.text

    @each_row("arguments", ["ResourceClam"], ["--kubernetes-version", "1.12"], ["--api-version", "v9", "Pod"])
    def test_usage_errors_differ_from_findings(self, arguments: list[str]) -> None:
        assert usage_error("explain", *arguments).startswith("draguard explain: error: ")


def test_the_examples_of_a_rule_are_shown() -> None:
    text = explain("container-claims")
    assert "PAGE:        https://github.com/draguard/draguard/blob/main/docs/rules/README.md#container-claims" in text
    assert "FAILS:\n    apiVersion: v1" in text
    assert "PASSES:\n    apiVersion: v1" in text
    assert "STORED:\n" in explain("immutable")
    assert "POLICIES:\n" in explain("policy")
    assert "FAILS (draguard policy test):" in explain("case")


SCHEDULER = "kube-scheduler"
KUBELET = "kubelet"
COLUMNS = [f"kubectl, in its column {each}" for each in ("STATE of claims", "STATUS of pods", "STATUS of nodes")]
CLAIMS = "resource claim controller of kube-controller-manager"
DEVICE_TAINTS = "device taint eviction controller of kube-controller-manager"
WORKLOAD = "controller of the workload (ReplicaSet, StatefulSet, DaemonSet, Job)"
QUOTA = "ResourceQuota of the API server"
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "
SAID_BY_DRIVER = "NodePrepareResources failed for claim a: no "

SAID = yaml.safe_load((ROOT / "tests/explain/components.yaml").read_text(encoding="utf-8"))


def speakers(out: str) -> list[str]:
    return re.findall(r"^SAID BY: +(.*)", out, re.MULTILINE)


@each_row(("answer", "by", "says"), *(each.values() for each in SAID))
def test_the_speaker_decides(answer: str, by: list[str], says: str) -> None:
    out = explain_answer(answer)
    assert speakers(out) == by
    assert says in " ".join(out.split())
    assert "unknown rule or kind" not in out
    if by[0] not in COLUMNS:  # whose words stand alone, or in a table
        assert speakers(explain_answer(f'message: "{answer}"')) == by


def test_each_text_is_said() -> None:
    answers = [each["answer"] for each in SAID]
    patterns = [pattern for each in components() for pattern, *_ in each.sayings]
    assert [each.pattern for each in patterns if not any(map(each.search, answers))] == []


def test_no_text_of_a_component_is_listed_twice() -> None:
    listed = Counter((each.name, pattern.pattern) for each in components() for pattern, *_ in each.sayings)
    assert [each for each, times in listed.items() if times > 1] == []


@each_row(
    ("answer", "shown"),
    ("spec.devices.requests[0].exactly.deviceClassName: Required value", "RULE:        required"),
    ("spec: Invalid value: {}: field is immutable", "RULE:        immutable"),
    ("spec.devices.requests: Too many: 33: must have at most 32 items", "32 items at most"),
)
def test_a_refusal_is_explained_briefly(answer: str, shown: str) -> None:
    out = explain_answer(f'The ResourceClaim "gpu" is invalid: {answer}')
    assert shown in out
    assert len(out.splitlines()) < 75
    assert "`draguard explain ResourceClaim.spec" in out


def test_cures_are_for_the_beginning_of_a_text() -> None:
    assert cures(f"x {SAID_BY_DRIVER}")
    assert cures(f"{'x ' * 2500}{SAID_BY_DRIVER}") == []
    began = process_time()
    assert cures(SAID_BY_DRIVER * 50_000)
    assert process_time() - began < 10


@pytest.mark.no_cover
def test_a_long_name_is_refused_soon() -> None:
    began = process_time()
    with pytest.raises(UnknownNameError):
        explain("[" * 300_000)
    assert process_time() - began < 10


def test_all_reasons_of_the_scheduler_are_told() -> None:
    out = explain_answer("0/2 nodes are available: 1 Insufficient cpu, 1 cannot allocate all claims. no new claims")
    said = [line.split()[0] for line in out.splitlines() if line and line[0] != " "]
    assert said == ["SAID", *["MEANING:", "TRY:"] * 2]


def test_events_are_told_one_by_one() -> None:
    events = f"""\
Events:
  Type     Reason                         Age  From     Message
  ----     ------                         ---- ----     -------
  Warning  FailedScheduling  9s  default-scheduler  0/1 nodes are available: 1 cannot allocate
    all claims.
  Warning  FailedPrepareDynamicResources  1s  kubelet  {PREPARE}DRA driver a.io is not registered
3s  Warning  FailedCreate  job/x  Error creating: pods "x" is forbidden: exceeded quota: q, requested: p=1, used: p=1
"""
    done = draguard("explain", "-", stdin=events.encode())
    assert (done.code, speakers(done.out)) == (0, [SCHEDULER, KUBELET, WORKLOAD, QUOTA])
    assert "constraint or counter" in " ".join(done.out.split())


def test_of_a_text_that_quotes_itself_only_the_first_answers_are_read() -> None:
    answer = "Error creating: " * 1500
    assert (cures(answer), len(list(answers_in(answer)))) == ([], 16)


def test_a_pod_is_told_by_its_events_the_last_of_many_too() -> None:
    lines = ["Name: train", "Status: Pending", *["x: y"] * 2000, "Events:"]
    described = "\n".join([*lines, "  Warning  Failed  1s  kubelet  Error: ErrImagePull"])
    assert speakers(draguard("explain", "-", stdin=described.encode()).out) == [KUBELET]
    events = ["Events:", *["  Normal  Pulled  1s  kubelet  pulled"] * 50, f"  Warning  Failed  1s  kubelet  {PREPARE}x"]
    assert speakers(explain_answer("\n".join(events))) == [KUBELET]
    assert speakers(explain_answer("Name: train\n  Reason: ContainerCreating\nEvents:  <none>")) == [KUBELET]


@each_row(
    ("reason", "by"),
    ("UnexpectedAdmissionError", KUBELET),
    ("FailedResourceClaimCreation", CLAIMS),
    ("DeviceTaintManagerEviction", DEVICE_TAINTS),
)
def test_a_reason_is_told_by_its_name(reason: str, by: str) -> None:
    assert speakers(draguard("explain", reason).out) == [by]
