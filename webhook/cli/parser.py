"""The parser of the command line, made from the table of options.

It has the habits of kubectl and ruff: usage in a line, help as wide as the terminal, hints for mistakes. It imports
nothing that a command needs, so that ``draguard --help`` and usage errors are quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Final, NoReturn

from webhook.configuration.options import (
    COMMANDS,
    NO_CONFIG,
    OF_POLICIES,
    PREFIX,
    PROGRAM,
    Command,
    Either,
    Option,
    OptionGroup,
    OptionSources,
    Output,
    variables,
)
from webhook.report import FORMATS, terminal_columns
from webhook.spelling import did_you_mean, nearest
from webhook.usage import UsageError

EXIT_CODES: Final = """\
exit codes:
  0    no errors; warnings count with --strict only
  1    errors: the API server would refuse an object,
       or could not read it
  2    usage error: an unknown option, a path that
       cannot be opened or written
  3    draguard itself failed, if only on one object,
       or its output could not be written
  130  interrupted; 143: terminated;
       141: the reader of the output closed it
"""
KUBECTL: Final = "kubectl dra"
"""The program as a plugin of kubectl."""
_COLUMNS: Final = 100
"""The width of help that is not printed on a terminal."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Help in which paragraphs are folded, examples and tables are not."""

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
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


def _positional(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.nargs == argparse.PARSER:
        return f"{name} [ARGUMENT...]"
    return {"*": f"[{name}...]", "+": f"{name}...", "?": f"[{name}]"}.get(str(action.nargs), name)


class _Once(argparse._StoreAction):  # noqa: SLF001 - the default action, which has no other name
    """Stores a value, and refuses a second one: the choice between the two would be a guess."""

    given = False

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Store the value."""
        if option_string and self.given:
            raise argparse.ArgumentError(self, "can be given only once")
        self.given = bool(option_string)
        super().__call__(parser, namespace, values, option_string)


class _Outputs(argparse.Action):
    """Collects outputs; the first one replaces the default."""

    def __call__(self, _parser: Any, namespace: Any, value: Any, _option: str | None = None) -> None:
        """Add an output."""
        given = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [value] if given is self.default else [*given, value])


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: Any, _namespace: Any, _values: Any, _option: str | None = None) -> None:
        """Print the version and exit."""
        from webhook.cli.version import run  # commands are imported only when they run

        parser.exit(run())


_SYNONYMS: Final = dict.fromkeys(("check", "lint", "verify"), "validate")
"""The names of a command in other tools."""
_HABITS: Final = {
    "summary": "the summary is shown unless --quiet is given; --statistics counts the findings of each rule",
    "verbose": "--output junit lists every object that was judged",
}
"""Options of other tools, without their dashes, and what to do here."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses unknown arguments itself, so that errors show the usage of the command.

    It parses a single command line: it remembers the options that were given.
    """

    def __init__(self, **options: Any) -> None:
        formatter: Any = partial(Help, max_help_position=28, width=terminal_columns() or _COLUMNS)
        super().__init__(formatter_class=formatter, allow_abbrev=False, **options)
        self.register("action", None, _Once)

    @property
    def commands(self) -> Mapping[str, Parser]:
        """The parsers of the subcommands, by name."""
        choices = (each.choices for each in self._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001 - argparse keeps this to itself
        found: Mapping[str, Parser] = next(choices, {})
        return found

    def format_help(self) -> str:
        """Return the help, with the text of the command."""
        self.epilog = self.text
        found = super().format_help()
        if not self.prog.startswith(KUBECTL):
            return found
        import re  # few read the plugin's help

        return re.sub(rf"\bdraguard (?=(?:COMMAND|{'|'.join(COMMANDS)})\b)", f"{KUBECTL} ", found)

    @property
    def text(self) -> str:
        """The end of the help, after the options: examples and notes."""
        _, *words = self.prog.replace(KUBECTL, "draguard", 1).split()
        if not words:
            return f"{EXIT_CODES}\n`draguard COMMAND --help` shows a command's options, with examples."
        from importlib import resources  # slow to import

        file = resources.files("webhook.cli").joinpath("texts", f"{'-'.join(words)}.txt")
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        return f"{EXIT_CODES}\n{text}" if words == ["validate"] else text

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the command's arguments; print an error and exit if there are others."""
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
            hint = hint or did_you_mean(name, options)
            hint = hint and f": {hint}"
            before = "--cluster " if "--cluster" in options and "paths" not in found else "./"
            hint = f": to name the file, write {before}{unknown[0]}" if os.path.lexists(unknown[0]) else hint
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error, and exit; of a command or name that is missing, list those that there are."""
        if message.startswith("the following arguments are required: "):
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
        other = _SYNONYMS.get(str(value), "")
        meant = f"did you mean {other}?" if other in choices else did_you_mean(str(value), choices)
        hint = f": {meant}" if meant else f" (choose from {', '.join(choices)})"
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse keeps this to itself
            raise argparse.ArgumentError(None, f"unknown command {value!r}{hint}")
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint}")


def make_parser(arguments: Sequence[str] = (), program: str = "draguard") -> Parser:
    """Make the parser of a command line.

    Args:
        arguments: The arguments to parse. If a command comes first, as nearly always, no other is declared: that would
            take as long as judging a file. Help lists commands without their options.
        program: The program's name on the command line.
    """
    parser = Parser(prog=program, description=PROGRAM.description)
    version = PROGRAM.options[0]
    parser.add_argument(*version.names, action=_Version, nargs=0, help=version.about)
    commands = parser.add_subparsers(prog=program, dest="command", metavar="COMMAND", title="commands")
    wanted = arguments[0] if arguments else ""
    for name in [wanted] if wanted in COMMANDS else COMMANDS:
        _add(commands, name, COMMANDS[name], is_listed=wanted in {"-h", "--help"})
    return parser


def _add(commands: argparse._SubParsersAction[Any], name: str, command: Command, *, is_listed: bool) -> None:
    """Add a command, without its options if it is only listed."""
    parser = commands.add_parser(name, help=command.about, description=command.description)
    if is_listed:
        return
    _declare(parser, command.of)
    if command.reads_variables:
        parser.set_defaults(settings=command)
    if command.actions:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
        for action, each in command.actions.items():
            _add(actions, action, each, is_listed=False)


def _declare(parser: argparse._ActionsContainer, entries: Iterable[Option | OptionGroup | Either]) -> None:
    for each in entries:
        if isinstance(each, OptionGroup):
            _declare(parser.add_argument_group(each.title, each.about), each.of)
        elif isinstance(each, Either):
            _declare(parser.add_mutually_exclusive_group(), each.of)
        elif each.is_argument:
            number: dict[str, Any] = {"nargs": each.number, "default": each.default} if each.number else {}
            parser.add_argument(each.dest, metavar=each.takes, help=each.about, choices=each.words or None, **number)
        elif each.const is not None:
            stored: dict[str, Any] = {"action": "append_const", "const": each.const, "default": each.default}
            parser.add_argument(*each.names, dest=each.dest, help=each.about, **stored)
        elif each.is_switch:
            parser.add_argument(*each.names, dest=each.dest, action="store_true", help=each.about)
        else:
            stated: dict[str, Any] = {"metavar": each.takes} if each.takes else {"choices": each.words}
            stated |= {"type": reader(each)} if each.type else {}  # argparse reads defaults, too
            stated |= {"nargs": each.number} if each.number else {}
            action = "append" if each.many else _Outputs if each.type == "output" else None
            stated |= {"action": action} if action else {}
            parser.add_argument(*each.names, dest=each.dest, default=each.default, help=each.about, **stated)


def reader(option: Option) -> Callable[[str], Any]:
    """Return what reads the value of an option; it raises ``ArgumentTypeError``, or ``ValueError``."""
    read: Callable[[str], Any] = _READERS.get(option.type, option.type or str)
    return read


_ENDINGS: Final = {
    "json": "json",
    "sarif": "sarif",
    "gitlab": "json",
    "html": "html",
    "junit": "xml",
    "markdown": "md",
    "openreports": "yaml",
}
"""How the files of formats end that are not plain text."""


def _output(value: str) -> Output:
    name, equals, file = value.partition("=")
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS, f"choose from {', '.join(FORMATS)}")
        raise argparse.ArgumentTypeError(f"unsupported format {name!r}: {hint}")
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{value}: name the file, such as {name}=report.{_ENDINGS.get(name, 'txt')}")
    return Output(name, file)


def _seconds(text: str) -> float:
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    try:
        found = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < inf:
        message = f"{text!r} is not a positive number of seconds, minutes (5m) or hours (1h)"
        raise argparse.ArgumentTypeError(message)
    return found


def _namespace(text: str) -> str:
    from webhook.api.versions import NEWEST  # help needs no names
    from webhook.formats import dns_label

    if faults := dns_label(text, NEWEST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a namespace: {faults[0]}")
    return text


def _number(kind: type, what: str, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    "output": _output,
    "seconds": _seconds,
    "namespace": _namespace,
    "target": lambda text: text.removeprefix("resource.k8s.io/"),
    int: partial(_number, int, "a whole number"),
    float: partial(_number, float, "a number"),
}


COMMAND_LINE = "command line"
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


def settle(arguments: argparse.Namespace) -> None:
    """Set the options that the command line leaves open, for a command that reads variables.

    Args:
        arguments: The command's arguments; ``settings`` is the command at first, and becomes
            :class:`webhook.configuration.options.OptionSources`.

    Raises:
        UsageError: A variable or the configuration file cannot be used.
    """
    given = {name for name in os.environ if name.startswith(PREFIX)}
    for name in sorted(given - variables()) if given else ():
        known = (each.variable.removeprefix(PREFIX) for each in arguments.settings.options if each.variable)
        if near := nearest(name.removeprefix(PREFIX), known):  # a typo of one that the command knows
            raise UsageError(f"the variable {name} is unknown; did you mean {PREFIX}{near}?")
    sources = _from_variables(arguments, arguments.settings)
    file = None
    if not getattr(arguments, NO_CONFIG, True):
        file = arguments.config or _find(next(iter(getattr(arguments, "paths", ())), "."))
    if file is None:
        arguments.settings = OptionSources(None, sources)
    else:
        from webhook.configuration.reading import configured  # most repositories have no such file

        arguments.settings = configured(arguments, file, sources)
    for option in OF_POLICIES:  # a variable may be set for several runs
        is_given = getattr(arguments, option.dest, None) and sources.get(option.dest, COMMAND_LINE) == COMMAND_LINE
        if is_given and not arguments.policies:
            name = option.names[0]
            raise UsageError(f"{name} is for policies: give them with --policies, or leave out {name}")


def _from_variables(arguments: argparse.Namespace, command: Command) -> dict[str, str]:
    """Set the options that the command line leaves open from variables; return the sources of those that are set.

    Raises:
        UsageError: A variable has no value of its option, or two of them set options of which one may be given.
    """
    options = [each for each in command.options if each.variable]
    sources = {each.dest: COMMAND_LINE for each in options if getattr(arguments, each.dest) is not each.default}
    settled, alternatives = set(sources), command.alternatives()
    for either in alternatives:
        if any(each.dest in settled for each in either.of):
            settled.update(each.dest for each in either.of)
    for option in options:
        if option.dest not in settled and (text := os.environ.get(option.variable)):
            value = _value(option, text)
            if option.dest in sources:  # --cluster and --live add to one list
                value = getattr(arguments, option.dest) + value
            setattr(arguments, option.dest, value)
            sources[option.dest] = option.variable
    for either in alternatives:
        both = [sources[each.dest] for each in either.of if each.dest in sources and getattr(arguments, each.dest)]
        if both[1:]:
            raise UsageError(f"{' and '.join(both)} exclude each other: set one of them")
    return sources


def setter(arguments: argparse.Namespace, option: str) -> str:
    """Return what has set an option, if that is not the command line.

    Args:
        option: The option, such as ``--cluster``.

    Returns:
        The text in parentheses, behind a space; empty if the command line has set the option.
    """
    sources: Mapping[str, str] = getattr(getattr(arguments, "settings", None), "sources", {})
    name = option.removeprefix("--").replace("-", "_")
    variable = PREFIX + name.upper()
    source = variable if variable in sources.values() else sources.get(name, COMMAND_LINE)
    return "" if source == COMMAND_LINE else f" (set by {source})"


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
    from webhook.documents.search import (
        CONFIGURATION_FILES,
        repository,  # --help needs none of it
        top_of,
    )
    from webhook.documents.source import STDIN

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
