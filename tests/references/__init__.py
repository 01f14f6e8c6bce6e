"""Tests of references to other objects."""
