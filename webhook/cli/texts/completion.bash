# bash completion for draguard
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
complete -o default -F _draguard draguard
