"""Regular expressions: Go's syntax decides what is valid, RE2 matches."""
