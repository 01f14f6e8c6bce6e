"""Findings that teach: the error in a line, and its fix."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.command import draguard, findings
from tests.rows import each_row, each_row_beside
from tests.structured import CLAIM, claim
from webhook import validate
from webhook.api.judgement import judge
from webhook.budget import Budget, limited
from webhook.engine.changes import changed
from webhook.hints.fields import hint_of
from webhook.hints.names import in_expression, in_place, instead
from webhook.report.text import folded

SELECTED = CLAIM + "        selectors:\n        - cel: {expression: EXPRESSION}\n"


def selecting(expression: str) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}}]
    return claim({"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "selectors": selectors}})


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: EXPRESSION
"""
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("12"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2),
    max_leaves=4,
)


class TestExpressions:
    @each_row_beside("expression", "hint")
    def test_what_people_write_gets_help(self, expression: str, hint: str) -> None:
        obj = selecting(expression)
        (problem,) = validate(obj)
        assert hint_of(problem, obj).hint == hint

    @each_row(
        ("expression", "hint"),
        (f"{'r' * 10_000} = 1", "compare with == in place of ="),
        (f"device.capacity['a.b']['m'] < 'x' || {'r' * 10_000}", "a capacity is a quantity"),
    )
    def test_a_long_name_is_read_in_time(self, expression: str, hint: str) -> None:
        obj = selecting(expression)
        (problem,) = validate(obj)
        began = time.process_time()
        assert hint_of(problem, obj).hint.startswith(hint)
        assert time.process_time() - began < 0.5

    @each_row(
        ("expression", "rule", "column", "hint"),
        ("device.capacity['a.b'].m.isLessThan(quantity('40Gb'))", "impossible-constant", 75, 'quantity("40G")'),
        ("device.capacity['a.b'].m.isLessThan(quantity('40 Gi'))", "impossible-constant", 75, 'quantity("40Gi")'),
        ("device.attributes['a.b'].v == semver('1.0')", "impossible-constant", 67, 'semver("1.0.0")'),
        ("device.attributes['Gpu_X'].m == 1", "impossible-name", 48, "such as gpu.example.com"),
        ("device.attributes['a.b'].m.string == 'A'", "impossible-read", 56, "leave out .string"),
        ("device.attributes.gpu.a.b.m == 1", "impossible-read", 47, 'device.attributes["gpu.a.b"].m'),
        ("has(device.attributes.gpu.a.b.m)", "impossible-read", 51, 'device.attributes["gpu.a.b"].m'),
        ("1 > 2", "selector-constant", 30, "compare what a device has"),
    )
    def test_what_can_never_work_is_shown_where_it_stands(
        self, expression: str, rule: str, column: int, hint: str
    ) -> None:
        (found,) = findings("validate", "-", stdin=SELECTED.replace("EXPRESSION", f'"{expression}"'))
        assert (found["rule"], found["line"], found["column"]) == (rule, 11, column)
        assert hint in found["hint"]

    @each_row(
        ("expression", "hint"),
        ("object.metadata.name = 'a'", "compare with == in place of ="),
        ("has(object.spec) and true", "CEL writes `and` as &&"),
        ("(has(object.spec)", "a parenthesis is not closed"),
    )
    def test_policies_get_help_too(self, expression: str, hint: str, tmp_path: Path) -> None:
        file = tmp_path / "policy.yaml"
        file.write_text(POLICY.replace("EXPRESSION", expression))
        (found,) = (each for each in findings("policy", "check", file) if each["level"] == "error")
        assert (found["line"], found["hint"]) == (8, hint)

    @each_row("end", "", "\n", "\n---\n")
    @each_row("spelled", "{}", "'{}'", "|-\n              {}")
    def test_an_error_at_the_end_is_shown_there_whatever_follows(self, spelled: str, end: str) -> None:
        manifest = SELECTED.replace("{expression: EXPRESSION}\n", f"\n            expression: {spelled}")
        manifest = manifest.replace("{}", 'device.attributes["gpu"') + end
        (found,) = findings("validate", "-", stdin=manifest)
        line = manifest.splitlines()[found["line"] - 1]
        assert line[: found["column"] - 1].endswith('["gpu"')

    def test_text_says_the_first_error_in_a_line_and_json_all_of_it(self, tmp_path: Path) -> None:
        file = tmp_path / "claim.yaml"
        file.write_text(SELECTED.replace("EXPRESSION", "device.driver = 'a' "))
        field = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
        said = "Syntax error: token recognition error at: '= ' (and 1 more error)"
        assert draguard("validate", file).out.splitlines()[:4] == [
            f"{file}:11:43: error cel-selector: {field}: {said}",
            "11 |         - cel: {expression: device.driver = 'a' }",
            "   |                                           ^",
            "help: compare with == in place of =",
        ]
        (found,) = findings("validate", file)
        assert "compilation failed: ERROR: <input>:1:15" in found["message"]


def test_of_the_findings_about_one_resource_the_first_says_how_to_get_devices() -> None:
    resources = {"claims": [{"name": "gpu"}], "limits": {"gpu.example.com": 1}}
    spec = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    first, *others = validate({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    assert "a claim requests devices of a class" in first.hint
    assert len(others) == 3
    assert not any(each.hint for each in others)


@each_row_beside("devices", "hint")
def test_the_shape_that_is_wanted_is_named(devices: dict[str, Any], hint: str) -> None:
    obj = {**claim(), "spec": {"devices": devices}}
    (problem,) = validate(obj)
    assert (problem.hint or hint_of(problem, obj).hint).startswith(hint)


class TestImmutable:
    def test_text_says_what_has_changed(self, tmp_path: Path) -> None:
        for name, text in {"old": CLAIM, "new": CLAIM + "        count: 2\n        adminAccess: false\n"}.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        done = draguard("validate", "--old", tmp_path / "old.yaml", tmp_path / "new.yaml")
        said = "field is immutable; changed: spec.devices.requests[0].exactly.count: 1 → 2"
        assert f"error immutable: spec: {said}" in done.out

    def test_defaults_are_not_a_change_and_many_changes_are_counted(self) -> None:
        old, new = (claim(*({"name": f"r{n}", "exactly": {"deviceClassName": c}} for n in range(7))) for c in "ab")
        old["spec"]["devices"]["requests"][0]["exactly"] |= {"allocationMode": "ExactCount", "count": 1}
        (problem,) = validate(new, old)
        text = changed(problem, old, new, "1.36")
        assert text.startswith('changed: spec.devices.requests[0].exactly.deviceClassName: "a" → "b", ')
        assert text.endswith(", and 2 more")

    def test_what_was_added_or_is_long_is_shown_shortly_where_it_differs(self) -> None:
        old, new = claim(), claim()
        new["spec"]["devices"]["requests"] += [{"name": "x" * 100, "exactly": {"deviceClassName": "b"}}]
        (problem,) = (each for each in validate(new, old) if each.rule == "immutable")
        assert changed(problem, old, new, "1.36").endswith("…")
        assert "requests[1]: absent → {" in changed(problem, old, new, "1.36")
        old, new = (selecting(f"device.driver == {'a' * 100!r} && {end}") for end in ("true", "false"))
        (problem,) = (each for each in validate(new, old) if each.rule == "immutable")
        text = changed(problem, old, new, "1.36")
        assert text.endswith(f"""selectors[0].cel.expression: …{"a" * 15}' && true" → …{"a" * 15}' && false\"""")

    def test_nothing_is_made_up(self) -> None:
        old, new = claim(), selecting("true")
        (problem,) = validate(new, old)
        assert changed(problem, None, new, "1.36") == ""
        assert changed(problem, new, new, "1.36") == ""
        assert changed(problem, old, {"kind": "Other"}, "1.36") == ""


class TestRequests:
    def test_the_requests_that_there_are_are_listed(self, tmp_path: Path) -> None:
        file = tmp_path / "claim.yaml"
        nic = "    - name: nic\n      exactly: {deviceClassName: nic.example.com}\n"
        file.write_text(CLAIM + nic + "    constraints: [{requests: [gpux], matchAttribute: a.b/c}]\n")
        assert 'help: did you mean "gpu"? the claim\'s requests: gpu, nic\n' in draguard("validate", file).out

    @each_row(
        ("second", "hint"),
        ("other", 'did you mean "gpu/big"? the claim\'s requests: gpu, gpu/big, nic, nic/other'),
        ("big", 'did you mean "gpu/big" or "nic/big"? the claim\'s requests: gpu, gpu/big, nic, nic/big'),
    )
    def test_an_alternative_is_named_with_its_request(self, second: str, hint: str) -> None:
        requests = [
            {"name": name, "firstAvailable": [{"name": alternative, "deviceClassName": "a"}]}
            for name, alternative in (("gpu", "big"), ("nic", second))
        ]
        obj = claim(*requests, constraints=[{"requests": ["big"], "matchAttribute": "a.b/c"}])
        (problem,) = validate(obj)
        found = hint_of(problem, obj)
        assert found.hint == hint
        assert (found.fix is None) == (second == "big")


class TestDecoding:
    def test_it_does_not_hide_what_else_is_wrong(self, tmp_path: Path) -> None:
        file = tmp_path / "claim.yaml"
        file.write_text(CLAIM.replace("name: claim", "name: A, label: {}").replace("deviceClassName", "deviceClasName"))
        found = findings("validate", file)
        assert [(each["rule"], each["hint"]) for each in found] == [
            ("object-name", 'did you mean "a"?'),
            ("unknown-field", 'did you mean "labels"?'),
            ("unknown-field", 'did you mean "deviceClassName"?'),
        ]

    @each_row_beside("written", "rules")
    def test_rules_about_several_fields_are_checked_too(self, written: dict[str, Any], rules: list[str]) -> None:
        spec = {"resourceClaims": [{"name": "a", "resourceClaimName": "a"}], **written}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
        assert {each.rule for each in judge(pod, beyond_decoding=True)} == {*rules}

    def test_so_is_what_is_below_a_misspelt_name_with_other_misspelt_names(self) -> None:
        found = judge(claim({"name": "gpu", "exactyl": {"deviceClas": "a", "count": -1}}), beyond_decoding=True)
        assert [(each.rule, each.field) for each in found] == [
            ("unknown-field", "spec.devices.requests[0].exactyl"),
            ("count-for-mode", "spec.devices.requests[0].exactly.count"),
        ]

    def test_updates_are_checked_too_but_not_what_no_rule_reads(self) -> None:
        old = claim({"name": "gpu", "exactly": {"deviceClassName": "a", "count": 1}})
        new = claim({"name": "gpu", "exactly": {"deviceClasName": "b", "count": "2"}})
        found = judge(new, old, beyond_decoding=True)
        assert [(each.rule, each.field) for each in found] == [
            ("unknown-field", "spec.devices.requests[0].exactly.deviceClasName"),
            ("wrong-type", "spec.devices.requests[0].exactly.count"),
            ("immutable", "spec"),
        ]
        new = claim({"name": "gpu", "exactly": {"deviceClasName": "a", "count": "1"}})
        assert [each.rule for each in judge(new, old, beyond_decoding=True)] == ["unknown-field", "wrong-type"]
        container = {"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}
        old = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
        new = {**old, "spec": {"containers": [{**container, "env": [{"name": "A", "value": [1]}]}]}}
        assert [each.rule for each in judge(new, old, beyond_decoding=True)] == ["wrong-type"]

    @given(st.data())
    def test_nothing_that_decoding_finds_is_lost(self, data: st.DataObject) -> None:
        obj = selecting("true")
        places = [(obj, "metadata"), (obj["spec"], "devices"), (obj["spec"]["devices"]["requests"], 0)]
        places += [(places[-1][0][0]["exactly"], name) for name in ("deviceClassName", "selectors")]
        for holder, name in data.draw(st.lists(st.sampled_from(places), max_size=3)):
            if isinstance(holder, dict) and name in holder and data.draw(st.booleans()):
                holder[f"{name}s"] = holder.pop(name)
            else:
                holder[name] = data.draw(ANYTHING)
        for old in (None, selecting("true")):
            decoded = judge(obj, old)
            assert judge(obj, old, beyond_decoding=True)[: len(decoded)] == decoded

    def test_python_says_what_the_api_server_says(self) -> None:
        assert [each.rule for each in validate(claim() | {"metadata": {"name": "A", "label": 1}})] == ["unknown-field"]


def test_long_texts_are_folded_and_indented_and_words_left_whole() -> None:
    assert folded("help: one two three four", 14) == "help: one two\n    three four"
    assert folded("\x1b[1mhelp:\x1b[0m one two three four", 14) == "\x1b[1mhelp:\x1b[0m one two\n    three four"
    for width in (0, 80):
        assert folded("one two", width) == "one two"
    assert folded(f"help: {'a' * 30}", 10).split() == ["help:", "a" * 30]


def test_very_long_texts_are_folded_in_time() -> None:
    start = time.perf_counter()
    assert folded("ab " * 300_000 + " " * 300_000, 80).count("\n") > 10_000
    assert time.perf_counter() - start < 10


NAMES = [f"gpu{number}.example.com" for number in range(1000)]


def test_a_name_is_sought_for_half_of_what_is_left_of_a_budget_at_most() -> None:
    assert instead("gpu7.exmaple.com", NAMES, "classes") == 'did you mean "gpu7.example.com"?'
    with limited(Budget(100_000)) as budget:
        result = [in_place("gpu7.exmaple.com", NAMES, "classes").fix is not None for _ in range(30)]
        assert budget.left > 7_000
    assert result == sorted(result, reverse=True)
    assert (result[0], result[-1]) == (True, False)
    with limited(Budget(100)):
        hint = instead("gpu7.exmaple.com", NAMES, "classes")
    assert hint.startswith("classes: gpu0.example.com, ")
    assert hint.endswith(" and 995 more")


def test_names_that_are_equally_near_are_all_suggested_and_none_is_written() -> None:
    assert in_place("gpuu", ["gpux", "gpu", "nic"], "requests") == ('did you mean "gpux" or "gpu"?', None)
    assert in_place("my-gpu", ["my_gpu"], "requests") == ("requests: my_gpu", None)  # my_gpu is an error itself
    assert in_expression("has(a.gpuu)", "gpuu", ["gpux", "gpu"], "names") == ('did you mean "gpux" or "gpu"?', None)
    hint, fix = in_expression("has(a.gpuu) && a.gpuu > 1", "gpuu", ["gpux", "nic"], "names")
    assert (hint, fix and fix.value) == ('did you mean "gpux"?', "has(a.gpux) && a.gpux > 1")


TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "train", "image": "trainer:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec}


def on_nodes(**term: Any) -> dict[str, Any]:
    return pod(affinity={"nodeAffinity": {TERMS: {"nodeSelectorTerms": [term]}}})


def advice(obj: dict[str, Any], kubernetes: str = "1.36") -> tuple[str, object]:
    """Return the hint, and the value that the fix writes."""
    (problem,) = validate(obj, kubernetes=kubernetes)
    return problem.hint, problem.fix and problem.fix.value


@each_row_beside("toleration", "hint")
def test_a_toleration_is_fixed_by_its_fields(toleration: dict[str, Any], hint: str) -> None:
    assert advice(pod(tolerations=[toleration])) == (hint, None)


def test_a_comparison_needs_its_release_and_gate() -> None:
    comparing = pod(tolerations=[{"key": "memory", "operator": "Lt", "value": "1"}])
    off = "Lt needs the feature gate TaintTolerationComparisonOperators, which is off"
    assert advice(comparing, "1.36") == (off, None)
    assert advice(comparing, "1.34") == ("Lt is supported from Kubernetes 1.35 on", None)
    comparing["spec"]["tolerations"][0]["value"] = "1.5"  # a number that it cannot be has no hint
    problems = validate(comparing, feature_gates={"TaintTolerationComparisonOperators": True})
    assert {problem.hint for problem in problems} == {""}


COMPARED = {"Equals": "In", "=": "In", "!=": "NotIn", "NOTIN": "NotIn", ">": "Gt"}
TOLERATED = {"Equals": "Equal", "==": "Equal", "In": "Equal", "exists": "Exists"}
RESTARTED = {"No": "Never", "unless-stopped": "Always", "on-failure": "OnFailure"}


@each_row(
    ("make", "meant"),
    (lambda word: pod(tolerations=[{"key": "a", "operator": word, "value": ""}]), TOLERATED),
    (lambda word: on_nodes(matchExpressions=[{"key": "a", "operator": word, "values": ["1"]}]), COMPARED),
    (lambda word: pod(restartPolicy=word), RESTARTED),
)
def test_a_word_of_something_else_is_replaced(make: Callable[[str], Any], meant: dict[str, str]) -> None:
    for written, word in meant.items():
        assert advice(make(written)) == (f'did you mean "{word}"?', word)


def test_a_key_with_a_value_is_written_as_a_condition_and_a_label_too() -> None:
    apart = "each part is a field of its own: key: a, operator: In, values: [b]"
    assert advice(on_nodes(matchExpressions=[{"key": "a=b", "operator": "Exists"}]))[0] == apart
    assert advice(pod(nodeSelector={"a=b": ""}))[0] == "write a: b"
    assert advice(pod(nodeSelector={"a=true": ""}))[0] == 'write a: "true"'
    hint = "write matchExpressions: [{key: KEY, operator: In, values: [VALUE]}]"
    assert advice(on_nodes(matchLabels={"a": "b"})) == (hint, None)
    assert advice(on_nodes(matchFields=[{"key": "metadata.name", "operator": ">", "values": ["a"]}])) == ("", None)


def test_pods_of_a_deployment_do_not_end() -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod(restartPolicy="Never")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}
    hint = "pods of this kind run until they are deleted, those of a Job end: leave the field out, or use a Job"
    assert advice(deployment) == (hint, None)


def test_a_key_that_a_device_tolerates_is_refused_once() -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "a=b"}]}}
    assert advice(claim(request), "1.37")[0] == "each part is a field of its own: key: a, operator: Equal, value: b"
