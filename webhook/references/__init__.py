"""Checks references between objects: whether their target exists and fits.

The API server accepts a pod whose claim, template or class does not exist, is misspelt, or is in another namespace; the
pod then stays pending. Each rule here checks one object against the objects around it.
"""

from __future__ import annotations

from webhook.references import claims, parameters
from webhook.references.lookup import apply_rules, every_rule
from webhook.references.rules import RULES, Context, ReferenceFindings, ReferenceRule

__all__ = [
    "RULES",
    "Context",
    "ReferenceFindings",
    "ReferenceRule",
    "apply_rules",
    "claims",
    "every_rule",
    "parameters",
]
