"""What a command reads and prints: paths, reports, files, progress."""
