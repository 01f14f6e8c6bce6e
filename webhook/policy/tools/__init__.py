"""What helps those who write policies: checks, type checks, hints, coverage."""
