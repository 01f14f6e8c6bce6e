"""From text to a syntax tree: tokens, grammar, macros, literals."""
