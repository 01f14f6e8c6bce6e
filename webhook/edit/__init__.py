"""Edits texts to hold other values, and leaves the rest unchanged.

:mod:`~webhook.edit.changes` turns a fix into edits. :func:`~webhook.edit.rewrite.rewritten` compares the value of a
text with a wanted one: entries that move into or out of a nested map move as whole lines, with their comments; other
differences are rewritten. The result is read again, and must be the wanted value.
"""
