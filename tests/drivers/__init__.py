"""Tests of drivers' profiles."""
