"""Tests of migration."""
