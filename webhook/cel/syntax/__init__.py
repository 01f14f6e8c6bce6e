"""Parsing: lexer, grammar, macros, literals."""
