"""Reads quickly what is usual, and answers that there is nothing to report, or does not know; never anything else.

Nothing imports this package: the front doors install it (`webhook.optional`), and all answers are the same without it.
"""
