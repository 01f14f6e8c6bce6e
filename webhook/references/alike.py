"""What was found in an object holds for all that are alike: most claims of a repository differ by their names."""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.api.versions import find
from webhook.inventory import CLAIMS
from webhook.objects import name_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from webhook.objects import JSONObject
    from webhook.problem import Problem

_BYTES: Final = 16 << 20
"""How much is remembered."""
_PROBLEM: Final = 1_000
"""How many bytes a problem counts for."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: those after it refer to what they have had."""


class Found(NamedTuple):
    """What rules say about an object.

    Args:
        problems: What they find.
        skipped: How much was not looked up, by kind.
    """

    problems: Sequence[Problem]
    skipped: Counter[str]


class Alike:
    """Remembers what was found in claims and templates, of whose metadata rules read only whether there is a name.

    Args:
        most: How many bytes are remembered.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._left = most
        self._found: dict[bytes, Found] = {}

    def find(self, obj: JSONObject, look: Callable[[], Found]) -> Found:
        """Return what is found in an object.

        Args:
            obj: The object, in any version.
            look: Looks at it, unless that is known of one like it.
        """
        key = _key(obj)
        if key is None:
            return look()
        found = self._found.get(key)
        if found is None:
            found = look()
            self._left -= len(key) + _PROBLEM * (1 + len(found.problems))
            if self._left >= 0:
                self._found[key] = found
        return found


def _key(obj: JSONObject) -> bytes | None:
    """Return what claims have in common that rules cannot tell apart; None of others, and if they are nested deep."""
    if obj.get("kind") not in CLAIMS or not find(obj.get("apiVersion"), obj["kind"]):
        return None
    try:
        return marshal.dumps({**obj, "metadata": bool(name_of(obj))}, _PLAIN)
    except ValueError:
        return None
