"""Tools for policy authors: checks, type checks, coverage."""
