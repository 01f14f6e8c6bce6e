import os
import shlex
import subprocess
from importlib.metadata import version
from pathlib import Path
from unittest.mock import Mock

import pytest

import webhook.check.files
from tests.command import ROOT, SCRIPT, draguard, process, usage_error
from tests.rows import each_row
from webhook.cli.parser import EXIT_CODES

COMMANDS = ("validate", "mutate", "explain", "policy", "review", "serve", "certs")
BAD = "examples/limits/nodes.yaml"


class TestHelp:
    def test_it_lists_commands_and_exit_codes(self) -> None:
        done = draguard("--help")
        assert done.code == 0
        assert all(f"\n    {command} " in done.out for command in COMMANDS)
        assert EXIT_CODES in done.out
        assert EXIT_CODES in draguard("validate", "--help").out

    def test_without_a_command_it_is_wrong_use(self) -> None:
        assert usage_error().startswith("usage: draguard")

    def test_the_version_is_that_of_the_distribution(self) -> None:
        assert process("--version") == draguard("--version") == (0, f"draguard {version('draguard')}\n", "")

    @each_row(
        ("arguments", "usage", "complaint"),
        (["validate", "--polices", "x"], "validate", "unrecognized arguments: --polices: did you mean --policies?"),
        (["validate", "--out", "json"], "validate", "unrecognized arguments: --out"),
        (["policy", "check", "--cost=1", "x"], "policy check", "unrecognized arguments: --cost=1: did you mean"),
        (["serve", "--dev", "extra"], "serve", "unrecognized arguments: extra"),
        (["serve", "--port", "x"], "serve", "argument --port: 'x' is not a whole number"),
        (["serve", "--shutdown-delay", "x"], "serve", "argument --shutdown-delay: 'x' is not a number"),
        (
            ["schema"],
            "schema",
            "the following arguments are required: NAME (choose from report, why, match, simulate, profile, suite)",
        ),
        (["driver", "check"], "driver check", "the following arguments are required: PATH"),
    )
    def test_an_unknown_option_is_reported_with_the_usage(
        self, arguments: list[str], usage: str, complaint: str
    ) -> None:
        done = draguard(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"usage: draguard {usage} ")
        assert f"draguard {usage}: error: {complaint}" in done.err

    def test_options_may_stand_between_paths(self) -> None:
        done = draguard("validate", "gone.yaml", "--strict", "-", "away.yaml")
        assert [line for line in done.out.splitlines() if "no such file" in line] == [
            "gone.yaml: error unreadable: no such file or directory",
            "away.yaml: error unreadable: no such file or directory",
        ]


@pytest.mark.process
class TestProcess:
    def test_findings_go_to_standard_output_and_make_the_exit_code_1(self) -> None:
        done = process("validate", BAD)
        assert (done.code, done.err) == (1, "")
        assert done.out.startswith(f"{BAD}:9:3: error max-items: spec.potentialNodes: Too long: ")

    def test_a_release_that_is_not_known_yet_is_judged_as_the_newest_with_a_note(self) -> None:
        done = process("validate", "--kubernetes-version", "1.99", "examples/fixed")
        said = "Kubernetes 1.99 is not known here yet: judged as 1.38, the newest known release"
        assert done.err == f"note: --kubernetes-version: {said}\n"
        assert "help: Kubernetes 1.38 serves " in done.out

    @each_row("encoding", "ascii", "latin-1", "utf-8")
    def test_any_encoding_of_the_terminal_will_do(self, encoding: str) -> None:
        done = process("validate", "-", stdin="a: 'é€\n".encode(), env={"PYTHONIOENCODING": encoding})
        assert (done.code, done.err) == (1, "")

    @each_row("arguments", ["validate", BAD], ["--help"], ["--version"])
    def test_it_ends_quietly_when_its_output_is_closed(self, arguments: list[str]) -> None:
        read, write = os.pipe()
        os.close(read)
        try:
            done = subprocess.run(
                [SCRIPT, *arguments], stdout=write, stderr=subprocess.PIPE, cwd=ROOT, check=False, timeout=60
            )
        finally:
            os.close(write)
        assert (done.returncode, done.stderr) == (141, b"")

    @each_row(
        ("arguments", "command"),
        (["validate", BAD], " validate"),
        (["validate", "--help"], ""),
        (["--version"], ""),
        (["version"], " version"),
    )
    def test_output_that_cannot_be_written_is_not_a_finding(self, arguments: list[str], command: str) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([SCRIPT, *arguments], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False)
        message = f"draguard{command}: error: No space left on device\n"
        assert (done.returncode, done.stderr.decode()) == (3, message)

    @each_row(
        ("command", "code", "said"),
        ("validate - <&-", 1, b""),
        (f"validate {BAD} 2>&-", 1, b""),
        ("validate - <&- 2>&-", 1, b""),
        ("validate examples/fixed >&-", 3, b"draguard validate: error: Bad file descriptor\n"),
        ("validate examples/fixed <&- >&-", 3, b"draguard validate: error: Bad file descriptor\n"),
    )
    def test_closed_streams_are_empty_ones_and_a_lost_report_is_not_a_success(
        self, command: str, code: int, said: bytes
    ) -> None:
        command = f"{shlex.quote(str(SCRIPT))} {command}"
        done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, cwd=ROOT, check=False)  # noqa: S607
        assert (done.returncode, done.stderr) == (code, said)


class TestOwnFailure:
    def test_it_is_exit_code_3_with_all_that_a_report_needs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(webhook.check.files, "_Validation", Mock(side_effect=ZeroDivisionError))
        done = draguard("validate", BAD)
        assert (done.code, done.out) == (3, "")
        assert "ZeroDivisionError" in done.err
        said = "draguard itself failed; please report this with the lines above"
        assert done.err.endswith(f"draguard validate: error: {said}\n")

    @each_row(
        ("event", "code", "result"),
        (BrokenPipeError(), 141, ""),
        (KeyboardInterrupt(), 130, ""),
        (OSError(28, "No space left"), 3, "draguard validate: error: No space left\n"),
        (MemoryError(), 3, "draguard validate: error: out of memory\n"),
    )
    def test_what_comes_from_outside_is_not_a_failure_of_its_own(
        self, event: BaseException, code: int, result: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(webhook.check.files, "read", Mock(side_effect=event))
        assert draguard("validate", BAD) == (code, "", result)
