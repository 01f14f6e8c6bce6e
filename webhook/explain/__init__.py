"""Explains the API types: kinds, fields, limits, rules, and their releases.

Everything comes from the declarations themselves, so that it cannot go stale. :mod:`webhook.explain.query` answers what
people ask; it is not imported here, as those who only want the names of rules would wait for it.
"""
