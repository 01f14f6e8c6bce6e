"""Tests of `draguard explain`."""
