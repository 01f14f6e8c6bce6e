"""Options that several commands share, read and checked."""
