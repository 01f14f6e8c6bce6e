"""A parser with the habits of kubectl and ruff: usage in a line, help as wide as the terminal, hints for mistakes."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from math import inf

from webhook.spelling import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, NoReturn

_COLUMNS = 100
"""The width where there is no terminal."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal; paragraphs are folded, examples and tables are not."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_columns())

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """Write the usage in a line: the options have their own section."""
        given = list(actions)
        parts = ["[OPTION...]"] if any(each.option_strings for each in given) else []
        parts += [_positional(each) for each in given if not each.option_strings]
        super().add_usage(usage or " ".join(["%(prog)s", *parts]), (), groups, prefix)

    def _split_lines(self, text: str, width: int) -> list[str]:
        from textwrap import wrap  # needed only for help

        return wrap(" ".join(text.split()), width, break_on_hyphens=False)  # names are copied from the help

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from textwrap import fill  # needed only for help

        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            each
            if "\n " in each
            else fill(each, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
            for each in paragraphs
        )


def _columns() -> int:
    """Return the columns of the terminal; importing ``shutil`` for this would take longer than everything here."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS


def _positional(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.nargs == argparse.PARSER:
        return f"{name} [ARGUMENT...]"
    return {"*": f"[{name}...]", "+": f"{name}...", "?": f"[{name}]"}.get(str(action.nargs), name)


class Default(str):
    """The default of an option, which differs from an equal text on the command line by its identity."""

    __slots__ = ()


class _Once(argparse._StoreAction):  # noqa: SLF001 - the default action, which has no other name
    """Stores a value, and refuses a second one: the choice between the two would be a guess."""

    given = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store the value."""
        if option_string and self.given:
            raise argparse.ArgumentError(self, "can be given only once")
        self.given = bool(option_string)
        super().__call__(parser, namespace, values, option_string)


_COMMANDS = dict.fromkeys(("check", "lint", "verify"), "validate")
"""The names of a command in other tools."""
_NUMBERS = {int: "a whole number", float: "a number"}
_REQUIRED = "the following arguments are required: "
_HABITS = {
    "summary": "the summary is shown unless --quiet is given; --statistics counts the findings of each rule",
    "verbose": "--output junit lists every object that was judged",
}
"""Options of other tools, without their dashes, and what to do here."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses unknown arguments itself, so that errors show the usage of the command.

    It parses a single command line: it remembers the options that were given.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Help, allow_abbrev=False, **options)
        self.register("action", None, _Once)
        for kind, what in _NUMBERS.items():
            self.register("type", kind, partial(_read, kind, what))

    @property
    def commands(self) -> Mapping[str, Parser]:
        """The parsers of the subcommands, by name; aliases are names, too."""
        choices = (each.choices for each in self._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001 - argparse keeps this to itself
        found: Mapping[str, Parser] = next(choices, {})
        return found

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the command's arguments; print an error and exit if there are others."""
        for action in self._actions:
            if type(action.default) is str and action.default != argparse.SUPPRESS:
                action.default = Default(action.default)
        found, unknown = super().parse_known_args(args, namespace)
        if "paths" in found and not any(each.startswith("-") and each != "-" for each in unknown):
            # argparse takes paths from one place only; people put options between them.
            found.paths, unknown = [*found.paths, *unknown], []
        if "filenames" in found:
            found.paths = [*found.filenames, *found.paths]
            del found.filenames
        if unknown:
            name = unknown[0].partition("=")[0]
            options = [each for each in self._option_string_actions if each.startswith("--")]
            hint = _HABITS.get(name.lstrip("-"), "") if "--output" in options else ""
            hint = f": {hint}" if hint else did_you_mean(name, options)
            hint = f": to name the file, write ./{unknown[0]}" if os.path.lexists(unknown[0]) else hint
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error, and exit; of a command or name that is missing, list those that there are."""
        if message.startswith(_REQUIRED):
            choices = next((each.choices for each in self._actions if each.required and each.choices), ())
            message += f" (choose from {', '.join(map(str, choices))})" if choices else ""
        super().error(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a message; argparse ignores that help cannot be written."""
        if file is not sys.stdout:
            super()._print_message(message, file)
            return
        file.write(message)
        file.flush()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(each) for each in action.choices]
        meant = _COMMANDS.get(str(value), "")
        hint = f": did you mean {meant}?" if meant in choices else ""
        hint = hint or did_you_mean(str(value), choices) or f" (choose from {', '.join(choices)})"
        what = "unknown command" if isinstance(action, argparse._SubParsersAction) else "invalid choice:"  # noqa: SLF001 - argparse keeps this to itself
        raise argparse.ArgumentError(None if what.endswith("d") else action, f"{what} {value!r}{hint}")


def _read(kind: type, what: str, text: str) -> Any:
    """Read a value of a type.

    Raises:
        ArgumentTypeError: The text is invalid for the type.
    """
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def subcommand(commands: argparse._SubParsersAction[Any], name: str, summary: str, **options: Any) -> Parser:
    """Declare a command below another one.

    Args:
        commands: The commands below the other one.
        name: Its name.
        summary: Its one-line help.
        **options: Further options of its parser.
    """
    added: Parser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", **options
    )
    return added


def repeated(
    parser: argparse._ActionsContainer,
    *names: str,
    help: str,  # noqa: A002 - as argparse calls it
    then: str = "",
    **options: Any,
) -> None:
    """Declare an option that can be repeated, and state that in its help.

    Args:
        parser: The parser or group of the option.
        *names: The names of the option.
        help: Its help.
        then: The end of its help, such as the default.
        **options: Further options of argparse.
    """
    parser.add_argument(*names, action="append", default=[], help=f"{help}; can be repeated{then}", **options)


def synonym(parser: argparse._ActionsContainer, name: str, dest: str) -> None:
    """Declare another name of an option, which no help shows: that of the same option of another command.

    Args:
        parser: The parser of the option.
        name: The other name.
        dest: The option's own name among the arguments.
    """
    parser.add_argument(name, dest=dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest a similar name; empty if none is similar."""
    near = nearest(name, known)
    return f": did you mean {near}?" if near else ""


def seconds(text: str) -> float:
    """Read a time in seconds.

    Raises:
        ArgumentTypeError: It is not a positive number.
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < inf:
        message = f"{text!r} is not a positive number of seconds"
        raise argparse.ArgumentTypeError(message)
    return found


def namespace(text: str) -> str:
    """Read the name of a namespace.

    Raises:
        ArgumentTypeError: No namespace can have this name.
    """
    from webhook.api.versions import NEWEST  # help needs no names
    from webhook.formats import dns_label

    if faults := dns_label(text, NEWEST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a namespace: {faults[0]}")
    return text
