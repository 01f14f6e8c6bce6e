"""Colours and progress are for terminals."""

import io
import os
import pty
import re
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.command import ROOT, SCRIPT, draguard
from tests.rows import each_row
from webhook.check import progress
from webhook.cli import main
from webhook.cli.console import show_lines
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
    @pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_a_terminal_can_do_without(self, env: dict[str, str]) -> None:
        assert "\x1b" not in on_a_terminal(self.BAD, **env)

    @each_row(("choice", "colours"), [("auto", False), ("always", True), ("never", False)])
    def test_elsewhere_it_is_used_on_demand(self, choice: str, colours: bool) -> None:
        assert ("\x1b[" in draguard("validate", "--color", choice, ROOT / self.BAD).out) is colours


class TestWidth:
    COMMAND = (
        "simulate",
        ROOT / "examples/simulate/deployment.yaml",
        "--cluster",
        ROOT / "examples/simulate/cluster.yaml",
    )

    @pytest.mark.parametrize("color", ["always", "never"])
    @pytest.mark.parametrize("columns", [40, 80, 112, 1000])
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
            show_lines(["  " + "word " * 9 + colored("red", "31")])
        assert out.getvalue() == f"  {'word ' * 6}word\n      word word \x1b[31mred\x1b[0m\n"


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
        self, options: list[str], shown: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        with redirect_stdout(io.StringIO()), redirect_stderr(Terminal()) as terminal:
            assert main(["validate", *options, str(ROOT / TestColour.BAD)]) == 1
        assert ("documents" in terminal.getvalue()) is shown
