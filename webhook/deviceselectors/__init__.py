"""Selectors matched against devices: which they select, and why not the others."""
