"""Selectors matched against devices: which devices they select, and why not the others."""
