"""Taints of nodes and devices, and what tolerates exactly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.objects import text
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.objects import JSONObject


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
