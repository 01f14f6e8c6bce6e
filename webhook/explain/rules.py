"""The texts of rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from webhook.explain.places import kinds, rules


def texts(names: Iterable[str]) -> dict[str, str]:
    """Return the texts of rules, by name; paragraphs are separated by empty lines."""
    known = _texts()
    return {name: known.get(name, name) for name in names}


@cache
def _texts() -> Mapping[str, str]:
    return {name: rule.doc for name, rule in rules(kinds(), None).items()}
