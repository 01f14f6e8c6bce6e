"""Recorded answers of the structured allocator, and what draguard answers."""
