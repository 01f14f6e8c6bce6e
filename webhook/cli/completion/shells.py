"""Completion scripts, by shell."""

from __future__ import annotations

from webhook.cli.completion.commands import every

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from webhook.cli.completion.commands import Command, Option
    from webhook.cli.completion.values import Values

_BASH = r"""# bash completion for draguard
_draguard() {
    local line=${COMP_LINE:0:COMP_POINT} command="" words="" keys="" values="" files="" index
    local current=${line##*[[:space:]]} previous
    local before=${line%"$current"}
    before=${before%"${before##*[![:space:]]}"}
    previous=${before##*[[:space:]]}
    if [[ $current == --*=* ]]; then previous=${current%%=*} current=${current#*=}; fi
    for ((index = 1; index < COMP_CWORD; index++)); do
        case "$command ${COMP_WORDS[index]}" in
            COMMANDS)
                command+=" ${COMP_WORDS[index]}" ;;
        esac
    done
    case "$command $previous" in
OPTIONS
        *)
            case "$command" in
ARGUMENTS
            esac ;;
    esac
    if [[ -n $keys && $current == *=* ]]; then
        words=$values current=${current#*=}
    elif [[ -n $keys ]]; then
        words+=" $(compgen -S = -W "$keys")"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    if [[ -z $files ]]; then compopt +o default 2>/dev/null; fi
}
complete -o default -F _draguard draguard"""
"""COMP_LINE is read, as bash splits COMP_WORDS at equals signs; what it completes is what follows the last of them."""

_ZSH = r"""#compdef draguard

_draguard_pairs() {
  if compset -P '*='; then compadd -- ${=3}; else compadd -- ${=1}; compadd -S '=' -- ${=2}; fi
}"""
_FISH = r"""# fish completion for draguard
function __draguard_words
    string match -v -- '-*' (commandline -opc)[2..-1]
end
function __draguard_in
    set -l words (__draguard_words)
    test "$words[1..$(count $argv)]" = "$argv"
end
function __draguard_at
    set -l words (__draguard_words)
    test "$words" = "$argv"
end
function __draguard_pairs
    for key in (string split ' ' -- $argv[1])
        printf '%s\n' $key=(string split ' ' -- $argv[2])
    end
end"""


def _bash(program: Command) -> Iterator[str]:
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
        _BASH.replace("COMMANDS)", f"{commands})")
        .replace("OPTIONS", "\n".join(options))
        .replace("ARGUMENTS", "\n".join(arguments))
    )


def _assigned(values: Values) -> str:
    """Write assignments of the values for bash."""
    given = {"words": values.words, "keys": values.keys, "values": values.of_keys, "files": "x" * values.files}
    return " ".join(f"{name}={_quoted(' '.join(each))}" for name, each in given.items() if each) or ":"


def _zsh(program: Command) -> Iterator[str]:
    yield _ZSH
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


def _function(command: Command) -> str:
    return "_".join(("_draguard", *command.words)).replace("-", "_")


def _zsh_option(option: Option) -> Iterator[str]:
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


def _fish(program: Command) -> Iterator[str]:
    yield _FISH
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


SCRIPTS: Mapping[str, Callable[[Command], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""What writes the completion script of a shell."""
