"""``draguard completion``: scripts that complete commands, options and values in a shell, made from the table."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources

from webhook.api.gates import GATES
from webhook.api.runtimeconfig import OF_STAGES
from webhook.api.versions import NEWEST, VERSIONS
from webhook.configuration.options import COMMANDS, PROGRAM, Command, Option
from webhook.drivers import built_in
from webhook.explain.names import rule_names
from webhook.explain.places import kinds
from webhook.inventory.snapshots import RESOURCES
from webhook.policy.generate import checks, limits
from webhook.records import NamedTuple
from webhook.release import releases
from webhook.report import FORMATS
from webhook.schema import OLDEST


def run(arguments: Namespace) -> int:
    """Print the script."""
    print("\n".join(_SCRIPTS[arguments.shell]()))
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

Called = tuple[tuple[str, ...], Command]
"""A command, and the words that call it behind the program's name."""


def every(words: tuple[str, ...] = (), command: Command = PROGRAM) -> Iterator[Called]:
    """List a command and those below it."""
    yield words, command
    for name, each in command.actions.items():
        yield from every((*words, name), each)


def options_of(command: Command) -> list[Option]:
    """Return the options of a command."""
    return [_HELP, *(each for each in command.options if not each.is_argument)]


def _about(described: Command | Option) -> str:
    """Return a help without the details."""
    if isinstance(described, Command):
        return described.description.rstrip(".")
    return described.about.partition(" (")[0].partition(";")[0].replace("%%", "%")


def _values(completed: Command | Option) -> OptionValues:
    """Return the values of an option, or of a command's arguments."""
    if isinstance(completed, Option):
        return OptionValues(completed.words) if completed.words else _VALUES.get(completed.takes, lambda: TEXT)()
    arguments = (each for each in completed.options if each.is_argument)
    return next(map(_values, arguments), OptionValues(tuple(completed.actions)))


def _frame(shell: str) -> str:
    """Return what a script has, whatever the commands are."""
    file = resources.files("webhook.cli") / "texts" / f"completion.{shell}"
    return file.read_text("utf-8").removesuffix("\n")


def _bash() -> Iterator[str]:
    called = {"".join(f" {word}" for word in words): command for words, command in every()}
    options, arguments = list[str](), list[str]()
    for words, command in called.items():
        for option in options_of(command):
            if not option.is_switch:
                pattern = " | ".join(_quoted(f"{words} {name}") for name in option.names)
                options.append(f"        {pattern}) {_assigned(_values(option))} ;;")
        names = " ".join(name for option in options_of(command) for name in option.names)
        arguments += [
            f"                {_quoted(words)})",
            f"                    if [[ $current == -* ]]; then words={_quoted(names)}",
            f"                    else {_assigned(_values(command))}; fi ;;",
        ]
    commands = " | ".join(_quoted(words) for words in called if words)
    yield (
        _frame("bash")
        .replace("COMMANDS)", f"{commands})")
        .replace("OPTIONS", "\n".join(options))
        .replace("ARGUMENTS", "\n".join(arguments))
    )


def _assigned(values: OptionValues) -> str:
    """Write assignments of the values for bash."""
    given = {"words": values.words, "keys": values.keys, "values": values.of_keys, "files": "x" * values.files}
    return " ".join(f"{name}={_quoted(' '.join(each))}" for name, each in given.items() if each) or ":"


def _zsh() -> Iterator[str]:
    yield _frame("zsh")
    for words, command in reversed(list(every())):
        yield ""
        yield f"{_function(words)}() {{"
        yield "  local context state state_descr line"
        yield "  typeset -A opt_args"
        yield "  _arguments -C \\"
        for option in options_of(command):
            yield from (f"    {each} \\" for each in _zsh_option(option))
        if command.actions:
            yield "    '1: :->command' '*:: :->rest'"
            yield "  case $state in"
            yield "    command)"
            names = " ".join(_quoted(f"{name}:{_about(each)}") for name, each in command.actions.items())
            yield f"      local -a commands=({names})"
            yield "      _describe command commands ;;"
            yield "    rest)"
            yield "      case $words[1] in"
            yield from (f"        {name}) {_function((*words, name))} ;;" for name in command.actions)
            yield "      esac ;;"
            yield "  esac"
        else:
            yield f"    {_quoted(f'*: :{_zsh_values(_values(command))}')}"
        yield "}"
    yield ""
    yield 'if [ "$funcstack[1]" = "_draguard" ]; then _draguard "$@"; else compdef _draguard draguard; fi'


def _function(words: tuple[str, ...]) -> str:
    return "_".join(("_draguard", *words)).replace("-", "_")


def _zsh_option(option: Option) -> Iterator[str]:
    help_ = _about(option).replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    takes = "" if option.is_switch else option.takes or option.dest
    takes = takes.replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")
    value = f":{takes}:{_zsh_values(_values(option))}" if takes else ""
    apart = "*" if isinstance(option.default, list) else f"({' '.join(option.names)})"
    for name in option.names:
        yield _quoted(f"{apart}{name}{'=' if takes and name.startswith('--') else ''}[{help_}]{value}")


def _zsh_values(values: OptionValues) -> str:
    """Write an action of ``_arguments``; a function after a space gets no further arguments."""
    words, keys, of_keys = (" ".join(each) for each in (values.words, values.keys, values.of_keys))
    if keys:
        return f' _draguard_pairs "{words}" "{keys}" "{of_keys}"'
    return f"({words})" if words else "_files" if values.files else " "


def _fish() -> Iterator[str]:
    yield _frame("fish")
    for words, command in every():
        called = " ".join(words)
        at = f"complete -c draguard -n {_quoted(f'__draguard_at {called}')}"
        within = at if command.actions else f"complete -c draguard -n {_quoted(f'__draguard_in {called}')}"
        for name, each in command.actions.items():
            yield f"{at} -f -a {name} -d {_quoted(_about(each))}"
        if not command.actions:
            yield f"{within}{_fish_values(_values(command))}"
        for option in options_of(command):
            names = " ".join(f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.names)
            takes = "" if option.is_switch else f" -r{_fish_values(_values(option))}"
            yield f"{within} {names}{takes} -d {_quoted(_about(option))}"


def _fish_values(values: OptionValues) -> str:
    """Write the options of ``complete`` for values."""
    words, keys, of_keys = (" ".join(each) for each in (values.words, values.keys, values.of_keys))
    listed = f"{words} (__draguard_pairs '{keys}' '{of_keys}')" if keys else words
    return (" -F" if values.files else " -f") + (f" -a {_quoted(listed.strip())}" if listed else "")


def _quoted(text: str) -> str:
    """Quote a text for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPTS: Mapping[str, Callable[[], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""The functions that write completion scripts, by shell."""
