"""A struct as rules see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webhook.problem import Path
    from webhook.schema.compiled import CompiledStruct
    from webhook.schema.target import Target


class View:
    """A well-shaped struct as rules see it: fields by name, defaults set, absent ones empty, ``view / "field"`` a path.

    A view is true if the struct is there at all; two views are equal if the API server takes them for the same.
    """

    __slots__ = ("_struct", "_value", "path")

    def __init__(self, struct: CompiledStruct, value: dict[str, Any] | None, path: Path) -> None:
        self._struct, self._value, self.path = struct, value, path

    def __getattr__(self, name: str) -> Any:
        """Return a field: an absent struct as an empty view, an absent list as an empty one."""
        struct, value = self._struct, self._value
        if (field := struct.fields.get(name)) is None:
            return self._elsewhere(name)
        if name in struct.inline:
            return field.view(value, self.path)
        given = value.get(name) if value else None
        if not given and name in struct.conditional:
            default = struct.conditional[name]
            if all(getattr(self, sibling) in wanted for sibling, wanted in default.when.items()):
                return default.value
        return field.view(given, self.path / name if field.struct else self.path)

    def _elsewhere(self, name: str) -> Any:
        """Return what is not in this release, or in the box."""
        struct = self._struct
        if name in struct.type.fields:
            return None
        if struct.type.box:
            return getattr(getattr(self, struct.type.box), name)
        raise AttributeError(name)

    def __truediv__(self, step: str | int) -> Path:
        """Return the path of a field."""
        box = self._struct.type.box
        return self.path / box / step if box and step not in self._struct.type.fields else self.path / step

    def __contains__(self, name: str) -> bool:
        """Tell whether a field was given and is not null."""
        box = self._struct.type.box
        if box and name not in self._struct.type.fields:
            return name in getattr(self, box)
        if name in self._struct.inline:
            return bool(getattr(self, name))
        return self._value is not None and self._value.get(name) is not None

    def __bool__(self) -> bool:
        """Tell whether the struct is there."""
        return self._value is not None

    def __eq__(self, other: object) -> bool:
        """Compare as ``apiequality.Semantic.DeepEqual`` does."""
        return isinstance(other, View) and self.canonical == other.canonical

    __hash__ = None  # type: ignore[assignment] # views are compared, never kept

    @property
    def canonical(self) -> dict[str, Any] | None:
        """The struct in the form in which old and new are compared."""
        return None if self._value is None else self._struct.canonical(self._value)

    @property
    def submitted(self) -> Any:
        """The struct as it was submitted, to be shown."""
        return self._value

    @property
    def type(self) -> Any:
        """The struct's class."""
        return self._struct.type

    @property
    def content(self) -> dict[str, Any]:
        """The fields as they were submitted, out of the box; for rules that would see too many views."""
        value = self._value or {}
        return (value.get(self._struct.type.box) or {}) if self._struct.type.box else value

    @property
    def target(self) -> Target:
        """What the struct is compiled for."""
        return self._struct.target

    @property
    def release(self) -> int:
        """The Kubernetes release, as the minor of 1.x."""
        return self._struct.target.release

    @property
    def operation(self) -> str:
        """What is asked of the API server."""
        return self._struct.target.operation

    @property
    def admin_namespace(self) -> bool | None:
        """Whether the object's namespace is labelled for admin access; None if nobody knows."""
        return self._struct.target.admin_namespace

    def enabled(self, gate: str) -> bool:
        """Tell whether a feature gate is on."""
        return gate in self._struct.target.gates
