"""What is imported or computed on first use: most of what draguard may need is larger than the work at hand."""

from __future__ import annotations

import functools
from importlib import import_module

__all__ = ["Module", "cached_property"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property  # noqa: TID251 - type checkers know it
    from typing import Any
else:

    class cached_property(functools.cached_property):  # noqa: N801, TID251 - it stands for that
        """The same without its lock, as from Python 3.12 on: all instances share it, and threads can deadlock."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute the value; if threads do so at the same time, all get the first result."""
            if instance is None:
                return self
            return vars(instance).setdefault(self.attrname, self.func(instance))


class Module:
    """A module with the attributes of an imported one.

    Args:
        name: Its full name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Import the module, and keep the requested attribute."""
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found
