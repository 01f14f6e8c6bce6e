"""Tests of the parts of selectors."""
