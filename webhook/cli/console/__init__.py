"""Input paths, reports, files and progress, shared by all commands."""
