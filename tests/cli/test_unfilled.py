"""Manifests whose placeholders are not filled in yet."""

import json
from pathlib import Path
from unittest.mock import Mock
from zlib import crc32

import pytest

from tests.cli.manifests import NEW_POD
from tests.command import draguard, findings
from tests.policies import POLICY
from tests.rows import each_row
from tests.structured import claim_manifest
from webhook.documents import placeholders
from webhook.problem import ERROR, Problem
from webhook.problem import Path as Field

CLAIM = claim_manifest("NAME")
EXACTLY = "      exactly: {deviceClassName: gpu.example.com}\n"
PLACEHOLDERS = [
    *("test-{{.Index}}", '"{{ .Class }}"', "'x-{{ .Values.name | lower }}'"),
    *("$KSA_NAME", "${APP_NAME:-some}", "${APP_NAME:=Some}", "$(NAME)", "x-$NAME"),
    *("{username}", "x-{user.name}", "__NAME__", "<your-name>", "'%NAME%'", "'@NAME@'", "'%(name)s'", "'<%= name %>'"),
    *("#@ data.values.name", "(@= data.values.name @)"),
]


@each_row("value", *PLACEHOLDERS)
def test_a_placeholder_is_a_note_without_errors_or_advice(value: str) -> None:
    (found,) = findings("validate", "-", stdin=CLAIM.replace("NAME", value, 1))
    assert (found["level"], found["rule"], found["line"]) == ("note", "template", 4)
    assert found["message"].startswith("a template: 1 value is filled in later (")
    assert found["fix"] is None


@each_row(
    ("written", "instead", "count"),
    ("deviceClassName: gpu.example.com", "deviceClassName: gpu.example.com\n        count: ${COUNT}", 1),
    ("deviceClassName: gpu.example.com", "deviceClassName: <class>\n        adminAccess: $ADMIN", 2),
    ("deviceClassName: gpu.example.com", "deviceClassName: $A\n        allocationMode: $B\n        count: $C", 3),
    ("deviceClassName: gpu.example.com", "deviceClassName: $A\n        selectors: $SELECTORS", 2),
    ("deviceClassName: gpu.example.com", "deviceClassName: $A\n        capacity: {requests: {memory: $M}}", 2),
    (
        "deviceClassName: gpu.example.com",
        "deviceClassName: a\n        selectors: [{cel: {expression: $EXPRESSION}}]",
        1,
    ),
    ("name: NAME", "name: a\n  labels: {'${KEY}/x': v}", 1),
    ("name: NAME", "name: a\n  namespace: __NAMESPACE__", 1),
    ("    - name: gpu\n", f"    - name: $A\n{EXACTLY}    - name: $B\n{EXACTLY}    - name: $A-$B\n", 3),
)
def test_placeholders_of_any_type_are_one_note(written: str, instead: str, count: int) -> None:
    found = findings("validate", "-", stdin=CLAIM.replace(written, instead, 1).replace("NAME", "a"))
    assert [each["rule"] for each in found] == ["template"] * bool(count)
    assert all(f"{count} value" in each["message"] for each in found)


@each_row(
    ("written", "instead", "rule", "line"),
    ("deviceClassName", "deviceClasName", "unknown-field", 10),
    ("name: gpu", "name: GPU", "dns-label", 8),
    ("deviceClassName: gpu.example.com", "deviceClassName: $A\n        count: 0", "count-of-zero", 11),
    (
        "deviceClassName: gpu",
        "allocationMode: Al\n        count: $COUNT\n        deviceClassName: gpu",
        "count-for-mode",
        10,
    ),
)
def test_all_else_is_judged(written: str, instead: str, rule: str, line: int) -> None:
    found = findings("validate", "-", stdin=CLAIM.replace("NAME", "${NAME}", 1).replace(written, instead, 1))
    assert found[0]["rule"] == "template"
    assert (rule, line) in [(each["rule"], each["line"]) for each in found]


@each_row(
    ("written", "instead"),
    ("  - name: gpu\n    resourceClaimName", "  - name: $CLAIM\n    resourceClaimName"),
    ("      - name: gpu\n", "      - name: $CLAIM\n"),
    ("      - name: gpu\n", "      - name: $CLAIM\n        request: $REQUEST\n"),
)
def test_an_error_that_a_value_would_remove_is_none(written: str, instead: str) -> None:
    found = findings("validate", "-", stdin=NEW_POD.replace(written, instead, 1))
    assert {each["rule"] for each in found if each["rule"] != "claim-not-used"} == {"template"}


def test_references_are_the_same_before_and_after() -> None:
    pod = NEW_POD.replace("resourceClaimName: claim", "resourceClaimName: $CLAIM")
    other = NEW_POD.replace("resourceClaimName: claim", "resourceClaimName: two")
    for claim in ("$CLAIM", "one"):
        found = findings("validate", "-", stdin=f"{pod}---\n{CLAIM.replace('NAME', claim)}")
        assert {each["rule"] for each in found} == {"template"}
    found = findings("validate", "-", stdin=f"{other}---\n{CLAIM.replace('NAME', 'one')}")
    assert [each["rule"] for each in found] == ["claim-not-found"]
    found = findings("validate", "-", stdin=f"{other}---\n{CLAIM.replace('NAME', '$CLAIM')}")
    assert [each["rule"] for each in found] == ["template"]


@each_row(
    "name",
    *("{{ .Name }}", "@NAME@", "%NAME%", "{name}-x", "a\n__LABELS__"),
    "a\n  {{- with .Labels }}\n  labels: {}\n  {{- end }}",
    "a\n{% if x %}\n  labels: {}\n{% endif %}",
    "a\n#@ if x:\n  labels: {}\n#@ else:\n  labels: {a: b}\n#@ end",
)
def test_a_template_that_is_not_yaml_is_not_a_syntax_error(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(CLAIM.replace("NAME", name), encoding="utf-8")
    (found,) = findings("validate", file)
    assert (found["level"], found["rule"]) == ("note", "template")
    done = draguard("validate", tmp_path)
    assert (done.code, f"not read: 1 template that is not filled in yet ({file})" in done.out) == (0, True)
    assert draguard("convert", "--check", file).code != 0


@each_row(
    ("before", "after"),
    ("{{- if .Values.enabled }}\n---\n", "{{- end }}\n"),
    ("# Copyright\n{{- if .Values.enabled }}\n---\n", "---\n{{- end }}\n"),
    ("{{- /*\nCopyright\n*/ -}}\n---\n", ""),
    ('{{ define "x" }}\na: b\n{{ end }}\n---\n', ""),
    ("", '---\n{{ include "more" . }}\n'),
    ("", "--- {{ end }}\n" + CLAIM),
    ("{% if x %}\n---\n", "---\n{% endif %}\n"),
    ("{# comment #}\n", ""),
    ("<% if x %>\n---\n", "---\n<% end %>\n"),
    ("${HEADER}\n---\n", "---\n$EXTRA\n"),
    ("", "---\n@EXTRA@\n"),
)
def test_the_parts_of_a_template_may_be_documents_of_their_own(before: str, after: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(before + CLAIM.replace("NAME", "a") + after, encoding="utf-8")
    assert {(each["level"], each["rule"]) for each in findings("validate", file)} == {("note", "template")}
    done = draguard("validate", tmp_path)
    assert (done.code, "not filled in yet" in done.out) == (0, True)
    assert "it cannot be read until it is filled in, so it is not judged: " in draguard("validate", file).out


@each_row("wrong", "a: [\n", "{a: b\n", "text\n", "--- a\n")
def test_what_is_not_a_template_beside_a_manifest_is_an_error(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{CLAIM.replace('NAME', 'a')}---\n{wrong}", encoding="utf-8")
    assert draguard("validate", tmp_path).code == 1


def test_the_first_templates_of_a_directory_are_named(tmp_path: Path) -> None:
    for name in "edcba":
        (tmp_path / f"{name}.yaml").write_text("\n---\n".join([CLAIM.replace("NAME", "{{ .Name }}")] * 2))
    named = ", ".join(f"{tmp_path}/{name}.yaml" for name in "abc")
    for command in ("validate", "convert"):
        done = draguard(command, tmp_path)
        assert f"not read: 10 templates that are not filled in yet ({named}, …)" in done.out + done.err


@each_row(
    ("text", "tool"),
    (CLAIM.replace("NAME", "a\n  labels: {c: ${D}}"), "envsubst"),
    (CLAIM.replace("NAME", "{{ .Name }} ${D}"), "helm template"),
)
def test_templates_are_filled_in_by_the_tool_of_their_placeholders(text: str, tool: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text, encoding="utf-8")
    hint = f"fill it in first, for example with {tool}"
    (found,) = findings("validate", file)
    assert found["hint"] == hint
    assert f"help: {hint}\n" in draguard("convert", "--check", file).out


@each_row(
    "text",
    CLAIM.replace("NAME", "a\n name: b # {{ .Name }}"),
    CLAIM.replace("NAME", "$NAME").replace("exactly:", "exactly"),
    CLAIM.replace("NAME", "$NAME").replace("    requests:", "  requests: [\n"),
    CLAIM.replace("NAME", "a\n  annotations:\n    a: |\n      {{- if .x }}\n  name: b"),
    CLAIM.replace("NAME", "$NAME\n  name: b"),
)
def test_a_syntax_error_beside_a_placeholder_is_one(text: str) -> None:
    assert "unreadable" in [each["rule"] for each in findings("validate", "-", stdin=text)]


@each_row("mode", ("--fix",), ("--fix", "--unsafe-fixes"))
def test_no_fix_touches_a_line_with_a_placeholder(mode: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    text = CLAIM.replace("NAME", "$KSA_NAME").replace("gpu.example.com", '"{{ .Class }}"')
    text += "    - {name: Other, exactly: {deviceClasName: $CLASS}}\n    - name: last\n      deviceClassName: a-$B\n"
    file.write_text(f"{text}---\n{NEW_POD.replace('name: gpu', 'name: $GPU')}", encoding="utf-8")
    before = file.read_text(encoding="utf-8").splitlines()
    draguard("validate", *mode, file)
    after = file.read_text(encoding="utf-8").splitlines()
    unfilled, left = ([line for line in lines if "$" in line or "{{" in line] for lines in (before, after))
    assert unfilled
    assert left == unfilled


@each_row("kind", "ConfigMap", "ResourceClaim", "Pod")
def test_policies_do_not_judge_what_is_not_filled_in(kind: str, tmp_path: Path) -> None:
    policies = tmp_path / "policies.yaml"
    policies.write_text(POLICY.format(expression='object.metadata.name.startsWith("team-")'), encoding="utf-8")
    manifest = {
        "ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\n",
        "ResourceClaim": CLAIM,
        "Pod": NEW_POD.replace("name: pod", "name: NAME"),
    }[kind]
    for name, rule in (("${TEAM}-x", "template"), ("other", "policy")):
        found = findings("validate", "--policies", policies, "-", stdin=manifest.replace("NAME", name, 1))
        levels = {each["rule"]: each["level"] for each in found}
        assert levels[rule] == ("warning" if rule == "template" else "error")
        assert levels.keys() & {"template", "policy"} == {rule}
        assert ("policies do not judge it until then" in found[0]["message"]) == (rule == "template")


@each_row(
    "manifest",
    "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\nsecrets: [{name: $A}]\n",
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: '@A@'}\nrules: []\n",
    NEW_POD.replace("image: image", "image: $IMAGE"),
    CLAIM.replace("NAME", "a"),
)
def test_what_looks_like_a_placeholder_hides_nothing_from_policies(manifest: str, tmp_path: Path) -> None:
    """An API server would take these objects as they stand."""
    policies = tmp_path / "policies.yaml"
    policies.write_text(POLICY.format(expression="object == null"), encoding="utf-8")
    (found,) = (
        each
        for each in findings("validate", "--policies", policies, "-", stdin=manifest)
        if each["rule"] in {"policy", "template"}
    )
    assert (found["rule"], found["level"]) == ("policy", "error")


@each_row("claim", "gpu", "{{ .Claim }}")
def test_any_of_many_templated_names_may_be_the_claims(claim: str) -> None:
    containers = [
        {
            "name": f"{{{{ .Name{place} }}}}",
            "image": "a:1",
            "env": [{"name": f"VARIABLE_{place}"}],
            "resources": {"claims": [{"name": f"{{{{ .Claim{place} }}}}"}]},
        }
        for place in range(40)
    ]
    claims = [{"name": claim, "resourceClaimName": "gpu"}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": containers, "resourceClaims": claims},
    }
    assert not [each for each in findings("validate", "-", stdin=json.dumps(pod)) if each["level"] == "error"]


def test_the_items_of_a_list_are_not_searched_again_for_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = Mock(side_effect=placeholders.PLACEHOLDER.search)
    monkeypatch.setattr(placeholders.PLACEHOLDER, "search", searched)
    claims = [{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {}}] * 20
    done = draguard("validate", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": claims}).encode())
    assert done.code == 1
    assert sum(len(each.args) > 1 for each in searched.call_args_list) == 1  # of the whole text


@pytest.mark.no_cover
def test_the_work_grows_with_placeholders_and_findings_and_not_with_their_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number, hashed = 200, Mock(side_effect=crc32)
    monkeypatch.setattr(placeholders, "crc32", hashed)
    configs = (f"    - {{opaque: {{driver: '$D{each}', parameters: {{}}, bad{each}: 1}}}}\n" for each in range(number))
    done = draguard("validate", "-q", "-", stdin=f"{CLAIM}    config:\n{''.join(configs)}".encode())
    assert done.out.count("unknown field") == number
    assert hashed.call_count < 20 * number


def test_only_so_many_values_are_tried() -> None:
    names = [f"n{each}" for each in range(200)]
    problems = [Problem(ERROR, "any", "", Field(("names", place)), "wrong") for place in range(200)]
    judge = Mock(return_value=problems)
    blanks = placeholders.Blanks({"a": "$A", "names": names}, {Field(("a",)): "$A"})
    assert blanks.fill(judge)[1:] == (problems, True)
    assert judge.call_count < 100
