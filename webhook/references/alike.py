"""Reuses the findings of an object for similar ones."""

from __future__ import annotations

import marshal
from enum import Enum

from webhook.api.templates import pod_template
from webhook.inventory import is_claim
from webhook.later import Module
from webhook.objects import metadata_of, name_of
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from typing import Final

    from webhook.objects import JSONObject
    from webhook.problem import Path, Problem
    from webhook.references.keys import Keys

_BYTES: Final = 16 << 20
"""How many bytes are cached of claims, and of pods."""
_PROBLEM: Final = 1_000
"""How many bytes a problem counts for."""
_SHAPES: Final = 1_000
"""How many shapes are known to differ."""
_SEEN: Final = 1 << 14
"""How many shapes are known to have been seen."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: later ones contain back references."""
_NAMES_A_CLAIM: Final = b"resourceClaimName"
"""A field of pods: whose claim it is, and who uses it, depends on their names."""
_FEW: Final = 16
"""How many findings of claims are cached before shapes are computed, which is slow at first."""

_keys: Final = Module("webhook.references.keys")


class Plain(Enum):
    """The parts of a claim's selectors that do not matter to its findings."""

    NOTHING = "none"
    CONSTANTS = "plain constants"
    NAMES = "plain constants, and which attributes and capacities are read"


class ReferenceFindings(NamedTuple):
    """The findings of rules about an object.

    Args:
        problems: The findings.
        skipped: The number of lookups skipped, by the kind of the object and the field that names it.
    """

    problems: Sequence[Problem]
    skipped: Counter[tuple[str, Path]]


class _Cached(dict["str | bytes | tuple[str, ...]", ReferenceFindings]):
    """Findings by what they follow from.

    Args:
        most: How many bytes are cached.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def keep(self, key: str | bytes | tuple[str, ...], found: ReferenceFindings) -> None:
        """Cache findings if there is room."""
        length = sum(map(len, key)) if isinstance(key, tuple) else len(key)
        length += _PROBLEM * (1 + len(found.problems))
        if length <= self._left:
            self._left -= length
            self[key] = found


class Alike:
    """Caches findings of claims and templates, of whose metadata rules read only whether there is a name, and of pods.

    Args:
        most: How many bytes are cached of claims, and of pods.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._claims, self._pods = _Cached(most), _Cached(most)
        self._seen: set[int] = set()
        self._differing: set[str] = set()
        """Shapes of claims whose findings depend on the constants, or did for one of them."""

    def find(
        self,
        obj: JSONObject,
        look: Callable[[], ReferenceFindings],
        plain: Callable[[], Plain],
        keys: Keys | None = None,
    ) -> ReferenceFindings:
        """Return the findings of an object.

        Args:
            obj: The object, in any version.
            look: The function that checks it, if no similar one is cached.
            plain: Tells what does not matter in an object without findings: those that differ in nothing else have
                none.
            keys: Its keys, if they were computed before.
        """
        if not is_claim(obj):
            return look() if pod_template(obj) is None else self._of_pods(obj, look)
        if keys is None and len(self._claims) < _FEW:
            return _of_equal({**obj, "metadata": bool(name_of(obj))}, look, self._claims)
        keys = keys or _keys.keys_of(obj)
        if keys is None:
            return look()
        found = self._claims.get(keys.any_names) or self._claims.get(keys.same_names)
        if found is None:
            whole = _keys.whole_of(obj) if keys.has_shapes else keys.any_names
            found = self._claims.get(whole)
            if found is None:
                found = look()
                self._claims.keep(whole, found)
                if keys.has_shapes and not found.problems and self._is_again(keys.any_names):
                    self._keep_shapes(keys, found, plain())
        return found

    def _of_pods(self, obj: JSONObject, look: Callable[[], ReferenceFindings]) -> ReferenceFindings:
        """Return the findings of a pod or workload; equal ones share them, unless they name claims of their own."""
        content = {**obj, "metadata": {**metadata_of(obj), "name": None}}
        return _of_equal(content, look, self._pods, unless=_NAMES_A_CLAIM)

    def _keep_shapes(self, keys: Keys, found: ReferenceFindings, plain: Plain) -> None:
        if plain is not Plain.NOTHING:
            self._claims.keep(keys.any_names if plain is Plain.NAMES else keys.same_names, found)
        elif len(self._differing) < _SHAPES:
            self._differing.add(keys.any_names)

    def _is_again(self, shape: str) -> bool:
        """Tell whether a shape was seen before, and may have one answer; most are seen once, and asking takes long."""
        if shape in self._differing:
            return False
        known = hash(shape)
        if known in self._seen or len(self._seen) >= _SEEN:
            return True
        self._seen.add(known)
        return False


def _of_equal(
    content: JSONObject, look: Callable[[], ReferenceFindings], cached: _Cached, unless: bytes | None = None
) -> ReferenceFindings:
    """Return the findings of an object, cached for those of equal content.

    Args:
        content: What rules read of it.
        look: The function that checks it.
        cached: The findings of others.
        unless: What no content has that is cached.
    """
    try:
        key = marshal.dumps(content, _PLAIN)
    except ValueError:  # it is nested too deeply
        return look()
    found = cached.get(key)
    if found is None:
        found = look()
        if unless is None or unless not in key:
            cached.keep(key, found)
    return found
