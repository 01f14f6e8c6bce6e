"""Evaluation: checked trees compiled to closures, and the cost of running them."""
