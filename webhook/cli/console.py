"""Shows reports and results in the requested formats, and derives the exit code."""

from __future__ import annotations

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TextIO

from webhook.check.files import check_charts, render_options
from webhook.documents import STDIN, Piece, Selection
from webhook.escapes import printable
from webhook.findings import Finding, code_of
from webhook.problem import WARNING
from webhook.report import Style, terminal_columns
from webhook.report import lines as lines_of
from webhook.report.model import Report
from webhook.report.text import COLORS, as_json, as_text, folded, not_read, stated, uncommanded
from webhook.sources import read
from webhook.usage import UsageError


def paths_of(arguments: Namespace) -> list[str]:
    """Return the named paths; without paths, standard input if it is a pipe or a file."""
    paths: list[str] = arguments.paths
    if paths or os.environ.get("PRE_COMMIT"):  # its hooks get a pipe without a writer
        return paths
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return []
    return [STDIN] if stat.S_ISFIFO(mode) or stat.S_ISREG(mode) else []  # a socket may stay open forever


def some_paths(arguments: Namespace, missing: str = "name files or directories, or pipe manifests in") -> list[str]:
    """Return the named paths, or standard input.

    Args:
        missing: How to give the input.

    Raises:
        UsageError: No input is given.
    """
    if paths := paths_of(arguments):
        return paths
    raise UsageError(f"no input: {missing}")


def read_sources(
    arguments: Namespace,
    paths: Sequence[str],
    kubernetes: str | None,
    namespace: str = "default",
    texts: dict[str, list[str]] | None = None,
) -> list[Piece]:
    """Read manifests; Helm charts and kustomizations among the paths are rendered.

    Files of directories that are not manifests are left out, as in ``draguard validate``, and counted on stderr.

    Args:
        arguments: The command's arguments, with options for rendering charts.
        paths: The paths; nothing is read if there are none.
        kubernetes: The release for which charts are rendered; None for the default one.
        namespace: The namespace for which they are rendered.
        texts: Receives the rendered texts, by the file of the template or the kustomization.

    Raises:
        UsageError: No renderer is available, or an option does not fit.
    """
    check_charts(arguments, paths)
    if not paths:
        return []
    options = render_options(arguments, kubernetes, namespace)._replace(texts=texts, note=tell)
    selection = Selection(allow_empty=arguments.allow_empty, only_objects=True)
    documents = list(read(paths, selection=selection, options=options))
    note_left_out(selection, quiet=getattr(arguments, "quiet", False))
    return documents


def note_left_out(selection: Selection, *, quiet: bool, renders: bool = True) -> None:
    """Say on standard error which files were not read.

    Args:
        selection: The selection that has left them out.
        quiet: Whether nothing is to be printed.
        renders: Whether the command renders charts that are named.
    """
    if selection.left_out and not quiet:
        tell(not_read(selection, renders=renders))


def check_changeable(arguments: Namespace, paths: Iterable[str]) -> None:
    """Refuse to change what is not a file.

    Raises:
        UsageError: An input is standard input.
    """
    if arguments.write and STDIN in paths:
        raise UsageError("standard input (-) cannot be changed in place: leave out --write, or name files", "--write")


def put_out(files: Iterable[tuple[str, str, str]], arguments: Namespace) -> None:
    """Print the texts of changed files, or with --diff their changes; with --write, change the files.

    Args:
        files: Their names, and the texts before and after.
    """
    from webhook.report.diff import joined, unified  # few commands change texts

    if arguments.diff:
        sys.stdout.writelines(line for each in files for line in unified(*each))
    elif arguments.write:
        from webhook.documents.writing import rewrite  # needed only to write

        rewrite(each for each in files if each[1] != each[2])
    else:
        sys.stdout.writelines(joined(after for _, _, after in files))


def tell(*lines: str) -> None:
    """Print lines on standard error."""
    show_lines(lines, sys.stderr)


_NARROWEST: Final = 40
"""The least columns of a terminal: text is not folded any narrower."""
_USUAL: Final = 80
"""The columns of a terminal that does not tell."""


def columns(stream: TextIO) -> int:
    """Return the width of a terminal; 0 if a stream goes elsewhere, where each text stays on one line."""
    return max(terminal_columns() or _USUAL, _NARROWEST) if stream.isatty() else 0


def show_lines(lines: Iterable[str], stream: TextIO | None = None, *, color: bool = False) -> None:
    """Print texts, each on a line of its own, with unprintable characters and workflow commands escaped.

    A terminal gets long lines folded between words.

    Args:
        lines: The texts; colours are those of :func:`colored`.
        stream: Where to print them; None for standard output.
        color: Whether to show the colours.
    """
    width = columns(stream or sys.stdout)
    for line in lines:
        texts = COLORS.split(line)
        texts[::2] = map(printable, texts[::2])
        texts[1::2] = (f"\x1b{each}" * color for each in texts[1::2])
        print(uncommanded(folded("".join(texts), width)), file=stream)


def print_findings(findings: Iterable[Finding], stream: TextIO | None = None) -> None:
    """Print findings for people; None stands for standard error."""
    for line in as_text(findings):
        print(line, file=stream or sys.stderr)


def print_error(line: str) -> None:
    """Print a line of a report, which is safe, on standard error."""
    print(line, file=sys.stderr)


def check_outputs(arguments: Namespace) -> None:
    """Check ``--output`` before the work begins.

    Raises:
        UsageError: A file cannot be written, or two reports go to one place.
    """
    seen = set[str]()
    for output in arguments.output:
        if output.file in seen:
            where = f"the file {output.file}" if output.file else "standard output: give one a file, FORMAT=FILE"
            raise UsageError(f"two reports go to {where}", "--output")
        seen.add(output.file)
        if output.file:
            from webhook.documents.writing import check_writable  # needed only to write files

            check_writable(output.file, "--output", f"{output.format}={output.file}")


def show(report: Report, arguments: Namespace) -> int:
    """Write a report in all requested formats; return the exit code."""
    counts = getattr(arguments, "statistics", False)  # in the place of text
    # Files are complete before a reader of standard output continues.
    for name, file in sorted(arguments.output, key=lambda each: not each.file):
        form = "statistics" if counts and name == "text" else name
        if file:
            from webhook.documents.writing import write  # needed only to write files

            write(file, lines_of(form, report, Style(quiet=arguments.quiet)))
        else:
            style = Style(wants_colors(arguments), columns(sys.stdout), arguments.quiet)
            show_escaped(lines_of(form, report, style))
    return exit_code(report, arguments)


def show_escaped(lines: Iterable[str]) -> None:
    """Write lines whose texts are escaped already."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def wants_colors(arguments: Namespace) -> bool:
    """Tell whether text on standard output has colours."""
    if arguments.color != "auto":
        return bool(arguments.color == "always")
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def exit_code(report: Report, arguments: Namespace) -> int:
    """Return the exit code for a report."""
    code = code_of(report.findings) or (1 if arguments.strict and report.count(WARNING) else 0)
    return 0 if code == 1 and getattr(arguments, "exit_zero", False) else code


def leave_out_malformed(report: Report) -> None:
    """Say on standard error which objects of a cluster cannot be decoded; the others are still looked at."""
    malformed = [each for each in report.findings if each.document]
    tell(*(f"note: not read: {stated(each)}" for each in malformed))
    report.findings = [each for each in report.findings if not each.document]


def show_refusals(report: Report, texts: Mapping[str, Sequence[str]] | None = None) -> int:
    """Print findings on stderr, located in what was rendered; return the exit code, 0 if none is an error.

    Args:
        texts: The rendered texts, by the file of the template or the kustomization.
    """
    if report.findings and texts:
        from webhook.check.places import Places  # most manifests are files

        Places(texts).place(report)
    print_findings(report.findings)
    return code_of(report.findings) if report.errors else 0


def show_structured(value: Any, form: str) -> None:
    """Print a result.

    Args:
        form: Its form: ``json`` or ``yaml``.
    """
    if form == "json":
        text = as_json(value, indent=2)
    else:
        from webhook.documents.dump import dump  # JSON does not need it

        text = dump([value]).removesuffix("\n")
    print(text)
