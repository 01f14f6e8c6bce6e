"""Reuses the findings of an object for equal ones."""

from __future__ import annotations

import marshal
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from webhook.api.templates import pod_template
from webhook.inventory import is_claim
from webhook.objects import JSONObject, metadata_of, name_of
from webhook.problem import Path, Problem
from webhook.records import NamedTuple

_BYTES: Final = 16 << 20
"""How many bytes are cached of claims, and of pods."""
_PROBLEM: Final = 1_000
"""How many bytes a problem counts for."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: later ones contain back references."""
_NAMES_A_CLAIM: Final = b"resourceClaimName"
"""A field of pods: whose claim it is, and who uses it, depends on their names."""


class ReferenceFindings(NamedTuple):
    """The findings of rules about an object.

    Args:
        skipped: The number of lookups skipped, by the kind of the object and the field that names it.
    """

    problems: Sequence[Problem]
    skipped: Counter[tuple[str, Path]]


class Alike:
    """Caches findings of claims and templates, of whose metadata rules read only whether there is a name, and of pods.

    Args:
        most: How many bytes are cached of claims, and of pods.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._claims, self._pods = _Cached(most), _Cached(most)

    def find(self, obj: JSONObject, look: Callable[[], ReferenceFindings]) -> ReferenceFindings:
        """Return the findings of an object.

        Args:
            obj: The object, in any version.
            look: The function that checks it, if no equal one is cached.
        """
        if is_claim(obj):
            return self._claims.find({**obj, "metadata": bool(name_of(obj))}, look)
        if pod_template(obj) is None:
            return look()
        content = {**obj, "metadata": {**metadata_of(obj), "name": None}}
        return self._pods.find(content, look, unless=_NAMES_A_CLAIM)


class _Cached(dict[bytes, ReferenceFindings]):
    """Findings by what they follow from.

    Args:
        most: How many bytes are cached.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def find(
        self, content: JSONObject, look: Callable[[], ReferenceFindings], unless: bytes | None = None
    ) -> ReferenceFindings:
        """Return the findings of an object, cached for those of equal content.

        Args:
            content: What rules read of it.
            look: The function that checks it.
            unless: What no content has that is cached.
        """
        try:
            key = marshal.dumps(content, _PLAIN)
        except ValueError:  # it is nested too deeply
            return look()
        found = self.get(key)
        if found is None:
            found = look()
            length = len(key) + _PROBLEM * (1 + len(found.problems))
            if (unless is None or unless not in key) and length <= self._left:
                self._left -= length
                self[key] = found
        return found
