"""The texts of rules."""

from __future__ import annotations

from functools import cache

from webhook.explain.places import kinds, rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def texts(names: Iterable[str]) -> dict[str, str]:
    """Return the texts of rules, by name; paragraphs are separated by empty lines."""
    known = _texts()
    return {name: known.get(name, name) for name in names}


@cache
def _texts() -> Mapping[str, str]:
    return {name: rule.doc for name, rule in rules(kinds(), None).items()}
