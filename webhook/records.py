"""``NamedTuple`` as :mod:`typing` has it; its classes take a third of the time to make.

Types are not looked at, methods are those of a common base class, and constructors are copies of one for each number of
fields, with other names: :func:`collections.namedtuple` compiles a constructor for each class.
"""

from __future__ import annotations

__all__ = ["NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any,
        NamedTuple,  # noqa: TID251 - type checkers know it
    )
else:
    from collections import _tuplegetter
    from functools import cache
    from types import FunctionType

    _new = tuple.__new__

    class _Record(tuple):
        """The methods of named tuples."""

        __slots__ = ()

        def _replace(self, /, **changes: Any) -> Any:
            made = _new(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise TypeError(f"{type(self).__name__} has no {', '.join(changes)}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            """Write the record with the names of its fields."""
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            """Return the arguments for a copy."""
            return tuple(self)

    @cache
    def _constructor(count: int) -> FunctionType:
        """Return a constructor of records with a number of fields."""
        arguments = "".join(f"_{index}, " for index in range(count))
        return eval(f"lambda _cls, {arguments}: _new(_cls, ({arguments}))", {"_new": _new})  # noqa: S307 - of numbers alone

    class _Meta(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            """Make a class of records of the fields that a class body declares, with its methods."""
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = tuple(namespace[field] for field in fields if field in namespace)
            make = _constructor(len(fields))
            names = {"co_varnames": ("_cls", *fields), "co_name": "__new__", "co_qualname": f"{name}.__new__"}
            code = make.__code__.replace(**names)
            namespace.update((field, _tuplegetter(index, "")) for index, field in enumerate(fields))
            namespace.update(__new__=FunctionType(code, make.__globals__, "__new__", defaults), _fields=fields)
            return type(name, (_Record,), {"__slots__": (), "__match_args__": fields, **namespace})

    class NamedTuple(metaclass=_Meta):
        """The base of named tuples."""
