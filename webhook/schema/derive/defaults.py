"""Sets defaults, as the API server does after decoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from webhook.schema.declarations import Default, Field, Struct
from webhook.schema.derive.conversion import for_each, zeros
from webhook.schema.fields import Array, Bool, Int, Many, Map, Nested, Parsed, Scalar, Text
from webhook.schema.target import Target

Complete = Callable[[Any], Any]


class Defaults:
    """Sets the defaults of one version, as one release does.

    Fields with a default get it, structs that Go holds by value are added, and empty fields that Go omits are removed.
    Quantities and times are written canonically. Undeclared fields stay as they are.

    Args:
        keeps_empty: Whether undeclared fields stay even if they are empty.
    """

    def __init__(self, target: Target, *, keeps_empty: bool = True) -> None:
        self._target, self._keeps_empty = target, keeps_empty
        self._known: dict[type[Struct], Complete] = {}

    def of(self, type_: type[Struct]) -> Complete:
        """Return a function that completes values of a type; it returns copies.

        Args:
            type_: The type, as the newest version has it.
        """
        wanted = self._target.replaced.get(type_, type_)
        if wanted not in self._known:
            self._known[wanted] = self._struct(wanted)
        return self._known[wanted]

    def _struct(self, type_: type[Struct]) -> Complete:
        every = {**type_.opaque, **type_.fields}
        known = {name: each for name, each in every.items() if self._target.has(each.since, each.until)}
        null = {name: None for name, each in known.items() if each.written and isinstance(each, Many)}
        present_empty, keeps_empty = null | zeros(type_), self._keeps_empty
        parts = {name: part for name, each in known.items() if (part := self._part(each)) is not None}
        always = [name for name, each in known.items() if isinstance(each, Nested) and not each.pointer]
        kept = {name: not _is_omitted(each) for name, each in known.items()}
        defaults = self._defaults(known)
        last = type_.complete if type_.complete is not Struct.complete else None

        def complete(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            found = {
                name: parts[name](each) if name in parts else each
                for name, each in value.items()
                if each or (each is not None and kept.get(name, keeps_empty))
            }
            found |= {name: parts[name]({}) for name in always if name not in found}
            for name, default in defaults:
                initial = default.beside(found) if isinstance(default, Default) else default
                if name not in found and initial is not None:
                    found[name] = parts[name](initial) if name in parts else initial
            found = found if present_empty.keys() <= found.keys() else {**present_empty, **found}
            return last(found) if last else found

        return complete

    def _defaults(self, fields: Mapping[str, Field]) -> list[tuple[str, Any]]:
        picked = ((name, self._target.pick(each.default)) for name, each in fields.items())
        known = [(name, default) for name, default in picked if default is not None]
        # One that is set only if another field is absent precedes that field's default.
        return sorted(
            known,
            key=lambda pair: (
                not isinstance(pair[1], Default) or not any("" in wanted for wanted in pair[1].when.values())
            ),
        )

    def _complete(self, field: Nested, value: Any) -> Any:
        """Complete a struct; its type is resolved only now, as its module may not be loaded yet."""
        return self.of(field.type)(value)

    def _part(self, field: Field) -> Complete | None:
        if isinstance(field, Nested):
            return partial(self._complete, field)
        if isinstance(field, Parsed) and field.write:
            return partial(_rewritten, field.parse, field.write)
        return self._parts(field.item) if isinstance(field, Many) else None

    def _parts(self, item: Field) -> Complete | None:
        """Return the function that completes a list's items or a map's values, where null leaves the zero value."""
        if isinstance(item, Nested):
            return for_each(lambda value: self._complete(item, {} if value is None else value))
        if isinstance(item, Text | Int | Bool):
            return partial(_without_null, item.zero)
        part = self._part(item)
        return part and for_each(part)


def _without_null(zero: Any, value: Any) -> Any:
    """Return a list or map of scalars as Go decodes it: null leaves the zero value."""
    if isinstance(value, dict):
        return {key: zero if each is None else each for key, each in value.items()} if None in value.values() else value
    if isinstance(value, list) and None in value:
        return [zero if each is None else each for each in value]
    return value


def _rewritten(parse: Complete, write: Callable[[Any], str], value: Any) -> Any:
    """Write a text as the API server does; a malformed one stays as it is."""
    try:
        return write(parse(value))
    except (TypeError, ValueError, OverflowError):
        return value


def _is_omitted(field: Field) -> bool:
    """Tell whether Go leaves a field out if it is empty (``omitempty``), or cannot tell it from one with a default."""
    if field.pointer:
        return False
    if field.written:
        return isinstance(field, Scalar) and field.default is not None
    return isinstance(field, Map) or (not field.required and isinstance(field, Scalar | Array))
