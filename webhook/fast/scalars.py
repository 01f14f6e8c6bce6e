"""Plans of values that hold no struct: a type for msgspec, and a check of what a type cannot express."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta

from webhook.fast.known import remember
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema.fields import CompiledField, Format
from webhook.schema.scalars import WIDEST, Int, Parsed, Scalar, Text
from webhook.schema.target import Target

if TYPE_CHECKING:
    from webhook.fast.source import Source

    Wrong = Callable[[Any], object]
    """Returns a truthy result for a value that is not known to be fine."""
    Write = Callable[[Source, str], None]
    """Writes the checks of the value of a local variable."""
    _Remembered = tuple[Wrong, str, set[Any]]
    """A check, how it applies, and values in which it finds nothing."""

_NAME_MAX: Final = 256
"""The most characters of a cached name; all formats of names allow fewer."""
_LITERAL_MAX: Final = 32
"""The most characters of a cached quantity or time."""

_ONE: Final = "{wrong}({value})"
"""The source of a check of one value; it is true of a wrong one."""
ITEMS_WRONG: Final = "any(map({wrong}, {value}))"
VALUES_WRONG: Final = "any(map({wrong}, {value}.values()))"
"""The same for all values of a map, as the one before for all items of a list."""
_KNOWN: Final[Mapping[str, str]] = {
    _ONE: "{value} not in {fine}",
    ITEMS_WRONG: "not {fine}.issuperset({value})",
    VALUES_WRONG: "not {fine}.issuperset({value}.values())",
}
"""How values that were fine before are recognized, which takes half as long."""

NAME: Final = Annotated[str, Meta(max_length=_NAME_MAX)]
"""The type of names; those that are too long for any format need a closer look."""


class Planned(NamedTuple):
    """How to recognize a valid value of a field.

    Args:
        type: The msgspec type of the value.
        wrong: A check that must find nothing in a value of that type; None if there is none.
        whole: How the check applies to the value, or to all its items.
        fine: Values in which the check finds nothing; None if they are not remembered.
        inner: Writes the checks of the structs in the value; None if there are none.
        plan: The plan of a struct; None for other values.
    """

    type: Any
    wrong: Wrong | None = None
    whole: str = _ONE
    fine: set[Any] | None = None
    inner: Write | None = None
    plan: Any = None

    def test(self, source: Source, value: str) -> str:
        """Return the expression that is true of a wrong value."""
        names = {"wrong": source.given(self.wrong), "fine": source.given(self.fine), "value": value}
        return (self.whole if self.fine is None else f"{_KNOWN[self.whole]} and {self.whole}").format_map(names)

    @property
    def asks_one(self) -> bool:
        """Whether the check applies to a single value."""
        return self.wrong is None or self.whole not in {ITEMS_WRONG, VALUES_WRONG}


def of_scalar(field: Scalar, compiled: CompiledField, target: Target, *_: object) -> Planned:
    """Plan a text, number or bool."""
    if isinstance(field, Text):
        return _text(field, compiled, target)
    type_: Any = field.python
    if isinstance(field, Int):
        top = 1 << (field.bits - 1)
        type_ = Annotated[int, Meta(ge=-top, le=top - 1)]
    return Planned(type_, compiled.walk if target.validates and field.checker(target) else None)


def _text(field: Text, compiled: CompiledField, target: Target) -> Planned:
    tests = list(field.tests(target)) if target.validates else []
    if not tests and field.required:
        return Planned(Annotated[str, Meta(min_length=1)])
    if len(tests) == 1 and (values := target.pick(field.one_of)):
        return Planned(Literal[tuple(each for each in ("", *values) if not compiled.walk(each))])
    if len(tests) == len(field.formats) == 1:
        return Planned(NAME, *of_format(field.formats[0], target.release))
    if len(tests) == 1 and (limit := target.pick(field.max_length) or field.max_bytes):
        return Planned(str, tests[0], f"len({{value}}) > {limit // WIDEST} and {_ONE}")
    return Planned(str, tests[0] if len(tests) == 1 else compiled.walk)


@cache
def of_format(format_: Format, release: Release) -> _Remembered:
    """Make the check of a format; it is the same for all fields, so that they remember the same names."""
    return remembered(format_, release)


def remembered(wrong: Callable[..., object], *known: Any) -> _Remembered:
    """Make a check of single values that remembers some of the fine ones.

    Args:
        wrong: Returns a truthy result for a value that is not known to be fine.
        *known: What it takes besides the value.
    """
    fine: set[Any] = set()

    def look(value: Any) -> bool:
        if wrong(value, *known):
            return True
        remember(value, fine)
        return False

    return look, _ONE, fine


def of_parsed(field: Parsed, compiled: CompiledField, target: Target, *_: object) -> Planned:
    """Plan a literal, such as a quantity or a time."""
    if target.validates and field.checker(target):
        return Planned(Any, compiled.walk)
    literal = Annotated[str, Meta(max_length=_LITERAL_MAX)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    return Planned(literal, *_unparsable(field.parse))


@cache
def _unparsable(parse: Callable[[Any], object]) -> _Remembered:
    def wrong(value: str | int) -> bool:
        try:
            parse(value)
        except (ValueError, TypeError):
            return True
        return False

    return remembered(wrong)
