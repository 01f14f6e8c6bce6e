"""``draguard help``: the help of a command, or a manual page of all commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from webhook import __version__
from webhook.cli.parser import Help, Parser, make_parser
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

_OF_PAGES: Final[Any] = partial(Help, max_help_position=28, width=78)
"""Formats help in the width of a manual page."""


def run(arguments: argparse.Namespace) -> int:
    """Print the help or the manual page."""
    parser = make_parser()
    if arguments.man:
        if arguments.names:
            raise UsageError("--man is about all commands: leave out the command")
        print("\n".join(manual_page(parser)))
        return 0
    for name in arguments.names:
        if name not in parser.commands:
            there = f"; commands are {', '.join(parser.commands)}" if parser.commands else ""
            hint = did_you_mean(name, parser.commands, there, lead=": ")
            raise UsageError(f"unknown command {name!r} of {parser.prog}{hint}")
        parser = parser.commands[name]
    parser.print_help()
    return 0


def manual_page(parser: Parser) -> Iterator[str]:
    """Write the manual page (``man 7 man``) of a program: its help, and that of all its commands."""
    yield f'.TH "{parser.prog.upper()}" 1 "" "{parser.prog} {__version__}" "User Commands"'
    yield ".SH NAME"
    about = parser.description or ""
    yield _escaped(f"{parser.prog} - {about[:1].lower()}{about[1:].rstrip('.')}")
    yield from _section(parser)


def _section(parser: Parser) -> Iterator[str]:
    parser.formatter_class = _OF_PAGES
    yield from (f".SH {_escaped(parser.prog.upper())}", ".nf", _escaped(parser.format_help().rstrip()), ".fi")
    for command in parser.commands.values():
        yield from _section(command)


def _escaped(text: str) -> str:
    """Escape a text for roff."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)
