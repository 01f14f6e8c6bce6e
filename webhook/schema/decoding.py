"""Errors of the API server's JSON decoder: wrong types, unknown fields.

Texts follow sigs.k8s.io/json (``internal/golang/encoding/json/decode.go``) and apimachinery's strict decoding error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.patterns import Pattern
from webhook.problem import (
    BAD_REQUEST,
    ERROR,
    WRITE_LIST,
    Advice,
    Fix,
    InYaml,
    Key,
    Path,
    Problem,
    clipped,
    made,
    quoted,
)

SchemaFinding: TypeAlias = "Misfit | Problem"

STRICT: Final = "strict decoding error: "
UNKNOWN_FIELD = "unknown-field"
WRONG_TYPE = "wrong-type"
GATE_OFF = "gate-off"
_HARMLESS: Final = frozenset({UNKNOWN_FIELD, GATE_OFF})
"""The misfits that the decoder of an API server of some release takes."""
EMBEDDED_SINCE: Final = 35
"""The first release whose decoder names the structs that Go embeds (``UnmarshalTypeError.Field``)."""


class Misfit(NamedTuple):
    """A value that does not have its type's shape; its message is built once the whole path is known."""

    path: Path
    rule: str
    describe: Callable[[Path], str]
    suggest: Callable[[Path], Advice] | None = None
    gates: tuple[str, ...] = ()
    leaves: Mapping[str, Any] = MappingProxyType({})
    """The fields that take the place of a dropped one."""
    ends: bool = False
    """Whether the decoder stops there, and reports nothing else: the type parses its own JSON."""

    def below(self, steps: Sequence[str | int], _spelled: Sequence[str | int]) -> Misfit:
        """Return the same misfit as seen from ``steps`` above."""
        return self._replace(path=Path((*steps, *self.path)))

    def problem(self) -> Problem:
        """Return the finding, once the path is whole."""
        advice = self.suggest(self.path) if self.suggest else Advice()
        detail = self.describe(self.path)
        message = f"{STRICT}{detail}" if self.rule == UNKNOWN_FIELD else detail
        return Problem(ERROR, self.rule, BAD_REQUEST, self.path, message, advice.hint, fix=advice.fix, detail=detail)

    @property
    def refuses(self) -> bool:
        """Whether the decoder of an API server of any release refuses the value."""
        return self.rule not in _HARMLESS


def as_reported(misfits: Iterable[Misfit]) -> list[Misfit]:
    """Order misfits as the decoder reports them.

    The value at which it stops comes first: wrong types before it are reported only if there is none.
    """
    return sorted(misfits, key=lambda misfit: not misfit.ends)


def apart(findings: Sequence[SchemaFinding]) -> tuple[Sequence[Misfit], Sequence[Problem]]:
    """Separate the decoder's findings from validation's, each in order."""
    misfits: list[Misfit] = []
    problems: list[Problem] = []
    for each in findings:
        if isinstance(each, Misfit):
            misfits.append(each)
        else:
            problems.append(each)
    return misfits, problems


def refuses(findings: Iterable[SchemaFinding]) -> bool:
    """Tell whether there is a value that the decoder of an API server of any release refuses."""
    return any(isinstance(each, Misfit) and each.refuses for each in findings)


def wrong_type(value: object, owner: str, go_type: str, got: str = "", advice: Advice | None = None) -> tuple[Misfit]:
    """Report a value that is not of a field's type.

    Args:
        owner: The Go struct that holds the field.
        go_type: The field's Go type, such as ``[]string``.
        got: A description of the value, where its JSON type is not enough.
        advice: How to fix it, where the types do not imply it.
    """

    def describe(path: Path) -> str:
        # Go's decoder names the fields on the path, but neither list indices nor map keys.
        fields = ".".join(str(step) for step in path if not isinstance(step, int | Key))
        place = f"Go struct field {owner}.{fields}" if fields else "Go value"
        return f"json: cannot unmarshal {got or kind_of(value)} into {place} of type {go_type}"

    def suggest(path: Path) -> Advice:
        return advice or _conversion_hint(value, go_type.removeprefix("*"), path[-1] if path else "")

    made()
    return (Misfit(Path(), WRONG_TYPE, describe, suggest),)


def within(findings: Iterable[SchemaFinding], embedded: str) -> list[SchemaFinding]:
    """Name the embedded structs that hold a field in the decoder's texts about its value.

    Args:
        findings: The findings in the value, as seen from it.
        embedded: The Go structs, from the outermost.
    """
    return [
        each._replace(describe=partial(_describe_within, each, embedded))
        if isinstance(each, Misfit) and each.rule == WRONG_TYPE
        else each
        for each in findings
    ]


def _describe_within(misfit: Misfit, embedded: str, path: Path) -> str:
    field = len(path) - len(misfit.path) - 1
    return misfit.describe(Path((*path[:field], embedded, *path[field:])))


def unknown_field(name: str) -> Misfit:
    """Report an unknown field of a struct; :mod:`webhook.schema.suggest` suggests the intended one."""

    def describe(path: Path) -> str:
        # Go's decoder spells the key of a map like a field.
        spelled = Path(str(clipped(step)) if isinstance(step, Key) else step for step in path)
        return f"unknown field {quoted(str(spelled))}"

    made()
    return Misfit(Path((name,)), UNKNOWN_FIELD, describe)


def gated_field(gates: Iterable[str]) -> Misfit:
    """Report a field that is dropped because its feature gates are off."""
    return Misfit(Path(), GATE_OFF, str, gates=tuple(gates))


def unparsable(message: str, rule: str) -> tuple[Misfit]:
    """Report a text that cannot be parsed as its type, such as a quantity."""
    made()
    return (Misfit(Path(), rule, lambda _: message, ends=True),)


WRITE_MAP: Final = Advice(
    InYaml(
        "write a map: a line `key: value` for each entry",
        json='write an object: `"key": "value"` between { and }',
    )
)
_BOOLEANS = {"true": True, "false": False}
_INTEGERS = {"int32": 2**31, "int64": 2**63}
_WHOLE = Pattern(r"-?[0-9]{1,300}")
_QUOTE = Fix("quote")
_MEANT = {
    ("bool", "string"): Advice(
        "if a string is meant, put it in quotes: in YAML, y, n, yes, no, on and off are booleans, too", _QUOTE
    ),
    ("number", "string"): Advice("if a string is meant, put it in quotes", _QUOTE),
}
"""How to fix a value, by its actual and its expected type."""


def _conversion_hint(value: object, go_type: str, field: str | int) -> Advice:
    kind = kind_of(value)
    if go_type.startswith("[]") and kind != "array":
        is_one = not isinstance(value, str) or "," not in value
        return Advice(WRITE_LIST, Fix("wrap") if is_one else None)
    if kind in _SEVERAL:
        return _ALONE if holds_one(value, field) else Advice(f"write one value, not a {_SEVERAL[kind]}")
    if go_type in _INTEGERS or go_type == "bool":
        return _plain_hint(value, go_type)
    return _MEANT.get((kind, "string" if "." in go_type else go_type), Advice())


def _plain_hint(value: object, go_type: str) -> Advice:
    """Advise how a value becomes a number or boolean."""
    bound = _INTEGERS.get(go_type)
    if isinstance(value, str) and bound is None:
        is_quoted = value.lower() in _BOOLEANS
        fix = Fix("replace", _BOOLEANS[value.lower()]) if is_quoted else None
        return Advice("leave out the quotes: the field takes true or false" if fix else "write true or false", fix)
    if bound is None or not isinstance(value, (str, int, float)):
        return Advice()
    if isinstance(value, str):
        if _WHOLE.fullmatch(value) is None:
            return Advice("write a whole number, as in 2")
        number: float = int(value)
        advice = Advice("leave out the quotes: the field takes a whole number", Fix("replace", int(value)))
    else:
        number, advice = value, Advice("write a whole number")
    if not -bound <= number < bound:
        return Advice(f"the largest number is {bound - 1}" if number > 0 else f"the smallest number is {-bound}")
    return advice


_SEVERAL: Final = {"object": "map", "array": "list"}
"""YAML's names of the JSON types that hold several values."""
_ALONE = Advice("write the value alone: this field takes one", Fix("alone"))


_SAYS_NOTHING: Final = frozenset({"name", "value"})
"""Keys that say no more of a value than that it is the field's."""


def holds_one(value: object, field: str | int) -> bool:
    """Tell whether a value is a list or map whose single text, number or boolean is certainly the field's.

    Args:
        field: The field, whose name may be repeated as the map's key; any other key may have a meaning.
    """
    if isinstance(value, dict) and not value.keys() <= {*_SAYS_NOTHING, field}:
        return False
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    return len(inner) == 1 and isinstance(inner[0], str | int | float)


def kind_of(value: object) -> str:
    """Name the JSON type of a value, as Go's decoder does."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"
