"""Tests of the schema."""
