"""Processes: serving until a signal comes, workers and who looks after them, files that are followed."""
