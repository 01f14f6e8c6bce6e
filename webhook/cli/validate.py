"""``draguard validate``: finds the errors for which the API server would refuse manifests."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Container, Iterable
from contextlib import redirect_stdout
from io import BytesIO
from typing import Final

from webhook.check.files import Manifests, judged
from webhook.cli.console import check_outputs, exit_code, paths_of, show, tell
from webhook.cli.parser import COMMAND_LINE
from webhook.documents import STDIN, STDIN_NAME
from webhook.documents.source import MARKDOWN, MAX_BYTES, decoded, encoded
from webhook.findings import TOO_MANY_FINDINGS
from webhook.problem import cut
from webhook.report.model import Report
from webhook.report.text import counted, place_of
from webhook.usage import UsageError


def run(arguments: Namespace) -> int:
    """Print the findings and a summary."""
    check_outputs(arguments)
    if not arguments.stdin_filename:
        arguments.paths = paths_of(arguments)
    if arguments.fix or arguments.diff or arguments.unsafe_fixes:
        return _fix(arguments)
    return show(judged(arguments, tell=tell), arguments)


_SHOWN: Final = 10
"""The maximum number of unapplied fixes for which the reason is shown."""
_LONGEST: Final = 200
"""The maximum characters of a reason that are shown."""


def _fix(arguments: Namespace) -> int:
    """Judge manifests, fix them, and report the remaining findings, or print the changes."""
    manifests = Manifests(arguments)
    _check_together(arguments, manifests)
    stdin = sys.stdin.buffer.read(MAX_BYTES + 1) if STDIN in manifests.paths else None
    if stdin is not None:  # it is judged again after each round of fixes
        if len(stdin) > MAX_BYTES:
            raise UsageError(f"standard input is larger than {MAX_BYTES // (1024 * 1024)} MiB: split it")
        manifests.stdin = BytesIO(stdin)
    report = judged(arguments, manifests, tell)
    files = _Files(arguments.stdin_filename or STDIN_NAME, stdin)
    fixes = [(each.file, fix) for each in report.findings if (fix := each.problem.fix)]
    wanted = {file for file, fix in fixes if fix.safe or arguments.unsafe_fixes}
    renames = any(fix.change == "respell" for _, fix in fixes)
    others = [each.source for each in manifests.kept] if renames else []  # they may refer to what gets another name
    texts = files.read([*(file for file, _ in fixes), *others], wanted)
    after, fixed, more, unapplied = texts, "", 0, list[str]()
    if texts:
        report, after, fixed, more, unapplied = _fixed(arguments, manifests, report, files)
    changed = {file: text for file, text in after.items() if text != texts[file]}
    line = f"{fixed} in {counted(len(changed), 'file')}" if changed else "nothing"
    line = f"{'would fix' if arguments.diff else 'fixed'} {line}"
    line += f"; {more} more with {'--diff' if arguments.diff else '--fix'} --unsafe-fixes" if more else ""
    line += f"; {len(report.findings)} left" if report.findings else ""
    if arguments.diff:
        from webhook.report.diff import unified  # needed only for --diff

        sys.stdout.writelines(line for file, text in changed.items() for line in unified(file, texts[file], text))
        tell(line, *unapplied, *files.kept, *files.refused)
        return 2 if files.refused else 1 if changed else exit_code(report, arguments)
    report.remarks += [line, *unapplied, *files.kept, *files.write(changed)]
    report.is_fixed = True
    if stdin is None:
        code = show(report, arguments)
    else:
        sys.stdout.flush()
        text = after.get(arguments.stdin_filename or STDIN_NAME)
        sys.stdout.buffer.write(stdin if text is None else encoded(text, stdin))
        sys.stdout.buffer.flush()
        with redirect_stdout(sys.stderr):
            code = show(report, arguments)
    return 2 if files.refused else code


_BLOCKS: Final = "the blocks of Markdown files are not changed"


def _fixed(
    arguments: Namespace, manifests: Manifests, report: Report, files: _Files
) -> tuple[Report, dict[str, str], str, int, list[str]]:
    """Fix files.

    Returns:
        The remaining findings; the texts of the files, by name; how many of the first findings are fixed; how many only
        unsafe fixes would fix; why fixes were not applied, a line for each.
    """
    from webhook.fixing import FileState, Fixing, gone  # needed only for findings with fixes

    def judge(changed: dict[str, str]) -> FileState:
        nonlocal report
        manifests.replace(changed)
        report = judged(arguments, manifests, tell)
        return FileState(changed, manifests.kept, report.findings, files.unwritable)

    fixing = Fixing(judge, unsafe=arguments.unsafe_fixes)
    texts = files.texts
    first = FileState(texts, manifests.kept, report.findings, files.unwritable)
    last = fixing(first)
    if last.findings is not report.findings:
        judge(last.texts)
    left = list(fixing.left(last))
    shown = left[:_SHOWN]
    if arguments.diff:
        from webhook.report.diff import line_before  # needed only for --diff

        for at, (finding, why) in enumerate(shown):
            before, after = texts.get(finding.file, ""), last.texts.get(finding.file, "")
            if before != after:
                shown[at] = finding._replace(line=line_before(before, after, finding.line)), why
    unapplied = [
        f"fix not applied: {place_of(finding)} {finding.problem.rule}: {cut(why, _LONGEST)}" for finding, why in shown
    ]
    if len(left) > _SHOWN:
        unapplied.append(f"and {len(left) - _SHOWN} more fixes were not applied")
    listed = [each for each in first.findings if each.problem.rule != TOO_MANY_FINDINGS]
    least = "at least " * (len(listed) < len(first.findings))  # not all were looked for
    fixed = f"{least}{counted(gone(first._replace(findings=listed), last), 'finding')}"
    return report, last.texts, fixed, fixing.more(last), unapplied


def _check_together(arguments: Namespace, manifests: Manifests) -> None:
    """Refuse input that cannot be fixed."""
    option = "--diff" if arguments.diff else "--fix"
    message = about = ""
    if arguments.fix and arguments.diff:
        message = "--fix and --diff: give --fix to write files, or --diff to look first"
    elif not arguments.fix and not arguments.diff:
        message, about = "give --fix, too, to write files, or --diff to look first", "--unsafe-fixes"
    elif rendered := manifests.rendered:
        message = f"{rendered[0]} is rendered, and what it is rendered from is not changed: name files"
        about = option
    elif STDIN in (*arguments.old, *arguments.cluster, *arguments.policies):
        message = f"{option} judges several times, and standard input is read once: give a file in place of -"
    elif arguments.write_baseline:
        message = f"{option} and --write-baseline: fix first, and write the baseline then"
    elif arguments.diff and arguments.settings.sources.get("output") == COMMAND_LINE:
        message = "--diff and --output: --diff prints a diff in place of reports: give one of them"
    if message:
        raise UsageError(message, about)


class _Files:
    """The files that fixes change, with their encodings.

    Args:
        stdin_name: The name of standard input.
        stdin: Its content; None if it is not read.
    """

    def __init__(self, stdin_name: str, stdin: bytes | None) -> None:
        self._stdin_name, self._stdin = stdin_name, stdin
        self.texts: dict[str, str] = {}
        """The texts of the files that can be written."""
        self.unwritable: dict[str, str] = {}
        """The reasons why others cannot, by name."""
        self.kept: list[str] = []
        """The notes on files that fixes do not concern."""
        self.refused: list[str] = []
        """The notes on files that are not written."""

    def read(self, names: Iterable[str], wanted: Container[str]) -> dict[str, str]:
        """Return the texts of files, except those that cannot be written.

        Args:
            wanted: The files to write; of others, it does not matter why they cannot be written.
        """
        from webhook.documents.writing import check_replaceable, read_regular  # needed only to write files

        for name in dict.fromkeys(names):
            if name.endswith(MARKDOWN):
                self.unwritable[name] = _BLOCKS
                self.kept += [f"not fixed: {name}: {_BLOCKS}"] * (name in wanted)
                continue
            try:
                data = self._stdin if self._is_stdin(name) and self._stdin is not None else read_regular(name)
                text = decoded(data)
                if not self._is_stdin(name):
                    check_replaceable(name)
            except (OSError, ValueError) as error:
                self.unwritable[name] = why = str(getattr(error, "strerror", "") or error)
                self.refused += [f"not fixed: {name}: {why}"] * (name in wanted)
                continue
            self.texts[name] = text
        return self.texts

    def write(self, texts: dict[str, str]) -> list[str]:
        """Write files, except standard input; return the reasons why some are not written."""
        from webhook.documents.writing import changed, write_bytes  # only what is fixed is written

        for name, text in texts.items():
            if self._is_stdin(name):
                continue
            try:
                write_bytes(name, changed(name, self.texts[name], text))
            except OSError as error:
                self.refused.append(f"not fixed: {name}: {error.strerror or error}")
        return self.refused

    def _is_stdin(self, name: str) -> bool:
        return self._stdin is not None and name == self._stdin_name
