# bash completion for draguard
_draguard() {
    local IFS=$'\n' lines
    lines=($("${1/#\~/$HOME}" completion bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null))
    COMPREPLY=("${lines[@]:1}")
    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    if [[ ${lines[0]} != files ]]; then compopt +o default 2>/dev/null; fi
}
complete -o default -F _draguard draguard
