"""Struct fields, nested or inlined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from webhook.formats.quantities import near_quantity
from webhook.later import cached_property
from webhook.problem import IMMUTABLE_FIELD, Advice, Fix, InYaml, Path, Problem, clipped, invalid, required
from webhook.release import Release
from webhook.schema.compiled import CompiledField, CompiledStruct, View, compile_struct
from webhook.schema.declarations import Struct
from webhook.schema.decoding import Misfit, SchemaFinding, wrong_type
from webhook.schema.fields import IMMUTABLE, NOTHING, Default, Field, Place
from webhook.schema.target import Target

_NAMED: Final = 4
"""How many fields of a struct a hint names."""


class Nested(Field):
    """A struct.

    Args:
        type_: The struct's class; or ``MODULE:CLASS`` of one that is not judged, whose module is loaded on first use.
        required_detail: The API server's message if it is missing.
        default: The API server's default.
        **common: As for :class:`Field`.
    """

    def __init__(
        self,
        type_: type[Struct] | str,
        doc: str = "",
        *,
        required_detail: str = "",
        default: Default | None = None,
        **common: Any,
    ) -> None:
        super().__init__(doc, **common)
        self._type, self.required_detail, self.default = type_, required_detail, default

    @cached_property
    def type(self) -> type[Struct]:
        """The struct's class."""
        if not isinstance(self._type, str):
            return self._type
        module, _, name = self._type.partition(":")
        found: type[Struct] = getattr(import_module(module), name)
        return found

    def states(self, problem: Problem) -> bool:
        """Tell whether a rule at the struct can find a problem: that it changes, or how many of its fields are set."""
        return problem.reason == "FieldValueInvalid"

    def type_name(self, package: str) -> str:
        """Name the Go struct with its package."""
        return f"{self.type.package or package}.{self.type.go_name or self.type.__name__}"

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        struct, go_type = compile_struct(self.type, target), self.type_name(package)
        pointer, changed = self.pointer, struct.change
        needed = pointer and self.required and target.validates
        missing = (required(Path(), self.required_detail),) if needed else NOTHING

        def walk_no_struct(value: Any) -> Sequence[SchemaFinding]:
            if value is None:
                return missing if pointer else struct.walk({})
            meant = self.type.shorthand.get(type(value), "")
            is_clear = len(set(self.type.shorthand.values())) == 1
            what, is_right = _wrapped(struct, meant, value) if meant else (f", with {_some(struct.wire)}", False)
            fix = Fix("wrap", meant, safe=is_clear) if is_right else None
            hint = InYaml(f"write a map{what}", f"write an object{what}")
            return wrong_type(value, owner, go_type, advice=Advice(hint, fix))

        def canonical(value: Any) -> Any:
            if value is None:
                return None
            return struct.canonical(value) or ({} if pointer else None)

        def change(new: Any, old: Any) -> Sequence[Problem]:
            if self.immutable and new != old and canonical(new) != canonical(old):
                shown = None if self.declarative else new if pointer else new or {}
                return (invalid(Path(), shown, IMMUTABLE_FIELD).named(IMMUTABLE),)
            if changed is None or (pointer and (new is None or (old is None and not struct.rechecks))):
                return NOTHING
            return changed(new or {}, old or {})

        def view(value: Any, place: Place) -> View:
            return struct.view(value, place)

        compared = change if self.immutable or changed else None
        return CompiledField(struct.walking(walk_no_struct), compared, canonical, view, struct=struct)


class Inlined(Nested):
    """A struct whose fields are submitted among those of the struct around it; rules see it as one.

    Args:
        type_: The struct's class.
        present: A predicate: whether a submitted struct has any of its fields, for a Kubernetes release.
        hollow: The fields that stand for it where the API server drops all that were submitted: it stays, without them.
        last: Its fields that Go declares after those of the struct around it.
        **common: As for :class:`Field`; ``spelled`` is the path at which the API server reports the fields.
    """

    inline = True

    def __init__(
        self,
        type_: type[Struct],
        doc: str = "",
        *,
        present: Callable[[dict[str, Any], Release], bool],
        hollow: Mapping[str, Any],
        last: Collection[str] = (),
        **common: Any,
    ) -> None:
        super().__init__(type_, doc, pointer=True, **common)
        self.present, self.hollow, self.last = present, hollow, last

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile closures that take the whole struct around it."""
        compiled, release, present = super().compile(target, owner, package), target.release, self.present
        struct, decoded = compile_struct(self.type, target), compile_struct(self.type, target.decoding)

        def part(value: Any) -> Any:
            return value if value is not None and present(value, release) else None

        def walk(value: dict[str, Any]) -> Sequence[SchemaFinding]:
            inlined = {name: each for name, each in value.items() if name in struct.wire}
            found = struct.walk(inlined) if present(value, release) else decoded.walk(inlined)
            gone = {each.path[0] for each in found if isinstance(each, Misfit) and each.is_drop_of_field}
            if not gone or present({name: each for name, each in value.items() if name not in gone}, release):
                return found
            return [each._replace(leaves=self.hollow) if isinstance(each, Misfit) else each for each in found]

        return compiled._replace(
            walk=walk,
            canonical=lambda value: compiled.canonical(part(value)),
            view=lambda value, place: struct.view(part(value), place),
        )


def _wrapped(struct: CompiledStruct, steps: str, value: object) -> tuple[str, bool]:
    """Show the map that holds a value below some fields, such as ``: {cel: {expression: …}}``.

    Returns:
        The text, and whether the value is right there, if only once its unit is corrected.
    """
    wrapped, near, is_right = value, "", True
    for step in reversed(steps.split(".")):
        wrapped = {step: wrapped}
    if found := struct.walk(wrapped):
        near, is_right = near_quantity(str(value)) if found[0].rule == "quantity" else ("", False)
    shown = near or "…"
    for step in reversed(steps.split(".")):
        shown = f"{{{step}: {shown}}}"
    return f": {shown}" + ("" if near or is_right else f', with another value than "{clipped(str(value))}"'), is_right


def _some(fields: Iterable[str]) -> str:
    """Name some fields of a struct, and note whether there are more."""
    names = list(fields)
    return ", ".join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])
