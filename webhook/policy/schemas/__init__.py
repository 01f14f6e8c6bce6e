"""How objects are made, as far as merging and type checking need to know.

A type is a line ``Name: field=type …``, continued on indented lines; ``Name!`` is replaced as a whole by server-side
apply (``structType=atomic``). Types of fields are

* ``s`` string, ``i`` integer, ``b`` boolean, ``t`` time, ``y`` bytes, ``q`` quantity, ``x`` number or string;
* ``?`` anything;
* ``Name`` a type;
* ``[T]`` an atomic list, ``[T]*`` a set, ``[T]key,key`` a list that is merged by keys, ``key:default`` one with
  another default than an empty text;
* ``{T}`` a map from strings, ``!{T}`` one that is replaced as a whole.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ATOMIC: Final = "atomic"
MERGED: Final = "merged"
SET: Final = "set"


class Scalar(NamedTuple):
    """A value without parts: ``s``, ``i``, ``b``, ``t``, ``y``, ``q``, ``x``."""

    code: str


class Anything(NamedTuple):
    """A value of any shape."""


class ListOf(NamedTuple):
    """A list.

    Args:
        item: What its items are.
        merging: Whether it is replaced as a whole (``ATOMIC``), is a ``SET``, or is ``MERGED`` by keys.
        keys: The keys, with their defaults.
    """

    item: Shape
    merging: str
    keys: tuple[tuple[str, str | int], ...] = ()


class MapOf(NamedTuple):
    """A map from strings; an atomic one is replaced as a whole."""

    item: Shape
    is_atomic: bool = False


class Structure:
    """A type with fields; an atomic one is replaced as a whole."""

    __slots__ = ("_codes", "_shapes", "_types", "is_atomic", "name")

    def __init__(
        self, name: str, fields: Mapping[str, str], types: Mapping[str, Structure], *, is_atomic: bool
    ) -> None:
        self.name, self.is_atomic = name, is_atomic
        self._codes, self._types = fields, types
        self._shapes: dict[str, Shape] = {}

    def field(self, name: str) -> Shape | None:
        """Return what a field is; None if there is none of this name."""
        shape = self._shapes.get(name)
        if shape is None and (code := self._codes.get(name)) is not None:
            shape = self._shapes[name] = _shape(code, self._types)
        return shape

    def fields(self) -> Iterator[tuple[str, Shape]]:
        """List all fields."""
        for name, code in self._codes.items():
            yield name, _shape(code, self._types)


Shape = Scalar | Anything | ListOf | MapOf | Structure

_LIST: Final = re.compile(r"\[(.+)\]([^\]]*)")
_SCALARS: Final = frozenset("sibtyqx")


def _shape(code: str, types: Mapping[str, Structure]) -> Shape:
    if code in _SCALARS:
        return Scalar(code)
    if code == "?":
        return Anything()
    if found := _LIST.fullmatch(code):
        item, keys = _shape(found[1], types), found[2]
        if not keys or keys == "*":
            return ListOf(item, SET if keys else ATOMIC)
        return ListOf(item, MERGED, tuple(_key(each) for each in keys.split(",")))
    if code.endswith("}"):
        start = code.index("{")
        return MapOf(_shape(code[start + 1 : -1], types), is_atomic=start == 1)
    return types[code]


def _key(text: str) -> tuple[str, str | int]:
    name, _, default = text.partition(":")
    return name, int(default) if default.isdigit() else default


def _read(*texts: str) -> dict[str, Structure]:
    """Read types; later ones take the place of earlier ones with the same name."""
    types: dict[str, Structure] = {}
    for text in texts:
        for line in text.strip().replace("\n  ", " ").splitlines():
            if line:
                name, _, fields = line.partition(": ")
                pairs = (each.split("=", 1) for each in fields.split(" "))
                plain = name.removesuffix("!")
                types[plain] = Structure(plain, dict(pairs), types, is_atomic=name.endswith("!"))
    return types


OBJECT: Final = _read("ObjectMeta: labels={s} annotations={s} finalizers=[s]*\nObject: metadata=ObjectMeta")["Object"]
"""What objects of all kinds have, as far as policies change it."""


@cache
def _known() -> dict[tuple[str, str], Structure]:
    from webhook.policy.schemas import core, dra  # noqa: PLC0415 - read when the first object is merged

    core_types = _read(core.TYPES)
    newer, older = _read(core.TYPES, dra.TYPES), _read(core.TYPES, dra.TYPES, dra.V1BETA1)
    known = {(version, kind): core_types[kind] for version, kinds in core.KINDS.items() for kind in kinds.split()}
    for version, kinds in dra.KINDS.items():
        types = older if version.endswith("v1beta1") else newer
        known |= {(version, kind): types[kind] for kind in kinds.split()}
    return known


def schema_of(api_version: str, kind: str) -> Structure | None:
    """Return how objects of a kind are made; None if that is not known here.

    Args:
        api_version: Group and version.
        kind: The kind.
    """
    return _known().get((api_version, kind))
