"""Tests of the simulation of the scheduler."""
