"""``NamedTuple`` as :mod:`typing` has it; its classes take a third of the time to make.

Types are not looked at, methods are those of a common base class, and constructors are copies of one for each number of
fields, with other names: :func:`collections.namedtuple` compiles a constructor for each class, which takes longer than
all else.
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

    _constructors = (
        lambda _cls: _new(_cls, ()),
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j: _new(_cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p: _new(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p)
        ),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q: _new(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q)
        ),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r: _new(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r)
        ),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s: _new(
            _cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s)
        ),
    )
    """The constructors of records, by the number of their fields."""
    _getters = [_tuplegetter(index, "") for index in range(len(_constructors))]

    class _Meta(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            """Make a class of records of the fields that a class body declares, with its methods."""
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = tuple(namespace[field] for field in fields if field in namespace)
            make = _constructors[len(fields)]
            names = {"co_varnames": ("_cls", *fields), "co_name": "__new__", "co_qualname": f"{name}.__new__"}
            code = make.__code__.replace(**names)
            namespace.update(zip(fields, _getters, strict=False))
            namespace.update(__new__=FunctionType(code, make.__globals__, "__new__", defaults), _fields=fields)
            return type(name, (_Record,), {"__slots__": (), "__match_args__": fields, **namespace})

    class NamedTuple(metaclass=_Meta):
        """The base of named tuples."""
