"""Mends files: fixes of findings become edits, which stay only if they do what they should.

:mod:`~webhook.fixing.planning` turns findings into edits, :mod:`~webhook.fixing.rounds` applies and checks them.
"""
