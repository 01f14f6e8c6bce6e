"""Evaluation: checked trees written as Python functions, and the cost of running them."""
