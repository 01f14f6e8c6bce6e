"""Kustomizations as input. A program stands in for kustomize and kubectl."""

import json
from pathlib import Path

import pytest
import yaml

from tests.command import draguard, findings
from tests.rows import each_row, each_row_beside
from tests.sources.programs import BAD, KUSTOMIZE, program, write

pytestmark = pytest.mark.process

PRINTS = f"""\
import os
open(os.path.dirname(sys.argv[0]) + "/call", "w").write(" ".join([os.environ["GIT_ALLOW_PROTOCOL"], *sys.argv[1:]]))
print('''{BAD.replace("NAME", "x")}''')
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.fixture
def prints(path: Path) -> None:
    """Put a kustomize that prints one claim on the PATH."""
    program(path, "kustomize", PRINTS)


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    return write(tmp_path / "overlay", {"kustomization.yml": "resources: [../base]\n"})


@pytest.mark.parametrize(("name", "verb"), [("kustomize", "build"), ("kubectl", "kustomize")])
def test_a_kustomization_is_built_by_kustomize_or_kubectl(name: str, verb: str, path: Path, overlay: Path) -> None:
    program(path, name, PRINTS)
    (found,) = findings("validate", overlay)
    assert (found["file"], found["line"]) == (f"{overlay}/kustomization.yml", 12)
    assert (found["kind"], found["namespace"], found["name"]) == ("ResourceClaim", "team-a", "x")
    called = (path / "call").read_text(encoding="utf-8")
    assert called == f"https:ssh {verb} -- {overlay}", "git uses no protocol that runs commands here"


def test_the_file_of_an_object_is_named_if_kustomize_tells_it(path: Path, overlay: Path) -> None:
    note = "metadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      path: ../base/claim.yaml\n"
    program(path, "kustomize", PRINTS.replace("metadata:\n", note))
    out = draguard("validate", overlay).out
    assert "object: ResourceClaim team-a/x, rendered from ../base/claim.yaml, line 15 of the build output\n" in out


BASE = """\
# A comment, which kustomize leaves out.
""" + BAD.replace("NAME", "x")
UNPATCHED = BASE.replace("        allocationMod: All\n", "")


def write_claim(overlay: Path, claim: str, patches: str = "") -> None:
    """Write an overlay of a claim."""
    write(overlay, {"kustomization.yml": f"resources: [claim.yaml]\n{patches}\n", "claim.yaml": claim})


@pytest.mark.usefixtures("prints")
def test_a_finding_is_in_the_file_of_the_resource(overlay: Path) -> None:
    files = {"kustomization.yaml": "resources: [claim.yaml]\n", "claim.yaml": BASE}
    claim = write(overlay.parent / "base", files) / "claim.yaml"
    (found,) = findings("validate", overlay)
    assert (found["file"], found["line"], found["template"]) == (str(claim), 13, f"{overlay}/kustomization.yml")
    assert f"::error file={claim},line=13," in draguard("validate", "-o", "github", overlay).out
    assert f'<testsuite name="{claim}" tests="1" failures="1"' in draguard("validate", "-o", "junit", overlay).out


@pytest.mark.usefixtures("prints")
@each_row(
    ("names", "base"),
    ("namePrefix: x\n", BASE.replace("name: x", "name: ''")),
    ("nameSuffix: x\n", BASE.replace("name: x", "name: ''")),
    ("", f"{BASE}---\n{BASE.replace('team-a', 'team-b')}"),
)
def test_the_object_of_a_resource_is_known_by_its_name(names: str, base: str, overlay: Path) -> None:
    kustomization = f"resources: [claim.yaml, gone.yaml, ../overlay]\n{names}"
    write(overlay, {"kustomization.yml": kustomization, "claim.yaml": base})
    assert draguard("validate", overlay).out.startswith(f"{overlay}/claim.yaml:13:")


@pytest.mark.usefixtures("prints")
@each_row("base", "[]", BASE.replace("name: x", "name: y"), f"{BASE}---\n{BASE}")
def test_a_finding_stays_in_the_kustomization_if_its_resource_is_not_known(base: str, overlay: Path) -> None:
    write_claim(overlay, base)
    out = draguard("validate", overlay).out
    assert out.startswith(f"{overlay}/kustomization.yml:12:")
    assert "object: ResourceClaim team-a/x, line 12 of the build output\n" in out


@pytest.mark.usefixtures("prints")
def test_what_a_patch_has_written_is_shown(overlay: Path) -> None:
    write_claim(overlay, UNPATCHED)
    out = draguard("validate", overlay).out
    assert out.startswith(f"{overlay}/claim.yaml:11:")
    assert f"rendered from {overlay}/kustomization.yml as `allocationMod: All`\n" in out


@pytest.mark.usefixtures("prints")
@each_row("command", "simulate", "match")
def test_refusals_are_located_as_validate_does(command: str, overlay: Path) -> None:
    write_claim(overlay, BASE)
    place = draguard("validate", overlay).out.partition(" ")[0]
    assert place.startswith(f"{overlay}/claim.yaml:")
    cluster = overlay.parent / "cluster.yaml"
    cluster.write_text("{apiVersion: v1, kind: Node, metadata: {name: a}}", encoding="utf-8")
    assert draguard(command, overlay, "--cluster", cluster).err.startswith(place)


PATCH = """\
kind: ResourceClaim
metadata: {name: x}
spec:
  devices:
    requests:
    - {name: other, exactly: {allocationMod: ExactCount}}
    - {name: gpu, exactly: {allocationMod: All}}
"""


@pytest.mark.usefixtures("prints")
@each_row("field", "patches: [{path: ../p.yaml}]", "patchesStrategicMerge: [../p.yaml]")
def test_what_a_patch_has_written_is_in_its_file(field: str, overlay: Path) -> None:
    write_claim(overlay, UNPATCHED, field)
    patch = write(overlay.parent, {"p.yaml": PATCH}) / "p.yaml"
    (found,) = findings("validate", overlay)
    assert (found["file"], found["line"], found["column"]) == (str(patch), 7, 29)
    assert found["field"] == "spec.devices.requests[0].exactly.allocationMod"


JSON_PATCH = """\
- op: test
  path: /metadata/name
  value: y
- op: replace
  path: /spec/devices/requests/OTHER/exactly
  value:
    allocationMod: All
"""


@pytest.mark.usefixtures("prints")
@each_row(
    ("patches", "place"),
    ("patches: [{path: ../p.yaml, target: {kind: ResourceClaim, name: x}}]", "p.yaml:7:5"),
    ("patchesJson6902: [{path: ../p.yaml, target: {kind: ResourceClaim}}]", "p.yaml:7:5"),
    ("patches: [{path: ../p.yaml, target: {name: '.*'}}]", "p.yaml:7:5"),
    ("patches: [{path: ../p.yaml, target: {kind: ResourceClaim, name: other}}]", "overlay/claim.yaml:11:7"),
    ("patches: [{path: ../p.yaml, target: {kind: Pod}}]", "overlay/claim.yaml:11:7"),
    ("patches:\n- target: {name: x}\n  patch: |-\n    INLINE", "overlay/kustomization.yml:11:9"),
    ("patches:\n- target: {name: other}\n  patch: |-\n    INLINE", "overlay/claim.yaml:11:7"),
    ("patches:\n- target: {name: x}\n  patch: QUOTED", "overlay/kustomization.yml:4:130"),
    ("patches:\n- target: {name: x}\n  patch: 'FLOW'", "overlay/kustomization.yml:4:140"),
    ('patches:\n- target: {name: x}\n  patch: "ESCAPED"', "overlay/kustomization.yml:4:162"),
)
@each_row("step", "0", "-")
def test_what_a_json_patch_has_written_is_at_its_operation(patches: str, place: str, step: str, overlay: Path) -> None:
    operations = JSON_PATCH.replace("OTHER", step)
    flow, inline = json.dumps(yaml.safe_load(operations)), operations.rstrip().replace("\n", "\n    ")
    patches = patches.replace("FLOW", flow).replace("ESCAPED", flow.replace('"', '\\"'))
    patches = patches.replace("INLINE", inline).replace("QUOTED", json.dumps(operations))
    write_claim(overlay, UNPATCHED, patches)
    write(overlay.parent, {"p.yaml": operations})
    assert draguard("validate", overlay).out.startswith(f"{overlay.parent}/{place}: error unknown-field")


@pytest.mark.usefixtures("prints")
def test_patches_of_any_content_are_passed_over(overlay: Path) -> None:
    write_claim(overlay, UNPATCHED, "patches: [5, {path: 5}, {patch: 5, target: 7}, {path: ../p.yaml}]")
    write(overlay.parent, {"p.yaml": "[5, {path: 5}, {path: spec}, {path: /spec}]"})
    assert draguard("validate", overlay).out.startswith(f"{overlay}/claim.yaml:11:")


@pytest.mark.parametrize(("name", "shown"), [("inside.yaml", True), ("../secret", False), ("link", False)])
def test_of_the_files_in_an_error_those_beside_the_kustomization_are_shown(
    name: str, path: Path, overlay: Path, tmp_path: Path, *, shown: bool
) -> None:
    for file in (tmp_path / "secret", overlay / "inside.yaml"):
        file.write_text("token: [s3cr3t", encoding="utf-8")
    (overlay / "link").symlink_to("../secret")
    program(path, "kubectl", f"sys.exit('error: MalformedYAMLError: yaml: wrong in File: {name}')")
    assert ("s3cr3t" in draguard("validate", overlay).out) is shown


@pytest.mark.usefixtures("path")
def test_without_a_program_its_files_are_read(overlay: Path) -> None:
    write_claim(overlay, BASE)
    done = draguard("validate", overlay)
    assert (done.code, done.err) == (1, "")
    assert f"note: not rendered: {overlay}: a kustomization, and neither kubectl nor kustomize is installed" in done.out
    assert f"{overlay}/claim.yaml:13:9: error unknown-field: " in done.out


@pytest.mark.usefixtures("path")
def test_below_another_path_it_is_read_as_files_without_a_program(overlay: Path) -> None:
    for path in (overlay.parent, *overlay.glob("kustomization*")):
        done = draguard("validate", path)
        assert done.code == 0
        assert "note: not rendered: 1 kustomization (name a kustomization's directory to render it)\n" in done.out
        assert "1 Kustomization of kustomize.config.k8s.io/v1beta1" in done.out


@pytest.fixture
def tree(path: Path, tmp_path: Path) -> Path:
    """Write a base with two overlays and a patch, a kustomization around the tree, and files beside."""
    program(path, "kustomize", KUSTOMIZE)
    files = {
        "kustomization.yaml": "resources: [examples/listed.yaml]",
        "examples/listed.yaml": BAD.replace("NAME", "listed"),
        "examples/beside.yaml": BAD.replace("NAME", "beside"),
        "base/kustomization.yaml": "resources: [claim.yaml]",
        "base/claim.yaml": BAD.replace("NAME", "base"),
        "dev/kustomization.yaml": "resources: [../base]",
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]",
        "prod/patch.yaml": BAD.replace("NAME", "patch"),
    }
    return write(tmp_path / "tree", {name: f"{text}\n" for name, text in files.items()})


def places(top: Path, *options: str) -> list[tuple[str, str]]:
    return [
        (each["file"].removeprefix(f"{top}/"), each["name"]) for each in findings("validate", *options, top, top.parent)
    ]


def test_in_a_tree_each_resource_is_judged_once_and_what_is_beside_is_read(tree: Path) -> None:
    rendered = [("examples/listed.yaml", "listed"), ("base/claim.yaml", "base")]
    assert places(tree) == [("examples/beside.yaml", "beside"), *rendered]
    for option in ("--diff", "--fix"):
        assert draguard("validate", option, tree / "base").code == 2  # as before: what is rendered is not fixed
    (tree / "kustomization.yaml").unlink()
    assert draguard("validate", "--fix", tree).code == 0
    assert "allocationMode: All" in (tree / "base/claim.yaml").read_text(encoding="utf-8")


def test_in_a_tree_remote_resources_are_not_fetched_and_components_are_parts(tree: Path) -> None:
    far, component = "resources: [../base, https://example.com/a]\n", "kind: Component\nresources: [../base]\n"
    write(tree, {"prod/kustomization.yaml": far, "dev/kustomization.yaml": component})
    assert ("base/claim.yaml", "base") in places(tree)
    said = draguard("validate", tree).out
    assert f"note: not rendered: {tree}/prod: it has resources that are on other machines" in said
    assert "(name a kustomization's directory to render it)" in said


def test_in_a_tree_what_cannot_be_built_is_named_and_its_files_are_read(tree: Path, path: Path) -> None:
    program(path, "kustomize", f"{KUSTOMIZE}\nif sys.argv[-1].endswith('prod'): sys.exit('Error: a reason')")
    (tree / "dev/kustomization.yaml").unlink()
    found = places(tree)
    assert ("base/claim.yaml", "base") in found
    assert len(found) == 3
    said = draguard("validate", tree).out
    assert f"note: not rendered: {tree}/prod: cannot be rendered: a reason" in said
    assert said.count("not rendered") == 1  # to name it would be of no use


def test_in_a_tree_without_a_program_files_are_read(tree: Path, path: Path) -> None:
    (path / "kustomize").unlink()
    (tree / "kustomization.yaml").unlink()
    assert [name for _, name in places(tree)] == ["base", "beside", "listed"]
    done = draguard("validate", tree)
    assert f"note: not rendered: {tree}/dev, {tree}/prod, {tree}/base: a kustomization, and neither kubectl" in done.out


@pytest.mark.usefixtures("prints")
def test_files_beside_it_are_read_first(overlay: Path, tmp_path: Path) -> None:
    (tmp_path / "file.yaml").write_text(BAD.replace("NAME", "file"), encoding="utf-8")
    assert [each["name"] for each in findings("validate", overlay, tmp_path / "file.yaml")] == ["file", "x"]


@each_row_beside("text", "message", "hint")
def test_what_a_program_says_is_shown_without_its_log(
    text: str, message: str, hint: str, path: Path, overlay: Path
) -> None:
    program(path, "kubectl", f"sys.exit({text!r})")
    (found,) = findings("validate", overlay)
    place = (found["file"], found["line"], found["column"], found["level"], found["rule"])
    assert place == (f"{overlay}/kustomization.yml", 1, 1, "error", "unreadable")
    assert found["message"].startswith("cannot be rendered: ")
    assert message in found["message"]
    assert (hint in found["hint"], bool(found["hint"])) == (True, bool(hint))
    assert "command failed" not in found["message"]


@pytest.mark.usefixtures("prints")
@pytest.mark.parametrize("has_repository", [True, False])
def test_bases_far_away_are_named(tmp_path: Path, *, has_repository: bool) -> None:
    around = tmp_path / "around"
    all_bases = {
        "around/overlays/prod": "../../base, ../near, ../gone, https://example.com/x",
        "around/overlays/near": "",
        "around/base": "../../far",
        "far": "../around/base, ../farther.yaml",
    }
    files = {f"{name}/kustomization.yaml": f"resources: [{bases}]\n" for name, bases in all_bases.items()}
    write(tmp_path, files | {"farther.yaml": ""})
    if has_repository:
        (around / ".git").mkdir()
    expected = [tmp_path / "far"] if has_repository else [around / "base", tmp_path / "far"]
    overlay = around / "overlays/prod"
    noted = [each for each in draguard("validate", overlay).out.splitlines() if each.startswith("note: /")]
    head = f"note: {overlay}/kustomization.yaml has a base outside its repository, or the directory around it: "
    assert noted == [f"{head}{each}" for each in expected]
    assert draguard("simulate", overlay, "--cluster", overlay).err.count(head) == len(expected)
