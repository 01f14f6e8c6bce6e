"""Explains the API types: kinds, fields, limits, rules, and their releases.

Everything comes from the declarations themselves, so that it cannot go stale. :mod:`webhook.explain.query` answers
queries; it is not imported here, as it would slow down users of rule names only.
"""
