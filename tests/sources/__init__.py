"""Tests of charts and kustomizations."""
