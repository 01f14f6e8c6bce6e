# fish completion for draguard
function __draguard_completed
    set -l lines (draguard completion fish (commandline -cp) 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path (commandline -ct)
    end
    printf '%s\n' $lines[2..-1]
end
complete -c draguard -f -a '(__draguard_completed)'
