"""Colours and progress are for terminals."""

import io
import json
import os
import pty
import re
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.cli.manifests import CLUSTER, DEPLOYMENT
from tests.command import ROOT, SCRIPT, draguard
from tests.rows import each_row
from tests.scan.clusters import device, slices
from tests.simulation import clusters
from tests.simulation.clusters import ran, written
from webhook.check import progress
from webhook.cli.console import show_lines
from webhook.report.diff import unified
from webhook.report.text import colored


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

    @pytest.mark.process
    def test_it_is_used_on_a_terminal(self) -> None:
        assert "\x1b[1;31merror\x1b[0m" in on_a_terminal(self.BAD)

    @pytest.mark.process
    @each_row("env", {"NO_COLOR": "1"}, {"TERM": "dumb"})
    def test_a_terminal_can_do_without(self, env: dict[str, str]) -> None:
        assert "\x1b" not in on_a_terminal(self.BAD, **env)

    @each_row(("choice", "colours"), ("auto", False), ("always", True), ("never", False))
    def test_elsewhere_it_is_used_on_demand(self, choice: str, colours: bool) -> None:
        assert ("\x1b[" in draguard("validate", "--color", choice, ROOT / self.BAD).out) is colours


class TestWidth:
    COMMAND = ("simulate", DEPLOYMENT, "--cluster", CLUSTER)

    @each_row("color", "always", "never")
    @each_row("columns", 40, 80, 112, 1000)
    def test_long_lines_fold_at_the_width_of_the_terminal(self, columns: int, color: str) -> None:
        whole = draguard(*self.COMMAND).out
        folded = re.sub(r"\x1b\[[0-9;]*m", "", draguard(*self.COMMAND, "--color", color, columns=columns).out)
        long = [line for line in folded.splitlines() if len(line) > columns]
        assert [line for line in long if len(line.split()) > 1] == []
        assert folded.split() == whole.split()
        assert len(folded.splitlines()) > len(whole.splitlines()) or columns == 1000

    def test_further_lines_are_indented_below_theirs(self) -> None:
        with redirect_stdout(Terminal()) as out, pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "40")
            show_lines(["  " + "word " * 9 + colored("fits", "red")], color=True)
        assert out.getvalue() == f"  {'word ' * 6}word\n      word word \x1b[32mred\x1b[0m\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestProgress:
    def test_it_is_shown_once_work_takes_long_and_is_gone_in_the_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        terminal = Terminal()
        assert list(progress.with_progress(range(3), terminal, quiet=False)) == [0, 1, 2]
        assert terminal.getvalue().startswith("\r\x1b[K1 documents")
        assert terminal.getvalue().endswith("\r\x1b[K")

    def test_it_does_not_flicker_while_work_is_quick(self) -> None:
        terminal = Terminal()
        assert list(progress.with_progress(range(3), terminal, quiet=False)) == [0, 1, 2]
        assert terminal.getvalue() == ""

    @each_row(("options", "shown"), ([], True), (["--quiet"], False))
    def test_it_is_shown_on_a_terminal_unless_only_findings_are_wanted(
        self, options: list[str], shown: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        said = draguard("validate", *options, ROOT / TestColour.BAD, columns=80).err
        assert ("documents" in said) is shown


EVIL = "H\x1b[2J\n::error::pwned ##[x]\x1b[31m"
CLASS = clusters.device_class(EVIL)
AROUND = (slices(device("d0", {"model": EVIL}), on="a"), clusters.node("a"), CLASS)


def harmless(text: str, *, color: bool = False) -> bool:
    """Tell whether nothing in a text is a command; colours may be allowed."""
    text = re.sub(r"\x1b\[[0-9;]+m\w+ *[\w ]*:?\x1b\[0m", "", text) if color else text  # those of words of the report
    return all(line.isprintable() and not line.lstrip().startswith("::") for line in text.split("\n")) and (
        "##[" not in text
    )


@each_row("color", "never", "always")
def test_match_escapes_attributes_and_names(tmp_path: Path, color: str) -> None:
    cluster = written(tmp_path / "cluster.yaml", *AROUND)
    done = draguard("match", "-e", "true", "--cluster", cluster, "--color", color)
    assert r"H\x1b[2J\n::error::pwned ## [x]\x1b[31m" in done.out
    assert harmless(done.out + done.err, color=color == "always")
    assert harmless(draguard("match", "-e", '\n"##[" ==\n"::"', "--cluster", cluster, "--color", "never").out)


@each_row("color", "never", "always")
@each_row("more", (), ("--fit",))
def test_simulate_escapes_what_pods_say(tmp_path: Path, color: str, more: tuple[str, ...]) -> None:
    done = ran(tmp_path, clusters.pod(schedulerName=EVIL), cluster=AROUND, options=["--color", color, *more])
    assert done.code in {0, 1}
    assert r"\x1b[2J" in done.out + done.err
    assert harmless(done.out + done.err, color=color == "always")


@each_row("report", "text", "concise")
def test_a_file_name_at_the_beginning_of_a_line_is_not_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "::error::##[x].yaml", {**CLASS, "spec": {"##[a]": 1}})
    done = draguard("validate", "::error::##[x].yaml", "--output", report)
    assert done.out.startswith(r"\x3a:error::## [x].yaml:")
    assert harmless(done.out)


def test_statistics_name_kinds_that_are_not_commands(tmp_path: Path) -> None:
    done = draguard("validate", "-o", "statistics", written(tmp_path / "a.yaml", {"apiVersion": EVIL, "kind": EVIL}))
    assert "## [x]" in done.out
    assert harmless(done.out)


@each_row("command", ("validate", "--diff", "--unsafe-fixes"), ("convert", "--diff"))
def test_the_name_of_a_file_in_a_diff_is_not_a_command(tmp_path: Path, command: tuple[str, ...]) -> None:
    old = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass", "metadata": {"name": "A"}, "spec": {}}
    file = tmp_path / "a\x1b[31m\n::error::##[x].yaml"
    file.write_text(json.dumps(old, indent=1), encoding="utf-8")
    done = draguard(*command, file)
    assert r"a\x1b[31m\n::error::## [x].yaml" in done.out
    assert harmless(done.out + done.err)


@each_row("command", "##[error]x", "##vso[task.setvariable variable=x]y")
@each_row("report", "text", "concise", "json", "sarif", "junit", "gitlab", "markdown", "html")
def test_reports_of_all_formats_command_no_runner(tmp_path: Path, report: str, command: str) -> None:
    long = f"{'x' * 90} ::error::{command}"  # a text that is folded
    file = written(tmp_path / f"{command}.yaml", {**CLASS, "metadata": {"name": long}, "spec": {long: 1}})
    done = draguard("validate", "-o", report, file)
    assert done.code == 1
    assert command not in done.out
    assert not re.search(r"^\s*::", done.out, re.MULTILINE)


def test_json_of_reviews_and_patches_commands_no_runner(tmp_path: Path) -> None:
    request = {"uid": "##[error]x", "operation": "DELETE", "resource": {}, "kind": {}}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    (tmp_path / "review.json").write_text(json.dumps(body))
    done = draguard("review", tmp_path / "review.json")
    assert json.loads(done.out)["response"]["uid"] == "##[error]x"
    assert "##" not in done.out
    pod = clusters.pod("##[error]x", {"c": "c"}, nodeName="a")
    done = draguard("mutate", "--patch", written(tmp_path / "pod.yaml", pod))
    assert json.loads(done.out)["name"] == "##[error]x"
    assert "##" not in done.out


@each_row("text", "  ::error::x\n", "\x85::error::x\n", "  y: ##[error]x\n", "  # y\r::error::x\n")
def test_a_diff_stops_the_commands_in_its_lines(tmp_path: Path, text: str) -> None:
    before, after = f"a: 1\n{text}b", f"a: 2\n{text}b"
    stop, *lines, resume = unified("a.yaml", before, after)
    token = stop.removeprefix("::stop-commands::").strip()
    assert resume == f"::{token}::\n"
    assert f" {text}" in lines
    (tmp_path / "a.yaml").write_text(before, newline="")
    (tmp_path / "patch").write_text("".join([stop, *lines, resume]), newline="")
    subprocess.run(["git", "apply", "-p0", "patch"], cwd=tmp_path, check=True)  # noqa: S607 - that on the path
    assert (tmp_path / "a.yaml").read_bytes().decode() == after


def test_a_diff_has_the_lines_of_a_file() -> None:
    lines = unified("a", "a: x\u2028y\n\x85", "a: x\u2028y\n")
    wanted = "--- a\n+++ a\n@@ -1,2 +1 @@\n a: x\u2028y\n-\x85\n\\ No newline at end of file\n"
    assert list(lines) == [f"{line}\n" for line in wanted.split("\n")[:-1]]
