"""Scalar fields: texts, numbers, quantities, raw JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import Any, ClassVar, Final

from webhook.problem import (
    TOO_LONG,
    Path,
    Problem,
    invalid,
    not_supported,
    null,
    of_own_type,
    required,
    too_long,
    too_many_characters,
)
from webhook.release import Release
from webhook.schema.compiled import CompiledField, decoding_later
from webhook.schema.decoding import Misfit, SchemaFinding, unparsable, wrong_type
from webhook.schema.fields import (
    EMPTY,
    NOTHING,
    Check,
    Decode,
    Default,
    Field,
    Format,
    Place,
    Walk,
    most,
    name_of,
)
from webhook.schema.target import Target


class Scalar(Field):
    """A field that holds one value of a Python type, checked by formats or limits.

    Args:
        go: The Go type.
        default: The API server's default when the field is absent or empty; a :class:`Default` if that depends on
            other fields.
        converted: Whether the API server converts an empty value to an absent one, and shows it so.
        **common: As for :class:`Field`.
    """

    python: type
    zero: Any
    fits_by_type: ClassVar[bool] = True
    """Whether a value of the Python type can always be decoded."""

    def __init__(
        self,
        doc: str = "",
        *,
        go: str = "",
        default: Any = None,
        converted: bool | Mapping[int, bool] = False,
        **common: Any,
    ) -> None:
        super().__init__(doc, **common)
        self.go, self.default, self.converted = go, default, converted

    def type_name(self, package: str) -> str:
        """Name the Go type, with its package if it is not one of Go's own."""
        return f"{package}.{self.go}" if self.go[:1].isupper() else self.go

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        go_type = self.type_name(package)
        absent = None if self.pointer else self.zero
        release, is_pointer = target.release, self.pointer or target.pick(self.converted)

        def show(value: Any) -> Any:
            return of_own_type(value, release) if is_pointer and type(value) is str else value

        default = target.pick(self.default)
        default = None if isinstance(default, Default) else default  # the struct sets what depends on other fields
        canonical, view = _readers(self.zero, absent, default)
        check = self.checker(target) if target.validates else None
        return CompiledField(
            walk=self._walk(self.decoder(owner, go_type), check),
            change=self._frozen(canonical, null(release) if is_pointer else self.zero, show),
            canonical=canonical,
            view=view,
            passes=self.python if check is None and self.fits_by_type else None,
            seen_as_is=default is None,
        )

    def _walk(self, decode: Decode, check: Check | None) -> Walk:
        if check is None:
            return decode if self.fits_by_type else lambda value: NOTHING if value is None else decode(value)
        plain = self.python if self.fits_by_type else None

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is plain or value is None:
                return check(value)
            return decode(value) or check(value)

        return walk

    def decoder(self, owner: str, go_type: str) -> Decode:
        """Make the JSON decoder's check of a non-null value; one that fits by its type is checked for null, too."""
        return _decoder(self.python, owner, go_type)

    def limits(self) -> list[str]:
        """Describe the declared limits of the value."""
        return super().limits() + self._defaults()

    def _defaults(self) -> list[str]:
        if isinstance(self.default, dict):
            return [f"default {default}" for default in self.default.values()]
        return [] if self.default is None else [f"default {self.default}"]

    def checker(self, target: Target) -> Check | None:
        """Make the check of one value."""
        del target
        return self._presence() if self.required or self.empty else None

    def _presence(self) -> Check:
        needed, zero, empty = self.required, self.zero, self.empty
        missing = None if self.pointer else zero

        def check(value: Any) -> Sequence[Problem]:
            if needed and (value is None or value == missing):
                return (required(Path()),)
            return (invalid(Path(), value, empty).named(EMPTY),) if empty and value == zero else NOTHING

        return check


@lru_cache(maxsize=None, typed=True)  # most fields are alike: their closures would take a tenth of a server's memory
def _readers(zero: Any, absent: Any, default: Any) -> tuple[Callable[[Any], Any], Callable[[Any, Place], Any]]:
    """Make the closures that read a value: in the form for comparisons, and as rules see it."""

    def canonical(value: Any) -> Any:
        return default if value is None or value == absent else value

    def view(value: Any, _: Place) -> Any:
        if value is None or (value == zero and default is not None):
            return absent if default is None else default
        return value

    return canonical, view


@cache
def _decoder(plain: type, owner: str, go_type: str) -> Decode:
    """Make the decoder's check of values that need a Python type only."""
    return lambda value: NOTHING if type(value) is plain or value is None else wrong_type(value, owner, go_type)


class Text(Scalar):
    """A string.

    Args:
        format: The formats of the text: functions from text and release to errors.
        checked_by: A function of text and target that finds problems, where a format cannot: their reasons or the
            values they show differ.
        one_of: The values it may have, in the order in which the API server lists them.
        max_length: The most bytes it may have, reported as ``field.TooLongMaxLength``.
        max_bytes: The most bytes it may have, reported as ``field.TooLong``.
        max_characters: The most characters it may have.
        always: Whether an absent or empty text is checked like any other.
        required_if_given: Whether an empty text counts as missing; an absent one does not.
        **common: As for :class:`Scalar`.
    """

    python = str
    zero = ""

    def __init__(
        self,
        doc: str = "",
        *,
        format: Format | Sequence[Format] = (),  # noqa: A002 - Kubernetes' own word
        checked_by: Callable[[str, Target], Iterable[Problem]] | None = None,
        one_of: Sequence[str] | Mapping[int, Sequence[str]] = (),
        max_length: int | Mapping[int, int] | None = None,
        max_bytes: int | None = None,
        max_characters: int | None = None,
        always: bool | Mapping[int, bool] = False,
        required_if_given: bool = False,
        go: str = "string",
        **common: Any,
    ) -> None:
        super().__init__(doc, go=go, **common)
        self.formats = (format,) if callable(format) else tuple(format)
        self.checked_by, self.one_of, self.always = checked_by, one_of, always
        self.max_length, self.max_bytes, self.max_characters = max_length, max_bytes, max_characters
        self.required_if_given = required_if_given

    def states(self, problem: Problem) -> bool:
        """Tell whether the text's declared rules can find a problem: limits in bytes are handwritten."""
        return self.max_bytes is None or problem.reason != TOO_LONG

    def limits(self) -> list[str]:
        """Describe the declared limits of the text."""
        facts = Field.limits(self) + most(self.max_length or self.max_bytes, "bytes")
        facts += [name_of(test) for test in (*self.formats, *([self.checked_by] if self.checked_by else ()))]
        values = self.one_of
        if isinstance(values, Mapping):
            values = values[max(values)]
        facts += [f"one of {', '.join(values)}"] if values else []
        return facts + self._defaults()

    def checker(self, target: Target) -> Check | None:
        """Make the check of one text."""
        tests = list(self.tests(target))
        if not tests:
            return super().checker(target)
        needed, always, empty = self.required or self.required_if_given, target.pick(self.always), self.empty
        # The results for an absent and an empty text: no findings, or those of the tests.
        has_default = target.pick(self.default) is not None
        fine_if_absent = has_default or self.required_if_given or not (needed or always)
        fine_if_empty = has_default or not (needed or always or self.pointer)

        def check(value: str | None) -> Sequence[Problem]:
            if not value:
                if fine_if_absent if value is None else fine_if_empty:
                    return NOTHING
                if empty and value is not None:
                    return (invalid(Path(), value, empty).named(EMPTY),)
                if needed and not always:
                    return (required(Path()),)
            text = value or ""
            found: Sequence[Problem] = (required(Path()),) if needed and not text else NOTHING
            for test in tests:
                if problems := test(text):
                    found = (*found, *problems)
            return found

        return check

    def tests(self, target: Target) -> Iterator[Callable[[str], Sequence[Problem]]]:
        """Make the tests of a present text."""
        release, one_of = target.release, target.pick(self.one_of)
        if limit := target.pick(self.max_length) or self.max_bytes:
            yield _length_test(limit, release, in_bytes=self.max_bytes is not None)
        if limit := self.max_characters:
            yield lambda text: (too_many_characters(Path(), limit),) if len(text) > limit else NOTHING
        for test in self.formats:
            yield _format_test(test, release)
        if self.checked_by:
            yield _problem_test(self.checked_by, target)
        if one_of:
            yield lambda text: NOTHING if text in one_of else (not_supported(Path(), text, one_of, release),)


WIDEST: Final = 4
"""The most bytes of a character."""


def _length_test(limit: int, release: Release, *, in_bytes: bool) -> Callable[[str], Sequence[Problem]]:
    def test(text: str) -> Sequence[Problem]:
        if len(text) * WIDEST <= limit or len(text.encode("utf-8", "surrogatepass")) <= limit:
            return NOTHING
        return (too_long(Path(), limit, release, in_bytes=in_bytes),)

    return test


def _format_test(format_: Format, release: Release) -> Callable[[str], Sequence[Problem]]:
    rule = name_of(format_)

    def test(text: str) -> Sequence[Problem]:
        if not (details := format_(text, release)):
            return NOTHING
        return [invalid(Path(), text, detail).named(rule) for detail in details]

    return test


def _problem_test(
    checked_by: Callable[[str, Target], Iterable[Problem]], target: Target
) -> Callable[[str], Sequence[Problem]]:
    rule = name_of(checked_by)

    def test(text: str) -> Sequence[Problem]:
        if not (problems := checked_by(text, target)):
            return NOTHING
        return [problem if problem.rule else problem.named(rule) for problem in islice(problems, target.enough)]

    return test


class Int(Scalar):
    """A whole number.

    Args:
        minimum: The smallest value, and the API server's message otherwise.
        maximum: The largest value, likewise.
        **common: As for :class:`Scalar`.
    """

    python = int
    zero = 0
    fits_by_type = False

    def __init__(
        self,
        doc: str = "",
        *,
        go: str = "int64",
        minimum: tuple[int, str] | None = None,
        maximum: tuple[int, str] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(doc, go=go, **common)
        self.minimum, self.maximum = minimum, maximum

    @property
    def bits(self) -> int:
        """How many bits the Go type has."""
        return int(self.go.removeprefix("int"))

    def limits(self) -> list[str]:
        """Describe the declared limits of the number."""
        facts = [f"{self.minimum[0]} at least"] if self.minimum else []
        facts += [f"{self.maximum[0]} at most"] if self.maximum else []
        return facts + super().limits()

    def decoder(self, owner: str, go_type: str) -> Decode:
        """Make the JSON decoder's check of a non-null value."""
        top = 1 << (self.bits - 1)

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is int and -top <= value < top:
                return NOTHING
            return wrong_type(value, owner, go_type, _number(value))

        return decode

    def checker(self, target: Target) -> Check | None:
        """Make the check of one number."""
        if self.minimum is None and self.maximum is None:
            return super().checker(target)
        least, too_small = self.minimum or (-math.inf, "")
        most, too_great = self.maximum or (math.inf, "")
        needed, pointer, zero_is_missing = self.required, self.pointer, self.required and not self.pointer

        def check(value: int | None) -> Sequence[Problem]:
            if needed and (value is None or (zero_is_missing and not value)):
                return (required(Path()),)
            if value is None and pointer:
                return NOTHING
            number = value or 0
            if number < least:
                return (invalid(Path(), number, too_small).named("minimum"),)
            return (invalid(Path(), number, too_great).named("maximum"),) if number > most else NOTHING

        return check


def _number(value: object) -> str:
    """Describe a number that an integer type cannot hold, as Go's decoder does; empty for other values."""
    return f"number {value!r}" if type(value) in {int, float} else ""


class Bool(Scalar):
    """True or false."""

    python = bool
    zero = False

    def __init__(self, doc: str = "", **common: Any) -> None:
        super().__init__(doc, go="bool", **common)


class Parsed(Scalar):
    """A text that represents another value, such as a quantity or a time, and is compared by that value.

    Args:
        parse: Reads the submitted JSON value; raises ValueError with the API server's text, TypeError if the value
            should be a text.
        go: The Go type.
        rule: The rule of unparsable texts.
        write: Writes a value as the API server does; None if it writes the text as submitted.
        reads: The Go type that the type's own decoder reads, if the value is not a text.
        **common: As for :class:`Field`.
    """

    python = str
    zero = ""
    fits_by_type = False

    def __init__(
        self,
        parse: Callable[[Any], Any],
        doc: str = "",
        *,
        rule: str,
        write: Callable[[Any], str] | None = None,
        reads: str = "string",
        **common: Any,
    ) -> None:
        super().__init__(doc, **common)
        self.parse, self.rule, self.write, self.reads = parse, rule, write, reads

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        parse = self.parse

        def canonical(value: Any) -> Any:
            return None if value is None else parse(value)

        compiled = super().compile(target, owner, package)
        return compiled._replace(canonical=canonical, change=self._frozen(canonical))

    def decoder(self, owner: str, go_type: str) -> Decode:
        """Make the JSON decoder's check of a non-null value."""
        del go_type
        parse, rule, reads = self.parse, self.rule, self.reads

        def decode(value: object) -> Sequence[Misfit]:
            try:
                parse(value)
            except TypeError:
                got = "" if reads == "string" else _number(value)
                return tuple(each._replace(ends=True) for each in wrong_type(value, owner, reads, got))
            except ValueError as error:
                return unparsable(str(error), rule)
            return NOTHING

        return decode


class Anything(Field):
    """Any JSON value, such as a driver's own parameters.

    Args:
        shape: The field that describes it, where it is known but not judged.
        default: The default that the API server sets.
        **common: As for :class:`Field`.
    """

    is_object = False
    """Whether it must be an object."""

    def __init__(self, doc: str = "", *, shape: Field | None = None, default: Any = None, **common: Any) -> None:
        super().__init__(doc, **common)
        self.shape, self.default = shape, default

    def type_name(self, package: str) -> str:
        """Name Go's type for raw JSON."""
        del package
        return "runtime.RawExtension"

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile closures that find only the decoder's refusals, if the shape is known."""
        shape = self.shape if target.thorough else None
        return CompiledField(
            walk=decoding_later(partial(shape.compile, target.decoding, owner, package))
            if shape
            else lambda _: NOTHING,
            change=self._frozen(lambda value: value),
            canonical=lambda value: value,
            view=lambda value, _: value,
        )
