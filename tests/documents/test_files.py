"""The files that are read, and the errors of those that cannot be."""

import io
import os
import socket
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from tests.steps import counting
from webhook.documents import Document, Selection, Unreadable, read
from webhook.documents.globs import MAX_PATTERN, Globs, PatternError
from webhook.documents.source import MAX_BYTES


def write(root: Path, *names: str) -> None:
    """Write files that hold their names, and symbolic links: ``NAME -> TARGET``."""
    for each in names:
        name, _, target = each.partition(" -> ")
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if target:
            file.symlink_to(target)
        else:
            file.write_bytes(b"file: '%s'\n" % os.fsencode(file.name).replace(b"\xff", b"?"))


def found(*paths: str | Path) -> list[Any]:
    """List the files that were read, and the errors of others."""
    return [
        each.data["file"] if isinstance(each, Document) else (each.source, each.line, each.column, each.message)
        for each in read([os.fspath(path) for path in paths])
    ]


def sources(paths: Iterable[str], selection: Selection | None = None) -> list[str]:
    return [each.source.removeprefix("./") for each in read(list(paths), selection=selection)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_read_in_the_order_given_whatever_their_names(here: Path) -> None:
    write(here, "b.txt", "a.yaml", ".hidden", "[a].yaml", "d/a.yaml", "d/b.yaml")
    assert found("b.txt", "a.yaml", ".hidden") == ["b.txt", "a.yaml", ".hidden"]
    assert found("[a].yaml") == ["[a].yaml"]
    assert found("d/b.yaml", "d", "./d/a.yaml", here / "d", "d/*.yaml") == ["b.yaml", "a.yaml"]


def test_a_directory_is_read_with_all_below_it_in_order_of_name(here: Path) -> None:
    write(here, "d/b/2.yml", "d/b/1.json", "d/c.yaml", "d/a.yaml", "d/.git/x.yaml", "d/README.md", "d/b/.e/x.yaml")
    assert found("d") == found(".") == ["a.yaml", "x.yaml", "1.json", "2.yml", "c.yaml"]
    write(here, ".kube/a.yaml")
    assert found(".kube") == ["a.yaml"]


def test_hidden_directories_are_read_but_those_of_programs_are_counted(here: Path) -> None:
    write(here, ".github/ci/e2e/deploy/a.yaml", ".deploy/b.yml", ".git/c.yaml", ".svn/d.yaml", ".venv/lib/e.yaml")
    write(here, "x/.tox/f.yaml", "x/node_modules/g.yaml")
    selection = Selection(git=False)
    assert sources(["."], selection) == [".deploy/b.yml", ".github/ci/e2e/deploy/a.yaml"]
    assert selection.left_out == {"vendored": 3}


def test_a_file_is_read_under_its_own_name_whatever_links_to_it(here: Path) -> None:
    write(here, "b/a/link.yaml", "b/x.yaml", "a/y.yaml")
    write(here, "a/link.yaml -> ../b/a/link.yaml", "a/x.yaml -> ../b/x.yaml", "c -> b")
    for paths in (["."], ["a", "b"], ["b", "a"], ["*/*"], ["a/link.yaml", "b"], ["[c]/**", "b"]):
        names = sources(paths)
        assert sorted({*names} - {"a/y.yaml"}) == ["b/a/link.yaml", "b/x.yaml"]
        assert len(names) == len({*names})


def test_a_file_that_is_found_only_by_links_is_read_under_the_name_of_the_first(here: Path) -> None:
    write(here, "d/x.txt", "d/b.yaml -> x.txt", "d/a.yaml -> x.txt")
    assert sources(["d"]) == ["d/a.yaml"]


OUTSIDE = "a symbolic link that leads out of the directories that are read"


def test_links_to_files_below_what_is_named_are_read_and_links_to_directories_are_not(here: Path) -> None:
    write(here, "real/a.yaml", "d/b.yaml", "d/notes.txt", "d/link.yaml -> ../real/a.yaml", "d/notes.yaml -> notes.txt")
    write(here, "d/around -> ../d", "d/out -> ../real", "d/broken.yaml -> nothing")
    broken = ("d/broken.yaml", 0, 0, "no such file or directory")
    assert found("d") == ["b.yaml", broken, ("d/link.yaml", 0, 0, OUTSIDE), "notes.txt"]
    assert found("d", "real") == ["b.yaml", broken, "notes.txt", "a.yaml"]
    assert found("d/link.yaml") == ["a.yaml"]


def test_a_mounted_config_map_is_read(here: Path) -> None:
    write(here, "d/..2026_03_01/a.yaml", "d/..data -> ..2026_03_01", "d/a.yaml -> ..data/a.yaml")
    assert found("d") == found("d/*.yaml") == found(here / "d/a.yaml") == ["a.yaml"]


@pytest.mark.parametrize(
    "target",
    [
        "/proc/self/environ",
        "/dev/stdin",
        "/dev/zero",
        "/dev/fd/0",
        "/etc/passwd",
        "../../../secret",
        "../../.git/token",
    ],
)
def test_links_in_a_tree_show_nothing_that_is_not_in_it(here: Path, target: str) -> None:
    write(here, "../secret", ".git/token", "d/a.txt", f"d/e/x.yaml -> {target}")
    hint = "name the file that it leads to, or the directory which that is in"
    for path in ("d", ".", "d/*", "d/**", "d/e/*.yaml", "**/*.yaml"):
        assert list(read([path])) == [Unreadable("d/e/x.yaml", 0, 0, OUTSIDE, hint)]


def test_links_through_directories_that_lead_out_are_not_followed(here: Path) -> None:
    write(here, "secret/a.yaml", "d/b.yaml", "d/out -> ../secret")
    assert found("d/*", "d/**", "d/**/*.yaml") == ["b.yaml"]
    assert found("d/*/*.yaml") == [("d/out/a.yaml", 0, 0, OUTSIDE)]
    assert found("d/out/*.yaml") == ["a.yaml"]


def test_links_that_lead_in_circles_take_no_time(here: Path) -> None:
    write(here, "d/a.yaml", *(f"d/{name} -> ../d" for name in "bcdefgh"))
    with counting() as steps:
        assert found("d/**/*.yaml", "d/**", "**/**/a.yaml", "d") == ["a.yaml"]
    assert steps() < 10_000


def test_special_files_are_not_waited_for(here: Path) -> None:
    write(here, "d/a.yaml", "d/link.yaml -> pipe.yaml", "d/other.yaml -> socket.yaml")
    os.mkfifo(here / "d/pipe.yaml")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("d/socket.yaml")
        linked = ("d/link.yaml", 0, 0, "no regular file")
        other = ("d/other.yaml", 0, 0, "no such device or address")
        assert found("d") == ["a.yaml", linked, other]
        assert found("d/link.yaml", "d/other.yaml") == [linked, other]


@each_row("target", "/proc/self/environ", "/dev/stdin", "/dev/null")
def test_a_link_that_is_named_hides_nothing_of_the_system(here: Path, target: str) -> None:
    link = f"{target[-4:]}.yaml"
    write(here, f"{link} -> {target}")
    assert list(read([link])) == [
        Unreadable(link, 0, 0, f"a symbolic link to {os.path.realpath(target)}: name that itself")
    ]


def test_pipes_that_are_named_are_read_to_their_end(here: Path) -> None:
    os.mkfifo(here / "pipe")
    writer = threading.Thread(target=(here / "pipe").write_text, args=("file: 'piped'",))
    writer.start()
    assert found("pipe") == ["piped"]
    writer.join()
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file:
        file.write("file: 'substituted'")
    assert found(f"/dev/fd/{reading}") == ["substituted"]
    os.close(reading)


@each_row(
    ("pattern", "files"),
    ("*.yaml", ["a.yaml"]),
    ("**/*.yaml", ["a.yaml", "b.yaml", "c.yaml"]),
    ("d/**", ["b.yaml", "c.yaml", "d.json"]),
    ("d/*", ["b.yaml", "c.yaml", "d.json"]),
    ("d/[bx]*", ["b.yaml"]),
    ("?.txt", ["a.txt"]),
)
def test_globs_are_expanded(here: Path, pattern: str, files: list[str]) -> None:
    write(here, "a.yaml", "a.txt", "d/b.yaml", "d/e/c.yaml", "d/e/d.json", "d/notes.md", ".git/x.yaml")
    assert found(pattern) == files


@each_row(
    ("path", "message"),
    ("missing.yaml", "no such file or directory"),
    ("missing/", "no such file or directory"),
    ("missing/*.yaml", "no manifest matches"),
    ("empty", "no manifest in this directory: none ends in .json, .yaml, .yml"),
)
def test_what_is_missing_is_said_and_the_rest_is_read(here: Path, path: str, message: str) -> None:
    write(here, "a.yaml", "empty/notes.md")
    assert found(path, "a.yaml") == [(path, 0, 0, message), "a.yaml"]
    assert found("") == [("''", 0, 0, "an empty name: give a path")]


def test_what_may_not_be_read_or_is_too_large_is_said(here: Path) -> None:
    write(here, "d/a.yaml", "d/b.yaml", "d/loop.yaml -> loop.yaml", "a.yaml")
    assert found("d") == ["a.yaml", "b.yaml", ("d/loop.yaml", 0, 0, "too many levels of symbolic links")]
    with (here / "large.yaml").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    large = ("large.yaml", 1, 1, "larger than 128 MiB: nothing in it is judged")
    assert found("large.yaml", "a.yaml") == [large, "a.yaml"]


def test_a_directory_that_cannot_be_listed_is_said(here: Path) -> None:
    descriptor = os.open(here, os.O_RDONLY)
    for name in ("d", *["x" * 250] * 19):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    assert [fault[3] for fault in found("d")] == ["file name too long"]


def test_a_name_that_is_not_text_can_be_shown(here: Path) -> None:
    name = os.fsdecode(b"\xff.yaml")
    write(here, name)
    assert sources([name]) == ["\ufffd.yaml"]


def test_a_dash_is_standard_input(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "a.yaml")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"file: in\n---\nfile: put\n---\n[")))
    fault = ("<stdin>", 5, 2, "did not find expected node content, while parsing a flow node")
    assert found("-", "a.yaml", "-") == ["in", "put", fault, "a.yaml"]


def test_standard_input_may_be_given_and_what_cannot_be_read_of_it_is_said() -> None:
    (document,) = read(["-"], io.BytesIO(b"a: 1"))
    assert isinstance(document, Document)
    assert (document.source, document.data) == ("<stdin>", {"a": 1})

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error", size)

    assert list(read(["-"], Broken())) == [Unreadable("<stdin>", 0, 0, "input/output error")]


@each_row(
    ("pattern", "matching", "other"),
    ("*.json", ["a.json", "x/a.json", "./x/../a.json"], ["a.jsonx", "json"]),
    ("charts", ["charts/a.yaml", "x/charts/y/a.yaml"], ["chart", "charts.yaml", "mycharts/a"]),
    ("charts/", ["charts/a.yaml"], ["charts.yaml"]),
    ("/charts", ["charts/a.yaml"], ["x/charts/a.yaml"]),
    ("x/*.yaml", ["x/a.yaml"], ["x/y/a.yaml", "y/x/a.yaml"]),
    ("./x/a.yaml", ["x/a.yaml"], ["y/x/a.yaml"]),
    ("x/**", ["x/a.yaml", "x/y/a.yaml"], ["x.yaml", "y/x/a.yaml"]),
    ("x/**/a.yaml", ["x/a.yaml", "x/y/z/a.yaml"], ["xa.yaml", "x/ya.yaml"]),
    ("**/a.yaml", ["a.yaml", "x/y/a.yaml"], ["ba.yaml"]),
    ("a?.yaml", ["ab.yaml"], ["a.yaml", "a/.yaml"]),
    ("[ab].yaml", ["a.yaml"], ["c.yaml"]),
    ("[!ab].yaml", ["c.yaml"], ["a.yaml"]),
    ("a.b+(c)", ["a.b+(c)"], ["axb+(c)"]),
    ("[", ["["], ["x"]),
    ("é*.yaml", ["ébc.yaml"], ["e.yaml"]),
)
def test_patterns_match_as_in_gitignore(here: Path, pattern: str, matching: list[str], other: list[str]) -> None:
    globs = Globs([pattern, "never"], ".")
    assert [each for each in (*matching, *other) if globs.has(each)] == matching
    assert globs.has(f"{here}/{matching[0]}")


def test_patterns_are_relative_to_their_directory(here: Path) -> None:
    (here / "a").mkdir()
    globs = Globs(["x/*.yaml", "*.json"], "a")
    assert globs.has("a/x/1.yaml")
    assert not globs.has("x/1.yaml")
    assert globs.has("/elsewhere/1.json")
    assert not Globs([], ".").has("a")


@each_row("pattern", "", "/", "../a", "a/../b", "a\nb", "a" * (MAX_PATTERN + 1), "[z-a]")
def test_a_pattern_that_makes_no_sense_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Globs([pattern], ".")


def test_a_pattern_takes_no_more_than_linear_time() -> None:
    assert not Globs(["*a" * 400 + "b"], ".").has("a" * 4000)


@pytest.mark.parametrize("pattern", ["**/" + "[a-z]*?" * 140, "x" * 1000])
@pytest.mark.parametrize("count", [pytest.param(190, marks=pytest.mark.slow), 1000])
def test_more_patterns_than_can_be_matched_at_once_are_refused(pattern: str, count: int) -> None:
    with pytest.raises(PatternError, match="too many or too long"):
        Globs([f"{pattern}{number}" for number in range(count)], ".")
