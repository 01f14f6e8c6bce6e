"""Declares API types as classes, and compiles them to closures that validate documents.

Knows nothing of DRA. A type is a :class:`~webhook.schema.declarations.Struct` with fields; a version is a substitution
of types; a release is a number. A rule about one field is declared on it; a rule about several is a function under
:func:`~webhook.schema.declarations.check` or, for an update, :func:`~webhook.schema.declarations.transition`.
"""
