"""``draguard completion``: scripts that complete commands, options and values in a shell, made from the table."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources

from webhook.api.gates import GATES
from webhook.api.runtimeconfig import OF_STAGES
from webhook.api.versions import NEWEST, VERSIONS
from webhook.configuration.options import COMMANDS, PROGRAM, Command, Option
from webhook.drivers.known import built_in
from webhook.explain.names import rule_names
from webhook.explain.places import kinds
from webhook.inventory.snapshots import RESOURCES
from webhook.policy.generate.checks import CHECKS, LIMITS
from webhook.records import NamedTuple
from webhook.release import releases
from webhook.report import FORMATS
from webhook.schema import OLDEST


def run(arguments: Namespace) -> int:
    """Print the script."""
    print("\n".join(_SCRIPTS[arguments.shell](described())))
    return 0


class Values(NamedTuple):
    """The values that an option or argument accepts.

    Args:
        keys: Values up to an equals sign.
        of_keys: What follows the equals sign.
        files: Whether names of files are values, too.
    """

    words: Sequence[str] = ()
    keys: Sequence[str] = ()
    of_keys: Sequence[str] = ()
    files: bool = False


TEXT = Values()
"""Any text."""
FILES = Values(files=True)
_LEVELS = ("off", "note", "warn", "error")
_MODES = ("deny", "warn", "audit")
_VALUES: Mapping[str, Callable[[], Values]] = {
    **dict.fromkeys(("DIR", "DIRECTORY", "FILE", "GLOB", "PATH"), lambda: FILES),
    "API=BOOL,…": lambda: Values(keys=(*OF_STAGES, *VERSIONS), of_keys=("true", "false")),
    "COMMAND": lambda: Values(tuple(COMMANDS)),
    "DRIVER": lambda: Values(built_in()),
    "FORMAT[=FILE]": lambda: Values(tuple(FORMATS), files=True),
    "GATE=BOOL,…": lambda: Values(keys=tuple(GATES), of_keys=("true", "false")),
    "KIND[.FIELD]|RULE|GATE": lambda: Values((*dict.fromkeys(each.name for each in kinds()), *rule_names(), *GATES)),
    "NAME=NUMBER": lambda: Values(keys=tuple(LIMITS)),
    "RESOURCE": lambda: Values(tuple(RESOURCES)),
    "RULE": lambda: Values(tuple(CHECKS)),
    "RULE=LEVEL": lambda: Values(_LEVELS, rule_names(), _LEVELS),
    "RULE[,RULE…]": lambda: Values(rule_names()),
    "VERSION": lambda: Values([f"1.{each}" for each in releases(OLDEST, NEWEST)]),
    "[GROUP/]VERSION": lambda: Values(tuple(VERSIONS)),
    "[WHAT=]MODE": lambda: Values(_MODES, ("workloads", *rule_names()), _MODES),
}


class DescribedOption(NamedTuple):
    """An option with what completes it.

    Args:
        takes: The name of its value; empty for a switch.
        values: The values that it accepts.
        again: Whether it can be repeated.
    """

    names: Sequence[str]
    help: str
    takes: str
    values: Values
    again: bool


class Described(NamedTuple):
    """A command with what completes it.

    Args:
        words: The words that call it, without the program's name; none for the program itself.
        commands: The commands below it.
        values: The values of its arguments.
    """

    words: tuple[str, ...]
    help: str
    options: Sequence[DescribedOption]
    commands: Sequence[Described]
    values: Values


_HELP = Option("-h --help", about="show this help message and exit")


def described(command: Command = PROGRAM, words: tuple[str, ...] = ()) -> Described:
    """Describe a command of the table.

    Args:
        words: The words that lead to it.
    """
    shown = [_HELP, *command.options()]
    arguments = [each for each in shown if each.is_argument]
    actions = command.actions if words else COMMANDS
    return Described(
        words,
        command.description.rstrip("."),
        [_option(each) for each in shown if not each.is_argument],
        [described(each, (*words, name)) for name, each in actions.items()],
        _values(arguments[0]) if arguments else Values(tuple(actions)) if actions else TEXT,
    )


def every(command: Described) -> Iterator[Described]:
    """List a command and those below it."""
    yield command
    for each in command.commands:
        yield from every(each)


def _option(option: Option) -> DescribedOption:
    about = option.about.partition(" (")[0].partition(";")[0].replace("%%", "%")  # without the details
    takes = "" if option.is_switch else option.takes or option.dest
    return DescribedOption(option.names, about, takes, _values(option), isinstance(option.default, list))


def _values(option: Option) -> Values:
    return Values(option.words) if option.words else _VALUES.get(option.takes, lambda: TEXT)()


def _frame(shell: str) -> str:
    """Return what a script has, whatever the commands are."""
    file = resources.files("webhook.cli") / "texts" / f"completion.{shell}"
    return file.read_text("utf-8").removesuffix("\n")


def _bash(program: Described) -> Iterator[str]:
    called = {"".join(f" {word}" for word in each.words): each for each in every(program)}
    options, arguments = list[str](), list[str]()
    for words, command in called.items():
        for option in command.options:
            if option.takes:
                pattern = " | ".join(_quoted(f"{words} {name}") for name in option.names)
                options.append(f"        {pattern}) {_assigned(option.values)} ;;")
        names = " ".join(name for option in command.options for name in option.names)
        arguments += [
            f"                {_quoted(words)})",
            f"                    if [[ $current == -* ]]; then words={_quoted(names)}",
            f"                    else {_assigned(command.values)}; fi ;;",
        ]
    commands = " | ".join(_quoted(words) for words in called if words)
    yield (
        _frame("bash")
        .replace("COMMANDS)", f"{commands})")
        .replace("OPTIONS", "\n".join(options))
        .replace("ARGUMENTS", "\n".join(arguments))
    )


def _assigned(values: Values) -> str:
    """Write assignments of the values for bash."""
    given = {"words": values.words, "keys": values.keys, "values": values.of_keys, "files": "x" * values.files}
    return " ".join(f"{name}={_quoted(' '.join(each))}" for name, each in given.items() if each) or ":"


def _zsh(program: Described) -> Iterator[str]:
    yield _frame("zsh")
    for command in reversed(list(every(program))):
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
            yield f"    {_quoted(f'*: :{_zsh_values(command.values)}')}"
        yield "}"
    yield ""
    yield 'if [ "$funcstack[1]" = "_draguard" ]; then _draguard "$@"; else compdef _draguard draguard; fi'


def _function(command: Described) -> str:
    return "_".join(("_draguard", *command.words)).replace("-", "_")


def _zsh_option(option: DescribedOption) -> Iterator[str]:
    help_ = option.help.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    takes = option.takes.replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")
    value = f":{takes}:{_zsh_values(option.values)}" if takes else ""
    apart = "*" if option.again else f"({' '.join(option.names)})"
    for name in option.names:
        yield _quoted(f"{apart}{name}{'=' if takes and name.startswith('--') else ''}[{help_}]{value}")


def _zsh_values(values: Values) -> str:
    """Write an action of ``_arguments``; a function after a space gets no further arguments."""
    words, keys, of_keys = (" ".join(each) for each in (values.words, values.keys, values.of_keys))
    if keys:
        return f' _draguard_pairs "{words}" "{keys}" "{of_keys}"'
    return f"({words})" if words else "_files" if values.files else " "


def _fish(program: Described) -> Iterator[str]:
    yield _frame("fish")
    for command in every(program):
        words = " ".join(command.words)
        at = f"complete -c draguard -n {_quoted(f'__draguard_at {words}')}"
        within = at if command.commands else f"complete -c draguard -n {_quoted(f'__draguard_in {words}')}"
        for each in command.commands:
            yield f"{at} -f -a {each.words[-1]} -d {_quoted(each.help)}"
        if not command.commands:
            yield f"{within}{_fish_values(command.values)}"
        for option in command.options:
            names = " ".join(f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.names)
            takes = f" -r{_fish_values(option.values)}" if option.takes else ""
            yield f"{within} {names}{takes} -d {_quoted(option.help)}"


def _fish_values(values: Values) -> str:
    """Write the options of ``complete`` for values."""
    words, keys, of_keys = (" ".join(each) for each in (values.words, values.keys, values.of_keys))
    listed = f"{words} (__draguard_pairs '{keys}' '{of_keys}')" if keys else words
    return (" -F" if values.files else " -f") + (f" -a {_quoted(listed.strip())}" if listed else "")


def _quoted(text: str) -> str:
    """Quote a text for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPTS: Mapping[str, Callable[[Described], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""What writes the completion script of a shell."""
