"""Measurements, each printed as a ratio to a stated baseline of the same run: python -m benchmarks.NAME."""
