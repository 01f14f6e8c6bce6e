"""``--output``: the formats of reports, and their files."""

from __future__ import annotations

import argparse

from webhook.records import NamedTuple
from webhook.report import FORMATS
from webhook.spelling import did_you_mean


class Output(NamedTuple):
    """A report that an option requests.

    Args:
        format: The name of its format.
        file: Its file; empty for standard output.
    """

    format: str
    file: str = ""


class _Outputs(argparse.Action):
    """Collects outputs; the first one replaces the default."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: object,
        _option: str | None = None,
    ) -> None:
        """Add an output."""
        given = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [value] if given is self.default else [*given, value])


def reports(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the formats and files of reports."""
    parser.add_argument(
        "-o",
        "--output",
        action=_Outputs,
        type=_output,
        default=[Output("text")],
        metavar="FORMAT[=FILE]",
        help=f"the format of the report, and its file (default: standard output); can be repeated; "
        f"FORMAT is one of {', '.join(FORMATS)}",
    )


def _output(value: str) -> Output:
    name, equals, file = value.partition("=")
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS, f"choose from {', '.join(FORMATS)}")
        raise argparse.ArgumentTypeError(f"unsupported format {name!r}: {hint}")
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{value}: name the file, such as {name}=report")
    return Output(name, file)
