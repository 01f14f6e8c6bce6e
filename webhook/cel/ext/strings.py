"""Functions on strings, among them `format` (cel-go ext/strings.go, formatting.go, formatting_v2.go)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from webhook.budget import READ, work
from webhook.cel.checker.declarations import Library, Validator
from webhook.cel.errors import EvaluationError, Issues
from webhook.cel.functions import MOST, Bounds, Overload, estimated, member, of_argument
from webhook.cel.runtime import conversions
from webhook.cel.runtime.operators import must_fit
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types.base import DYN, INT, STRING, Kind, Type, list_of
from webhook.cel.types.values import Value, from_key, type_of
from webhook.escapes import GO_ESCAPES, GO_SPACE
from webhook.patterns import Pattern

if TYPE_CHECKING:
    from webhook.cel.functions import Implementation

# -- `format`

_DEFAULT_PRECISION: Final = 6
_MAX_PRECISION: Final = 1000
_SUPERSCRIPTS: Final = str.maketrans(
    "+-0123456789", "\u207a\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)
_NARROW_SPACE: Final = "\u202f"
_INTEGERS: Final = frozenset({Kind.INT, Kind.UINT})
_PRINTABLE: Final = frozenset(
    {
        Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES,
        Kind.DURATION, Kind.TYPE, Kind.NULL,
    }
)  # fmt: skip
_QUOTED: Final = {
    Kind.STRING: "{}", Kind.BYTES: "b{}", Kind.DOUBLE: "{}", Kind.TIMESTAMP: "timestamp({})",
    Kind.DURATION: "duration({})",
}  # fmt: skip
"""How scalars in lists and maps are written that are in quotes there."""
_STRING_CLAUSE: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps"
)


class _FormatError(Exception):
    """A format string that does not fit its arguments; `node` is the argument at fault, if there is one."""

    def __init__(self, message: str, node: Expression | None = None) -> None:
        super().__init__(message)
        self.node = node


_CLAUSE: Final = Pattern(r"%(?:%|(?:\.([0-9]*))?(.?))", re.DOTALL)
_PRECISION: Final = "could not parse formatting clause: error while parsing precision: "


def _precision(found: re.Match[str]) -> int | None:
    """The precision of a clause."""
    if (digits := found[1]) is None:
        return None
    if not found[2]:
        raise _FormatError(f"{_PRECISION}could not find end of precision specifier")
    if not digits:
        conversion = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        raise _FormatError(f"{_PRECISION}{conversion}")
    if len(digits) > len(str(_MAX_PRECISION)) or int(digits) > _MAX_PRECISION:
        raise _FormatError(f"{_PRECISION}precision {digits} exceeds maximum allowed precision {_MAX_PRECISION}")
    return int(digits)


def _format(text: str, arguments: list[Value]) -> str:
    """Format the arguments according to the text."""
    size = 0

    def clause(letter: str, precision: int | None, index: int) -> str:
        nonlocal size
        type_ = type_of(arguments[index])
        _check(letter, type_.kind, type_.name)
        shown = _apply(letter, precision, arguments[index])
        size += len(shown)
        must_fit(size)
        return shown

    try:
        return _interpolate(text, len(arguments), clause)[0]
    except _FormatError as error:
        raise EvaluationError(str(error)) from None


def _interpolate(
    text: str, count: int, clause: Callable[[str, int | None, int], str], *, is_checked: bool = False
) -> tuple[str, int]:
    """Replace every clause by the function's result for its letter, precision and argument's index.

    Returns:
        The text, and how many arguments it has used.
    """
    used = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "%%":
            return "%"
        is_last, letter = found[0] == "%", found[2]
        if used >= count and not (is_last and is_checked):
            raise _FormatError(f"index {used} out of range")
        if is_last:
            raise _FormatError("unexpected end of string")
        precision = _precision(found)
        if letter not in _CLAUSES:
            raise _FormatError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
        try:
            shown = clause(letter, precision, used)
        except _FormatError as error:
            raise _FormatError(f"error during formatting: {error}", error.node) from None
        used += 1
        return shown

    return _CLAUSE.sub(replaced, text), used


def _check(letter: str, kind: Kind, name: str, node: Expression | None = None) -> None:
    """Refuse a type that a clause cannot show."""
    accepted, refusal = _CLAUSES[letter]
    if kind not in accepted and kind is not Kind.DYN:
        raise _FormatError(f"{refusal}, was given {name}", node)


def _apply(letter: str, precision: int | None, value: Value) -> str:
    if letter == "s":
        return _string(value)
    if letter in "xX":
        data = value.encode("utf-8", "surrogatepass") if type(value) is str else value
        shown = data.hex() if type(data) is bytes else format(int(data), "x")
        return shown.upper() if letter == "X" else shown
    if letter in "bod":
        return format(int(value), letter)
    return _double(letter, _DEFAULT_PRECISION if precision is None else precision, value)


def _double(letter: str, places: int, value: Value) -> str:
    """A number as en_US has it."""
    if type(value) is not float and value not in {"NaN", "Infinity", "-Infinity"}:
        raise _FormatError(f"{_CLAUSES[letter][1]}, was given string")
    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"
    if letter == "f":
        return f"{number:,.{places}f}"
    mantissa, exponent = f"{number:.{places}e}".split("e")
    power = exponent.removeprefix("+").translate(_SUPERSCRIPTS)
    return f"{mantissa}{_NARROW_SPACE}×{_NARROW_SPACE}10{power}"  # noqa: RUF001 - as the locale has it


def _string(value: Value) -> str:
    if type(value) is list:
        return f"[{_joined(map(_nested, value))}]"
    if isinstance(value, dict):
        entries = sorted((_key(from_key(key)), _nested(each)) for key, each in value.items())
        return f"{{{_joined(f'{key}:{each}' for key, each in entries)}}}"
    return _scalar(value)


def _key(key: Value) -> str:
    if type(key) is float:
        raise _FormatError(f"no formatting function for map key of type {type_of(key).name}")
    return _nested(key)


def _nested(value: Value) -> str:
    type_ = type_of(value)
    if type(value) is float and math.isfinite(value):
        return f"{value:.{_DEFAULT_PRECISION}f}"
    if type_.kind in _QUOTED:
        return _QUOTED[type_.kind].format(json.dumps(_scalar(value), ensure_ascii=False))
    if type_.kind not in _PRINTABLE:
        raise _FormatError(f"no formatting function for {type_.name}")
    return _string(value)


def _joined(parts: Iterable[str]) -> str:
    """Parts with commas, bounded: nested values that hold others twice would make huge texts."""
    found = list(parts)
    work(1 + len(found))
    must_fit(sum(map(len, found)))
    return ", ".join(found)


def _scalar(value: Value) -> str:
    if type(value) is str:  # most are
        return value
    if value is None:
        return "null"
    if type(value) is Type:
        return value.name
    type_ = type_of(value)
    if (convert := conversions.CONVERSIONS[STRING].get(type_)) is None:
        raise _FormatError(f"{_STRING_CLAUSE}, was given {type_.name}")
    try:
        return str(convert(value))
    except EvaluationError as error:
        raise _FormatError(f'could not convert argument "{error}" to string') from None


_HEXADECIMAL: Final = (
    _INTEGERS | {Kind.STRING, Kind.BYTES},
    "only integers, byte buffers, and strings can be formatted as hex",
)
_CLAUSES: Final = {
    "s": (_PRINTABLE, _STRING_CLAUSE),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (frozenset({Kind.DOUBLE, Kind.STRING}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({Kind.DOUBLE, Kind.STRING}), "scientific clause can only be used on doubles"),
    "b": (_INTEGERS | {Kind.BOOL}, "only integers and bools can be formatted as binary"),
    **dict.fromkeys("xX", _HEXADECIMAL),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
"""The kinds that a clause accepts, and the error for others."""


def _check_format(call: Expression, issues: Issues) -> None:
    """Check a call of `format` with a literal text and literal arguments."""
    if not isinstance(call, ast.Call) or not isinstance(call.target, ast.Literal):
        return
    text, arguments = call.target.value, call.arguments[0]
    if type(text) is not str or not isinstance(arguments, ast.ListExpression):
        return
    elements = arguments.elements

    def clause(letter: str, _: int | None, index: int) -> str:
        for node in _shown(letter, elements[index]):
            _check(letter, node.type.kind, node.type.name, node)
        return ""

    try:
        used = _interpolate(text, len(elements), clause, is_checked=True)[1]
    except _FormatError as error:
        issues.report(call.offset if error.node is None else error.node.offset, str(error))
        return
    if used < len(elements):
        expected = f"(expected {used}, got {len(elements)})"
        issues.report(call.offset, f"too many arguments supplied to string.format {expected}")


def _shown(letter: str, node: Expression) -> list[Expression]:
    """The parts of an argument that `%s` prints."""
    if letter != "s" or not isinstance(node, (ast.ListExpression, ast.MapExpression)):
        return [node]
    return [node, *(part for child in node.children() for part in _shown(letter, child))]


# -- other functions

_UPPER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LOWER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_STRINGS: Final = list_of(STRING)
_SURROGATES: Final = Pattern("[\ud800-\udfff]")
_JOINED: Final = 32
"""The number of texts joined for a unit of work."""


def _expect(is_in_range: bool, position: int) -> None:  # noqa: FBT001 - the condition itself
    if not is_in_range:
        raise EvaluationError(f"index out of range: {position}")


def _char_at(text: str, position: int) -> str:
    _expect(0 <= position <= len(text), position)
    return text[position : position + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    _expect(offset >= 0, offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return text.rfind(part)
    if not part:
        return offset
    _expect(offset >= 0, offset)
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    work(len(text) // READ)
    replaced = text.count(old) if count < 0 else min(count, text.count(old))
    must_fit(len(text) + replaced * (len(new) - len(old)))
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    work(len(text) // READ)
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, len(text) if end is None else end):
        _expect(0 <= position <= len(text), position)
    return text[start:end]


def _join(parts: list[Value], separator: str = "") -> str:
    work(1 + len(parts) // _JOINED)
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {part}")
    must_fit(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _quote(text: str) -> str:
    return f'"{_SURROGATES.sub("�", text).translate(GO_ESCAPES)}"'


def _quoted(size: Bounds) -> Bounds:
    """At most two characters for each, and two quotes; without a bound cel-go's sum overflows."""
    return Bounds(size.low + 2, (size.high * 2 + 2) & MOST)


def _longer(
    name: str, id_: str, longer: str, result: Type, implementation: Implementation, *types: Type
) -> tuple[Overload, Overload]:
    """A function whose last argument may be left out."""
    short = member(name, id_, types[:-1], result, implementation)
    return short, member(name, f"{id_}{longer}", types, result, implementation)


STRINGS: Final = Library(
    functions=(
        member("charAt", "string_char_at_int", (STRING, INT), STRING, _char_at),
        *_longer("indexOf", "string_index_of_string", "_int", INT, _index_of, STRING, STRING, INT),
        *_longer("lastIndexOf", "string_last_index_of_string", "_int", INT, _last_index_of, STRING, STRING, INT),
        member("lowerAscii", "string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER)),
        *_longer("replace", "string_replace_string_string", "_int", STRING, _replace, STRING, STRING, STRING, INT),
        *_longer("split", "string_split_string", "_int", _STRINGS, _split, STRING, STRING, INT),
        *_longer("substring", "string_substring_int", "_int", STRING, _substring, STRING, INT, INT),
        member("trim", "string_trim", (STRING,), STRING, lambda text: text.strip(GO_SPACE)),
        member("upperAscii", "string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER)),
        *_longer("join", "list_join", "_string", STRING, _join, _STRINGS, STRING),
    ),
)
"""Version 0 of the library."""
FORMATS: Final = Library(
    functions=(
        member(
            "format", "string_format", (STRING, list_of(DYN)), STRING, _format, cost=of_argument(0), stops_early=True,
        ),
        Overload(
            "strings.quote", "strings_quote", (STRING,), STRING, _quote,
            cost=of_argument(0), estimate=estimated(of_argument(0), _quoted),
        ),
    ),
    validators=(Validator(_check_format, "format"),),
)  # fmt: skip
"""What version 1 has added; Kubernetes has version 2."""
