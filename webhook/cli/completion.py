"""``draguard completion``: scripts that complete commands and options in a shell, made from the parser."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from webhook.cli.arguments import make_parser
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from webhook.cli.arguments.parsing import Parser


class Option(NamedTuple):
    """An option.

    Args:
        names: Its names.
        help: Its help.
        takes: The name of its value; empty for a switch.
        choices: The values that it accepts; empty for any value.
        again: Whether it can be repeated.
    """

    names: Sequence[str]
    help: str
    takes: str
    choices: Sequence[str]
    again: bool


class Command(NamedTuple):
    """A command.

    Args:
        words: The words that call it, without the program's name; none for the program itself.
        help: Its help.
        options: Its options.
        commands: The commands below it.
        choices: The values of its first argument; none if that is a file, or any text.
    """

    words: tuple[str, ...]
    help: str
    options: Sequence[Option]
    commands: Sequence[Command]
    choices: Sequence[str]


def run(arguments: Namespace) -> int:
    """Print the script."""
    shells = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    print("\n".join(shells[arguments.shell](described(make_parser()))))
    return 0


def described(parser: Parser, words: tuple[str, ...] = ()) -> Command:
    """Describe a parser's command.

    Args:
        parser: The parser.
        words: The words that lead to it.
    """
    actions = parser._actions  # noqa: SLF001 - argparse has no other way to list them
    positionals = [each for each in actions if not each.option_strings]
    choices = [str(choice) for each in positionals[:1] for choice in each.choices or ()]
    options = [_option(each) for each in actions if each.option_strings and each.help != argparse.SUPPRESS]
    commands = [described(each, (*words, name)) for name, each in parser.commands.items()]
    return Command(words, (parser.description or "").rstrip("."), options, commands, choices)


def _option(action: argparse.Action) -> Option:
    takes = "" if action.nargs == 0 else str(action.metavar or action.dest)
    choices = [str(each) for each in action.choices or ()]
    again = action.default is not None and isinstance(action.default, list)
    return Option(action.option_strings, _sentence(action.help or ""), takes, choices, again)


def _sentence(text: str) -> str:
    """Return the first sentence, without the details."""
    return text.partition(" (")[0].partition(";")[0].replace("%%", "%")


def _every(command: Command) -> Iterator[Command]:
    yield command
    for each in command.commands:
        yield from _every(each)


def _bash(program: Command) -> Iterator[str]:
    every = list(_every(program))
    yield "# bash completion for draguard"
    yield "_draguard() {"
    yield '    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" words="" index'
    yield "    for ((index = 1; index < COMP_CWORD; index++)); do"
    yield '        case "$command ${COMP_WORDS[index]}" in'
    yield f"            {' | '.join(_quoted(_called(each)) for each in every[1:])})"
    yield '                command+=" ${COMP_WORDS[index]}" ;;'
    yield "        esac"
    yield "    done"
    yield '    case "$command $previous" in'
    for command in every:
        for option in command.options:
            if option.takes:
                pattern = " | ".join(_quoted(f"{_called(command)} {name}") for name in option.names)
                words = " ".join(option.choices)
                yield f'        {pattern}) COMPREPLY=($(compgen -W {_quoted(words)} -- "$current")); return ;;'
    yield "    esac"
    yield '    case "$command" in'
    for command in every:
        names = " ".join(name for option in command.options for name in option.names)
        words = " ".join(command.choices)
        yield f"        {_quoted(_called(command))})"
        yield f"            if [[ $current == -* ]]; then words={_quoted(names)}; else words={_quoted(words)}; fi ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _draguard draguard"


def _called(command: Command) -> str:
    return "".join(f" {word}" for word in command.words)


def _zsh(program: Command) -> Iterator[str]:
    yield "#compdef draguard"
    for command in reversed(list(_every(program))):
        yield ""
        yield f"{_function(command)}() {{"
        yield "  local context state state_descr line"
        yield "  typeset -A opt_args"
        yield "  _arguments -C \\"
        for option in command.options:
            yield from (f"    {each} \\" for each in _zsh_option(option))
        if command.commands:
            yield "    '1: :->command' '*:: :->rest'"
            yield "  case $state in"
            yield "    command)"
            names = " ".join(_quoted(f"{each.words[-1]}:{each.help}") for each in command.commands)
            yield f"      local -a commands=({names})"
            yield "      _describe command commands ;;"
            yield "    rest)"
            yield "      case $words[1] in"
            yield from (f"        {each.words[-1]}) {_function(each)} ;;" for each in command.commands)
            yield "      esac ;;"
            yield "  esac"
        else:
            files = f"1: :({' '.join(command.choices)})" if command.choices else "*: :_files"
            yield f"    {_quoted(files)}"
        yield "}"
    yield ""
    yield 'if [ "$funcstack[1]" = "_draguard" ]; then _draguard "$@"; else compdef _draguard draguard; fi'


def _function(command: Command) -> str:
    return "_".join(("_draguard", *command.words)).replace("-", "_")


def _zsh_option(option: Option) -> Iterator[str]:
    help_ = option.help.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    takes = option.takes.replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")
    value = f":{takes}:({' '.join(option.choices)})" if option.choices else f":{takes}:_files"
    apart = "*" if option.again else f"({' '.join(option.names)})"
    for name in option.names:
        yield _quoted(
            f"{apart}{name}{'=' if option.takes and name.startswith('--') else ''}[{help_}]{value if takes else ''}"
        )


def _fish(program: Command) -> Iterator[str]:
    yield "# fish completion for draguard"
    for command in _every(program):
        words = command.words
        below = " ".join(each.words[-1] for each in command.commands)
        seen = [f"__fish_seen_subcommand_from {word}" for word in words]
        if below:
            seen.append(f"not __fish_seen_subcommand_from {below}")
        where = f"complete -c draguard -n {_quoted('; and '.join(seen))}"
        for each in command.commands:
            yield f"{where} -f -a {each.words[-1]} -d {_quoted(each.help)}"
        if command.choices and not command.commands:
            yield f"{where} -f -a {_quoted(' '.join(command.choices))}"
        for option in command.options:
            names = " ".join(f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.names)
            takes = f" -x -a {_quoted(' '.join(option.choices))}" if option.choices else " -r" if option.takes else ""
            yield f"{where} {names}{takes} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    """Quote a text for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"
