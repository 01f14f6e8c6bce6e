"""Shows reports and results in the requested formats, and derives the exit code."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webhook.cli.console.lines import columns
from webhook.configuration.options import Output
from webhook.findings import INTERNAL, UNREADABLE, Finding
from webhook.problem import ERROR
from webhook.report import Style, make
from webhook.report.excerpt import as_json
from webhook.report.model import Report
from webhook.report.text import as_text
from webhook.usage import UsageError


def check_outputs(arguments: Namespace) -> None:
    """Check ``--output`` before the work begins.

    Raises:
        UsageError: A file cannot be written, or two reports go to one place.
    """
    seen = set[str]()
    for output in arguments.output:
        if output.file in seen:
            where = f"the file {output.file}" if output.file else "standard output: give one a file, FORMAT=FILE"
            raise UsageError(f"--output: two reports go to {where}")
        seen.add(output.file)
        if output.file:
            from webhook.documents.writing import check_writable  # needed only to write files

            check_writable(output.file, f"--output {output.format}={output.file}")


def show(report: Report, arguments: Namespace) -> int:
    """Write a report in all requested formats; return the exit code."""
    # Files are complete before a reader of standard output continues.
    for output in sorted(_outputs(arguments), key=lambda each: not each.file):
        if output.file:
            from webhook.documents.writing import write  # needed only to write files

            write(output.file, make(output.format, Style(quiet=arguments.quiet)).lines(report))
        else:
            show_escaped(make(output.format, _style(arguments)).lines(report))
    return exit_code(report, arguments)


def show_escaped(lines: Iterable[str]) -> None:
    """Write lines whose texts are escaped already."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _outputs(arguments: Namespace) -> list[Output]:
    """Return the requested reports; ``--statistics`` takes the place of text."""
    counts = getattr(arguments, "statistics", False)
    return [
        each._replace(format="statistics") if counts and each.format == "text" else each for each in arguments.output
    ]


def _style(arguments: Namespace) -> Style:
    return Style(wants_colors(arguments), columns(sys.stdout), arguments.quiet)


def wants_colors(arguments: Namespace) -> bool:
    """Tell whether text on standard output has colours."""
    if arguments.color != "auto":
        return bool(arguments.color == "always")
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


OWN_FAILURE = 3
"""The exit code if draguard itself failed on an object."""
UNREAD = 2
"""The exit code if a path cannot be opened, such as one that does not exist."""


def exit_code(report: Report, arguments: Namespace) -> int:
    """Return the exit code for a report."""
    code = code_of(report.findings) or (1 if arguments.strict and report.warnings else 0)
    return 0 if code == 1 and getattr(arguments, "exit_zero", False) else code


def code_of(findings: Iterable[Finding]) -> int:
    """Return the exit code for findings: that of the gravest error, 0 without errors."""
    errors = [finding for finding in findings if finding.problem.level == ERROR]
    if any(finding.problem.rule == INTERNAL for finding in errors):
        return OWN_FAILURE
    if any(finding.problem.rule == UNREADABLE and not finding.line for finding in errors):
        return UNREAD
    return 1 if errors else 0


def show_refusals(report: Report, texts: Mapping[str, Sequence[str]] | None = None) -> int:
    """Print findings on stderr, located in what was rendered; return the exit code, 0 if none is an error.

    Args:
        texts: The rendered texts, by the file of the template or the kustomization.
    """
    if report.findings and texts:
        from webhook.check.places import Places  # most manifests are files

        Places(texts).place(report)
    for line in as_text(report.findings):
        print(line, file=sys.stderr)
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
