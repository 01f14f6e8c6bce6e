"""Tests of `.draguard.yaml`."""
