"""Properties that are computed on first use."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

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
