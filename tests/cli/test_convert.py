"""``draguard convert`` prints, writes or checks converted manifests."""

import codecs
import os
import re
from pathlib import Path

import pytest

from tests.cli.manifests import guarded
from tests.command import ROOT, draguard, usage_error
from tests.migration.manifests import CLASSIC, EXACT, FLAT, converted
from tests.rows import each_row
from webhook.documents.writing import rewrite
from webhook.usage import UsageError


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    (tmp_path / "old.yaml").write_text(FLAT, encoding="utf-8")
    (tmp_path / "new.yaml").write_text(EXACT, encoding="utf-8")
    return tmp_path


def test_texts_and_files_are_printed_converted(manifests: Path) -> None:
    assert draguard("convert", "-", stdin=FLAT.encode()) == (0, EXACT, "1 place in 1 file converted\n")
    assert draguard("convert", "-q", manifests) == (0, f"{EXACT}---\n{EXACT}", "")


def test_a_file_is_written_in_place_and_others_are_not_touched(manifests: Path) -> None:
    before = (manifests / "new.yaml").stat()
    assert draguard("convert", "--write", manifests) == (0, "", "1 place in 1 file converted\n")
    assert (manifests / "old.yaml").read_text(encoding="utf-8") == EXACT
    assert (manifests / "new.yaml").stat().st_mtime_ns == before.st_mtime_ns
    assert draguard("convert", "--write", manifests).err == "nothing to convert in 2 files\n"


@each_row(
    ("kind", "why"),
    ("link", "a symbolic link: name the file that it leads to, {}"),
    ("name", "it has 2 hard links, and only this one would change: replace it by a copy first"),
    ("read-only", "it is read-only: make it writable first"),
)
def test_a_file_that_is_not_to_be_replaced_stays(kind: str, why: str, tmp_path: Path) -> None:
    file, named = guarded(kind, FLAT, tmp_path)
    message = f"draguard convert: error: {named}: not written: {why.format(file)}\n"
    assert draguard("convert", "--write", named) == (2, "", message)
    assert file.read_text(encoding="utf-8") == FLAT


def test_a_file_that_has_changed_since_it_was_read_stays(manifests: Path) -> None:
    file = manifests / "old.yaml"
    before = file.read_bytes()
    with pytest.raises(UsageError, match="not written: it has changed since it was read: try again"):
        rewrite([(str(file), "a: 1", "a: 2")])
    assert file.read_bytes() == before


def test_nothing_is_written_unless_all_files_may_be(manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, last, other = manifests / "old.yaml", manifests / "z.yaml", manifests / "z" / "old.yaml"
    before, access = file.read_bytes(), os.access
    last.write_bytes(before)
    last.chmod(0o444)
    assert f"{last}: not written: it is read-only" in usage_error("convert", "--write", manifests)
    last.unlink()
    other.parent.mkdir()
    other.write_bytes(before)
    # The superuser may write all directories.
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(other.parent) and access(path, mode))
    assert f"{other}: not written: its directory is read-only" in usage_error("convert", "--write", manifests)
    assert file.read_bytes() == before


@each_row(
    ("options", "version"),
    (("--to", "v1beta1"), "v1alpha3"),
    (("--to", "v1beta1", "--kubernetes-version", "1.36"), "v1beta2"),
    ((), "v1"),
)
def test_a_kind_without_the_wanted_version_gets_none_that_is_newer(options: tuple[str, ...], version: str) -> None:
    rule = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\n"
    done = draguard("convert", *options, "-", stdin=rule.encode())
    assert done.out == f"apiVersion: resource.k8s.io/{version}\nkind: DeviceTaintRule\n"


@each_row(("mark", "encoding"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (b"", "utf-8"))
def test_a_file_keeps_its_encoding(tmp_path: Path, mark: bytes, encoding: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(mark + FLAT.replace("\n", "\r\n").encode(encoding))
    assert draguard("convert", "--write", file).code == 0
    assert file.read_bytes() == mark + EXACT.replace("\n", "\r\n").encode(encoding)


def test_a_diff_is_printed_and_nothing_is_written(manifests: Path) -> None:
    done = draguard("convert", "--diff", manifests)
    name = manifests / "old.yaml"
    assert done.out.startswith(f"--- {name}\n+++ {name}\n@@ -1,5 +1,5 @@\n # Above all.\n-apiVersion:")
    assert (done.code, done.err) == (0, "1 place in 1 file would be converted\n")
    assert (manifests / "old.yaml").read_text(encoding="utf-8") == FLAT
    assert draguard("convert", "--diff", "--check", manifests).code == 1
    ended = draguard("convert", "--diff", "-", stdin=FLAT.removesuffix("\n").encode()).out
    assert ended.count("\\ No newline at end of file\n") == 2


def test_a_check_lists_what_is_older(manifests: Path) -> None:
    done = draguard("convert", "--check", manifests)
    assert done.code == 1
    at = f"{manifests / 'old.yaml'}:2:1: error older-version: "
    assert done.out.startswith(f"{at}apiVersion: ResourceClaim is of resource.k8s.io/v1beta1, not resource.k8s.io/v1\n")
    assert draguard("convert", "--check", "--kubernetes-version", "1.32", manifests / "old.yaml").code == 0


def test_what_cannot_be_converted_is_said_and_makes_the_exit_code_1() -> None:
    done = draguard("convert", "-", stdin=CLASSIC.encode())
    assert (done.code, done.out) == (1, converted(CLASSIC))
    assert done.err.count("error no-counterpart:") == 5
    assert "see docs/migrate.md" in done.err


@each_row(
    ("options", "note"),
    (("--to", "v1alpha3"), "note: 1.33 is the last Kubernetes that serves claims in v1alpha3\n"),
    (("--to", "v1alpha3", "--kubernetes-version", "1.33"), ""),
    (("--to", "v1alpha3", "--quiet"), ""),
    (("--to", "v1beta2"), ""),
)
def test_a_version_that_the_release_no_longer_serves_is_noted(options: tuple[str, ...], note: str) -> None:
    done = draguard("convert", *options, "-", stdin=EXACT.encode())
    assert [line for line in done.err.splitlines(keepends=True) if line.startswith("note: ")] == [note][: bool(note)]


def test_the_version_lacks_what_no_release_that_serves_it_has() -> None:
    part = "{name: a, deviceClassName: b, capacity: {requests: {memory: 5Gi}}}"
    spec = f"{{devices: {{requests: [{{name: gpu, firstAvailable: [{part}]}}]}}}}"
    claim = f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: a}}\nspec: {spec}\n"
    done = draguard("convert", "--to", "v1alpha3", "-", stdin=claim.encode())
    assert "firstAvailable[0].capacity: resource.k8s.io/v1alpha3 has no capacity\n" in done.err


@each_row(
    ("kind", "said"),
    ("ResourceClaim", "ResourceClaim of resource.k8s.io/v1 cannot be converted to resource.k8s.io/v1alpha2"),
    ("DeviceClass", "the requested releases do not serve DeviceClass"),
)
def test_a_release_that_is_too_old_is_said(kind: str, said: str) -> None:
    manifest = f"apiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: a}}\n"
    done = draguard("convert", "--kubernetes-version", "1.27", "-", stdin=manifest.encode())
    assert done.code == 1
    assert f"error no-counterpart: kind: {said}\n" in done.err
    assert "delete" not in done.err


def test_what_cannot_be_converted_is_shown_where_it_is_once_the_file_is_written(tmp_path: Path) -> None:
    file = tmp_path / "classic.yaml"
    file.write_text(CLASSIC, encoding="utf-8")
    done = draguard("convert", "--write", file)
    lines = file.read_text(encoding="utf-8").splitlines()
    found = re.findall(r"^\S+:(\d+):\d+: error no-counterpart: (?:\S+\.)?(\w+):", done.err, re.MULTILINE)
    assert len(found) == 5
    assert all(lines[int(line) - 1].lstrip("- ").startswith(field) for line, field in found)


def test_an_unknown_version_is_an_error(manifests: Path) -> None:
    (manifests / "old.yaml").write_text(EXACT.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta3"), "utf-8")
    done = draguard("convert", "--check", manifests)
    assert done.code == 1
    assert 'error not-served: apiVersion: no matches for kind "ResourceClaim' in done.out


def test_charts_are_not_rendered(manifests: Path) -> None:
    (manifests / "Chart.yaml").write_text("name: c\n", "utf-8")
    (manifests / "templates").mkdir()
    (manifests / "templates/a.yaml").write_text("a: {{ .b }}\n", "utf-8")
    done = draguard("convert", "--check", manifests)
    assert "not read: 1 Helm template (charts are not rendered here)" in done.err


def test_variables_and_the_configuration_file_say_the_version(manifests: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (manifests / ".draguard.yaml").write_text('kubernetesVersions: ["1.33", "1.36"]\n', encoding="utf-8")
    assert 'apiVersion: "resource.k8s.io/v1beta2"' in draguard("convert", manifests / "old.yaml").out
    monkeypatch.setenv("DRAGUARD_TO", "resource.k8s.io/v1")
    assert draguard("convert", manifests / "old.yaml").out == EXACT


def test_pods_are_converted_where_they_are_said_to_be() -> None:
    claims = "resourceClaims: [{name: a, source: {resourceClaimName: b}}]"
    text = f"apiVersion: example.com/v1\nkind: Trainer\nspec: {{pods: {{spec: {{containers: [], {claims}}}}}}}\n"
    wanted = text.replace("source: {resourceClaimName: b}", "resourceClaimName: b")
    arguments = ("convert", "-q", "--pod-template", "example.com/Trainer=spec.pods", "-")
    assert draguard(*arguments, stdin=text.encode()) == (0, wanted, "")
    assert draguard("convert", "-q", "-", stdin=text.encode()) == (0, text, "")


def test_what_is_not_read_is_counted(manifests: Path) -> None:
    (manifests / "template.yaml").write_text("apiVersion: {{ .Version }}\n", encoding="utf-8")
    done = draguard("convert", "--write", "--exclude", "new.yaml", manifests)
    template = f"1 template that is not filled in yet ({manifests / 'template.yaml'})"
    left_out = f"not read: 1 path that is excluded, {template}"
    assert done.err == f"1 place in 1 file converted\n{left_out}\n"


def test_what_cannot_be_read_stays_as_it_is() -> None:
    done = draguard("convert", "-", stdin=f"a: [\n---\n{FLAT}---\n".encode())
    assert (done.code, done.out) == (1, f"a: [\n---\n{EXACT}---\n")
    assert "error unreadable:" in done.err
    assert draguard("convert", "nothing.yaml").code == 2


@each_row(
    ("arguments", "message"),
    (["--write", "--diff", "a"], "--write changes files, --diff does not"),
    (["--write", "-"], "--write: standard input (-) cannot be changed in place"),
    (["--to", "v2", "a"], "argument --to: invalid choice: 'v2'"),
    (["--kubernetes-version", "1.2", "a"], "--kubernetes-version: Kubernetes 1.2 is not known here"),
)
def test_wrong_use_is_explained(arguments: list[str], message: str) -> None:
    assert message in usage_error("convert", *arguments)


def test_the_examples_of_the_page_are_what_comes_out() -> None:
    page = (ROOT / "docs" / "migrate.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    pairs = list(zip(examples[::2], examples[1::2], strict=True))
    assert len(pairs) == 5
    for before, after in pairs:
        assert draguard("convert", "-q", "-", stdin=before.encode()) == (0, after, "")


def test_only_files_with_manifests_are_printed_unless_named(manifests: Path) -> None:
    (manifests / "values.yaml").write_text("a: 1\n", encoding="utf-8")
    (manifests / "Chart.yml").write_text("{apiVersion: v2, name: a}\n", encoding="utf-8")
    done = draguard("convert", manifests)
    assert "a: 1" not in done.out
    assert "v2" not in done.out
    assert done.err.endswith("not read: 2 files without a manifest\n")
    assert draguard("convert", manifests / "values.yaml").out == "a: 1\n"
    assert draguard("convert", "-", stdin=b"a: 1\n").out == "a: 1\n"
