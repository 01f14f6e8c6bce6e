"""Usual features of a command line: hints, one-line usage, pipes, completion, a manual page."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from tests.command import ROOT, SCRIPT, Done, draguard, findings, process, reported, usage_error
from tests.rows import each_row, each_row_beside
from tests.structured import claim
from tests.test_start_up import imported
from webhook.cli.completion import options_of
from webhook.cli.parser import Parser, make_parser
from webhook.configuration.options import PROGRAM, Command

FINE = ROOT / "examples/fixed/pod-with-cats.yaml"
BAD = "examples/limits/nodes.yaml"
CLUSTER = ROOT / "examples/simulate/cluster.yaml"


def test_what_stands_in_the_package_are_the_commands() -> None:
    parts = {"--init--", "--pycache--", "console", "parser", "texts"}
    names = {each.stem.replace("_", "-") for each in (ROOT / "webhook" / "cli").iterdir()} - parts
    assert names == make_parser().commands.keys()


def parsers(parser: Parser) -> Iterator[Parser]:
    yield parser
    for each in parser.commands.values():
        yield from parsers(each)


class TestMistakes:
    @each_row_beside("arguments", "hint")
    def test_they_come_with_suggestions(self, arguments: str, hint: str) -> None:
        assert hint in usage_error(*arguments.split())

    def test_a_file_that_looks_like_an_option_has_a_hint(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "-a.yaml").write_bytes(FINE.read_bytes())
        said = "unrecognized arguments: -a.yaml: to name the file, write ./-a.yaml\n"
        assert said in draguard("validate", "-a.yaml").err
        assert draguard("validate", "./-a.yaml").code == 0

    @each_row("option", "--namespace=x", "--subresource=status", "--color=never")
    def test_what_can_be_given_once_is_refused_twice(self, option: str) -> None:
        assert draguard("validate", option, FINE, "--old", FINE).code == 0
        assert "can be given only once" in usage_error("validate", option, FINE, option, "--old", FINE)

    @each_row("command", "validate", "simulate", "policy check", "serve", "mutate")
    def test_usage_is_one_line(self, command: str) -> None:
        lines = draguard(*command.split(), "--nonsense").err.splitlines()
        assert len(lines) == 2
        assert lines[0].startswith(f"usage: draguard {command} [OPTION...]")


class TestHelp:
    @each_row("columns", 60, 100, 150)
    def test_it_is_as_wide_as_the_terminal(self, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = draguard("validate", "--help").out.splitlines()
        result = [line for line in lines if not line.startswith("  draguard ")]
        assert columns - 12 < max(map(len, (line for line in result if not line.startswith("  kube")))) <= columns

    def test_its_lines_fit_on_a_screen_and_break_no_name(self) -> None:
        helps = {each.prog: each.format_help() for each in parsers(make_parser())}
        wide = [prog for prog, text in helps.items() if max(map(len, text.splitlines())) > 100]
        assert wide == ["draguard schema", "draguard policy generate"]  # by their examples
        assert not re.findall(r".*\w-$|^ *None$", "".join(helps.values()), re.MULTILINE)

    def test_each_command_with_arguments_has_examples(self) -> None:
        helps = {each.prog: each.format_help() for each in parsers(make_parser())}
        without = [prog for prog, text in helps.items() if not re.search(rf"\nexamples:\n(  .*\n)*  {prog} ", text)]
        assert without == ["draguard", "draguard version"]

    def test_options_state_their_defaults(self) -> None:
        every = [each for parser in parsers(make_parser()) for each in parser._actions]  # noqa: SLF001
        given = [each for each in every if isinstance(each.default, str | float) and each.default]
        silent = [each for each in given if "default" not in str(each.help) and each.default != argparse.SUPPRESS]
        assert (len(given) > 50, silent) == (True, [])

    @each_row("command", "validate", "policy test", "completion", "")
    def test_help_shows_it_too(self, command: str) -> None:
        assert draguard("help", *command.split()) == draguard(*command.split(), "--help")

    def test_the_version_has_three_names(self) -> None:
        assert draguard("version") == draguard("-V") == draguard("--version")

    @pytest.mark.process
    def test_the_package_is_the_command(self) -> None:
        run = [sys.executable, "-m", "draguard", "version"]
        done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
        assert Done(0, done.stdout, "") == draguard("version")

    def test_directories_have_two_documented_names(self, tmp_path: Path) -> None:
        for name in ("--dir", "--directory"):
            folder = tmp_path / name.strip("-")
            assert draguard("policy", "new", "few.example.com", name, folder).code == 0
            assert (folder / "policy.yaml").exists()
            assert draguard("certs", name, folder, "localhost").code == 0
            assert (folder / "tls.crt").exists()
        for command in (("policy", "new"), ("certs",)):
            assert re.search(r"--dir(?: DIRECTORY)?, --directory DIRECTORY", draguard(*command, "--help").out)

    def test_the_manual_page_has_every_command_and_option(self) -> None:
        page = draguard("help", "--man").out
        assert page.startswith('.TH "DRAGUARD" 1 ')
        for words, command in every():
            called = " ".join(("draguard", *words)).replace("-", r"\-")
            section = page.partition(f"\n.SH {called.upper()}\n.nf\n")[2].partition("\n.fi\n")[0]
            assert section.startswith(f"usage: {called} ")
            for option in options_of(command):
                assert all(name.replace("-", r"\-") in section for name in option.names)
        requests = {line.split()[0] for line in page.splitlines() if line.startswith(".")}
        assert requests == {".TH", ".SH", ".nf", ".fi"}


def every(words: tuple[str, ...] = (), command: Command = PROGRAM) -> Iterator[tuple[tuple[str, ...], Command]]:
    """List the commands, with the words that call them."""
    yield words, command
    for name, each in command.actions.items():
        yield from every((*words, name), each)


class TestCompletion:
    def test_what_follows_the_last_break_of_a_line_is_completed(self) -> None:
        expected = {
            "vali": ["validate"],
            "validate --helm": ["--helm-values", "--helm-set"],
            "validate --color ": ["auto", "always", "never"],
            "validate --color=al": ["always"],
            "validate --output js": ["json"],
            "validate --ignore attribute-val": ["attribute-values"],
            "validate --level attribute-val": ["attribute-values="],
            "validate --level attribute-values=": ["off", "note", "warn", "error"],
            "validate --level=attribute-values=e": ["error"],
            "validate --level w": [
                "warn",
                "webhook-condition=",
                "webhook-fields=",
                "webhook-names=",
                "webhook-not-called=",
                "whole-bytes=",
                "whole-device=",
                "wrong-parameters=",
                "wrong-type=",
            ],
            "validate --feature-gates DRAAdminAccess=": ["true", "false"],
            "validate --kubernetes-version 1.29": ["1.29"],
            "serve --enforce workl": ["workloads="],
            "snapshot --without no": ["nodes"],
            "explain ResourceClaimT": ["ResourceClaimTemplate"],
            "driver show gpu.nv": ["gpu.nvidia.com"],
            "policy ch": ["check"],
            "policy check --cos": ["--costs"],
            "policy generate --limit de": ["devices="],
            "help validate --": ["--help", "--man"],
            "completion ": ["bash", "zsh", "fish"],
            "validate ma": [],
        }
        for line, words in expected.items():
            kind, *found = draguard("completion", "bash", f"draguard {line}").out.splitlines()
            assert (found, kind == "files") == (words, line.endswith((" js", " ma"))), line

    @each_row("line", "", "draguard", "  draguard", "draguard unknown x ")
    def test_of_any_line_nothing_fails(self, line: str) -> None:
        assert draguard("completion", "zsh", line).code == 0

    def test_other_shells_get_whole_words_with_what_they_are_about(self) -> None:
        assert draguard("completion", "zsh", "draguard validate --color=al").out == "words\n--color=always\t\n"
        assert draguard("completion", "fish", "draguard vers").out == "words\nversion\tPrint the version\n"
        for words, command in every():
            found = draguard("completion", "zsh", " ".join(("draguard", *words, "-"))).out
            assert all(f"\n{name}\t" in found for option in options_of(command) for name in option.names)

    @pytest.mark.process
    @pytest.mark.parametrize(
        ("shell", "asked"),
        [
            (
                "bash",
                "COMP_LINE='COMMAND policy che'; COMP_POINT=${#COMP_LINE}; _draguard 'COMMAND'; echo ${COMPREPLY[*]}",
            ),
            ("fish", "complete -C 'COMMAND policy che'"),
            ("zsh", "_describe() { print ${(P)2} }; words=('COMMAND' policy che); CURRENT=3; _draguard"),
        ],
    )
    def test_a_script_asks_the_command_that_is_called(self, shell: str, asked: str, tmp_path: Path) -> None:
        if not which(shell):
            pytest.skip(f"no {shell} here")
        script = draguard("completion", shell).out.replace("else compdef _draguard draguard; ", "")
        file = tmp_path / "script"
        (tmp_path / SCRIPT.name).symlink_to(SCRIPT)
        ways = (
            (SCRIPT.name, "PATH", f"{SCRIPT.parent}:{os.environ['PATH']}"),
            (SCRIPT, "HOME", ""),
            (f"~/{SCRIPT.name}", "HOME", str(tmp_path)),
        )
        for command, name, value in ways:
            file.write_text(f"{script}\n{asked.replace('COMMAND', str(command))}\n", encoding="utf-8")
            done = subprocess.run(
                [shell, file], capture_output=True, text=True, check=True, env={**os.environ, name: value}
            )
            assert (done.stdout.split()[0].partition(":")[0], done.stderr) == ("check", ""), command


READING = each_row(
    "command",
    *(("validate",), ("mutate",), ("convert",), ("policy", "check"), ("policy", "test")),
    *(("simulate", "--cluster", CLUSTER), ("match", "--cluster", CLUSTER)),
)


class TestEmptyInput:
    @READING
    def test_a_failed_command_before_it_does_not_pass(self, command: tuple[str, ...]) -> None:
        done = draguard(*command, "-", stdin=b"\n")
        assert done.code == 1
        assert "<stdin>:1:1: error unreadable: standard input holds no manifest\n" in done.out + done.err
        assert "--allow-empty accepts that" in done.out + done.err
        assert draguard(*command, "--allow-empty", "-", stdin=b"\n").code == 0

    @READING
    def test_neither_does_a_file_or_directory(self, command: tuple[str, ...], tmp_path: Path) -> None:
        (tmp_path / "none").mkdir(exist_ok=True)
        done = draguard(*command, tmp_path / "none")
        assert (done.code, "no manifest in this directory" in done.out + done.err) == (2, True)
        assert "--allow-empty accepts that" in done.out + done.err
        (tmp_path / "empty.yaml").write_text("# later\n", encoding="utf-8")
        done = draguard(*command, tmp_path / "empty.yaml")
        assert (done.code, "the file holds no manifest" in done.out + done.err) == (1, True)
        done = draguard(*command, "--allow-empty", tmp_path / "empty.yaml")
        assert (done.code, "not read: 1 file without a manifest" in done.out + done.err) == (0, True)


@pytest.mark.parametrize("command", [("validate",), ("simulate",), ("match",)])
def test_a_directory_of_other_yaml_is_not_a_cluster(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("image: {tag: v1}\n", encoding="utf-8")
    done = draguard(*command, "--cluster", tmp_path, ROOT / "examples/simulate/deployment.yaml")
    complaint = f"{tmp_path}: error unreadable: no manifest: no document in it has an apiVersion or a kind\n"
    assert (done.code, complaint in done.out + done.err) == (2, True)
    (tmp_path / "other.yaml").write_text("kind: Other\n", encoding="utf-8")
    done = draguard(*command, "--cluster", tmp_path, ROOT / "examples/simulate/deployment.yaml")
    assert "no manifest" not in done.out + done.err


@pytest.mark.process
class TestPipes:
    def test_without_a_path_what_is_piped_in_is_read(self) -> None:
        done = process("validate", stdin=(ROOT / BAD).read_bytes())
        assert done.code == 1
        assert done.out.startswith("<stdin>:9:3: error max-items: ")

    @each_row("text", b"Error: connection refused\n", b"error from server (NotFound)\n", b"[]", b"- a")
    def test_neither_does_its_error_message(self, text: bytes) -> None:
        assert "standard input holds no manifest" in draguard("validate", "-", stdin=text).out
        assert draguard("validate", "--stdin-filename", "values.yaml", stdin=text).code == 0

    @each_row("text", "image: {tag: v1}\n", "a\n---\nb: 1\n", "{}\n")
    def test_other_documents_are_not_manifests(self, text: str, tmp_path: Path) -> None:
        values = tmp_path / "values.yaml"
        values.write_text(text, encoding="utf-8")
        done = draguard("validate", values)
        hint = "help: no document in it has an apiVersion or a kind; --allow-empty accepts that"
        assert (done.code, f"the file holds no manifest\n{hint}" in done.out) == (1, True)
        assert draguard("validate", "--allow-empty", values).code == draguard("validate", tmp_path).code == 0
        values.write_text(f"{text}---\nkind: Other\n", encoding="utf-8")
        assert draguard("validate", values).code == 0

    @each_row(
        ("text", "found"),
        ("apiversion: v1\nKind: Pod\n", ["apiVersion", "kind"]),
        ("apiversion: v1\nkind: Pod\n", ["apiVersion"]),
        ("apiVersion: v1\nknd: Pod\n", ["kind"]),
        ("version: v1\nkind: Pod\n", []),
        ("Kind: Pod\n", []),
        ("apiVersion: v2\nname: chart\nversion: 1.0.0\n", []),
        ("- Kind: Pod\n", []),
        ("a: b\n---\nvalues: for apiVersion\n", []),
        ("a: b\n---\napiVersion: v1\nkind: ConfigMap\n", ["apiVersion", "kind"]),
        ("3\n---\napiVersion: v1\nkind: ConfigMap\n", [""]),
        ("apiVersion: v1\nkind: List\nitems: [null, {metadata: {name: a}}]\n", ["", "apiVersion", "kind"]),
        ("apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}]\n", []),
    )
    def test_a_document_that_is_meant_as_an_object_has_a_version_and_a_kind(
        self, text: str, found: list[str], tmp_path: Path
    ) -> None:
        (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "b.yaml").write_text("c: d\n", encoding="utf-8")
        reports = findings("validate", tmp_path)
        assert [each["field"] for each in reports] == found
        assert {each["rule"] for each in reports} <= {"not-served", "not-an-object"}

    def test_a_kustomization_need_not_state_its_kind(self, tmp_path: Path) -> None:
        (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n", encoding="utf-8")
        assert draguard("validate", tmp_path / "kustomization.yaml").code == 0

    def test_a_path_counts_more(self) -> None:
        assert process("validate", FINE, stdin=b"a: [").code == 0

    def test_editors_give_the_name(self) -> None:
        options = ("--stdin-filename", "claims/x.yaml", "-o", "concise")
        done = draguard("validate", *options, stdin=(ROOT / BAD).read_bytes())
        assert done.out.startswith("claims/x.yaml:9:3: error ")
        assert "[" not in done.out.splitlines()[0][-3:]

    @each_row(
        ("command", "how"),
        *((each, "name files or directories, or pipe manifests in") for each in ("mutate", "convert")),
        ("review", "name files with AdmissionReviews, or pipe them in"),
    )
    def test_commands_that_need_input_say_so(self, command: str, how: str) -> None:
        run = [sys.executable, "-m", "draguard", command]
        done = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=ROOT)
        assert (done.returncode, f"no input: {how}\n" in done.stderr) == (2, True)


class TestKubectl:
    def test_its_options_name_files_too(self) -> None:
        done = draguard("validate", "-R", "-f", "examples/fixed", "-f", FINE, "-n", "default")
        assert done == draguard("validate", "examples/fixed")
        assert draguard("mutate", "--filename", FINE).code == 0


class TestMatrix:
    def test_a_table_tells_which_release_says_what(self) -> None:
        done = draguard("validate", "--kubernetes-version", "1.30,v1.36.2", "--kubernetes-version=1.31", BAD, FINE)
        assert done.code == 1
        lines = done.out.splitlines()
        (head,) = (index for index, line in enumerate(lines) if line.split() == ["1.30", "1.31", "1.36"])
        assert [line.split() for line in lines[head + 1 : head + 3]] == [
            [f"{BAD}:2:1:", "not-served", "-", "error", "error"],
            [f"{BAD}:9:3:", "max-items", "error", "-", "-"],
        ]
        found = reported("validate", "--kubernetes-version", "1.31,1.30,1.36", BAD)
        assert [each["releases"] for each in found["findings"]] == [["1.31", "1.36"], ["1.30"]]

    def test_a_line_names_the_releases_that_have_it(self) -> None:
        request = {"name": "r", "deviceClassName": "x", "tolerations": [{"operator": "Exists"}]}
        made = claim(request, version="v1beta1") | {"metadata": {"name": "C"}}
        options = ("--kubernetes-version", "1.32,1.33,1.34", "--runtime-config", "api/beta=true")
        done = draguard("validate", "-q", "-o", "concise", *options, "-", stdin=json.dumps(made).encode())
        named, unknown = sorted(done.out.splitlines(), key=lambda line: "unknown-field" in line)
        assert unknown.endswith(" [1.32]")
        assert "[1." not in named

    def test_a_range_is_written_as_a_list(self) -> None:
        said = usage_error("validate", "--kubernetes-version", "1.34-1.36", FINE)
        assert said.endswith("'1.34-1.36' is not a Kubernetes version; write 1.34,1.35,1.36\n")

    @each_row("command", ("mutate",), ("match",), ("simulate",), ("policy", "check"))
    def test_commands_for_one_release_note_it_once_and_take_no_other(
        self, command: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.clear()
        draguard(*command, "--kubernetes-version", "1.99", FINE)
        assert "".join(caplog.messages).count("is not known here yet") == 1
        said = usage_error(*command, "--kubernetes-version", "1.34,1.35", FINE)
        assert said.endswith("--kubernetes-version: '1.34,1.35' are several releases: give one\n")

    def test_an_unknown_version_has_an_example(self) -> None:
        done = draguard("validate", "--kubernetes-version", "2", FINE)
        assert done.err.endswith("'2' is not a Kubernetes version; write it as, for example, 1.36\n")

    def test_one_release_needs_no_table(self) -> None:
        stated = ("--kubernetes-version", "1.30")
        assert draguard("validate", *stated, BAD) == draguard("validate", *stated, *stated, BAD)

    def test_policies_cannot_be_piped_in(self) -> None:
        said = usage_error("validate", "--kubernetes-version", "1.30,1.36", "--policies", "-", FINE, stdin=b"a: b")
        assert "standard input (-) is read once" in said


SELDOM = (
    *("difflib", "importlib.metadata", "logging", "pathlib", "re2", "shutil", "socket", "subprocess", "tempfile"),
    *("textwrap", "webhook.cel", "webhook.policy.evaluation", "webhook.policy.load"),
    *("webhook.sources.rendering", "webhook.sources.origins"),
)


@pytest.mark.process
def test_a_file_without_findings_waits_for_nothing_that_it_does_not_need() -> None:
    loaded = imported("validate", str(FINE))
    assert "webhook.sources" in loaded
    assert loaded.isdisjoint(SELDOM)
