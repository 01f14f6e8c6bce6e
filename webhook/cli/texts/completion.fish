# fish completion for draguard
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
end
