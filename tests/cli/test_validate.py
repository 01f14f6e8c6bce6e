import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.manifests import CLAIM, CLAIM_V1, CONFIG_MAP, NEW_POD, Write, rules
from tests.command import ROOT, Done, draguard, findings, reported, usage_error
from tests.documents.reading import documents
from tests.policies import POLICY
from tests.policy.examples import POD as PRESCHEDULED
from tests.rows import each_row
from webhook.api.versions import DEFAULT, NEWEST
from webhook.explain.text import example
from webhook.references.manifests import misread_key

CLASS_WITH_SELECTOR = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel:
      expression: """


class TestPaths:
    def test_files_directories_and_globs_are_read_once_or_the_current_directory(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write(a=CLAIM, b__c=CLAIM)
        monkeypatch.chdir(folder)
        for paths in ((), (folder / "a.yaml", folder, folder / "*" / "*.yaml")):
            done = draguard("validate", *paths)
            assert (done.code, done.err) == (0, "")
            assert done.out.endswith("\n2 documents in 2 files: no problems (Kubernetes 1.37)\n")

    def test_a_path_that_does_not_exist_is_wrong_use_and_hides_nothing(self, write: Write) -> None:
        folder = write(a=CLAIM.replace("claim", "CLAIM"))
        done = draguard("validate", folder / "gone.yaml", folder)
        assert done.code == 2
        assert "\n1 document in 1 file: 2 errors (Kubernetes 1.37)" in done.out
        assert f"{folder}/gone.yaml: error unreadable: no such file or directory\n" in done.out
        assert f"{folder}/a.yaml:4:3: error object-name: " in done.out

    def test_the_directories_with_errors_are_named(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        bad = CLAIM.replace("gpu", "G")
        folder = write(app__a=CLAIM, test__b=bad, test__data__c=bad, test__other__c=bad, lib__test__d=bad, lib__e=CLAIM)
        monkeypatch.chdir(folder)
        how = "--exclude test or exclude: in .draguard.yaml leaves a directory out"
        assert draguard("validate", ".").out.splitlines()[-1] == f"errors in: test (3), lib (1); {how}"
        assert draguard("validate", folder).out.splitlines()[-1] == f"errors in: test (3), lib (1); {how}"
        assert draguard("validate", "test/data", "app").out.splitlines()[-1] == "errors in: test/data (1)"
        below = "errors in: test (1), test/data (1), test/other (1)"
        how = how.replace("test", "test/data", 1)  # not one of the directories that were asked for
        assert draguard("validate", "test", "app").out.splitlines()[-1] == f"{below}; {how}"
        assert "errors in:" not in draguard("validate", "test/data").out
        (folder / "test" / "data" / "c.yaml").unlink()
        (folder / "test" / "other" / "c.yaml").write_text(CLAIM, encoding="utf-8")
        assert draguard("validate", "test").out.splitlines()[-1] == "errors in: test (1)"
        assert draguard("validate", "lib", "app").out.splitlines()[-1] == "errors in: lib/test (1); " + how.replace(
            "test/data", "lib/test"
        ).replace("a directory", "it")
        monkeypatch.chdir(folder / "lib")
        assert draguard("validate").out.splitlines()[-1] == "errors in: test (1)"  # the only directory with manifests
        monkeypatch.chdir(folder / "app")
        assert draguard("validate", "../lib", "a.yaml").out.splitlines()[-1] == "errors in: ../lib/test (1)"
        assert "errors in:" not in draguard("validate", "nowhere").out

    def test_what_becomes_of_a_repeated_key_is_said(self, write: Write) -> None:
        (yaml,) = findings("validate", write(a=CLAIM.replace("spec:", "spec: {}\nspec:")))
        assert "kubectl apply -k and kustomize refuse it, kubectl apply -f silently takes the last" in yaml["hint"]

    def test_the_files_that_were_read_or_not_are_listed(self, write: Write) -> None:
        folder = write(a=CLAIM, b="", vendor__c=CLAIM)
        (folder / "d.tmpl.yaml").write_text("a: ${A}", encoding="utf-8")
        listed = draguard("validate", "--show-files", folder).out.splitlines()[:4]
        assert listed == [
            f"read: {folder}/a.yaml",
            f"not read: {folder}/vendor: vendored directory",
            f"not read: {folder}/d.tmpl.yaml: template that is not filled in yet",
            f"not read: {folder}/b.yaml: file without a manifest",
        ]
        unread = {
            each["reason"]: each["paths"] for each in reported("validate", "--show-files", folder)["summary"]["notRead"]
        }
        assert unread["vendored"] == [f"{folder}/vendor"]
        assert "paths" not in reported("validate", folder)["summary"]["notRead"][0]

    @each_row("options", ("--old", "-", "-"), ("--cluster", "-", "-"), ("--old", "-", "--cluster", "-", "examples/v1"))
    def test_standard_input_cannot_be_both_states(self, options: tuple[str, ...]) -> None:
        assert "standard input (-) cannot be both" in usage_error("validate", *options)


class TestFindings:
    def test_they_are_sorted_by_line_within_a_document(self, write: Write) -> None:
        text = CLAIM.replace("name: claim", "name: A").replace("gpu.example.com", "B") + "status:\n  driverName: c\n"
        folder = write(a=f"{text}---\n{text.replace('name: A', 'name: B')}")
        found = findings("validate", folder)
        places = [(each["document"], each["line"]) for each in found]
        assert places == [(1, 4), (1, 7), (1, 8), (2, 14), (2, 17), (2, 18)]

    def test_they_name_the_object_and_the_release(self, write: Write) -> None:
        folder = write(a=CLAIM.replace("gpu.example.com", "GPU"))
        (found,) = findings("validate", "--kubernetes-version", "1.28", folder)
        assert [found[key] for key in ("file", "document", "line", "column")] == [f"{folder}/a.yaml", 1, 7, 3]
        assert [found[key] for key in ("level", "rule", "reason", "fix", "hint", "kubernetes", "releases")] == [
            *("error", "dns-subdomain", "FieldValueInvalid", "unsafe", 'did you mean "gpu"?', "1.28", ["1.28"])
        ]
        about = [found[key] for key in ("apiVersion", "kind", "namespace", "name", "field")]
        assert about == ["resource.k8s.io/v1alpha2", "ResourceClaim", "default", "claim", "spec.resourceClassName"]

    def test_one_unreadable_document_does_not_hide_the_others(self, write: Write) -> None:
        folder = write(a=f"a: [\n---\n{CLAIM.replace('gpu', 'G')}---\nb: 1\nb: 2\n", b="apiVersion: \x00")
        found = findings("validate", folder)
        places = [(each["rule"], each["line"]) for each in found]
        assert places == [("unreadable", 2), ("dns-subdomain", 9), ("unreadable", 12), ("unreadable", 1)]

    def test_an_expression_is_wrong_at_a_character(self) -> None:
        selector = "|-\n        device.driver == 'a' &&\n        device.atributes['a'].model == 'x'\n"
        (found,) = findings("validate", "-", stdin=CLASS_WITH_SELECTOR + selector)
        assert (found["rule"], found["line"], found["column"]) == ("cel-selector", 9, 15)

    def test_of_two_drivers_the_one_that_the_request_names_is_wrong(self) -> None:
        selector = "device.attributes['a.com'].model == 'x' && device.driver == 'b.com'"
        claim = f"{CLAIM_V1}        selectors:\n        - cel:\n            expression: {selector}"
        text = f"{CLASS_WITH_SELECTOR}device.driver == 'a.com'\n---\n{claim}"
        (found,) = findings("validate", "-", stdin=text)
        column = len("            expression: ") + selector.index("'b.com'") + 1
        assert (found["rule"], found["line"], found["column"]) == ("contradicting-drivers", 21, column)

    def test_a_stored_pod_may_have_been_scheduled(self, write: Write) -> None:
        folder = write(pod=[PRESCHEDULED | {"metadata": PRESCHEDULED["metadata"] | {"uid": "5a1e7e4c"}}])
        assert findings("validate", folder) == findings("validate", "--old", folder, folder) == []


SERVES = f"Kubernetes 1.{DEFAULT} serves"


class TestUnknownKinds:
    @each_row(
        ("version", "kind", "line", "message", "hint"),
        ("resource.k8s.io/v1", "ResourceClam", 2, "no matches for kind", 'did you mean "ResourceClaim"?'),
        ("resource.k8s.io/v1", "X", 2, "no matches for kind", f"Kubernetes 1.27 to 1.{NEWEST} have no such kind"),
        (
            "resource.k8s.io/v1",
            "ResourceClas",
            2,
            "no matches",
            f'did you mean "ResourceClass"? {SERVES} ResourceClass in no',
        ),
        (
            "resource.k8s.io/v2",
            "resourceclaim",
            2,
            "no matches",
            f'did you mean "ResourceClaim"? {SERVES} ResourceClaim in',
        ),
        ("resource.k8s.io/v1alpha1", "ResourceClass", 1, "no matches", f"{SERVES} ResourceClass in no version"),
        ("v1", "DeviceClass", 1, 'no matches for kind "DeviceClass" in version "v1"', SERVES),
        ("resources.k8s.io/v1", "DeviceClass", 1, "no matches", f"{SERVES} DeviceClass in resource.k8s.io/v1,"),
        ("apps/v1", "DeviceClass", 1, "no matches for kind", SERVES),
        ("resource.k8s.io/v1", "", 1, "kind not set", "add kind: DeviceClass or "),
        ("", "ResourceClaim", 1, "apiVersion not set", "add apiVersion: resource.k8s.io/v1"),
    )
    def test_a_misspelt_kind_or_version_is_not_taken_for_one_of_others(
        self, *, version: str, kind: str, line: int, message: str, hint: str
    ) -> None:
        head = f"apiVersion: {version}\n" * bool(version) + f"kind: {kind}\n" * bool(kind)
        (found,) = findings("validate", "-", stdin=f"{head}metadata:\n  name: a\n")
        assert (found["rule"], found["level"], found["line"]) == ("not-served", "error", line)
        assert found["message"].startswith(message)
        assert found["hint"].startswith(hint)
        is_served = hint.endswith("?")  # to rename it to a kind that is not served would be another error
        assert line == 1 or (found["fix"] is not None) == is_served

    @each_row(
        ("version", "kind", "said"),
        ("", "Pod", "apiVersion not set"),
        ("apiVersion: apps/v1\n", "Pod", 'no matches for kind "Pod" in version "apps/v1"'),
        ("apiVersion: extensions/v1beta1\n", "Deployment", 'no matches for kind "Deployment" in version "ext'),
        ("apiVersion: example.com/v1\n", "Pod", ""),
        ("apiVersion: [v1]\n", "Pod", "json: cannot unmarshal array into Go struct field .apiVersion of type string"),
        ("", "Widget", ""),
    )
    def test_pods_with_claims_are_of_kubernetes_own_groups(self, version: str, kind: str, said: str) -> None:
        pod = "containers: [{name: c, image: i}], resourceClaims: [{name: x, resourceClaimName: x}]"
        template = "spec: {template: {spec: {%s}}}\n" if kind == "Deployment" else "spec: {%s}\n"
        for spec, expected in ((template % pod, said), (template % "containers: [{name: c, image: i}]", "")):
            found = findings("validate", "-", stdin=f"{version}kind: {kind}\nmetadata: {{name: a}}\n{spec}")
            rule = "wrong-type" if expected.startswith("json: ") else "not-served"
            assert [each["rule"] for each in found if each["level"] == "error"] == [rule] * bool(expected)
            assert all(each["message"].startswith(expected) for each in found if each["level"] == "error")

    @each_row("version", "x.resource.k8s.io/v1", "probe.k8s.io/v1", "example.com/v1")
    def test_of_other_groups_nothing_is_said(self, version: str) -> None:
        assert findings("validate", "-", stdin=f"apiVersion: {version}\nkind: ResourceClaim\n") == []

    @each_row(
        ("manifest", "options", "field"),
        *(
            (f"apiVersion: {version}\nkind: {kind}\nspec: {{foo: 1}}\n", options, field)
            for version in ("1", "1.0", "0", "true", "[a]", "{a: b}")
            for kind, options, field in (
                ("ResourceClaim", (), ".apiVersion"),
                ("Pod", (), ""),
                ("Pod", ("--all-pods",), ".apiVersion"),
                ("Values", ("--all-pods",), ""),
            )
        ),
        ('{"apiVersion": 1, "kind": "DeviceClass"}', (), ".apiVersion"),
        ("kind: Pod\nspec: {}\n", ("--all-pods",), "apiVersion not set"),
        ("kind: List\napiVersion: v1\nitems: [{apiVersion: 1, kind: Values}]\n", (), ".apiVersion"),
        ("kind: List\napiVersion: v1\nitems: [{apiVersion: v1, kind: 3}]\n", (), ".kind"),
        (f"{CLAIM_V1}---\napiVersion: v1\nkind: 3\n", (), ".kind"),
        ("apiVersion: 3\nservices: {}\n", ("--all-pods",), ""),
        ("apiVersion: v1\nkind: 3\n", ("--all-pods",), ""),
    )
    def test_what_is_not_text_names_no_version_and_no_kind(
        self, *, manifest: str, options: tuple[str, ...], field: str
    ) -> None:
        found = findings("validate", "-", *options, stdin=manifest)
        errors = [each["message"] for each in found if each["level"] == "error"]
        assert len(errors) == bool(field)
        assert all(field in each for each in errors)

    @each_row("kind", "compute#disk", "my disk", "a.b", "9")
    def test_what_no_kind_can_be_called_is_not_an_object(self, kind: str) -> None:
        listed = {"kind": "DiskList", "items": [{"kind": kind, "name": "a"}, {"kind": kind, "name": "b"}]}
        assert findings("validate", "-", stdin=json.dumps(listed)) == []
        assert findings("validate", "-", stdin=json.dumps({"kind": f"{kind}List", "items": [{"name": "a"}]})) == []

    def test_text_where_yaml_reads_something_else_wants_quotes(self) -> None:
        (found,) = findings("validate", "-", stdin=CLAIM_V1.replace("gpu.example.com", "y"))
        assert found["hint"].startswith("if a string is meant, put it in quotes")


class TestExitCodes:
    @each_row(
        ("text", "options", "code"),
        (CLAIM, [], 0),
        (CLAIM + "status:\n  driverName: d\n", [], 0),
        (CLAIM + "status:\n  driverName: d\n", ["--strict"], 1),
        (CLAIM, ["--strict"], 0),
        (CLAIM.replace("gpu", "G"), [], 1),
        ("a: [", [], 1),
        (CONFIG_MAP, [], 0),
        ("", [], 1),
        ("# nothing\n", [], 1),
        ("", ["--allow-empty"], 0),
    )
    @each_row("output", "text", "json")
    def test_they_say_whether_anything_would_be_refused(
        self, text: str, options: list[str], code: int, output: str
    ) -> None:
        assert draguard("validate", "--output", output, *options, "-", stdin=text.encode()).code == code


class TestSummary:
    def test_kinds_that_are_not_judged_are_counted(self, write: Write) -> None:
        folder = write(a=f"{CONFIG_MAP}---\n{CLAIM}---\n{CONFIG_MAP}", b="[1, 2]\n---\njust: a map\n---\n3\n")
        assert draguard("validate", folder).out.endswith(
            "\n6 documents in 2 files: no problems (Kubernetes 1.37); 5 skipped "
            "(of other kinds: 3 plain data, 2 ConfigMap)\n"
        )
        counted = reported("validate", folder)["summary"]
        assert (counted["files"], counted["documents"], counted["judged"], counted["notRead"]) == (2, 6, 1, [])
        plain, of_v1 = ({"apiVersion": version, "kind": kind} for version, kind in (("", ""), ("v1", "ConfigMap")))
        assert counted["skipped"] == [plain | {"documents": 3}, of_v1 | {"documents": 2}]

    def test_quotas_and_roles_have_rules_of_their_own(self) -> None:
        metadata = {"metadata": {"name": "of-devices"}}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", **metadata, "spec": {"hard": {"nvidia.com/gpu": 1}}}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", **metadata, "rules": []}
        other = role | {"apiVersion": "example.com/v1"}
        out = draguard("validate", "-", stdin="\n---\n".join(map(json.dumps, (quota, role, other))).encode()).out
        skipped = "1 skipped (of other kinds: 1 ClusterRole of example.com/v1)"
        assert out.endswith(f"\n3 documents in 1 file: 1 warning (Kubernetes 1.37); {skipped}\n")

    def test_policies_are_judged_by_another_command(self) -> None:
        policy = b"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n"
        done = draguard("validate", "-", stdin=policy)
        assert "note: 1 policy is not judged here: `draguard policy check` judges policies\n" in done.out
        assert done.code == 0

    def test_quiet_shows_findings_and_notes_only(self, write: Write) -> None:
        assert draguard("validate", "--quiet", write(a=CLAIM)) == Done(0, "", "")
        (note,) = draguard("validate", "--quiet", write(a=CLAIM_V1)).out.splitlines()
        assert note.startswith("note: references not checked: DeviceClass gpu.example.com ")
        done = draguard("validate", "-q", write(a=CLAIM.replace("gpu", "G")))
        assert "\nhelp: " in done.out

    def test_a_reference_in_a_text_is_noted_by_its_field(self) -> None:
        patch = "resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]"
        template = {"name": "a", "container": {"resources": {"claims": [{"name": "gpu"}]}}, "podSpecPatch": patch}
        head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "a"}}
        done = draguard("validate", "-", stdin=json.dumps({**head, "spec": {"templates": [template]}}).encode())
        assert done.out.startswith("note: references not checked: ResourceClaimTemplate of podSpecPatch (<stdin>:1); ")


SAMPLES = [
    *(path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.yaml"))),
    CLAIM_V1.encode(),
    NEW_POD.encode(),
    json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", "apiVersion": "v1"}, None, 3]}).encode(),
]


@st.composite
def damaged(draw: st.DrawFn, samples: Sequence[bytes] = SAMPLES) -> bytes:
    """Take a real manifest, and replace parts of it by unsuitable values."""
    text = draw(st.sampled_from(samples))
    lines = text.split(b"\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        head = lines[at].split(b":")[0]
        value = draw(
            st.sampled_from([b"", b" 3", b" {}", b" []", b" [1, {a: b}]", b" null", b" 1e400", b" &a [*a]", b" |"])
        )
        lines[at] = draw(
            st.sampled_from([head + b":" + value, b"", b"---", b"- " + lines[at], draw(st.binary(max_size=9))])
        )
    return b"\n".join(lines)


@pytest.mark.slow
@settings(max_examples=1000)
@given(
    text=damaged() | st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    options=st.sampled_from([[], ["--output", "json"], ["--color", "always"], ["--kubernetes-version", "1.30"]]),
)
def test_no_file_makes_it_fail(text: bytes, options: list[str]) -> None:
    done = draguard("validate", *options, "-", stdin=text)
    assert done.code in {0, 1}, done.err
    assert done.err == ""


STORED = [(ROOT / "examples" / name).read_bytes() for name in ("fixed/pod-with-cats.yaml", "pre-scheduled/pod.yaml")]


@pytest.mark.slow
@settings(max_examples=100)
@given(text=damaged(STORED))
def test_no_old_state_makes_it_fail(text: bytes) -> None:
    done = draguard("validate", "--old", "-", ROOT / "examples/fixed", ROOT / "examples/pre-scheduled", stdin=text)
    assert done.code in {0, 1}, done.err
    assert done.err == ""


@each_row("command", ("validate",), ("policy", "check"))
def test_a_misspelt_kind_of_kubernetes_is_not_a_kind_of_another_project(command: tuple[str, ...]) -> None:
    policy = ("admissionregistration.k8s.io/v1", "MutatingAdmissionsPolicy")
    kinds = (policy, ("apps/v1", "Deploymnt"), ("v1", "Config"), ("acme.io/v1", "Deploymnt"))
    text = "\n---\n".join(f"apiVersion: {version}\nkind: {kind}" for version, kind in kinds)
    done = reported(*command, "-", stdin=text)
    found = [(each["rule"], each["line"], each["hint"]) for each in done["findings"]]
    assert found == [
        ("not-served", 2, 'did you mean "MutatingAdmissionPolicy"?'),
        ("not-served", 5, 'did you mean "Deployment"?'),
    ]
    assert {each["kind"] for each in done["summary"]["skipped"]} == {"Config", "Deploymnt"}


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {ok: a}}
spec:
  selector: {matchLabels: {KEY: a}}
  template:
    metadata: {labels: {KEY: a}, annotations: {KEY: a}}
    spec:
      nodeSelector: {KEY: a}
      containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
      resourceClaims: [{name: g, resourceClaimName: g}]
"""


@each_row(
    ("key", "read", "count"),
    *(("on", "true", 4), ("No", "false", 4), ("y", "true", 4), ("'on'", "", 0), ("true", "", 0), ("ok", "", 0)),
)
def test_keys_that_are_booleans_in_yaml_are_explained(key: str, read: str, count: int) -> None:
    done = draguard("validate", "-", stdin=DEPLOYMENT.replace("KEY", key).encode())
    assert done.out.count("warning misread-key: ") == count
    assert done.out.count(f'YAML reads the key {key} as "{read}": to mean the text, write "{key}" in quotes') == count


@each_row(
    ("manifest", "found"),
    (
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {y: a}}\n"
            "spec: {nodeSelector: {n: a}, containers: [{name: c, image: i, resources: {claims: [{name: g}]}}], "
            "resourceClaims: [{name: g, resourceClaimName: g}]}\n"
        ),
        {"misread-key": ["metadata.labels[true]", "spec.nodeSelector[false]"]},
    ),
    (
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"
            "spec: {driver: a.io, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1}, "
            'devices: [{name: d, attributes: {y: {version: "1.2"}, "on": {int: 1}}, capacity: {n: {value: 1}}}]}\n'
        ),
        {
            "misread-key": ["spec.devices[0].attributes[true]", "spec.devices[0].capacity[false]"],
            "semver": ["spec.devices[0].attributes[true].version"],
        },
    ),
    # The error has the help.
    (
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n"
            "spec: {devices: {requests: [{name: g, exactly: {deviceClassName: c, n: 1}}]}}\n"
        ),
        {"unknown-field": ["spec.devices.requests[0].exactly.false"]},
    ),
)
def test_keys_that_are_booleans_are_found_wherever_the_user_chooses_them(
    manifest: str, found: dict[str, list[str]]
) -> None:
    found_here = reported("validate", "-", stdin=manifest)["findings"]
    assert {rule: [each["field"] for each in found_here if each["rule"] == rule] for rule in found} == found
    assert {each["rule"] for each in found_here} == set(found)


def test_a_value_of_the_wrong_type_has_its_own_hint() -> None:
    text = DEPLOYMENT.replace("nodeSelector: {KEY: a}", "nodeSelector: {on: yes}")
    out = draguard("validate", "-", stdin=text.encode()).out
    assert out.count('YAML reads the key on as "true"') == 1
    assert out.count("help: if a string is meant, put it in quotes") == 1


DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {a: b}
  name: things.example.com
spec: [
"""
DASHBOARD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: [\n" + "  # a comment\n" * 6000
OTHER = "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n" + "  a: b\n" * 1000


def skipped(folder: Path) -> tuple[int, list[tuple[str, int]]]:
    report = reported("validate", folder)
    summary = report["summary"]
    return summary["documents"], [(each["kind"], each["documents"]) for each in summary["skipped"]]


def test_definitions_of_custom_resources_are_counted_and_not_parsed(write: Write) -> None:
    folder = write(a=f"---\n{DEFINITION}---\n{CLAIM}---\r\n{DEFINITION}", b=DEFINITION.replace("\n", "\r\n"))
    assert skipped(folder) == (4, [("CustomResourceDefinition", 3)])
    assert skipped(folder / "b.yaml") == (1, [("CustomResourceDefinition", 1)])


def test_large_documents_of_other_kinds_are_not_parsed_unless_they_may_be_about_devices(write: Write) -> None:
    folder = write(a=DASHBOARD)
    assert skipped(folder) == (1, [("ConfigMap", 1)])
    for word in ("resourceClaims", "initContainers", "resource.k8s.io", "DeviceClass"):
        (folder / "a.yaml").write_text(f"{DASHBOARD}# {word}\n", encoding="utf-8")
        assert [each["rule"] for each in reported("validate", folder)["findings"]] == ["unreadable"]


@each_row(
    "text",
    DASHBOARD[:200],  # small
    DASHBOARD.replace("ConfigMap", "Namespace"),
    DASHBOARD.replace("ConfigMap", "Pod"),
    DASHBOARD.replace("ConfigMap", "PodList"),
    DASHBOARD.replace("  name: a\n", "  labels: {}\n"),
    DASHBOARD.replace("  name: a\n", "  name: {{ .Name }}\n"),
    DASHBOARD + "kind: ConfigMap\n",
    DEFINITION.replace("kind:", "kind: |\n "),
    DEFINITION.replace("metadata", '"metadata"'),
)
def test_documents_that_may_matter_or_are_written_otherwise_are_parsed(text: str, write: Write) -> None:
    folder = write(a=text)
    assert [each["rule"] for each in reported("validate", folder / "a.yaml")["findings"]] == ["unreadable"]


CLAIM_IN_QUOTES = """\
"apiVersion": resource.k8s.io/v1
"kind": ResourceClaim
"metadata": {name: a}
spec: {devices: {requests: [{name: BAD, exactly: {deviceClassName: a}}]}}
"""
HIDING = "kind: CustomResourceDefinition\napiVersion: v1\nmetadata:\n  name: a\n"


@each_row(
    "text",
    HIDING + CLAIM_IN_QUOTES,  # the last of several keys counts
    f'{CLAIM_IN_QUOTES}x: "\n{HIDING}"\n',
    f'  {CLAIM_IN_QUOTES.replace(chr(10), chr(10) + "  ")}x: "\n{HIDING}  "\n',
    HIDING + CLAIM_IN_QUOTES.replace('"metadata": {name: a}\n', "").replace('"', "? ").replace("? :", "\n:"),
    *(
        f"apiVersion: v1 # a{end}{CLAIM_IN_QUOTES.replace(chr(10), end, 2)}kind: CustomResourceDefinition\n"
        "metadata:\n  name: a\n"
        for end in ("\r", "\x85", "\u2028", "\u2029")
    ),
)
def test_a_claim_that_looks_like_a_definition_is_judged(text: str, write: Write) -> None:
    rules = {each["rule"] for each in reported("validate", write(a=text) / "a.yaml")["findings"]}
    assert rules & {"dns-label", "duplicate-key", "unreadable"}


@each_row(
    "field",
    r'"resourceCl\x61ims": [{name: BAD}]',
    r'"resourceCl\u0061ims": [{name: BAD}]',
    '"resourceC\\\n      laims": [{name: BAD}]',
    "? !!binary cmVzb3VyY2VDbGFpbXM=\n      : [{name: BAD}]",
)
def test_escaped_names_of_fields_are_read_in_large_documents(field: str, write: Write) -> None:
    containers = r'"cont\x61iners": [{name: a, image: a}]' if "!!" not in field else "other: a"
    text = f"{OTHER}  template:\n    spec:\n      {containers}\n      {field}\n" + "  # a comment\n" * 6000
    folder = write(a=text)
    assert reported("validate", folder / "a.yaml")["findings"]


def test_with_policies_everything_is_parsed(write: Write) -> None:
    folder = write(a=DEFINITION, policies__p=POLICY)
    done = draguard("validate", "--policies", folder / "policies", folder / "a.yaml")
    assert done.code == 1
    assert ":7:1: error unreadable" in done.out


NAMED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: default}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}]}}
"""
OLDER = NAMED.replace("/v1\n", "/v1beta2\n")
MESSAGE = 'ResourceClaim "a" in namespace default is at line 3, too: if both are applied, this one replaces it'


@each_row(
    ("other", "line"),
    (NAMED, 8),
    (NAMED.replace(", namespace: default", ""), 8),
    (OLDER, 8),
    (NAMED.replace("devices", "device"), 8),
    (NAMED.replace("default", "other"), 0),
    (NAMED.replace("name: a,", "generateName: a-,"), 0),
    (NAMED.replace("name: a,", "name: b,"), 0),
    (NAMED.replace("resource.k8s.io/v1", "example.com/v1"), 0),
    (NAMED.replace("ResourceClaim", "ConfigMap"), 0),
)
def test_an_object_that_a_file_has_twice_is_named_with_both_places(other: str, line: int) -> None:
    done = draguard("validate", "--level", "deprecated=off", "-", stdin=f"{NAMED}---\n{other}".encode())
    assert (f"<stdin>:{line}:12: warning repeated-object: metadata.name: {MESSAGE}" in done.out) == bool(line)
    assert done.out.count("repeated-object") == bool(line)


def test_a_repeated_object_is_in_its_place_among_the_findings_of_its_document() -> None:
    for options in ((), ("--kubernetes-version", "1.37")):
        found = findings("validate", *options, "-", stdin=f"{NAMED}---\n{NAMED.replace('/v1', '/v1alpha3')}")
        assert "repeated-object" in {each["rule"] for each in found}
        assert [each["line"] for each in found] == sorted(each["line"] for each in found)


def test_another_namespace_is_no_way_out_for_an_object_without_one() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: a, namespace: {}}}\nspec: {{}}\n"
    judged = findings("validate", "-", stdin="---\n".join(map(text.format, "xy")))
    found = [each for each in judged if each["rule"] == "repeated-object"]
    assert [each["hint"] for each in found] == ["give it another name, or remove one of them"]


def test_files_are_not_compared_and_a_stream_is_one(write: Write) -> None:
    assert "repeated-object" not in draguard("validate", write(a=NAMED, b=NAMED)).out
    done = draguard("validate", "-", stdin="---\n".join([NAMED] * 3).encode())
    assert done.out.count("is at line 3, too") == 2  # each repetition counts


HERE = "  namespace: default\n"
CHANGED, CHANGED_V1 = (each.replace("gpu.example.com", "other.example.com") for each in (CLAIM, CLAIM_V1))
FLAT = CLAIM_V1.replace("/v1\n", "/v1beta1\n").replace("      exactly:\n  ", "")


class TestOld:
    def test_what_may_not_change_is_found_in_the_new_state(self, write: Write) -> None:
        folder = write(old__a=CLAIM, new__b=f"{CONFIG_MAP}---\n{CHANGED}")
        (found,) = findings("validate", "--old", folder / "old", folder / "new")
        assert (found["file"], found["line"], found["rule"]) == (f"{folder}/new/b.yaml", 11, "immutable")
        assert found["hint"] == "delete the object and create it again"

    def test_the_claims_of_a_job_may_not_change(self, write: Write) -> None:
        shown = example("claims-of-job")
        assert shown
        folder = write(old__a=shown.before, new__a=shown.fails)
        (found,) = findings("validate", "--old", folder / "old", folder / "new")
        assert (found["rule"], found["hint"]) == ("claims-of-job", "delete the object and create it again")

    def test_objects_of_one_state_only_are_not_a_problem(self, write: Write) -> None:
        gone, new = CLAIM.replace("name: claim", "name: gone"), CLAIM.replace("name: claim", "name: new")
        folder = write(old=f"{gone}---\n{CLAIM}", new=f"{new}---\n{CLAIM}")
        assert findings("validate", "--old", folder / "old.yaml", folder / "new.yaml") == []

    def test_an_old_state_of_other_objects_is_noted(self, write: Write) -> None:
        other = CLAIM.replace("name: claim", "name: other")
        folder = write(old=CLAIM, other=other, both=f"{other}---\n{CLAIM}", map=CONFIG_MAP)
        note = "note: --old has none of these objects by kind, namespace and name: all are judged as new\n"
        outputs = [
            draguard("validate", "--old", folder / "old.yaml", folder / f"{name}.yaml").out
            for name in ("old", "other", "both", "map")
        ]
        assert [note in each for each in outputs] == [False, True, False, False]

    @each_row(
        ("files", "old"),
        ({"values__values": "replicas: 1"}, "values"),
        ({"kustomize__kustomization": "resources: [../new.yaml]"}, "kustomize/kustomization.yaml"),
        ({"chart__Chart": "apiVersion: v2\nname: chart\nversion: 1.0.0"}, "chart/Chart.yaml"),
    )
    def test_an_old_state_without_objects_is_noted(self, files: dict[str, str], old: str, write: Write) -> None:
        folder = write(new=CLAIM, **files)
        assert "note: --old has none of these" in draguard("validate", "--old", folder / old, folder / "new.yaml").out

    @each_row("option", "--old", "--cluster")
    def test_a_directory_or_glob_of_another_state_leads_to_a_file(self, option: str, write: Write) -> None:
        folder = write(new=CLAIM)
        (folder / "empty").mkdir(exist_ok=True)
        for path, why in (("empty", "no manifest in this directory"), ("missing*.yaml", "no manifest matches")):
            done = draguard("validate", option, folder / path, folder / "new.yaml")
            assert (done.code, why in done.out, "--allow-empty" in done.out) == (2, True, False)

    def test_files_of_the_old_state_that_are_not_read_are_noted_as_such(self, write: Write) -> None:
        folder = write(new=CLAIM, old__chart__Chart="name: chart", old__chart__templates__a="{{ x }}")
        done = draguard("validate", "--old", folder / "old", folder / "new.yaml")
        assert "--old: not read: 1 Helm template" in done.err + done.out

    def test_old_states_come_from_several_paths_and_from_standard_input(self, write: Write) -> None:
        folder = write(old=CONFIG_MAP, new=CHANGED)
        old = ["--old", str(folder / "old.yaml"), "--old", "-"]
        assert rules(*old, folder / "new.yaml", stdin=CLAIM) == [("immutable", "spec")]

    @each_row(
        ("old", "new", "found"),
        (CLAIM, CHANGED, True),
        (CLAIM, CHANGED.replace(HERE, ""), True),
        (CLAIM.replace(HERE, ""), CHANGED, True),
        (CLAIM.replace(HERE, ""), CHANGED.replace(HERE, ""), True),
        (CLAIM.replace("default", "other"), CHANGED, False),
        (f"{CLAIM}---\n{CLAIM.replace('default', 'other')}", CHANGED.replace(HERE, ""), False),
        (CLAIM.replace("claim\n", "other\n"), CHANGED, False),
        (CLAIM.replace("kind: ResourceClaim", "kind: ResourceClaimTemplate"), CHANGED, False),
        (CLAIM.replace("name: claim", "generateName: a"), CHANGED.replace("name: claim", "generateName: a"), False),
        *((CLAIM_V1.replace("/v1", "/v1beta2"), new, new != CLAIM_V1) for new in (CLAIM_V1, CHANGED_V1)),
        *((FLAT, new, new != CLAIM_V1) for new in (CLAIM_V1, CHANGED_V1)),
        (f"[1]\n---\n3\n---\n{NEW_POD.replace('apiVersion: v1', '')}", NEW_POD, False),
    )
    def test_an_object_is_known_by_its_kind_name_and_namespace_in_any_version(
        self, old: str, new: str, found: bool, write: Write
    ) -> None:
        folder = write(old=old, new=new)
        assert rules("--old", folder / "old.yaml", folder / "new.yaml") == [("immutable", "spec")] * found

    def test_states_that_cannot_be_converted_are_not_compared(self, write: Write) -> None:
        stable = CLAIM.replace("v1alpha2", "v1").replace("resourceClassName: gpu.example.com", "{}")
        folder = write(old=stable, new=CLAIM)
        done = draguard("validate", "--old", folder / "old.yaml", folder / "new.yaml")
        assert done.code == 0
        assert ":1:1: warning old-version: apiVersion: the old state is in resource.k8s.io/v1, so " in done.out
        get = "get the old state in resource.k8s.io/v1alpha2: kubectl get resourceclaim.v1alpha2.res"
        assert f"\nhelp: {get}" in done.out

    def test_an_old_state_that_cannot_be_read_is_found(self, write: Write) -> None:
        folder = write(old="a: [", new=CLAIM)
        (found,) = findings("validate", "--old", folder / "old.yaml", folder / "new.yaml")
        assert (found["file"], found["rule"]) == (f"{folder}/old.yaml", "unreadable")

    def test_a_status_is_compared_on_demand(self, write: Write) -> None:
        status = "status:\n  reservedFor:\n  - {resource: pods, name: pod, uid: uid}\n"
        folder = write(old=CLAIM, new=CLAIM + status)
        states = ["--old", str(folder / "old.yaml"), str(folder / "new.yaml")]
        assert ("reserved-only-while-allocated", "status.reservedFor") in rules("--subresource", "status", *states)
        assert ("reserved-only-while-allocated", "status.reservedFor") not in rules(*states)

    def test_a_status_that_is_not_judged_names_the_option(self, write: Write) -> None:
        claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec: {}\n"
        folder = write(old=claim, new=f"{claim}status: {{devices: [{{driver: a.b, pool: p, device: d}}]}}\n")
        old, new = folder / "old.yaml", folder / "new.yaml"
        for options in ((), ("--old", old)):
            (found,) = [each for each in findings("validate", *options, new) if each["rule"].startswith("status-")]
            assert "--subresource status" in found["hint"]
        assert [each["rule"] for each in findings("validate", "--old", old, "--subresource", "status", new)] != []

    def test_what_a_status_keeps_of_the_old_state_may_be_missing_in_the_new_one(self, write: Write) -> None:
        spec = (
            "{driver: d.test, nodeName: node-1, pool: {name: a, generation: 1, resourceSliceCount: 1}, devices: [%s]}"
        )
        stated = f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: a}}\nspec: {spec}\n"
        folder = write(old=stated % "{name: a}, {name: b}, {name: b}", new=stated % "{name: a}")
        states = ("--old", folder / "old.yaml", folder / "new.yaml")
        (found,) = findings("validate", "--subresource", "status", *states)
        assert (found["rule"], found["field"]) == ("duplicate", "spec.devices[2]")

    def test_a_status_needs_an_old_state(self, write: Write) -> None:
        said = usage_error("validate", "--subresource", "status", write(new=CLAIM))
        assert "--subresource status judges updates: give the earlier state with --old" in said


def test_keys_are_looked_for_without_the_paths_of_all_that_is_nested() -> None:
    deep = "[" * 180 + ",".join(["{}"] * 20_000) + "]" * 180
    (document,) = documents(f"apiVersion: v1\nkind: Pod\nmetadata: {{labels: {{on: a}}}}\nspec: {deep}\n")
    tracemalloc.start()
    try:
        (found,) = misread_key(document, ())
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert str(found.path) == "metadata.labels[true]"
