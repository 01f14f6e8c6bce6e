"""Recorded results of the structured allocator, compared with draguard's."""
