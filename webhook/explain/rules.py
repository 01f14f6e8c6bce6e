"""The texts of rules."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from webhook.explain.places import kinds, rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def texts(names: Iterable[str]) -> dict[str, str]:
    """Return what rules say, by name; paragraphs are parted by empty lines."""
    known = _texts()
    return {name: known.get(name, name) for name in names}


@cache
def _texts() -> Mapping[str, str]:
    return {name: rule.doc for name, rule in rules(kinds(), None).items()}
