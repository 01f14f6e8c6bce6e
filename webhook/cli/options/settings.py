"""The values of options: from the command line, variables, the configuration file, or defaults, in this order."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from webhook.cli.parser import reader
from webhook.configuration.options import NO_CONFIG, PREFIX, Command, Option
from webhook.configuration.settings import configured
from webhook.documents.git import repository
from webhook.documents.search import top_of
from webhook.documents.selection import CONFIGURATION_FILES
from webhook.documents.source import STDIN
from webhook.usage import UsageError

COMMAND_LINE = "command line"
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


_OF_POLICIES = {
    "as_user": "--as",
    "as_group": "--as-group",
    "as_user_extra": "--as-user-extra",
    "authorizer": "--authorizer",
}
"""Options that only policies read."""


def settle(arguments: argparse.Namespace) -> None:
    """Set the options that the command line leaves open, if the command has settings.

    Args:
        arguments: The command's arguments; ``settings`` becomes :class:`webhook.configuration.settings.Settings`.

    Raises:
        UsageError: A variable or the configuration file cannot be used.
    """
    command: Command | None = getattr(arguments, "settings", None)
    if command is None:
        return
    _expect_known(command)
    sources: dict[str, str] = {}
    for option in _options(command):
        if getattr(arguments, option.dest) is not option.default:
            sources[option.dest] = COMMAND_LINE
        elif text := os.environ.get(option.variable):
            setattr(arguments, option.dest, _value(option, text))
            sources[option.dest] = option.variable
    path = next(iter(getattr(arguments, "paths", ())), ".")
    file = None if getattr(arguments, NO_CONFIG) else arguments.config or _find(path)
    arguments.settings = configured(arguments, file, sources)
    expect_policies(arguments, sources)


def expect_policies(arguments: argparse.Namespace, sources: Mapping[str, str] = MappingProxyType({})) -> None:
    """Refuse options that only policies read if there are none.

    Args:
        sources: The sources of its options; a variable may be set for several runs.

    Raises:
        UsageError: There is such an option on the command line.
    """
    for name, option in _OF_POLICIES.items():
        is_given = getattr(arguments, name, None) and sources.get(name, COMMAND_LINE) == COMMAND_LINE
        if is_given and not arguments.policies:
            raise UsageError(f"{option} is for policies: give them with --policies, or leave out {option}")


def setter(arguments: argparse.Namespace, message: str) -> str:
    """Return what has set the option that an error is about, if that is not the command line.

    Args:
        message: The error, which begins with the option.

    Returns:
        The text in parentheses, behind a space; empty if the command line has set the option.
    """
    sources: Mapping[str, str] = getattr(getattr(arguments, "settings", None), "sources", {})
    option = message.partition(":")[0].removeprefix("--").replace("-", "_")
    source = sources.get(option, COMMAND_LINE)
    return "" if source == COMMAND_LINE else f" (set by {source})"


def _options(command: Command) -> Iterator[Option]:
    """Yield the options that variables set."""
    return (each for each in command.options() if not each.is_argument and each.dest != "filenames")


def _expect_known(command: Command) -> None:
    """Refuse a variable whose name is a typo of one that the command knows; others may be for other commands.

    Raises:
        UsageError: There is such a variable.
    """
    unknown = {name for name in os.environ if name.startswith(PREFIX)}
    if not unknown:
        return
    known = [option.variable for option in _options(command)]
    from webhook.spelling import nearest  # few set variables

    for name in sorted(unknown.difference(known)):
        if near := nearest(name.removeprefix(PREFIX), (each.removeprefix(PREFIX) for each in known)):
            raise UsageError(f"the variable {name} is unknown; did you mean {PREFIX}{near}?")


def _value(option: Option, text: str) -> Any:
    """Read the value of a variable as its option would."""
    if option.is_switch:
        word = text.strip().lower()
        if word not in _YES | _NO:
            raise UsageError(f"{option.variable}: {text!r} is neither true nor false")
        return word in _YES if option.const is None else [option.const] * (word in _YES)
    if isinstance(option.default, list):
        return [_converted(option, line) for line in text.splitlines() if line.strip()]
    return _converted(option, text)


def _converted(option: Option, text: str) -> Any:
    try:
        value = reader(option)(text.strip())
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise UsageError(f"{option.variable}: {error}") from error
    if option.words and value not in option.words:
        raise UsageError(f"{option.variable}: {text!r} is not one of {', '.join(option.words)}")
    return value


def _find(path: str) -> str | None:
    """Find the configuration file for a path: in its directory or above, up to the root of its repository.

    Outside a repository the search ends at the working directory if that is above, otherwise in the path's directory:
    files further up may belong to other users.

    Args:
        path: A path as users give it; ``-`` stands for the working directory.
    """
    here = os.getcwd()
    start = os.path.realpath("." if path == STDIN else top_of(path))
    while not os.path.isdir(start):
        start = os.path.dirname(start)
    last = repository(start) or (here if f"{start}/".startswith(here.rstrip("/") + "/") else start)
    directory = start
    while True:
        for name in CONFIGURATION_FILES:
            if os.path.lexists(f"{directory}/{name}"):
                return os.path.relpath(f"{directory}/{name}")
        if directory in {last, "/"}:
            return None
        directory = os.path.dirname(directory)
