"""Processes: serving until a signal comes, files that are followed, heavy reviews that can be ended."""
