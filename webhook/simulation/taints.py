"""Taints of nodes and devices, and what tolerates exactly one."""

from __future__ import annotations

from webhook.objects import text
from webhook.records import NamedTuple
from webhook.spelling import either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from webhook.objects import JSONObject

_SETS_MAX: Final = 3
"""The number of sets of taints that are named."""


class Taint(NamedTuple):
    """A taint.

    Args:
        key: Its key.
        value: Its value; empty without one.
        effect: Its effect.
    """

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """Write it as ``key=value:effect``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def toleration(self) -> JSONObject:
        """The toleration of this taint alone."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


def taint_of(taint: JSONObject) -> Taint:
    """Read a taint, as in the API."""
    return Taint(text(taint, "key"), text(taint, "value"), text(taint, "effect"))


def untolerated(found: Mapping[frozenset[Taint], int]) -> str:
    """Write which taints are not tolerated.

    Args:
        found: The number of devices that have exactly some taints; those of most devices are named first.
    """
    ordered = sorted(found, key=lambda each: (-found[each], sorted(each)))
    named = [" and ".join(map(str, sorted(each))) for each in ordered[:_SETS_MAX]]
    more = [f"{len(ordered) - _SETS_MAX} more"] if len(ordered) > _SETS_MAX else []
    noun, verb = ("taints", "are") if any(len(each) > 1 for each in ordered) else ("taint", "is")
    return f"{noun} {either([*named, *more])} {verb} not tolerated"
