"""``draguard completion``: completes commands, options and values in a shell, by the table.

The script of a shell runs the command that the line calls with the line so far, and offers what it prints.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from webhook.api.gates import GATES
from webhook.api.runtimeconfig import OF_STAGES
from webhook.api.versions import NEWEST, VERSIONS
from webhook.configuration.options import COMMANDS, PROGRAM, Command, Option
from webhook.drivers import built_in
from webhook.explain.names import rule_names
from webhook.explain.places import kinds
from webhook.inventory.snapshots import RESOURCES
from webhook.policy.generate import checks, limits
from webhook.release import releases
from webhook.report import FORMATS
from webhook.schema.target import OLDEST


def run(arguments: Namespace) -> int:
    """Print the script; or, with a line, whether files complete it, and what else does."""
    if arguments.line is None:
        file = resources.files("webhook.cli") / "texts" / f"completion.{arguments.shell}"
        print(file.read_text("utf-8"), end="")
        return 0
    *before, word = arguments.line.split(" ")
    found, takes_files = completions([*filter(None, before)][1:], word)
    print("files" if takes_files else "words")
    is_bash = arguments.shell == "bash"  # which completes what follows the last break of the line
    for each, about in found.items():
        if each.startswith(word):
            print(each[word.rfind("=") + 1 :] if is_bash else f"{each}\t{about}")
    return 0


class OptionValues(NamedTuple):
    """The values that an option or argument accepts.

    Args:
        keys: Values up to an equals sign.
        of_keys: The values after the equals sign.
        files: Whether names of files are values, too.
    """

    words: Sequence[str] = ()
    keys: Sequence[str] = ()
    of_keys: Sequence[str] = ()
    files: bool = False


TEXT = OptionValues()
"""Any text."""
FILES = OptionValues(files=True)
_LEVELS = ("off", "note", "warn", "error")
_MODES = ("deny", "warn", "audit")
_VALUES: Mapping[str, Callable[[], OptionValues]] = {
    **dict.fromkeys(("DIR", "DIRECTORY", "FILE", "GLOB", "PATH"), lambda: FILES),
    "API=BOOL,…": lambda: OptionValues(keys=(*OF_STAGES, *VERSIONS), of_keys=("true", "false")),
    "COMMAND": lambda: OptionValues(tuple(COMMANDS)),
    "DRIVER": lambda: OptionValues(built_in()),
    "FORMAT[=FILE]": lambda: OptionValues(tuple(FORMATS), files=True),
    "GATE=BOOL,…": lambda: OptionValues(keys=tuple(GATES), of_keys=("true", "false")),
    "KIND[.FIELD]|RULE|GATE": lambda: OptionValues(
        (*dict.fromkeys(each.name for each in kinds()), *rule_names(), *GATES)
    ),
    "NAME=NUMBER": lambda: OptionValues(keys=tuple(limits())),
    "RESOURCE": lambda: OptionValues(tuple(RESOURCES)),
    "RULE": lambda: OptionValues(tuple(checks())),
    "RULE=LEVEL": lambda: OptionValues(_LEVELS, rule_names(), _LEVELS),
    "RULE[,RULE…]": lambda: OptionValues(rule_names()),
    "VERSION": lambda: OptionValues([f"1.{each}" for each in releases(OLDEST, NEWEST)]),
    "[GROUP/]VERSION": lambda: OptionValues(tuple(VERSIONS)),
    "[WHAT=]MODE": lambda: OptionValues(_MODES, ("workloads", *rule_names()), _MODES),
}


_HELP = Option("-h --help", "show this help message and exit")


def options_of(command: Command) -> list[Option]:
    """Return the options of a command."""
    return [_HELP, *(each for each in command.options if not each.is_argument)]


def completions(before: Sequence[str], value: str) -> tuple[dict[str, str], bool]:
    """Return what may stand behind some words, with what it is about, and whether files may.

    Args:
        before: The words between the program's name and the one that is completed.
        value: The beginning of that one; it may be empty.
    """
    command, begin = PROGRAM, ""
    for each in before:
        command = command.actions.get(each, command)
    options = {name: option for option in options_of(command) for name in option.names}
    name, equals, rest = value.partition("=")
    if equals and name in options:
        begin, value = f"{name}=", rest
    asked = options.get(name if begin else before[-1] if before else "")
    if asked is None or asked.is_switch:
        if value.startswith("-"):
            return {name: _about(option) for name, option in options.items()}, False
        if command.actions:
            return {name: _about(below) for name, below in command.actions.items()}, False
        asked = next((each for each in command.options if each.is_argument), None)
    values = _values(asked) if asked else TEXT
    words = [*values.words, *(f"{key}=" for key in values.keys)]
    if "=" in value and values.keys:
        words = [f"{value.partition('=')[0]}={each}" for each in values.of_keys]
    return {f"{begin}{each}": "" for each in words}, values.files


def _values(option: Option) -> OptionValues:
    """Return the values of an option or argument."""
    return OptionValues(option.words) if option.words else _VALUES.get(option.takes, lambda: TEXT)()


def _about(described: Command | Option) -> str:
    """Return a help without the details."""
    if isinstance(described, Command):
        return described.description.rstrip(".")
    return described.about.partition(" (")[0].partition(";")[0].replace("%%", "%")
