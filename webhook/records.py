"""``NamedTuple`` as :mod:`typing` has it, which takes a fifth of a start to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import (
        Any,
        NamedTuple,  # noqa: TID251 - type checkers know it
    )
else:
    from collections import namedtuple

    class _Meta(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            """Make a class of named tuples of the fields that a class body declares, with its methods."""
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", {})
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 - that is the point
            return type(name, (made,), {"__slots__": (), **namespace})

    class NamedTuple(metaclass=_Meta):
        """The base of named tuples."""
