"""Manifests in the blocks of Markdown files."""

from pathlib import Path
from time import process_time

import pytest

from tests.cli.manifests import CLUSTER
from tests.command import draguard, findings, reported
from tests.rows import each_row
from tests.structured import CLAIM, claim_manifest
from webhook.documents.markdown import blocks_of

TEXT = """\
# Claims

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: ONE
...
```

1. In a list:

   ~~~yml title="a.yaml"
   apiVersion: resource.k8s.io/v1
   kind: ResourceClaim
   metadata:
     name: two
   ---
   apiVersion: resource.k8s.io/v1
   kind: ResourceClaim
   metadata:
     name: THREE
     ...
   spec: {}
   ~~~

```yaml
spec: [a part
```

```sh
apiVersion: no
```

````yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  a: "```"
"""

FIXABLE = claim_manifest(more='        count: "1"\n', namespace="a")
PART = "```yaml\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  namespace: a\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "README.md"
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_blocks_are_read_with_their_places(file: Path) -> None:
    folder = file.parent
    for arguments in ((file,), ("--markdown", folder), ("--markdown", folder / "R*")):
        report = reported("validate", *arguments)
        errors = [(each["line"], each["column"]) for each in report["findings"] if each["rule"] == "object-name"]
        assert errors == [(7, 3), (22, 6)]
        assert report["summary"]["documents"] == 4
    assert draguard("validate", "--allow-empty", folder).out == "nothing was read\n"
    file.unlink()
    assert "none ends in .json, .yaml, .yml, .md" in draguard("validate", "--markdown", folder).out


@each_row("paths", "README.md", "--markdown .", "*.md", "READ*.m?")
@each_row("mode", "--fix", "--fix --unsafe-fixes", "--diff --unsafe-fixes")
def test_fixes_leave_markdown_alone(mode: str, paths: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = file.with_name("claim.yaml")
    claim.write_text(FIXABLE, encoding="utf-8")
    file.write_text(text := f"{TEXT}```\n", encoding="utf-8")
    monkeypatch.chdir(file.parent)
    done = draguard("validate", *mode.split(), *paths.split(), "claim.yaml")
    assert file.read_text(encoding="utf-8") == text
    assert ("count: 1" in claim.read_text(encoding="utf-8")) == ("--fix" in mode)
    assert "Traceback" not in done.err


def test_fixes_of_markdown_are_not_offered(file: Path) -> None:
    file.write_text(f"```yaml\n{FIXABLE}```\n", encoding="utf-8")
    done = draguard("validate", file)
    assert (done.code, "fixable" in done.out) == (1, False)
    for mode in ("--fix", "--diff"):
        done = draguard("validate", mode, file)
        said = f"not fixed: {file}: the blocks of Markdown files are not changed"
        assert (done.code, said in done.out + done.err) == (1, True)


@each_row("command", "convert --write", f"match --cluster {CLUSTER}", "mutate", f"simulate --cluster {CLUSTER}")
def test_other_commands_do_not_read_markdown(command: str, file: Path) -> None:
    done = draguard(*command.split(), file)
    said = f"{file}:1:1: error unreadable: Markdown files are read by `draguard validate` only"
    assert (done.code, done.err.splitlines()[0]) == (1, said)
    assert file.read_text(encoding="utf-8") == TEXT


def test_blocks_may_show_an_object_again(file: Path) -> None:
    again = CLAIM.replace("name: gpu", "name: other")
    file.write_text(f"```yaml\n{CLAIM}```\nNow change it:\n```yaml\n{again}```\n", encoding="utf-8")
    assert findings("validate", "--markdown", file) == []


@each_row(
    ("elided", "code"),
    *((each, 0) for each in ("  ...", "  # ...", "  \u2026", "- ...", "spec: {...}", "spec: \u2026", "spec: ...  # a")),
    ("spec: {devices: {requests: [...]}}", 0),
    ("spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b, ...}}, ...], config: ...}}", 0),
    ("spec: {devices: {requests: [{..., name: A}]}}", 1),
    ('spec: {devices: {requests: [{name: "..."}]}}', 1),
    ("", 1),
)
def test_what_is_left_out_is_not_missing(elided: str, code: int, file: Path) -> None:
    file.write_text(f"{PART}{elided}\n```\n", encoding="utf-8")
    assert draguard("validate", file).code == code


def test_everything_keeps_its_place() -> None:
    read = blocks_of(TEXT.encode()).decode()
    assert read.count("\n") == TEXT.count("\n")
    assert read.count("\n---") == 4


@each_row("line", "~", "`", "- ", "1. ", " ", "~`", "```yaml\n", "```yaml\napiVersion: v1\n", "...\n")
def test_hostile_files_take_little_time(line: str) -> None:
    started = process_time()
    blocks_of((line * (500_000 // len(line)) + "`x").encode())
    assert process_time() - started < 2


def test_what_is_not_text_is_an_error(file: Path) -> None:
    file.write_bytes(TEXT.encode() + b"\xff")
    (found,) = findings("validate", file)
    assert found["rule"] == "unreadable"


@each_row(
    ("block", "is_read"),
    ("parameters:\n  apiVersion: example.com/v1\n  kind: GpuConfig", False),
    ("# the owner\n- apiVersion: v1\n  kind: Pod", False),
    ("kind: Pod\n# the version\napiVersion: v1", True),
    ("  ---\n  apiVersion: v1\n  kind: Pod", True),
    ('{\n  "apiVersion": "v1", "kind": "Pod"\n}', True),
    ("", False),
)
def test_parts_of_manifests_are_not_read(block: str, is_read: bool) -> None:
    assert (b"apiVersion" in blocks_of(f"```yaml\n{block}\n```\n".encode())) is is_read
