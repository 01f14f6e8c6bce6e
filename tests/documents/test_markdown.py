"""Manifests in the blocks of Markdown files."""

from pathlib import Path
from time import process_time

import pytest

from tests.cli.manifests import CLUSTER
from tests.command import draguard, findings, reported
from tests.rows import each_row
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

FIXABLE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: a}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu, count: "1"}}]}}
"""
IN_LINE = [
    ("spec: {...}\n", 0),
    ("spec: \u2026\n", 0),
    ("spec: ...  # as above\n", 0),
    ("spec: {devices: {requests: [...]}}\n", 0),
    ("spec: {devices: {requests: [{name: a, exactly: {deviceClassName: b, ...}}, ...], config: ...}}\n", 0),
    ("spec: {devices: {requests: [{..., name: A}]}}\n", 1),
    ('spec: {devices: {requests: [{name: "..."}]}}\n', 1),
]
PART = """\
```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  namespace: a
{}```
"""


def test_blocks_are_read_with_their_places(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(TEXT, encoding="utf-8")
    for arguments in ((file,), ("--markdown", tmp_path), ("--markdown", tmp_path / "R*")):
        report = reported("validate", *arguments)
        errors = [(each["line"], each["column"]) for each in report["findings"] if each["rule"] == "object-name"]
        assert errors == [(7, 3), (22, 6)]
        assert report["summary"]["documents"] == 4
    assert draguard("validate", "--allow-empty", tmp_path).out == "nothing was read\n"
    file.unlink()
    assert "none ends in .json, .yaml, .yml, .md" in draguard("validate", "--markdown", tmp_path).out


@pytest.mark.parametrize("paths", [["README.md"], ["--markdown", "."], ["*.md"], ["READ*.m?"]])
@pytest.mark.parametrize("mode", [["--fix"], ["--fix", "--unsafe-fixes"], ["--diff", "--unsafe-fixes"]])
def test_fixes_leave_markdown_alone(
    mode: list[str], paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{TEXT}```\n"
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    (tmp_path / "claim.yaml").write_text(FIXABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = draguard("validate", *mode, *paths, "claim.yaml")
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == text
    if mode[0] == "--fix":
        assert "count: 1" in (tmp_path / "claim.yaml").read_text(encoding="utf-8")
    assert "Traceback" not in done.err


def test_fixes_of_markdown_are_not_offered(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(f"```yaml\n{FIXABLE}```\n", encoding="utf-8")
    done = draguard("validate", file)
    assert (done.code, "fixable" in done.out) == (1, False)
    for mode in ("--fix", "--diff"):
        done = draguard("validate", mode, file)
        said = f"not fixed: {file}: the blocks of Markdown files are not changed"
        assert (done.code, said in done.out + done.err) == (1, True)


@pytest.mark.parametrize("command", [["convert", "--write"], ["match"], ["mutate"], ["simulate"]])
def test_other_commands_do_not_read_markdown(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text(TEXT, encoding="utf-8")
    done = draguard(*command, file, *(["--cluster", str(CLUSTER)] if command[0] in {"match", "simulate"} else []))
    assert (done.code, done.err.splitlines()[0]) == (
        1,
        f"{file}:1:1: error unreadable: Markdown files are read by `draguard validate` only",
    )
    assert file.read_text(encoding="utf-8") == TEXT


def test_blocks_may_show_an_object_again(tmp_path: Path) -> None:
    block = "```yaml\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  %s\n```\n"
    page = tmp_path / "a.md"
    requests = "devices: {requests: [{name: %s, exactly: {deviceClassName: gpu.example.com}}]}"
    page.write_text((block % (requests % "a")) + "Now change it:\n" + (block % (requests % "b")), encoding="utf-8")
    assert findings("validate", "--markdown", page) == []


def test_what_is_left_out_is_not_missing(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    for elided, code in ("  ...\n", 0), ("  # ...\n", 0), ("  \u2026\n", 0), ("- ...\n", 0), ("", 1), *IN_LINE:
        file.write_text(PART.format(elided), encoding="utf-8")
        assert draguard("validate", file).code == code, elided


def test_everything_keeps_its_place() -> None:
    read = blocks_of(TEXT.encode()).decode()
    assert read.count("\n") == TEXT.count("\n")
    assert read.count("\n---") == 4


@each_row("line", "~", "`", "- ", "1. ", " ", "~`", "```yaml\n", "```yaml\napiVersion: v1\n", "...\n")
def test_hostile_files_take_little_time(line: str) -> None:
    started = process_time()
    blocks_of((line * (500_000 // len(line)) + "`x").encode())
    assert process_time() - started < 2


def test_what_is_not_text_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_bytes(TEXT.encode() + b"\xff")
    (found,) = findings("validate", file)
    assert found["rule"] == "unreadable"
