"""Processes: serving, reloading files, workers for heavy reviews."""
