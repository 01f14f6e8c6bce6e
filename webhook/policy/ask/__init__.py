"""Asking policies about a request: matching, parameters, evaluation, verdicts."""
