"""Classes of records that are quick to import, unlike those of :mod:`dataclasses`; and texts with facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

__all__ = ["Record", "Told", "fresh", "unset"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, Self, TypeVar, dataclass_transform

    T = TypeVar("T")

    def unset(value: Any, *, init: Literal[False] = False) -> Any:
        """Declare a field that is set after its record was made, with its value until then."""

    def fresh(make: Callable[[], T], *, init: Literal[False] = False) -> T:
        """Declare a field whose first value is made for each record."""

    @dataclass_transform(eq_default=False, field_specifiers=(unset, fresh))
    class Record:
        """The base of records whose fields can be set."""

else:

    class unset(NamedTuple):  # noqa: N801 - written as a function
        """The value of a field until it is set."""

        value: Any

    class fresh(NamedTuple):  # noqa: N801 - as above
        """What makes the first value of a field."""

        make: Any

    class _MetaOfRecords(type):
        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            """Make a class with a slot for each field, all of which are set by one function without further calls."""
            declared = {field: namespace.pop(field, ...) for field in namespace.get("__annotations__", {})}
            made = super().__new__(cls, name, bases, {"__slots__": tuple(declared), **namespace})
            made.fields = fields = getattr(made, "fields", {}) | declared
            values = {
                f"_{field}": value[0] if type(value) in (unset, fresh) else value for field, value in fields.items()
            }
            given = [field for field, value in fields.items() if type(value) not in (unset, fresh)]
            parameters = (field if fields[field] is ... else f"{field}=_{field}" for field in given)
            first = {field: f"_{field}{'()' * (type(value) is fresh)}" for field, value in fields.items()}
            lines = (f"\n self.{field} = {field if field in given else first[field]}" for field in fields)
            exec(f"def __init__(self, {', '.join(parameters)}): {''.join(lines) or 'pass'}", values)  # noqa: S102 - names of fields
            made.__init__ = values["__init__"]
            return made

    class Record(metaclass=_MetaOfRecords):
        """The base of records whose fields can be set."""


class Told(str):
    """A text with facts about it: fields that its class declares, with their defaults."""

    __slots__ = ("__dict__",)

    def __new__(cls, text: str, **facts: Any) -> Self:
        """Make the text."""
        if unknown := facts.keys() - cls.__annotations__.keys():
            raise TypeError(f"{cls.__name__} declares no {', '.join(unknown)}")
        told = super().__new__(cls, text)
        vars(told).update(facts)
        return told
