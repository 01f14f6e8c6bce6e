"""Tests of the API types."""
