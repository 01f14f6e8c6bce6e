"""Certificates: issued in memory, kept in files that only their owner may read."""
