"""Tests of draguard why."""
