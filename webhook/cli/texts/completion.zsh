#compdef draguard

_draguard_pairs() {
  if compset -P '*='; then compadd -- ${=3}; else compadd -- ${=1}; compadd -S '=' -- ${=2}; fi
}
