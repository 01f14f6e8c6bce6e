"""Tests of the inventory of a cluster."""
