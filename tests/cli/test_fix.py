"""``draguard validate --fix`` and ``--diff``."""

import codecs
import json
from errno import EINVAL, EPERM
from pathlib import Path
from textwrap import indent
from unittest.mock import Mock

import pytest

from tests.cli import manifests
from tests.cli.manifests import UNSAFE, fixed, guarded, write
from tests.command import draguard, findings, usage_error
from tests.rows import each_row, each_row_beside
from tests.structured import claim_manifest
from webhook.check import files

CLAIM = claim_manifest("gpu # the only one", "        count: 1\n")
POD = manifests.POD + "    resourceClaimTemplateName: gpu\n"


@each_row(
    ("right", "wrong", "options"),
    ("count: 1", "capacity: {requests: {memory: 10GB}}", ()),
    ("count: 1", 'capacity: {requests: {memory: "10GiB"}}', ()),
    ("count: 1", "adminAccess: 'false'", ()),
    ("- name: gpu", "- name: GPU", (UNSAFE,)),
)
def test_a_fix_changes_what_is_wrong_and_nothing_else(
    right: str, wrong: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    broken = CLAIM.replace(right, wrong)
    corrected = fixed(broken, *options, tmp_path=tmp_path)
    assert corrected != broken
    assert draguard("validate", write(tmp_path, corrected)).code == 0
    other = [line for line in broken.splitlines() if line in CLAIM.splitlines()]
    assert [line for line in corrected.splitlines() if line in other] == other
    assert len(corrected.splitlines()) == len(broken.splitlines())


class TestForms:
    """One case for each form of text that an edit meets."""

    def test_quotes_stay_as_they_are(self, tmp_path: Path) -> None:
        for quote in ("'", '"', ""):
            broken = CLAIM.replace("count: 1", f"allocationMode: {quote}ALL{quote} # every one")
            assert fixed(broken, tmp_path=tmp_path) == broken.replace("ALL", "All")

    def test_what_is_a_boolean_or_number_and_should_be_a_string_is_quoted_as_written(self, tmp_path: Path) -> None:
        broken = CLAIM.replace("name: gpu #", "labels: {a: yes, b: 1.10, c: 0x1F}\n  name: gpu #")
        assert 'labels: {a: "yes", b: "1.10", c: "0x1F"}' in fixed(broken, tmp_path=tmp_path)

    @each_row_beside("before", "after")
    def test_fields_of_earlier_versions_move_with_their_comments(
        self, before: str, after: str | None, tmp_path: Path
    ) -> None:
        head = CLAIM[: CLAIM.index("    requests:")]
        written, wanted = (head + indent(each, "    ") for each in (before, after or before))
        assert fixed(written, tmp_path=tmp_path) == wanted

    def test_json_keeps_its_layout(self, tmp_path: Path) -> None:
        request = {"name": "gpu", "deviceClassName": "a.b", "count": "2"}
        obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "gpu"}}
        broken = json.dumps({**obj, "spec": {"devices": {"requests": [request]}}}, indent=2)
        exactly = {"name": "gpu", "exactly": {"deviceClassName": "a.b", "count": 2}}
        corrected = json.dumps({**obj, "spec": {"devices": {"requests": [exactly]}}}, indent=2)
        assert fixed(broken, name="a.json", tmp_path=tmp_path) == corrected

    @each_row(
        ("version", "kind", "around", "box", "fields"),
        ("v1", "ResourceSlice", "devices: [{name: gpu-0, %s}]", "basic", "attributes: {a: {int: 1}}"),
        (
            "v1",
            "ResourceClaim",
            "devices: {requests: [{name: a, firstAvailable: [{name: b, %s}]}]}",
            "exactly",
            "count: 2",
        ),
        ("v1beta1", "ResourceClaim", "devices: {requests: [{name: a, %s}]}", "exactly", "deviceClassName: c, count: 2"),
    )
    def test_fields_in_the_box_of_another_version_come_out_of_it(
        self, *, version: str, kind: str, around: str, box: str, fields: str, tmp_path: Path
    ) -> None:
        head = f"apiVersion: resource.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: gpu}}\nspec:\n  "
        pool = "driver: a.b\n  nodeName: a\n  pool: {name: a, generation: 1, resourceSliceCount: 1}\n  "
        head += pool if kind == "ResourceSlice" else ""
        boxed = f"{head}{around % f'{box}: {{{fields}}}'}\n"
        assert fixed(boxed, tmp_path=tmp_path) == f"{head}{around % fields}\n"

    @each_row(
        ("written", "corrected"),
        ("source:\n      resourceClaimTemplateName: gpu # mine", "resourceClaimTemplateName: gpu # mine"),
        ("source: {resourceClaimTemplateName: gpu} # mine", "resourceClaimTemplateName: gpu # mine"),
    )
    def test_the_source_of_a_claim_is_flattened(self, written: str, corrected: str, tmp_path: Path) -> None:
        broken = POD.replace("resourceClaimTemplateName: gpu", written)
        assert fixed(broken, tmp_path=tmp_path) == POD.replace("resourceClaimTemplateName: gpu", corrected)

    @each_row(
        ("written", "corrected"),
        ("      - name: gpu\n", "      - name: gpu\n      - name: gpu # again\n"),
        ("      claims:\n      - name: gpu\n", "      claims: [{name: gpu}, {name: gpu}]\n"),
    )
    def test_a_repeated_item_is_left_out(self, written: str, corrected: str, tmp_path: Path) -> None:
        broken = POD.replace(written, corrected, 1)
        expected = POD if "again" in corrected else POD.replace(written, "      claims: [{name: gpu}]\n")
        assert fixed(broken, tmp_path=tmp_path) == expected

    def test_a_finding_like_it_of_another_object_does_not_block_a_fix(self, tmp_path: Path) -> None:
        other = POD.replace("      - name: gpu\n", "      - name: gpus\n", 1)
        expected = POD.replace("TemplateName: gpu", 'TemplateName: "y"') + f"---\n{other}"
        broken = expected.replace('"y"', "y").replace("      - name: gpu\n", "      - name: gpu\n" * 2, 1)
        assert fixed(broken, tmp_path=tmp_path) == expected

    @each_row(
        ("written", "hint"),
        ("count: 1\n        Count: 2", "count is there already: remove one of the two"),
        ("count: 1\nSpec: {}", "spec is there already: remove one of the two"),
    )
    def test_a_field_beside_the_one_it_misspells_has_no_fix(self, written: str, hint: str, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text(CLAIM.replace("count: 1", written), encoding="utf-8")
        said = draguard("validate", tmp_path).out
        assert hint in said
        assert "fixable" not in said

    @each_row(("style", "indent"), ("|-\n", 14), (">-\n", 14), ("", 0), ("|\n", 14))
    def test_expressions_are_changed_where_they_are_wrong(self, style: str, indent: int, tmp_path: Path) -> None:
        right = "device.driver == 'a.b' && device.capacity['a.b'].m.compareTo(quantity('4G')) >= 0"
        wrong = right.replace("==", "=").replace("&&", "and").replace("4G", "4GB")
        head = CLAIM.replace("count: 1\n", f"selectors:\n        - cel:\n            expression: {style}{' ' * indent}")
        assert fixed(f"{head}{wrong}\n", tmp_path=tmp_path) == f"{head}{right}\n"

    def test_marks_and_line_ends_stay(self, tmp_path: Path) -> None:
        broken = CLAIM.replace("count: 1", 'count: "1"').replace("\n", "\r\n")
        file = tmp_path / "a.yaml"
        for bom, encoding in ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le")):
            file.write_bytes(bom + broken.encode(encoding))
            assert draguard("validate", "--fix", file).code == 0
            assert file.read_bytes() == bom + CLAIM.replace("\n", "\r\n").encode(encoding)

    def test_what_an_alias_repeats_stays(self, tmp_path: Path) -> None:
        broken = CLAIM.replace("count: 1", "count: &one '1'")
        assert fixed(broken, tmp_path=tmp_path) == broken


class TestUnsafe:
    def test_a_name_is_written_as_names_are_with_its_references(self, tmp_path: Path) -> None:
        template = CLAIM.replace("ResourceClaim", "ResourceClaimTemplate").replace("name: gpu #", "name: My_Gpu #")
        template = template.replace("spec:\n  devices", "spec:\n spec:\n  devices")
        pod = POD.replace("TemplateName: gpu", "TemplateName: My_Gpu").replace("name: gpu", "name: Gpu")
        broken = f"{pod}---\n{template}"
        expected = broken.replace("My_Gpu", "my-gpu").replace("name: Gpu", "name: gpu")
        assert fixed(broken, tmp_path=tmp_path) == broken
        assert fixed(broken, UNSAFE, tmp_path=tmp_path) == expected

    def test_a_separator_is_put_where_an_object_begins(self, tmp_path: Path) -> None:
        pod = POD.replace("resourceClaimTemplateName", "resourceClaimName")
        assert fixed(CLAIM + pod, tmp_path=tmp_path) == CLAIM + pod
        assert fixed(CLAIM + pod, UNSAFE, tmp_path=tmp_path) == f"{CLAIM}---\n{pod}"

    def test_references_become_the_name_that_is_near(self, tmp_path: Path) -> None:
        inner = CLAIM.replace("ResourceClaim", "ResourceClaimTemplate").replace("spec:\n  dev", "spec:\n spec:\n  dev")
        broken = f"{POD.replace('TemplateName: gpu', 'TemplateName: gpus')}---\n{inner}"
        assert fixed(broken, UNSAFE, tmp_path=tmp_path) == f"{POD}---\n{inner}"


class TestCommand:
    BROKEN = CLAIM.replace("count: 1", 'count: "1"')

    def test_the_summary_says_what_was_fixed_and_what_is_left(self, tmp_path: Path) -> None:
        file = write(tmp_path, self.BROKEN.replace("- name: gpu", "- name: GPU").replace("metadata", "x: 1\nmetadata"))
        done = draguard("validate", "--fix", file)
        assert done.code == 1
        assert "fixed 1 finding in 1 file; 1 more with --fix --unsafe-fixes; 2 left\n" in done.out
        assert "1 document in 1 file: 2 errors (Kubernetes 1.37)\n" in done.out

    def test_diff_shows_and_writes_nothing(self, tmp_path: Path) -> None:
        file = write(tmp_path, self.BROKEN)
        done = draguard("validate", "--diff", file)
        assert (done.code, done.err) == (1, "would fix 1 finding in 1 file\n")
        assert done.out.splitlines()[:2] == [f"--- {file}", f"+++ {file}"]
        assert '-        count: "1"\n+        count: 1\n' in done.out
        assert file.read_text() == self.BROKEN

    def test_standard_input_is_printed(self) -> None:
        done = draguard("validate", "--fix", "-", stdin=self.BROKEN.encode())
        assert done[:2] == (0, CLAIM)
        assert done.err.endswith("fixed 1 finding in 1 file\n1 document in 1 file: no problems (Kubernetes 1.37)\n")
        assert draguard("validate", "--fix", "-", stdin=CLAIM.encode()).out == CLAIM

    @each_row(
        ("kind", "why"),
        ("link", "a symbolic link: name the file that it leads to"),
        ("read-only", "it is read-only: make it writable first\n"),
        ("name", "it has 2 hard links, and only this one would change: "),
    )
    def test_a_file_that_is_not_to_be_replaced_stays(self, kind: str, why: str, tmp_path: Path) -> None:
        file, named = guarded(kind, self.BROKEN, tmp_path)
        done = draguard("validate", "--fix", named)
        assert (done.code, f"not fixed: {named}: {why}" in done.out, "1 error" in done.out) == (2, True, True)
        assert file.read_text() == self.BROKEN
        assert named.samefile(file)

    def test_a_link_beside_its_file_does_not_keep_it_from_being_fixed(self, tmp_path: Path) -> None:
        file = write(tmp_path, self.BROKEN, "real.yaml")
        (tmp_path / "link.yaml").symlink_to("real.yaml")
        assert draguard("validate", "--fix", tmp_path).code == 0
        assert file.read_text() == CLAIM

    def test_what_cannot_be_written_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = write(tmp_path, self.BROKEN)

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("webhook.documents.writing.write_bytes", full)
        done = draguard("validate", "--fix", file)
        assert done.code == 2
        assert f"not fixed: {file}: No space left on device" in done.out

    def test_modes_stay(self, tmp_path: Path) -> None:
        file = write(tmp_path, self.BROKEN)
        file.chmod(0o640)
        assert draguard("validate", "--fix", file).code == 0
        assert file.stat().st_mode & 0o777 == 0o640
        assert list(tmp_path.iterdir()) == [file]

    @each_row("error", None, PermissionError(EPERM, "not root"), OSError(EINVAL, "not mapped"))
    def test_owners_stay_if_possible(
        self, tmp_path: Path, error: OSError | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = write(tmp_path, self.BROKEN)
        monkeypatch.setattr("os.geteuid", lambda: file.stat().st_uid + 1)
        chown = Mock(side_effect=error)
        monkeypatch.setattr("os.chown", chown)
        assert draguard("validate", "--fix", file).code == 0
        (_, uid, gid) = chown.call_args.args
        assert (uid, gid) == (file.stat().st_uid, file.stat().st_gid)

    @each_row(
        ("options", "message"),
        (["--fix", "--diff"], "--fix and --diff: "),
        ([UNSAFE], "--unsafe-fixes: give --fix"),
        (["--fix", "--old", "-"], "standard input is read once"),
        (["--fix", "--write-baseline", "b.json"], "--fix and --write-baseline: "),
        (["--diff", "--output", "json"], "--diff and --output: "),
    )
    def test_options_that_do_not_go_together(self, options: list[str], message: str, tmp_path: Path) -> None:
        assert message in usage_error("validate", *options, write(tmp_path, CLAIM))

    def test_a_chart_is_not_fixed(self, tmp_path: Path) -> None:
        write(tmp_path, "name: c\nversion: 0.1.0\napiVersion: v2\n", "Chart.yaml")
        assert "is rendered, and what it is rendered from is not changed" in usage_error("validate", "--fix", tmp_path)

    def test_what_is_suppressed_is_not_fixed(self, tmp_path: Path) -> None:
        text = self.BROKEN.replace('"1"', '"1" # draguard: ignore[wrong-type] a test')
        assert fixed(text, tmp_path=tmp_path) == text

    def test_what_an_error_hid_does_not_count_as_fixed(self, tmp_path: Path) -> None:
        pod = POD.replace("resourceClaimTemplateName: gpu", "resourceClaimName: other").replace("image:", "imag:")
        text = f"{CLAIM}---\n{pod}"
        file = write(tmp_path, text)
        done = draguard("validate", "--fix", file)
        assert "fixed 1 finding in 1 file; 1 left\n2 documents in 1 file: 1 warning (Kubernetes 1.37)\n" in done.out
        assert file.read_text() == text.replace("imag:", "image:")

    def test_a_link_matters_only_where_something_would_be_fixed(self, tmp_path: Path) -> None:
        file, link = write(tmp_path, CLAIM.replace("- name: gpu", "- name: GPU"), "real"), tmp_path / "a.yaml"
        link.symlink_to(file)
        assert draguard("validate", "--fix", link).code == 1
        assert "a symbolic link" in usage_error("validate", "--diff", UNSAFE, link)


COUNTED = '{devices: {requests: [{name: gpu, exactly: {deviceClassName: c, count: "1"}}]}}'
SHARED = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
    f"- {{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: {name}}}, spec: {spec}}}\n"
    for name, spec in (("a", f"&spec {COUNTED}"), ("b", "*spec"), ("c", COUNTED))
)


def test_only_fixes_that_can_be_applied_are_counted(tmp_path: Path) -> None:
    file = write(tmp_path, SHARED)
    assert draguard("validate", file).out.endswith("3 errors (Kubernetes 1.37)\nfixable: 1 with --fix\n")
    fixes = [each["fix"] for each in findings("validate", file)]
    assert sorted(map(str, fixes)) == ["None", "None", "safe"]
    done = draguard("validate", "--fix", file)
    assert "fixed 1 finding in 1 file; 2 left" in done.out
    assert done.out.count("the text cannot be changed in place") == 2


NAMED = """\
apiVersion: resource.k8s.io/v1
kind: {kind}
metadata: {{name: {name}}}
spec: {spec}
"""
OF_DRIVER = "{selectors: [{cel: {expression: device.driver == 'gpu.example.com'}}]}"
POOL = "{name: worker, generation: 1, resourceSliceCount: 1}"
TAINTED = "devices: [{name: gpu, taints: [{key: example.com/broken, effect: NoSchedule}]}]"
PUBLISHED = f"{{driver: gpu.example.com, nodeName: worker, pool: {POOL}, {TAINTED}}}"
UNCOVERING = "---\n".join(
    [
        NAMED.format(kind="DeviceClass", name="gpu.example.com", spec=OF_DRIVER),
        NAMED.format(kind="ResourceSlice", name="worker", spec=PUBLISHED),
        NAMED.format(kind="ResourceClaim", name="gpu", spec=COUNTED.replace('c, count: "1"', "gpu.exmaple.com")),
    ]
)


def test_a_right_fix_may_uncover_that_nothing_can_be_allocated(tmp_path: Path) -> None:
    file = write(tmp_path, UNCOVERING)
    done = draguard("validate", "--fix", UNSAFE, file)
    assert "warning never-allocated" in done.out
    assert "fixed 1 finding in 1 file; 1 left\n" in done.out
    assert file.read_text(encoding="utf-8") == UNCOVERING.replace("exmaple", "example")


def test_of_findings_that_were_not_all_listed_at_first_it_counts_the_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FINDINGS", 3)
    claim = NAMED.format(kind="ResourceClaim", name="c%d", spec="{devices: {request: []}}")
    file = write(tmp_path, "---\n".join(claim % number for number in range(5)))
    done = draguard("validate", "--fix", "--unsafe-fixes", file)
    assert (done.code, done.err) == (0, "")
    assert "fixed at least 3 findings in 1 file; 5 left\n" in done.out
    assert file.read_text(encoding="utf-8").count("requests: []") == 5


def test_no_field_moves_into_what_is_not_judged_whose_unions_are_not_known(tmp_path: Path) -> None:
    volumes = "  volumes:\n  - {name: v, emptyDir: {}, type: Directory}\n"
    variables = "    env: [{name: A, value: x, fieldRef: {fieldPath: metadata.name}}]\n"
    text = POD.replace("    image: image\n", f"    image: image\n{variables}") + volumes
    assert fixed(text, "--unsafe-fixes", tmp_path=tmp_path) == text
    assert len(findings("validate", "-", stdin=text)) >= 2


def test_a_capacity_is_wrapped_if_only_its_unit_has_to_be_corrected(tmp_path: Path) -> None:
    slice_ = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: a}\nspec:\n  driver: gpu.example.com\n"
        "  nodeName: node-1\n  pool: {name: node-1, generation: 1, resourceSliceCount: 1}\n"
        "  devices:\n  - {name: d, capacity: {a: 10GB, b: 10Gi, c: 10XB, d: 1oo}}\n"
    )
    file = write(tmp_path, slice_)
    assert draguard("validate", file).out.endswith("4 errors (Kubernetes 1.37)\nfixable: 2 with --fix\n")
    assert [each["hint"] for each in findings("validate", file)] == [
        "write a map: {value: 10G}",
        "write a map: {value: 10Gi}",
        'write a map: {value: …}, with another value than "10XB"',
        'write a map: {value: …}, with another value than "1oo"',
    ]
    assert "would fix 2 findings" in draguard("validate", "--diff", file).err


BIG = NAMED.format(kind="DeviceClass", name="big_gpu", spec="{}")
SMALL = NAMED.format(kind="DeviceClass", name="small_gpu", spec="{}")
CLAIM_OF_ONE = NAMED.format(
    kind="ResourceClaim", name="one-gpu", spec="{devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}"
)
REPLICAS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: db, resources: {claims: [{name: gpu, request: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimName: one-gpu}]
"""
NO_REQUEST = REPLICAS.replace("request: gpu", "request: cpu")
OF_CLASS = """\
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec: {containers: [{name: c, image: i, resources: {limits: {deviceclass.resource.kubernetes.io/big_gpu: 1}}}]}
"""
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: devices}
spec:
  hard:
    requests.deviceclass.resource.kubernetes.io/big_gpu: 1
    big_gpu.deviceclass.resource.k8s.io/devices: "2"
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A note about a fixed claim, one about a renamed claim, a wrong request.
        ([BIG, CLAIM_OF_ONE.replace("exactly", "exactl"), REPLICAS], [BIG.replace("_", "-"), CLAIM_OF_ONE, REPLICAS]),
        ([CLAIM_OF_ONE.replace("one-", "one_"), REPLICAS], [CLAIM_OF_ONE, REPLICAS]),
        ([CLAIM_OF_ONE.replace("one-", "one_"), NO_REQUEST], [CLAIM_OF_ONE, NO_REQUEST]),
        # An extended resource of the class, its quotas, a name that another class has, or gets, the same class twice.
        ([BIG, SMALL, OF_CLASS], [each.replace("_gpu", "-gpu") for each in (BIG, SMALL, OF_CLASS)]),
        ([BIG, QUOTA], [BIG.replace("_", "-"), QUOTA.replace("big_gpu", "big-gpu")]),
        ([BIG, BIG.replace("_", "-"), OF_CLASS], [BIG, BIG.replace("_", "-"), OF_CLASS]),
        ([BIG, BIG.replace("big", "Big")], [BIG.replace("_", "-"), BIG.replace("big", "Big")]),
        ([BIG, BIG], [BIG.replace("_", "-")] * 2),
        (
            [BIG, SMALL, OF_CLASS.replace("{device", "{&r device")],
            [BIG, SMALL.replace("_", "-"), OF_CLASS.replace("{device", "{&r device")],
        ),
    ],
)
def test_a_rename_is_dropped_only_if_it_takes_a_name_or_leaves_a_reference_behind(
    before: list[str], after: list[str], tmp_path: Path
) -> None:
    files = [write(tmp_path, text, f"{number}.yaml") for number, text in enumerate(before)]
    draguard("validate", "--fix", UNSAFE, tmp_path)
    assert [file.read_text(encoding="utf-8") for file in files] == after


def test_the_object_that_has_the_name_is_named(tmp_path: Path) -> None:
    write(tmp_path, BIG, "a.yaml")
    write(tmp_path, BIG.replace("_", "-"))
    done = draguard("validate", "--fix", UNSAFE, tmp_path)
    other = f'DeviceClass "big-gpu" is at {tmp_path / "b.yaml"}:3: give this one another name'
    assert f"a.yaml:3:12: object-name: {other}" in done.out
    assert "fixable" not in draguard("validate", "--fix", tmp_path).out


def test_no_two_requests_get_one_name_though_an_error_hides_what_the_api_server_says_of_it(tmp_path: Path) -> None:
    names = ["gpu_1", "gpu-1", "nic_1", "NIC-1"]
    exactly = "      exactly: {deviceClassName: gpu.example.com, count: many}\n"
    before, after = (
        CLAIM.partition("    - name")[0] + "".join(f"    - name: {name}\n{exactly}" for name in written)
        for written in (names, ["gpu_1", "gpu-1", "nic-1", "NIC-1"])
    )
    file = write(tmp_path, before)
    done = draguard("validate", "--fix", UNSAFE, tmp_path)
    assert file.read_text(encoding="utf-8") == after
    assert 'dns-label: "gpu-1" is at ' in done.out


def test_a_name_at_the_top_of_an_object_is_respelt_too(tmp_path: Path) -> None:
    text = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: {name: a}\ndriverName: gpu-driver\n"
    file = write(tmp_path, text.replace("gpu-", "gpu_"))
    draguard("validate", "--kubernetes-version", "1.30", "--fix", UNSAFE, tmp_path)
    assert file.read_text(encoding="utf-8") == text


def not_applied(folder: Path) -> str:
    """Return why the only fix of a folder's files is not applied, without the finding."""
    lines = draguard("validate", "--fix", UNSAFE, folder).out.splitlines()
    (line,) = (each for each in lines if each.startswith("fix not applied: "))
    return line.partition(": object-name: ")[2].replace(str(folder), "")


def test_the_reference_that_keeps_a_name_from_being_changed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    write(folder, BIG, "a.yaml")
    other = write(folder, QUOTA.replace("    requests", "    &r requests"))
    assert not_applied(folder) == "/b.yaml:6 refers to it, and cannot be changed in place: change it by hand"
    write(folder, QUOTA)
    (tmp_path / "link").hardlink_to(other)
    assert not_applied(folder).startswith("/b.yaml:6 refers to it, and cannot be written: it has 2 hard links")
    assert (folder / "a.yaml").read_text(encoding="utf-8") == BIG


def test_a_name_that_another_fix_uncovered_is_changed_by_the_next_run(tmp_path: Path) -> None:
    write(tmp_path, BIG.replace("DeviceClass", "DeviceClas"), "a.yaml")
    write(tmp_path, QUOTA)
    again = "/b.yaml:6 refers to it, and cannot be written: another fix uncovered that: run the command again"
    assert not_applied(tmp_path) == again
    assert draguard("validate", "--fix", UNSAFE, tmp_path).code == 0
    assert (tmp_path / "b.yaml").read_text(encoding="utf-8") == QUOTA.replace("big_gpu", "big-gpu")


def test_why_a_file_is_not_written_is_said_of_its_findings(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    write(folder, BIG, "a.yaml")
    write(folder, SMALL)
    (tmp_path / "link").hardlink_to(folder / "b.yaml")
    assert not_applied(folder).startswith("it has 2 hard links")
    assert (folder / "a.yaml").read_text(encoding="utf-8") == BIG.replace("_", "-")
