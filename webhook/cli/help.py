"""``draguard help``: the help of a command, or a manual page of all commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from webhook import __version__
from webhook.cli.parser import Help, Parser, make_parser
from webhook.spelling import did_you_mean
from webhook.usage import UsageError


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
    """Write the manual page (``man 7 man``) of a program with all its commands."""
    yield f'.TH "{parser.prog.upper()}" 1 "" "{parser.prog} {__version__}" "User Commands"'
    yield ".nh"  # names are copied, so that none is broken between lines
    yield ".ad l"
    yield ".SH NAME"
    about = parser.description or ""
    yield _escaped(f"{parser.prog} - {about[:1].lower()}{about[1:].rstrip('.')}")
    yield ".SH SYNOPSIS"
    yield f".B {_escaped(_usage(parser))}"
    yield ".SH OPTIONS"
    yield from _options(parser)
    for command in parser.commands.values():
        yield from _command(command)
    yield ".SH FILES"
    yield _escaped(".draguard.yaml: the configuration file, which draguard config describes")
    yield ".SH EXIT STATUS"
    yield from _raw((parser.text).partition("\n\n")[0].partition("\n")[2])


def _command(parser: Parser) -> Iterator[str]:
    yield f".SH {_escaped(parser.prog.upper())}"
    yield f".B {_escaped(_usage(parser))}"
    yield ".PP"
    yield _escaped(parser.description or "")
    if parser.commands:
        for command in parser.commands.values():
            yield from _command(command)
        return
    yield from _options(parser)
    for paragraph in (parser.text).strip("\n").split("\n\n"):
        yield ".PP"
        yield from _raw(paragraph) if "\n " in paragraph else [_escaped(paragraph)]


def _options(parser: Parser) -> Iterator[str]:
    for group in parser._action_groups:  # noqa: SLF001 - argparse has no other way to list them
        shown = [
            each
            for each in group._group_actions  # noqa: SLF001 - argparse keeps this to itself
            if each.help != argparse.SUPPRESS and not isinstance(each, argparse._SubParsersAction)  # noqa: SLF001 - as above
        ]
        if (shown or group.description) and group not in (parser._positionals, parser._optionals):  # noqa: SLF001 - as above
            yield f".SS {_escaped(group.title or '')}"
            if group.description:
                yield _escaped(group.description)
        formatter = Help(parser.prog)
        for action in shown:
            yield ".TP"
            yield f".B {_escaped(formatter._format_action_invocation(action))}"  # noqa: SLF001 - as above
            yield _escaped(formatter._expand_help(action) if action.help else "")  # noqa: SLF001 - as above


def _usage(parser: Parser) -> str:
    return parser.format_usage().removeprefix("usage: ").strip()


def _raw(text: str) -> Iterator[str]:
    """Keep lines as they are."""
    yield ".nf"
    yield from map(_escaped, text.split("\n"))
    yield ".fi"


def _escaped(text: str) -> str:
    """Escape a text for roff."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)
