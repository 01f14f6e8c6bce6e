"""``NamedTuple`` as :mod:`typing` has it; its classes take half the time to make, for their types are not looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple  # noqa: TID251 - type checkers know it
else:
    from collections import namedtuple

    class _Meta(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            """Make a named tuple of the fields that a class body declares, with its methods."""
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", ())
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])  # noqa: PYI024 - as above
            for attribute, value in namespace.items():
                setattr(made, attribute, value)
            return made

    class NamedTuple(metaclass=_Meta):
        """The base of named tuples."""
