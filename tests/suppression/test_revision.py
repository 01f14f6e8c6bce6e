"""`--against` and `--new-only`: the contents of git at a revision."""

import json
import os
from pathlib import Path

import pytest

from tests.command import Done, draguard, findings, process, reported, usage_error
from tests.rows import each_row
from tests.sources.programs import KUSTOMIZE, chart, program, write
from tests.suppression.manifests import IMMUTABLE, OTHER, change, claim, found, git, rules, suppressed
from webhook.suppression import revision

pytestmark = pytest.mark.process

STATUS = "status: {reservedFor: [{resource: pods, name: p, uid: u}]}\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeName: node
  containers: [{name: c, image: c, resources: {claims: [{name: c}]}}]
  resourceClaims: [{name: c, resourceClaimName: c}]
"""


def commit(top: Path, path: str = "", text: str = "") -> None:
    """Commit all changes, and a file with a text, if one is given."""
    if path:
        (top / path).write_text(text, encoding="utf-8")
    git("add", ".", at=top)
    git("commit", "-qm", "next", at=top)


def new(*arguments: str | Path) -> Done:
    """Report what the revision does not have."""
    return draguard("validate", "-o", "json", "--against", "HEAD", "--new-only", *arguments)


def refused(*arguments: str | Path) -> str:
    return usage_error("validate", *arguments).removeprefix("draguard validate: error: ")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = write(tmp_path / "top", {"apps/a.yaml": claim("a"), "apps/b.yaml": claim("b", "  colour: red\n")})
    git("init", "-q", ".", at=top)
    commit(top)
    monkeypatch.chdir(top)
    return top


class TestAgainst:
    def test_files_beside_a_named_chart_are_compared_as_files(self, repository: Path) -> None:
        chart(repository / "apps", c=claim("c"))
        commit(repository)
        assert [each["name"] for each in findings("validate", "--against", "HEAD", "apps")] == ["b"]
        assert new("apps").code == 0
        (repository / "apps/b.yaml").rename(repository / "apps/moved.yaml")
        assert new("apps").code == 0
        (repository / "apps/d.yaml").write_text(claim("d", "  colour: red\n"), encoding="utf-8")
        assert [each["name"] for each in json.loads(new("apps").out)["findings"]] == ["d"]

    def test_what_is_immutable_is_compared_with_what_is_in_git(self, repository: Path) -> None:
        assert found() == []
        change(repository / "apps/a.yaml", *OTHER)
        assert found() == found("apps/a.yaml") == IMMUTABLE
        git("commit", "-qam", "second", at=repository)
        assert found() == []
        assert found(rev="HEAD~1") == found(rev="HEAD^") == IMMUTABLE

    def test_an_object_is_found_where_it_was_before_it_moved(self, repository: Path) -> None:
        (repository / "apps/a.yaml").rename(repository / "moved.yaml")
        change(repository / "moved.yaml", *OTHER)
        assert found() == found("moved.yaml") == IMMUTABLE
        (repository / "apps/a.yaml").write_text(claim("other"), encoding="utf-8")
        assert found() == IMMUTABLE

    def test_an_object_of_the_same_name_that_is_still_there_is_another_one(self, repository: Path) -> None:
        (repository / "copy.yaml").write_text(claim("a").replace(*OTHER), encoding="utf-8")
        assert found() == []
        change(repository / "apps/a.yaml", "metadata:", "metadata: # changed")
        assert found() == []

    def test_standard_input_is_looked_up_everywhere(self, repository: Path) -> None:
        changed = claim("a").replace(*OTHER).encode()
        assert found("-", stdin=changed) == IMMUTABLE
        commit(repository, "copy.yaml", claim("a"))
        assert found("-", stdin=changed) == [("note", "not-compared")]
        assert found("-", "--stdin-filename", "apps/a.yaml", stdin=changed) == IMMUTABLE
        assert found("-", "--stdin-filename", "new.yaml", stdin=changed) == [("note", "not-compared")]
        assert found("-", "--new-only", "--stdin-filename", "apps/a.yaml", stdin=changed) == IMMUTABLE

    def test_another_version_of_the_api_is_converted(self, repository: Path) -> None:
        beta = claim("a").replace("/v1\n", "/v1beta2\n")
        (repository / "apps/a.yaml").write_text(beta, encoding="utf-8")
        served = ("--runtime-config", "api/beta=true")
        assert found(*served) == []
        (repository / "apps/a.yaml").write_text(beta.replace(*OTHER), encoding="utf-8")
        assert found(*served) == IMMUTABLE
        classic = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata: {name: a}\n"
        (repository / "apps/a.yaml").write_text(f"{classic}spec: {{resourceClassName: a}}\n", encoding="utf-8")
        assert found() == [("warning", "old-version")]

    def test_what_the_api_server_would_refuse_was_not_deployed(self, repository: Path) -> None:
        broken = claim("c").replace("name: gpu", "name: GPU", 1)
        commit(repository, "apps/c.yaml", broken)
        assert found() == [("error", "dns-label")]
        assert found("--new-only") == []
        (repository / "apps/c.yaml").write_text(claim("c"), encoding="utf-8")
        assert found() == []

    def test_what_the_api_server_would_drop_was_not_deployed(self, repository: Path) -> None:
        shares = claim("c", "        capacity: {requests: {memory: 1Gi}}\n")
        (repository / "apps/c.yaml").write_text(f"{shares}---\n{POD}", encoding="utf-8")
        (repository / "apps/d.yaml").write_text(claim("d", STATUS), encoding="utf-8")
        before = rules(draguard("validate", "-o", "json", "--ignore", "unknown-field", "--kubernetes-version", "1.34"))
        commit(repository)
        assert before == [("warning", "gate-off"), ("warning", "prescheduled"), ("warning", "status-dropped")]
        assert found("--kubernetes-version", "1.34") == before[:2]

    @pytest.mark.parametrize("options", [(), ("--new-only",)])
    def test_a_status_that_has_not_changed_is_not_a_finding(self, repository: Path, options: tuple[str, ...]) -> None:
        commit(repository, "apps/d.yaml", claim("d", STATUS))
        assert found(*options) == []
        change(repository / "apps/d.yaml", "metadata:", "metadata: # changed")
        assert found(*options) == []
        change(repository / "apps/d.yaml", "uid: u", "uid: v")
        assert found(*options) == [("warning", "status-ignored")]

    def test_a_baseline_of_new_objects_is_not_fixed(self, repository: Path) -> None:
        (repository / "apps/c.yaml").write_text(claim("c", STATUS), encoding="utf-8")
        draguard("validate", "--write-baseline", "b.json")
        commit(repository)
        assert reported("validate", "--baseline", "b.json")["fixed"] == []
        report = reported("validate", "--baseline", "b.json", "--against", "HEAD")
        assert (report["fixed"], report["findings"]) == ([], [])

    def test_what_is_not_regular_is_left_alone(self, repository: Path) -> None:
        (repository / "link.yaml").symlink_to("apps/b.yaml")
        commit(repository, "apps/c.yaml", "apiVersion: [\n")
        (repository / "apps/c.yaml").write_text(claim("c"), encoding="utf-8")
        (repository / "apps/a.yaml").unlink()
        os.mkfifo(repository / "apps/a.yaml")
        assert found() == []

    @each_row(
        ("rev", "hint"),
        ("gone", "; if the clone is shallow, fetch it: git fetch origin gone"),
        ("origin/gone", "; if the clone is shallow, fetch it: git fetch origin gone"),
        ("HEAD~99", "; if the clone is shallow, fetch it: git fetch --unshallow"),
        ("--output=x", ""),
        ("-h", ""),
        ("a\nb", ""),
    )
    def test_a_revision_that_git_does_not_know_is_refused(self, repository: Path, rev: str, hint: str) -> None:
        assert refused(f"--against={rev}", repository) == f"--against: git has no revision {rev!r}{hint}\n"

    def test_outside_a_repository_without_a_revision_and_with_another_state_it_is_refused(
        self, repository: Path
    ) -> None:
        outside = f"--against: {repository.parent} is not in a git repository\n"
        assert refused("--against", "HEAD", repository.parent) == outside
        new_only = "--new-only leaves out what an earlier state has: give its revision with --against\n"
        assert refused("--new-only", repository) == new_only
        two = "--old and --against are two earlier states: give one of them\n"
        assert refused("--against", "HEAD", "--old", "a.yaml", "apps/a.yaml") == two
        assert found("--subresource", "status", "apps/a.yaml") == []

    def test_without_git_it_is_refused(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        assert refused("--against", "HEAD", repository) == "--against: git is not installed\n"

    def test_endless_output_of_git_is_cut(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(revision, "_LONGEST", 60)
        assert refused("--against", "HEAD", repository) == "--against: git answers more than 0 MiB\n"

    def test_a_git_that_takes_too_long_is_ended(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program(repository / "bin", "git", "import time\ntime.sleep(60)")
        monkeypatch.setenv("PATH", str(repository / "bin"))
        monkeypatch.setattr(revision, "SECONDS", 0.1)
        ended = "--against: git was ended by signal 9, perhaps after 0.1 seconds\n"
        assert refused("--against", "HEAD", repository) == ended

    def test_the_repository_cannot_make_git_run_anything(self, repository: Path) -> None:
        for key in ("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean", "filter.x.smudge"):
            git("config", key, f"touch {repository}/ran", at=repository)
        (repository / ".gitattributes").write_text("*.yaml filter=x diff=x\n", encoding="utf-8")
        change(repository / "apps/a.yaml", *OTHER)
        assert found() == IMMUTABLE
        assert not (repository / "ran").exists()

    def test_the_directory_of_a_hook_does_not_count(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        change(repository / "apps/a.yaml", *OTHER)
        monkeypatch.setenv("GIT_DIR", "/nowhere")
        assert found() == IMMUTABLE


class TestNewOnly:
    def test_only_what_a_change_brings_is_reported(self, repository: Path) -> None:
        change(repository / "apps/a.yaml", "spec:\n", "spec:\n  shape: round\n")
        change(repository / "apps/b.yaml", "spec:\n", "spec:\n  # moved down\n")
        done = new()
        assert [each["field"] for each in json.loads(done.out)["findings"]] == ["spec.shape"]
        assert suppressed(done) == [("unknown-field", "revision", "found at HEAD, too")]
        assert done.code == 1

    def test_what_was_there_is_left_out_and_counted(self, repository: Path) -> None:
        done = draguard("validate", "--against", "HEAD", "--new-only", repository)
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith("2 documents in 2 files: no problems (Kubernetes 1.37); 1 suppressed (1 not new)\n")

    def test_what_could_never_be_deployed_is_judged_as_new(self, repository: Path) -> None:
        commit(repository, "apps/c.yaml", claim("c").partition("spec:")[0] + "spec: {devices: 1}\n")
        assert found("apps/c.yaml")[0] == ("error", "wrong-type")
        assert new().code == 0

    def test_what_cannot_be_read_moves_with_its_file(self, repository: Path) -> None:
        commit(repository, "apps/broken.yaml", "apiVersion: v1\nkind: {\n")
        assert new().code == 0
        (repository / "apps/broken.yaml").rename(repository / "moved.yaml")
        assert suppressed(new("moved.yaml")) == [("unreadable", "revision", "found at HEAD, too")]
        assert rules(new(repository)) == []
        (repository / "copy.yaml").write_text("apiVersion: v1\nkind: {\n", encoding="utf-8")
        assert rules(new(repository)) == [("error", "unreadable")]
        for file in ("copy.yaml", "apps/a.yaml"):
            (repository / file).write_text("apiVersion: v1\nkind: [\n", encoding="utf-8")
            assert rules(new(file)) == [("error", "unreadable")]

    def test_findings_move_with_their_object(self, repository: Path) -> None:
        (repository / "new").mkdir()
        (repository / "apps/b.yaml").rename(repository / "new/c.yaml")
        assert new().code == 0
        assert new("new").code == 0
        assert new("new/c.yaml").code == 0

    def test_a_reference_that_a_change_breaks_is_new(self, repository: Path) -> None:
        pod = POD.replace("  nodeName: node\n", "").replace("resourceClaimName: c", "resourceClaimName: a")
        (repository / "apps/pod.yaml").write_text(pod, encoding="utf-8")
        commit(repository, "apps/c.yaml", claim("c"))
        assert rules(new()) == []
        (repository / "apps/a.yaml").unlink()
        assert rules(new()) == [("warning", "claim-not-found")]

    def test_a_suppression_that_was_of_no_use_before_is_not_new(self, repository: Path) -> None:
        unused = "# draguard: ignore[enum] none so far\n"
        ignores = "ignores:\n- {paths: [apps/**], rules: [enum], reason: none so far}\n"
        write(repository, {"apps/c.yaml": unused + claim("c"), ".draguard.yaml": ignores})
        commit(repository)
        change(repository / "apps/c.yaml", "spec:\n", "spec:\n  # moved down\n")
        assert rules(new(".")) == []
        change(repository / "apps/c.yaml", unused, f"{unused}# draguard: ignore[maximum] new\n")
        assert rules(new(".")) == [("warning", "unused-suppression")]
        (repository / ".draguard.yaml").write_text(ignores.replace("enum", "minimum"), encoding="utf-8")
        assert rules(new(".")) == [("warning", "unused-suppression")] * 2

    def test_several_releases_are_compared_each(self, repository: Path) -> None:
        arguments = ("validate", "--against", "HEAD", "--new-only", "--kubernetes-version", "1.30,1.35")
        assert draguard(*arguments).code == 0
        change(repository / "apps/a.yaml", "spec:\n", "spec:\n  shape: round\n")
        assert [each["releases"] for each in findings(*arguments)] == [["1.35"]]

    def test_broken_policies_are_not_left_out(self, repository: Path) -> None:
        policy = '{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}'
        commit(repository, "p.json", policy)
        assert new("--policies", "p.json", "apps").code == 1


def test_a_process_compares_with_a_revision(repository: Path) -> None:
    change(repository / "apps/a.yaml", *OTHER)
    done = process("validate", "--against", "HEAD", "--new-only", "-o", "concise", repository / "apps")
    assert (done.code, done.err) == (1, "")
    assert "error immutable: spec: " in done.out
    assert "unknown-field" not in done.out


VALUED = claim("c").replace("gpu.example.com", "{{ .Values.driver }}")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a base, an overlay of it, a chart, and a file, each with a claim of the same name."""
    program(tmp_path / "bin", "kustomize", KUSTOMIZE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    top = chart(tmp_path / "top/chart", c=claim("c"), v=VALUED.replace("name: c", "name: v")).parent
    files = {"base/kustomization.yaml": "resources: [c.yaml]\n", "overlay/kustomization.yaml": "resources: [../base]\n"}
    values = dict.fromkeys(("values.yaml", "chart/values.yaml"), "driver: gpu.example.com\n")
    write(top, files | values | {"base/c.yaml": claim("c")})
    git("init", "-q", ".", at=top)
    commit(top)
    monkeypatch.chdir(top)
    return top


@each_row(("paths", "file"), (["chart"], "chart/templates/c.yaml"), (["base", "overlay", "./overlay/"], "base/c.yaml"))
def test_a_changed_object_is_compared(checkout: Path, paths: list[str], file: str) -> None:
    ways = ((), ("--new-only",), ("--new-only", "--kubernetes-version", "1.35,1.36"))
    given = [(path, *options) for path in paths for options in ways]
    assert [found(*each) for each in given] == [[]] * len(given)
    change(checkout / file, *OTHER)
    assert [found(*each) for each in given] == [IMMUTABLE] * len(given)


def test_the_kustomization_may_be_the_current_directory(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(checkout, "kustomization.yaml", "resources: [base/c.yaml]\n")  # also of the whole repository
    assert found(".") == []
    change(checkout / "base/c.yaml", *OTHER)
    assert found(".") == IMMUTABLE
    monkeypatch.chdir(checkout / "base")
    assert found(".") == found() == IMMUTABLE


def test_values_are_those_of_the_revision(checkout: Path) -> None:
    change(checkout / "values.yaml", *OTHER)
    assert found("chart", "--helm-values", "values.yaml") == IMMUTABLE
    (checkout / "new.yaml").write_text("driver: gpu.example.com\n", encoding="utf-8")
    assert found("chart", "--helm-values", "new.yaml") == []
    assert found("chart", "--helm-set", "driver=other.example.com") == []


def test_only_findings_that_the_revision_does_not_have_are_new(checkout: Path) -> None:
    for path, file in (("chart", "chart/templates/c.yaml"), ("overlay", "base/c.yaml")):
        commit(checkout, file, claim("c", "  shape: round\n"))
        assert rules(new(path)) == []
        change(checkout / file, "shape: round", "shape: round\n  colour: red")
        assert [each["field"] for each in json.loads(new(path).out)["findings"]] == ["spec.colour"]


@each_row(
    ("resources", "why"),
    ("gone.yaml", "cannot be rendered: "),
    ("/etc", "overlay has a base outside the repository: /etc"),
    ("../../other", "overlay has a base outside the repository: ../../other"),
)
def test_a_revision_that_cannot_be_rendered_is_a_warning(checkout: Path, resources: str, why: str) -> None:
    kustomization = "overlay/kustomization.yaml"
    commit(checkout, kustomization, f"resources: [{resources}]\n")
    (checkout / kustomization).write_text("resources: [../base]\n", encoding="utf-8")
    (warning,) = findings("validate", "--against", "HEAD", "overlay")
    assert (warning["level"], warning["rule"], warning["file"]) == ("warning", "not-compared", kustomization)
    assert warning["message"].startswith(f"not compared with HEAD: {why}")
    assert str(checkout.parent) not in warning["message"].replace(str(checkout.parent / "bin"), "")


def test_a_new_kustomization_is_compared_by_names(checkout: Path) -> None:
    write(checkout, {"new/kustomization.yaml": "resources: [../base]\n"})
    assert found("new") == [("note", "not-compared")]  # the chart has a claim of that name, too
    (checkout / "chart/templates/c.yaml").unlink()
    commit(checkout)
    change(checkout / "base/c.yaml", *OTHER)
    assert found("new") == IMMUTABLE


def test_neither_links_nor_too_much_is_written(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "base/link.yaml").symlink_to("/etc/hostname")
    change(checkout / "base/kustomization.yaml", "c.yaml", "c.yaml, link.yaml")
    commit(checkout)
    change(checkout / "base/kustomization.yaml", ", link.yaml", "")
    assert found("base") == [("warning", "not-compared"), ("error", "unreadable")]  # the link is a file beside it now
    monkeypatch.setattr("webhook.suppression.revision._MOST_FILES", 1)
    done = draguard("validate", "-o", "concise", "--against", "HEAD", "chart")
    assert "not compared with HEAD: more than 1 files or 64 MiB to render at HEAD" in done.out
