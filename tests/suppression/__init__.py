"""Tests of suppressed findings."""
