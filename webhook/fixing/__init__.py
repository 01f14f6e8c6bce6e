"""Fixes files: fixes of findings become edits, and only those that work stay.

:mod:`~webhook.fixing.planning` turns findings into edits, :mod:`~webhook.fixing.rounds` applies and checks them.
"""
