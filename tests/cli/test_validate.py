from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.manifests import CLAIM, CLAIM_V1, CONFIG_MAP, NEW_POD, OLD_POD, rules
from tests.command import ROOT, SCRIPT, Done, draguard, findings, reported
from webhook.api.versions import NEWEST
from webhook.cli import main
from webhook.cli.console import progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


CLASS_WITH_SELECTOR = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel:
      expression: """


class TestPaths:
    def test_without_a_path_the_current_directory_is_read(
        self, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(write(a=CLAIM, b__c=CLAIM))
        assert draguard("validate").out.endswith("\n2 documents in 2 files: no problems\n")

    def test_files_directories_and_globs_are_read_once(self, write: Callable[..., Path]) -> None:
        folder = write(a=CLAIM, b__c=CLAIM)
        done = draguard("validate", folder / "a.yaml", folder, folder / "*" / "*.yaml")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith("\n2 documents in 2 files: no problems\n")

    def test_a_path_that_does_not_exist_is_wrong_use_and_hides_nothing(self, write: Callable[..., Path]) -> None:
        folder = write(a=CLAIM.replace("claim", "CLAIM"))
        done = draguard("validate", folder / "gone.yaml", folder)
        assert done.code == 2
        assert "\n1 document in 1 file: 2 errors" in done.out
        assert f"{folder}/gone.yaml: error unreadable: no such file or directory\n" in done.out
        assert f"{folder}/a.yaml:4:3: error object-name: " in done.out

    @pytest.mark.parametrize(
        "options", [("--old", "-", "-"), ("--cluster", "-", "-"), ("--old", "-", "--cluster", "-", "examples/v1")]
    )
    def test_standard_input_cannot_be_both_states(self, options: tuple[str, ...]) -> None:
        done = draguard("validate", *options)
        assert (done.code, done.out) == (2, "")
        assert "standard input (-) cannot be both" in done.err


class TestFindings:
    def test_they_are_sorted_by_line_within_a_document(self, write: Callable[..., Path]) -> None:
        text = CLAIM.replace("name: claim", "name: A").replace("gpu.example.com", "B") + "status:\n  driverName: c\n"
        folder = write(a=f"{text}---\n{text.replace('name: A', 'name: B')}")
        found = findings("validate", folder)
        assert [(each["document"], each["line"]) for each in found] == [
            (1, 4),
            (1, 7),
            (1, 8),
            (2, 14),
            (2, 17),
            (2, 18),
        ]

    def test_they_name_the_object_and_the_release(self, write: Callable[..., Path]) -> None:
        folder = write(a=CLAIM.replace("gpu.example.com", "GPU"))
        (found,) = findings("validate", "--kubernetes-version", "1.28", folder)
        assert found.pop("fingerprint")
        assert found | {"message": ""} == {
            "file": f"{folder}/a.yaml",
            "document": 1,
            "line": 7,
            "column": 3,
            "level": "error",
            "rule": "dns-subdomain",
            "help": "https://github.com/draguard/draguard/blob/main/docs/rules/dns-subdomain.md",
            "reason": "FieldValueInvalid",
            "field": "spec.resourceClassName",
            "message": "",
            "hint": 'did you mean "gpu"?',
            "apiVersion": "resource.k8s.io/v1alpha2",
            "kind": "ResourceClaim",
            "namespace": "default",
            "name": "claim",
            "rendered": False,
            "placed": False,
            "written": "",
            "fix": "unsafe",
            "template": "",
            "kubernetes": "1.28",
            "releases": ["1.28"],
            "policy": None,
            "suppression": None,
        }

    def test_one_unreadable_document_does_not_hide_the_others(self, write: Callable[..., Path]) -> None:
        folder = write(a=f"a: [\n---\n{CLAIM.replace('gpu', 'G')}---\nb: 1\nb: 2\n", b="apiVersion: \x00")
        found = findings("validate", folder)
        assert [(each["rule"], each["line"]) for each in found] == [
            ("unreadable", 2),
            ("dns-subdomain", 9),
            ("unreadable", 12),
            ("unreadable", 1),
        ]

    def test_items_of_a_list_are_found_at_their_own_lines(self, write: Callable[..., Path]) -> None:
        items = textwrap.indent(CLAIM + CLAIM.replace("gpu", "G").replace("name: claim", "name: other"), "  ").replace(
            "  apiVersion", "- apiVersion"
        )
        folder = write(a=f"apiVersion: v1\nkind: List\nitems:\n{items}")
        (found,) = findings("validate", folder)
        assert (found["line"], found["field"]) == (17, "spec.resourceClassName")

    def test_json_is_read_too(self) -> None:
        text = (
            '{"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClass",\n'
            ' "metadata": {"name": "A"}, "driverName": "d"}'
        )
        (found,) = findings("validate", "-", stdin=text)
        assert (found["file"], found["line"], found["column"], found["rule"]) == ("<stdin>", 2, 15, "object-name")

    def test_an_expression_is_wrong_at_a_character(self) -> None:
        selector = "|-\n        device.driver == 'a' &&\n        device.atributes['a'].model == 'x'\n"
        (found,) = findings("validate", "-", stdin=CLASS_WITH_SELECTOR + selector)
        assert (found["rule"], found["line"], found["column"]) == ("cel-selector", 9, 15)


class TestUnknownKinds:
    @pytest.mark.parametrize(
        ("head", "line", "message", "hint"),
        [
            (
                "apiVersion: resource.k8s.io/v1\nkind: ResourceClam",
                2,
                "no matches for kind",
                'did you mean "ResourceClaim"?',
            ),
            (
                "apiVersion: resource.k8s.io/v1\nkind: X",
                2,
                "no matches for kind",
                f"Kubernetes 1.27 to 1.{NEWEST} have no such kind",
            ),
            (
                "apiVersion: resource.k8s.io/v1alpha1\nkind: ResourceClass",
                1,
                "no matches",
                f"Kubernetes 1.{NEWEST} serves ResourceClass in no version",
            ),
            (
                "apiVersion: v1\nkind: DeviceClass",
                1,
                'no matches for kind "DeviceClass" in version "v1"',
                f"Kubernetes 1.{NEWEST} serves",
            ),
            (
                "apiVersion: resources.k8s.io/v1\nkind: DeviceClass",
                1,
                'no matches for kind "DeviceClass" in version "resources.k8s.io/v1"',
                f"Kubernetes 1.{NEWEST} serves DeviceClass in resource.k8s.io/v1,",
            ),
            ("apiVersion: apps/v1\nkind: DeviceClass", 1, "no matches for kind", f"Kubernetes 1.{NEWEST} serves"),
            ("apiVersion: resource.k8s.io/v1", 1, "kind not set", ""),
            ("kind: ResourceClaim", 1, "apiVersion not set", ""),
        ],
    )
    def test_a_misspelt_kind_or_version_is_no_kind_of_somebody_else(
        self, head: str, line: int, message: str, hint: str
    ) -> None:
        (found,) = findings("validate", "-", stdin=f"{head}\nmetadata:\n  name: a\n")
        assert (found["rule"], found["level"], found["line"]) == ("not-served", "error", line)
        assert found["message"].startswith(message)
        assert found["hint"].startswith(hint)

    @pytest.mark.parametrize(
        ("version", "kind", "said"),
        [
            ("", "Pod", "apiVersion not set"),
            ("apiVersion: apps/v1\n", "Pod", 'no matches for kind "Pod" in version "apps/v1"'),
            ("apiVersion: extensions/v1beta1\n", "Deployment", 'no matches for kind "Deployment" in version "ext'),
            ("apiVersion: example.com/v1\n", "Pod", ""),
            ("apiVersion: [v1]\n", "Pod", ""),
            ("", "Widget", ""),
        ],
    )
    def test_pods_with_claims_are_of_kubernetes_own_groups(self, version: str, kind: str, said: str) -> None:
        pod = "containers: [{name: c, image: i}], resourceClaims: [{name: x, resourceClaimName: x}]"
        template = "spec: {template: {spec: {%s}}}\n" if kind == "Deployment" else "spec: {%s}\n"
        for spec, expected in ((template % pod, said), (template % "containers: [{name: c, image: i}]", "")):
            found = findings("validate", "-", stdin=f"{version}kind: {kind}\nmetadata: {{name: a}}\n{spec}")
            assert [each["rule"] for each in found if each["level"] == "error"] == ["not-served"] * bool(expected)
            assert all(each["message"].startswith(expected) for each in found if each["level"] == "error")

    @pytest.mark.parametrize("version", ["x.resource.k8s.io/v1", "example.com/v1", "[v1]", "1"])
    def test_of_other_groups_nothing_is_said(self, version: str) -> None:
        assert findings("validate", "-", stdin=f"apiVersion: {version}\nkind: ResourceClaim\n") == []

    def test_text_where_yaml_reads_something_else_wants_quotes(self) -> None:
        (found,) = findings("validate", "-", stdin=CLAIM_V1.replace("gpu.example.com", "y"))
        assert found["hint"].startswith("if a string is meant, put it in quotes")


class TestExitCodes:
    @pytest.mark.parametrize(
        ("text", "options", "code"),
        [
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
        ],
        ids=[
            *("fine", "warning", "strict", "strictly fine", "error", "unreadable", "not judged"),
            *("empty", "a comment", "allowed to be empty"),
        ],
    )
    @pytest.mark.parametrize("output", ["text", "json"])
    def test_they_say_whether_anything_would_be_refused(
        self, text: str, options: list[str], code: int, output: str
    ) -> None:
        assert draguard("validate", "--output", output, *options, "-", stdin=text.encode()).code == code


class TestSummary:
    def test_kinds_that_are_not_judged_are_counted(self, write: Callable[..., Path]) -> None:
        folder = write(a=f"{CONFIG_MAP}---\n{CLAIM}---\n{CONFIG_MAP}", b="[1, 2]\n---\njust: a map\n---\n3\n")
        assert draguard("validate", folder).out.endswith(
            "\n6 documents in 2 files: no problems; 5 skipped (of other kinds: 3 plain data, 2 ConfigMap)\n"
        )
        assert reported("validate", folder)["summary"] == {
            "files": 2,
            "documents": 6,
            "judged": 1,
            "errors": 0,
            "warnings": 0,
            "notes": 0,
            "suppressed": 0,
            "skipped": [
                {"apiVersion": "", "kind": "", "documents": 3},
                {"apiVersion": "v1", "kind": "ConfigMap", "documents": 2},
            ],
            "withoutClaims": 0,
            "notRead": [],
        }

    def test_policies_are_judged_by_another_command(self) -> None:
        policy = b"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n"
        done = draguard("validate", "-", stdin=policy)
        assert "note: 1 policy is not judged here: `draguard policy check` judges policies\n" in done.out
        assert done.code == 0

    def test_quiet_shows_findings_only(self, write: Callable[..., Path]) -> None:
        assert draguard("validate", "--quiet", write(a=CLAIM)) == Done(0, "", "")
        done = draguard("validate", "-q", write(a=CLAIM.replace("gpu", "G")))
        assert "\nhelp: " in done.out


OTHER_V1 = CLAIM_V1.replace("name: claim", "name: other")


class TestReleases:
    @pytest.mark.parametrize(
        ("manifest", "hint"),
        [
            (
                (
                    "kind: ResourceClaimParameters, driverRequests: [{driverName: a.io, requests: "
                    "[{namedResources: {selector: 'attributes.bool[\"b\"]'}}]}]"
                ),
                'write into the claim, as spec.devices: {"requests": [{"name": "request-0", "exactly": ',
            ),
            (
                "kind: ResourceClass, driverName: a.io",
                "1.27 to 1.30; draguard convert --write converts it (give it the same --kubernetes-version)",
            ),
        ],
    )
    def test_it_says_how_an_object_gets_to_a_version_that_is_served(
        self, manifest: str, hint: str, write: Callable[..., Path]
    ) -> None:
        text = f"{{apiVersion: resource.k8s.io/v1alpha2, metadata: {{name: c, namespace: a}}, {manifest}}}"
        (found,) = findings("validate", "--kubernetes-version", "1.34", write(a=text))
        assert found["rule"] == "not-served"
        assert hint in found["hint"]

    @pytest.mark.parametrize(("kind", "release"), [("DeviceClass", "1.30"), ("DeviceTaintRule", "1.31")])
    def test_it_advises_to_convert_only_what_can_be_converted(
        self, kind: str, release: str, write: Callable[..., Path]
    ) -> None:
        version = "v1alpha3" if kind == "DeviceTaintRule" else "v1"
        manifest = write(
            a=f"{{apiVersion: resource.k8s.io/{version}, kind: {kind}, metadata: {{name: a}}, spec: {{}}}}"
        )
        (found,) = findings("validate", "--kubernetes-version", release, manifest)
        assert found["rule"] == "not-served"
        assert "convert" not in found["hint"]
        assert draguard("convert", "--kubernetes-version", release, manifest).code == 1

    def test_objects_that_later_releases_refuse_are_reported(self, write: Callable[..., Path]) -> None:
        old = "{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClass, metadata: {name: c}, driverName: a.io}"
        folder = write(one=old, two=old.replace("name: c", "name: d"))
        done = draguard("validate", folder)
        said = "judged as Kubernetes 1.30, the newest that serves it: 2 ResourceClass of resource.k8s.io/v1alpha2"
        assert (done.code, done.err) == (0, "")
        assert f"note: {said}; later releases refuse it\n" in done.out
        assert "judged as" not in draguard("validate", "--kubernetes-version", "1.30", folder).out
        assert reported("validate", folder)["remarks"] == [f"{said}; later releases refuse it"]
        (run,) = json.loads(draguard("validate", "-o", "sarif", folder).out)["runs"]
        assert said in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
        assert f"::notice::{said}" in draguard("validate", "-o", "github", folder).out

    @pytest.mark.parametrize(("release", "code"), [("1.29", 0), ("v1.30.2", 0), ("1.31", 1)])
    def test_a_stated_release_judges_everything(self, release: str, code: int) -> None:
        assert draguard("validate", "--kubernetes-version", release, "-", stdin=CLAIM.encode()).code == code

    def test_an_unknown_release_is_wrong_use_even_without_documents(self, write: Callable[..., Path]) -> None:
        done = draguard("validate", "--kubernetes-version", "1.26", write(a=""))
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("draguard validate: error: --kubernetes-version: Kubernetes 1.26 is not known here")

    def test_a_pod_follows_the_claims_of_its_file(self, write: Callable[..., Path]) -> None:
        other = OLD_POD.replace("name: pod", "name: other")
        # Before them and after them, and whatever the other file holds.
        folder = write(a=f"{OLD_POD}---\n{CLAIM}---\n{other}", b=f"{NEW_POD}---\n{CLAIM_V1}")
        assert findings("validate", folder) == []

    def test_a_pod_alone_in_its_file_follows_the_claims_of_its_directory(self, write: Callable[..., Path]) -> None:
        folder = write(old__claim=CLAIM, old__pod=OLD_POD, new__claim=CLAIM_V1, new__pod=NEW_POD)
        assert findings("validate", folder) == []

    @pytest.mark.parametrize("beside", [CONFIG_MAP, f"{CLAIM}---\n{OTHER_V1}"], ids=["no claims", "of no one release"])
    def test_otherwise_a_pod_is_judged_by_the_newest_release(self, beside: str, write: Callable[..., Path]) -> None:
        folder = write(a=f"{beside}---\n{OLD_POD}")
        (found,) = findings("validate", folder)
        assert (found["rule"], found["kubernetes"]) == ("unknown-field", f"1.{NEWEST}")

    def test_a_stated_release_judges_pods_too(self, write: Callable[..., Path]) -> None:
        folder = write(a=f"{CLAIM}---\n{NEW_POD}")
        (found,) = findings("validate", "--kubernetes-version", "1.29", folder)
        assert (found["rule"], found["kubernetes"]) == ("unknown-field", "1.29")

    def test_findings_of_pods_keep_their_place(self, write: Callable[..., Path]) -> None:
        other = NEW_POD.replace("name: pod", "name: other")
        folder = write(a=f"{NEW_POD}---\n{CLAIM.replace('gpu', 'G')}---\n{other}")
        assert [rule for rule, _ in rules(folder)] == ["unknown-field", "dns-subdomain", "unknown-field"]


def on_a_terminal(*arguments: str | Path, **env: str) -> str:
    """Run the command with its output on a terminal."""
    terminal, theirs = pty.openpty()
    command = [SCRIPT, "validate", *arguments]
    done = subprocess.run(command, stdout=theirs, check=False, cwd=ROOT, env={**os.environ, "TERM": "xterm", **env})
    os.close(theirs)
    text = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    assert done.returncode == 1
    return text


class TestColour:
    BAD = "examples/limits/nodes.yaml"

    def test_it_is_used_on_a_terminal(self) -> None:
        assert "\x1b[1;31merror\x1b[0m" in on_a_terminal(self.BAD)

    @pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_a_terminal_can_do_without(self, env: dict[str, str]) -> None:
        assert "\x1b" not in on_a_terminal(self.BAD, **env)

    @pytest.mark.parametrize(("choice", "colours"), [("auto", False), ("always", True), ("never", False)])
    def test_elsewhere_it_is_used_on_demand(self, choice: str, colours: bool) -> None:
        assert ("\x1b[" in draguard("validate", "--color", choice, ROOT / self.BAD).out) is colours


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestProgress:
    def test_it_is_shown_once_work_takes_long_and_is_gone_in_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        terminal = Terminal()
        assert list(progress.with_progress(range(3), terminal)) == [0, 1, 2]
        assert terminal.getvalue().startswith("\r\x1b[K1 documents")
        assert terminal.getvalue().endswith("\r\x1b[K")

    def test_it_does_not_flicker_while_work_is_quick(self) -> None:
        terminal = Terminal()
        assert list(progress.with_progress(range(3), terminal)) == [0, 1, 2]
        assert terminal.getvalue() == ""

    @pytest.mark.parametrize(("options", "shown"), [([], True), (["--quiet"], False)])
    def test_it_is_shown_on_a_terminal_unless_only_findings_are_wanted(
        self,
        options: list[str],
        shown: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        with redirect_stdout(io.StringIO()), redirect_stderr(Terminal()) as terminal:
            assert main(["validate", *options, str(ROOT / TestColour.BAD)]) == 1
        assert ("documents" in terminal.getvalue()) is shown


SAMPLES = [
    *(path.read_bytes() for path in sorted((ROOT / "examples").rglob("*.yaml"))),
    CLAIM_V1.encode(),
    NEW_POD.encode(),
    json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", "apiVersion": "v1"}, None, 3]}).encode(),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Take a real manifest, and replace parts of it by unsuitable values."""
    text = draw(st.sampled_from(SAMPLES))
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


@pytest.mark.slow
@settings(max_examples=300)
@given(text=damaged())
def test_no_old_state_makes_it_fail(text: bytes) -> None:
    done = draguard("validate", "--old", "-", ROOT / "examples/fixed", ROOT / "examples/pre-scheduled", stdin=text)
    assert done.code in {0, 1}, done.err
    assert done.err == ""


CLAIM_OF_ADMIN = (
    CLAIM_V1.replace("  name: claim\n", "  name: claim\n  namespace: ops\n") + "        adminAccess: true\n"
)
LABEL = "resource.kubernetes.io/admin-access"
LABELLED = f'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ops\n  labels:\n    {LABEL}: "true"\n'
UNLABELLED = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ops\n"
TAINTED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata:
  name: tainted
spec:
  driver: gpu.example.com
  nodeName: node1
  pool: {name: node1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu0
    taints:
    - {key: example.com/broken, effect: NoSchedule, timeAdded: "2026-01-01T00:00:00Z"}
"""

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: policy
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [deployments]
  validations:
  - expression: object.spec.replicas < 9
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: binding
spec:
  policyName: policy
  validationActions: [Deny]
"""


def levels(*arguments: str, stdin: str) -> list[tuple[str, str]]:
    return [(finding["level"], finding["rule"]) for finding in findings("validate", *arguments, "-", stdin=stdin)]


class TestFeatureGates:
    def test_a_field_is_dropped_if_its_gate_is_off_by_default(self) -> None:
        assert levels("--kubernetes-version", "1.35", stdin=TAINTED) == [("warning", "gate-off")]
        assert levels("--kubernetes-version", "1.36", stdin=TAINTED) == []

    @pytest.mark.parametrize(
        "gates",
        [
            ["DRADeviceTaints=true"],
            ["AllAlpha=true"],
            ["DRADeviceTaints=false,DRADeviceTaints=1"],
            ["DRADeviceTaints=false", " DRADeviceTaints = T ,"],
            ["AllAlpha=false", "DRADeviceTaints=TRUE"],
        ],
    )
    def test_a_gate_is_switched_on_as_kube_apiserver_takes_it(self, gates: list[str]) -> None:
        options = [f"--feature-gates={each}" for each in gates]
        assert levels("--kubernetes-version", "1.35", *options, stdin=TAINTED) == []

    @pytest.mark.parametrize("gates", ["DRADeviceTaints=false", "AllBeta=f", "AllBeta=true,DRADeviceTaints=0"])
    def test_a_gate_is_switched_off(self, gates: str) -> None:
        options = ["--kubernetes-version", "1.36", "--feature-gates", gates]
        assert levels(*options, stdin=TAINTED) == [("warning", "gate-off")]

    @pytest.mark.parametrize("command", [["validate"], ["review"], ["serve", "--dev"]])
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["DRADeviceTaint=true"], "unrecognized feature gate: DRADeviceTaint; did you mean DRADeviceTaints?"),
            (["DRADeviceTaints"], "missing bool value for feature gate DRADeviceTaints: write DRADeviceTaints=true or"),
            (["DRADeviceTaints=on"], "invalid value of DRADeviceTaints: 'on' is neither true nor false"),
            (["DRAAdminAccess=false"], "cannot set feature gate DRAAdminAccess to false, feature is locked to true"),
            (
                ["DRAListTypeAttributes=true", "--kubernetes-version=1.35"],
                "Kubernetes 1.35 has no feature gate DRAListTypeAttributes; added in 1.36",
            ),
            (
                ["DRAControlPlaneController=true", "--kubernetes-version=1.32"],
                "Kubernetes 1.32 has no feature gate DRAControlPlaneController; added in 1.31 and removed in 1.32",
            ),
        ],
    )
    def test_what_cannot_be_set_is_wrong_use(self, command: list[str], arguments: list[str], message: str) -> None:
        paths = [] if command[0] == "serve" else ["-"]
        done = draguard(*command, "--feature-gates", *arguments, *paths)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"draguard {command[0]}: error: --feature-gates: {message}")


class TestNamespaces:
    def test_nothing_known_of_the_namespace_is_a_warning_that_says_how_to_fix_that(self) -> None:
        done = draguard("validate", "-", stdin=CLAIM_OF_ADMIN.encode())
        assert (done.code, "warning admin-access: " in done.out) == (0, True)
        assert "help: its labels are not known: add the Namespace, or give --namespace-labels" in done.out

    @pytest.mark.parametrize(
        ("namespace", "found"), [(LABELLED, []), (UNLABELLED, [("error", "admin-access")])], ids=["labelled", "not"]
    )
    def test_a_namespace_may_stand_anywhere_among_the_manifests(
        self, namespace: str, found: list[tuple[str, str]]
    ) -> None:
        for documents in ([namespace, CLAIM_OF_ADMIN], [CLAIM_OF_ADMIN, namespace]):
            assert levels(stdin="---\n".join(documents)) == found

    def test_a_namespace_may_stand_beside_the_policies(self, tmp_path: Path) -> None:
        (tmp_path / "policies.yaml").write_text(UNLABELLED + "---\n" + POLICY, encoding="utf-8")
        assert levels("--policies", str(tmp_path), stdin=CLAIM_OF_ADMIN) == [("error", "admin-access")]
        assert levels("--policies", str(tmp_path), stdin=CLAIM_OF_ADMIN + "---\n" + LABELLED) == []

    @pytest.mark.parametrize(
        ("labels", "found"),
        [
            ([f"ops={LABEL}=true"], []),
            ([f"ops=team=a,{LABEL}=true"], []),
            (["ops=team=a", f"ops={LABEL}=true"], []),
            ([f"ops={LABEL}=false"], [("error", "admin-access")]),
            (["ops="], [("error", "admin-access")]),
            (["other="], [("warning", "admin-access")]),
        ],
    )
    def test_its_labels_may_be_stated(self, labels: list[str], found: list[tuple[str, str]]) -> None:
        options = [f"--namespace-labels={each}" for each in labels]
        assert levels(*options, stdin=CLAIM_OF_ADMIN) == found

    @pytest.mark.parametrize(
        "label", ["resource.k8s.io/admin-access: true", f"{LABEL[:-1]}: true", f"{LABEL}: yes", "team: a"]
    )
    def test_a_label_that_was_probably_meant_is_named(self, label: str) -> None:
        namespace = LABELLED.replace(f'{LABEL}: "true"', label.replace(": ", ': "') + '"')
        for documents in ([namespace, CLAIM_OF_ADMIN], [CLAIM_OF_ADMIN, namespace]):
            out = draguard("validate", "-", stdin="---\n".join(documents).encode()).out
            said = f'help: the namespace has {label}: write {LABEL}: "true"\n'
            assert (said in out) == ("admin" in label)

    def test_what_is_stated_counts_more_than_objects(self) -> None:
        assert levels("--namespace-labels=ops=", stdin=LABELLED + "---\n" + CLAIM_OF_ADMIN) == [
            ("error", "admin-access")
        ]

    def test_an_object_that_states_no_namespace_goes_to_that_of_the_command(self) -> None:
        claim = CLAIM_OF_ADMIN.replace("  namespace: ops\n", "")
        assert levels("--namespace-labels=default=", stdin=claim) == [("error", "admin-access")]
        assert levels("--namespace-labels=ops=", "--namespace=ops", stdin=claim) == [("error", "admin-access")]

    def test_each_release_has_its_own_label(self) -> None:
        claim = CLAIM_OF_ADMIN.replace("/v1\n", "/v1beta2\n", 1)
        labels = "--namespace-labels=ops=resource.k8s.io/admin-access=true"
        on = "--feature-gates=DRAAdminAccess=true"
        assert levels("--kubernetes-version=1.33", on, labels, stdin=claim) == []
        found = levels("--kubernetes-version=1.34", on, labels, stdin=claim)
        assert found == [("error", "admin-access")]

    @pytest.mark.parametrize(
        "namespace", ["metadata: 1", "metadata:\n  name: [ops]", "metadata:\n  name: ops\n  labels: 1"]
    )
    def test_a_namespace_that_is_none_does_no_harm(self, namespace: str) -> None:
        manifests = f"apiVersion: v1\nkind: Namespace\n{namespace}\n---\n{CLAIM_OF_ADMIN}"
        assert [rule for _, rule in levels(stdin=manifests)] == ["admin-access"]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ("ops", f"ops has no labels: write it as ops={LABEL}=true, or ops= for none"),
            ("Ops=a=b", "'Ops' is not a namespace: a lowercase RFC 1123 label must"),
            ("ops=a", f"ops: the label a has no value: write it as ops={LABEL}=true"),
            ("ops=a=b c", "ops: a=b c is not a label: a valid label must"),
            ("ops=a b=c", "ops: a b=c is not a label: "),
        ],
    )
    def test_labels_that_are_malformed_are_wrong_use(self, labels: str, message: str) -> None:
        done = draguard("validate", "--namespace-labels", labels, "-")
        assert (done.code, done.out) == (2, "")
        assert f"error: --namespace-labels: {message}" in done.err


@pytest.mark.parametrize("command", [("validate",), ("policy", "check")])
def test_a_misspelt_kind_of_kubernetes_is_no_kind_of_another_project(command: tuple[str, ...]) -> None:
    kinds = {
        "admissionregistration.k8s.io/v1": "MutatingAdmissionsPolicy",
        "apps/v1": "Deploymnt",
        "v1": "Config",
        "acme.io/v1": "Deploymnt",
    }
    text = "\n---\n".join(f"apiVersion: {version}\nkind: {kind}" for version, kind in kinds.items())
    done = reported(*command, "-", stdin=text)
    found = [(each["rule"], each["line"], each["hint"]) for each in done["findings"]]
    assert found == [
        ("not-served", 2, 'did you mean "MutatingAdmissionPolicy"?'),
        ("not-served", 5, 'did you mean "Deployment"?'),
    ]
    assert {each["kind"] for each in done["summary"]["skipped"]} == {"Config", "Deploymnt"}
