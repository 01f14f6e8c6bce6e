"""Evaluates policies for a request: matching, parameters, verdicts."""
