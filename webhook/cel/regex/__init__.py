"""Regular expressions: validated by Go's syntax, matched by RE2."""
