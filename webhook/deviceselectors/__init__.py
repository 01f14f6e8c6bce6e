"""Selectors against devices: which devices they select, and what keeps the others out."""
