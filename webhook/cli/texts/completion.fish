# fish completion for draguard
function __draguard_completed
    set -l command (string replace -r '^~' $HOME -- (commandline -opc)[1])
    set -l lines ($command completion fish (commandline -cp) 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path (commandline -ct)
    end
    printf '%s\n' $lines[2..-1]
end
complete -c draguard -f -a '(__draguard_completed)'
