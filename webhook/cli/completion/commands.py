"""Commands, their options and the values of these, as the parser declares them."""

from __future__ import annotations

import argparse

from webhook.cli.completion.values import TEXT, Values, values
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.cli.arguments.parsing import Parser


class Option(NamedTuple):
    """An option.

    Args:
        names: Its names.
        help: Its help.
        takes: The name of its value; empty for a switch.
        values: The values that it accepts.
        again: Whether it can be repeated.
    """

    names: Sequence[str]
    help: str
    takes: str
    values: Values
    again: bool


class Command(NamedTuple):
    """A command.

    Args:
        words: The words that call it, without the program's name; none for the program itself.
        help: Its help.
        options: Its options.
        commands: The commands below it.
        values: The values of its arguments.
    """

    words: tuple[str, ...]
    help: str
    options: Sequence[Option]
    commands: Sequence[Command]
    values: Values


def described(parser: Parser, words: tuple[str, ...] = ()) -> Command:
    """Describe a parser's command.

    Args:
        parser: The parser.
        words: The words that lead to it.
    """
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to list them
    positionals = [each for each in actions if not each.option_strings]
    options = [_option(each) for each in actions if each.option_strings and each.help != argparse.SUPPRESS]
    commands = [described(each, (*words, name)) for name, each in parser.commands.items()]
    accepted = _values(positionals[0]) if positionals else TEXT
    return Command(words, (parser.description or "").rstrip("."), options, commands, accepted)


def every(command: Command) -> Iterator[Command]:
    """List a command and those below it."""
    yield command
    for each in command.commands:
        yield from every(each)


def _option(action: argparse.Action) -> Option:
    takes = "" if action.nargs == 0 else _takes(action)
    again = action.default is not None and isinstance(action.default, list)
    return Option(action.option_strings, _sentence(action.help or ""), takes, _values(action), again)


def _takes(action: argparse.Action) -> str:
    return str(action.metavar or action.dest)


def _values(action: argparse.Action) -> Values:
    return Values([str(each) for each in action.choices]) if action.choices else values(_takes(action))


def _sentence(text: str) -> str:
    """Return the first sentence, without the details."""
    return text.partition(" (")[0].partition(";")[0].replace("%%", "%")
