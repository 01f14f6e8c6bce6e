"""Fixes files: turns fixes of findings into edits, and keeps only those that work.

:mod:`~webhook.fixing.planning` turns findings into edits, :mod:`~webhook.fixing.rounds` applies and checks them.
"""
