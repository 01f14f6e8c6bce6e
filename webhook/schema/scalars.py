"""Fields that hold one value: texts, numbers, quantities, raw JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.problem import Path, Problem, invalid, not_supported, required, too_long
from webhook.schema.decoding import Misfit, unparsable, wrong_type
from webhook.schema.fields import NO_MISFITS, NO_PROBLEMS, Compiled, Field, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webhook.schema.fields import Check, Format
    from webhook.schema.target import Target


class Scalar(Field):
    """A field that holds one value of a Python type, checked by formats or limits.

    Args:
        go: The Go type.
        default: What the API server sets when the field is absent or empty.
        **common: As for :class:`Field`.
    """

    python: type
    zero: Any

    def __init__(self, doc: str = "", *, go: str = "", default: Any = None, **common: Any) -> None:
        super().__init__(doc, **common)
        self.go, self.default = go, default

    def type_name(self, package: str) -> str:
        """Name the Go type, with its package if it is not one of Go's own."""
        return f"{package}.{self.go}" if self.go[:1].isupper() else self.go

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        go_type = self.type_name(package)
        absent = None if self.pointer else self.zero
        default, zero, pointer, plain = self.default, self.zero, self.pointer, self.python

        def decode(value: object) -> Sequence[Misfit]:
            return NO_MISFITS if type(value) is plain else wrong_type(value, owner, go_type)

        def canonical(value: Any) -> Any:
            if value is None or (not pointer and value == zero):
                return default
            return value

        def view(value: Any, _: Path) -> Any:
            if value is None or (value == zero and default is not None):
                return absent if default is None else default
            return value

        return Compiled(decode, self.checker(target), self._frozen(canonical), canonical, view, plain)

    def checker(self, target: Target) -> Check | None:
        """Make the check of one value."""
        del target
        return self._presence() if self.required else None

    def _presence(self) -> Check:
        empty = None if self.pointer else self.zero

        def check(value: Any) -> Sequence[Problem]:
            return (required(Path()),) if value is None or value == empty else NO_PROBLEMS

        return check


class Text(Scalar):
    """A string.

    Args:
        format: What the text must look like: functions of text and release to what is wrong with it.
        one_of: The values it may have, in the order in which the API server lists them.
        max_length: The most bytes it may have, reported as ``field.TooLongMaxLength``.
        max_bytes: The most bytes it may have, reported as ``field.TooLong``.
        always: Whether an absent or empty text is checked like any other.
        **common: As for :class:`Scalar`.
    """

    python = str
    zero = ""

    def __init__(
        self,
        doc: str = "",
        *,
        format: Format | Sequence[Format] = (),  # noqa: A002 - Kubernetes' own word
        one_of: Sequence[str] = (),
        max_length: int | None = None,
        max_bytes: int | None = None,
        always: bool = False,
        go: str = "string",
        **common: Any,
    ) -> None:
        super().__init__(doc, go=go, **common)
        self.formats = (format,) if callable(format) else tuple(format)
        self.one_of, self.max_length, self.max_bytes, self.always = tuple(one_of), max_length, max_bytes, always

    def limits(self) -> list[str]:
        """Say what is declared about the text."""
        facts = super().limits()
        facts += [f"{self.max_length or self.max_bytes} bytes at most"] if self.max_length or self.max_bytes else []
        facts += [name_of(test) for test in self.formats]
        facts += [f"one of {', '.join(self.one_of)}"] if self.one_of else []
        return facts + ([f"default {self.default}"] if self.default else [])

    def checker(self, target: Target) -> Check | None:
        """Make the check of one text."""
        if not (self.formats or self.one_of or self.max_length or self.max_bytes):
            return super().checker(target)
        release, formats, one_of, default = target.release, self.formats, self.one_of, self.default
        rules = [(name_of(test), test) for test in formats]
        limit, in_bytes = self.max_length or self.max_bytes or 0, self.max_bytes is not None
        needed, pointer, always = self.required, self.pointer, self.always

        def check(value: str | None) -> Sequence[Problem]:
            if not value:
                if default is not None or (not needed and not always and (value is None or not pointer)):
                    return NO_PROBLEMS
                if needed and not always:
                    return (required(Path()),)
            text = value or ""
            found = [required(Path())] if needed and not text else []
            if limit and len(text) * 4 > limit and len(text.encode("utf-8", "surrogatepass")) > limit:
                found.append(too_long(Path(), limit, release, in_bytes=in_bytes))
            for rule, test in rules:
                found += [invalid(Path(), text, detail).named(rule) for detail in test(text, release)]
            if one_of and text not in one_of:
                found.append(not_supported(Path(), text, one_of))
            return found

        return check


class Int(Scalar):
    """A whole number.

    Args:
        minimum: The least it may be, and what the API server says otherwise.
        **common: As for :class:`Scalar`.
    """

    python = int
    zero = 0

    def __init__(
        self, doc: str = "", *, go: str = "int64", minimum: tuple[int, str] | None = None, **common: Any
    ) -> None:
        super().__init__(doc, go=go, **common)
        self.minimum = minimum

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        compiled = super().compile(target, owner, package)
        top = 1 << (int(self.go.removeprefix("int")) - 1)
        go_type = self.type_name(package)

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is int and -top <= value < top:
                return NO_MISFITS
            got = f"number {value!r}" if type(value) in {int, float} else ""
            return wrong_type(value, owner, go_type, got)

        return compiled._replace(decode=decode, plain=None)

    def checker(self, target: Target) -> Check | None:
        """Make the check of one number."""
        if self.minimum is None:
            return super().checker(target)
        least, detail = self.minimum

        def check(value: int | None) -> Sequence[Problem]:
            if (value or 0) < least:
                return (invalid(Path(), value or 0, detail).named("minimum"),)
            return NO_PROBLEMS

        return check


class Bool(Scalar):
    """True or false."""

    python = bool
    zero = False

    def __init__(self, doc: str = "", **common: Any) -> None:
        super().__init__(doc, go="bool", **common)


class Parsed(Scalar):
    """A text that stands for a value of another kind, such as a quantity or a time, and is compared by that.

    Args:
        parse: Reads the submitted JSON value; raises ValueError with the API server's text.
        go: The Go type.
        rule: The rule that a text breaks when it cannot be read.
        **common: As for :class:`Field`.
    """

    python = str
    zero = ""

    def __init__(self, parse: Callable[[Any], Any], doc: str = "", *, rule: str, **common: Any) -> None:
        super().__init__(doc, **common)
        self.parse, self.rule = parse, rule

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        compiled = super().compile(target, owner, package)
        parse, rule = self.parse, self.rule

        def decode(value: object) -> Sequence[Misfit]:
            try:
                parse(value)
            except ValueError as error:
                return unparsable(str(error), rule)
            return NO_MISFITS

        def canonical(value: Any) -> Any:
            return None if value is None else parse(value)

        return compiled._replace(decode=decode, canonical=canonical, change=self._frozen(canonical), plain=None)


class Anything(Field):
    """Any JSON value, such as a driver's own parameters."""

    def type_name(self, package: str) -> str:
        """Name Go's type for raw JSON."""
        del package
        return "runtime.RawExtension"

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make closures that find nothing."""
        del target, owner, package
        return Compiled(
            decode=lambda _: NO_MISFITS,
            check=None,
            change=self._frozen(lambda value: value),
            canonical=lambda value: value,
            view=lambda value, _: value,
        )
