"""Tests of the commands and options for policies."""
