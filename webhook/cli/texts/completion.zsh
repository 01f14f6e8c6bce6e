#compdef draguard

_draguard() {
  local line word
  local -a lines values keys
  lines=("${(@f)$("${words[1]/#\~/$HOME}" completion zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    word=${${line%%$'\t'*}//:/\\:}
    if [[ $word == *= ]]; then keys+=("$word"); else values+=("$word:${line#*$'\t'}"); fi
  done
  _describe value values
  if (( $#keys )); then _describe key keys -S ''; fi
  if [[ $lines[1] == files ]]; then _files; fi
}

if [ "$funcstack[1]" = "_draguard" ]; then _draguard "$@"; else compdef _draguard draguard; fi
