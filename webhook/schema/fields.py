"""The sorts of fields: texts, numbers, quantities, raw JSON, lists, maps and structs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import islice
from typing import Any, ClassVar, Final

from webhook.formats.quantities import near_quantity
from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import (
    DUPLICATE,
    IMMUTABLE_FIELD,
    TOO_LONG,
    TOO_MANY,
    WRITE_LIST,
    Advice,
    Fix,
    InYaml,
    Key,
    Path,
    Problem,
    clipped,
    duplicate,
    invalid,
    not_supported,
    null,
    of_own_type,
    required,
    too_long,
    too_many,
    too_many_characters,
)
from webhook.release import Release
from webhook.schema.compiled import CompiledField, CompiledStruct, View, compile_struct, walking_later
from webhook.schema.declarations import (
    EMPTY,
    IMMUTABLE,
    NOTHING,
    Change,
    Check,
    Decode,
    Default,
    Field,
    Format,
    Place,
    Struct,
    Walk,
    name_of,
)
from webhook.schema.decoding import (
    UNKNOWN_FIELD,
    Misfit,
    SchemaFinding,
    apart,
    refuses,
    under,
    unparsable,
    wrong_type,
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

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the value."""
        return super().limits() | ({} if self.default is None else {"default": f"default {self.default}"})

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

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the text."""
        found = Field.limits(self)
        if most := self.max_length or self.max_bytes:
            found["max-length"] = f"{most} bytes at most"
        found |= {name_of(test): name_of(test) for test in (*self.formats, self.checked_by) if test}
        if self.one_of:
            found["enum"] = f"one of {', '.join(map(str, self.one_of))}"
        return found | super().limits()

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

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the number."""
        found = {"minimum": f"{self.minimum[0]} at least"} if self.minimum else {}
        found |= {"maximum": f"{self.maximum[0]} at most"} if self.maximum else {}
        return found | super().limits()

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
            walk=walking_later(partial(shape.compile, target.decoding, owner, package)) if shape else lambda _: NOTHING,
            change=self._frozen(lambda value: value),
            canonical=lambda value: value,
            view=lambda value, _: value,
        )


# -- Lists and maps


DUPLICATE_AT_ITEM_SINCE = 35
"""From Kubernetes 1.35 a repeated item is reported at ``list[i]``, before at ``list[i].key``."""
SIZE_ENDS_LIST_SINCE = 35
"""From Kubernetes 1.35 the size error of a list is its only one."""
BAD_KEY_HAS_KEY = {31: False, 32: True, 36: False}
"""Whether an invalid key is reported at ``map[key]``, not at ``map``."""
LONG_KEY_CUT_SINCE = 32
"""From Kubernetes 1.32 a long key is shortened in paths."""


_EMPTY: Mapping[str, Any] = {}
_HALF = Pattern(r"[\udc80-\udcff]")
_OWN_REASONS = frozenset({TOO_LONG, TOO_MANY, DUPLICATE})


class Many(Field):
    """Values of one kind: a list or a map.

    Args:
        item: The field that each value is.
        max_items: The most values it may have.
        **common: As for :class:`Field`.
    """

    def __init__(
        self, item: Field, doc: str = "", *, max_items: int | Mapping[int, int] | None = None, **common: Any
    ) -> None:
        super().__init__(doc, **common)
        self.item, self.max_items = item, max_items

    @property
    def struct(self) -> type[Struct] | None:
        """The struct that it holds."""
        return self.item.struct

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the list or map."""
        return super().limits() | ({"max-items": f"{self.max_items} items at most"} if self.max_items else {})

    def limit(self, target: Target) -> int:
        """Return the most values it may have."""
        return (target.pick(self.max_items) if target.validates else None) or sys.maxsize


class Array(Many):
    """A list.

    Args:
        item: The field that each item is.
        unique: The item's field that may not repeat, or ``""`` where whole items may not.
        at_item: Whether a repeated key is reported at the item; if not, at its key, before the item's other findings.
            None if the place depends on the release, after the findings in all items.
        skips_repeated: Whether a repeated item is not checked any further.
        size_ends_list: Whether a list that is too long is not checked any further, in releases that stop there.
        required_detail: The API server's message for an empty list, if ``required``.
        list_type: How server-side apply merges it (``+listType``): ``atomic`` as a whole, ``set``, or ``map``.
        list_map_keys: The fields of an item by which a ``map`` is merged (``+listMapKey``).
        **common: As for :class:`Many`.
    """

    def __init__(
        self,
        item: Field,
        doc: str = "",
        *,
        unique: str | None = None,
        at_item: bool | None = None,
        skips_repeated: bool | Mapping[int, bool] = False,
        size_ends_list: bool = True,
        required_detail: str = "",
        list_type: str = "atomic",
        list_map_keys: Sequence[str] = (),
        **common: Any,
    ) -> None:
        super().__init__(item, doc, **common)
        self.list_type, self.list_map_keys = "map" if list_map_keys else list_type, list_map_keys
        self.unique, self.at_item, self.skips_repeated = unique, at_item, skips_repeated
        self.size_ends_list, self.required_detail = size_ends_list, required_detail

    def states(self, problem: Problem) -> bool:
        """Tell whether the list's own rules can find a problem: its size, repeated items."""
        return problem.reason in _OWN_REASONS

    def type_name(self, package: str) -> str:
        """Name the Go slice."""
        return f"[]{self.item.type_name(package)}"

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the list."""
        return super().limits() | ({} if self.unique is None else {"duplicate": f"unique {self.unique or 'items'}"})

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        item = self.item.stated(target).compile(target, owner, package)

        def canonical(value: Any) -> Any:
            return [item.canonical(each) for each in value] if value else None

        def view(value: Any, place: Place) -> Any:
            if item.seen_as_is and (not value or None not in value):
                return value or []
            return [item.view(each, (place, index)) for index, each in enumerate(value or ())]

        change = self._frozen(canonical) or self._changer(item)
        return CompiledField(self._walk(item, target, owner, package), change, canonical, view, struct=item.struct)

    def _walk(self, item: CompiledField, target: Target, owner: str, package: str) -> Walk:
        go_type, release, enough = self.type_name(package), target.release, target.enough
        walk_item = item.walk
        decode_item = walking_later(partial(self.item.compile, target.decoding, owner, package))
        validates = target.validates
        absent: Sequence[Problem] = (
            (required(Path(), self.required_detail),) if validates and self.required else NOTHING
        )
        empty = (invalid(Path(), [], self.empty).named(EMPTY),) if validates and self.empty else absent
        limit = self.limit(target)
        goes_on = target.declarative and not self.declarative
        size_ends_list, repeated = self.size_ends_list and release >= SIZE_ENDS_LIST_SINCE, self._repeated(target)

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not list:
                return absent if value is None else wrong_type(value, owner, go_type, advice=self._advice(value, item))
            if not value:
                return empty
            is_long = len(value) > limit
            found: list[SchemaFinding] = [too_many(Path(), len(value), limit, release)] if is_long else []
            ends, items = is_long and size_ends_list, enumerate(value)
            walk_each = (_walk_declarative(item) if goes_on else decode_item) if ends else walk_item
            for index, each in items:
                if findings := walk_each(each):
                    found += under(findings, index)
                    if len(found) >= enough:
                        found += _misfits(items, decode_item)
                        break
            return found if repeated is None or ends or len(value) == 1 else repeated(value, found)

        return walk

    def _advice(self, value: object, item: CompiledField) -> Advice | None:
        """Advise how a value becomes the list, if it cannot be an item itself; None if it can."""
        struct, hint = item.struct, WRITE_LIST
        if not isinstance(value, dict):
            return Advice(hint) if struct is not None and type(value) not in struct.type.shorthand else None
        if struct is None:
            return Advice(hint)
        if any(key in struct.wire for key in value):
            return None
        key = next(iter(self.list_map_keys), self.unique or "")
        is_by_key = bool(value) and all(each is None or isinstance(each, dict) for each in value.values())
        if not key or not is_by_key:
            return Advice(hint)
        return Advice(
            InYaml(
                f"write a list: `- {key}: …` in place of `…:`", f'write an array: [{{"{key}": …}}] in place of {{…: …}}'
            ),
            Fix("list", key),
        )

    def _repeated(self, target: Target) -> Callable[[list[Any], list[SchemaFinding]], list[SchemaFinding]] | None:
        """Make the closure that adds findings of repeated items to the findings so far."""
        if (unique := self.unique) is None or not target.validates:
            return None
        at_item = target.release >= DUPLICATE_AT_ITEM_SINCE if self.at_item is None else self.at_item
        shows_item, enough, skips = self.declarative, target.enough, target.pick(self.skips_repeated)

        def repeated(value: list[Any], found: list[SchemaFinding]) -> list[SchemaFinding]:
            if found and refuses(found):
                return found
            keys = [(each or _EMPTY).get(unique) or "" for each in value] if unique else [each or "" for each in value]
            if len(set(keys)) == len(keys):
                return found
            seen: set[Any] = set()
            others: dict[int, Problem] = {}
            for index, key in enumerate(keys):
                if key in seen:
                    path = Path((index,)) if at_item or not unique else Path((index, unique))
                    others[index] = duplicate(path, value[index] if shows_item else key)
                    if len(others) >= enough:
                        break
                seen.add(key)
            if self.at_item is False:
                return sorted([*others.values(), *found], key=lambda each: each.path[:1])
            if skips:
                found = [each for each in found if type(each) is Misfit or not each.path or each.path[0] not in others]
            return [*found, *others.values()]

        return repeated

    def _changer(self, item: CompiledField) -> Change | None:
        """Validate the parts that an update validates only if changed; items are matched by their key."""
        change_item, unique = item.change, self.unique
        if not unique or change_item is None or item.struct is None or not item.struct.rechecks:
            return None

        def change(new: Any, old: Any) -> Sequence[Problem]:
            before = {each.get(unique): each for each in reversed(old or ()) if each}
            found: list[Problem] = []
            for index, each in enumerate(new or ()):
                if problems := change_item(each, before.get((each or {}).get(unique))):
                    found += [problem.under(index) for problem in problems]
            return found

        return change


def _walk_declarative(item: CompiledField) -> Walk:
    """Return the walk for the items of a list that only the handwritten rules find too long."""
    walk_item, struct = item.walk, item.struct

    def walk(value: Any) -> Sequence[SchemaFinding]:
        found = walk_item(value)
        return [each for each in found if isinstance(each, Misfit) or (struct and struct.finds_declaratively(each))]

    return walk


def _misfits(items: Iterable[tuple[str | int, Any]], decode: Walk) -> Iterator[Misfit]:
    """Continue decoding after enough findings: dropped fields and refusals must still be known."""
    for step, value in items:
        misfits = [each for each in apart(decode(value))[0] if each.rule != UNKNOWN_FIELD]
        yield from (misfit.under(step if isinstance(step, int) else Key(step)) for misfit in misfits)
        if refuses(misfits):
            return


class Map(Many):
    """A map from strings to values of one kind.

    Args:
        item: The field that each value is.
        key: The field that each key is, if keys are checked.
        key_bytes: The bytes of a key that error paths show.
        key_go: The Go type of the keys.
        is_atomic: Whether server-side apply replaces it as a whole (``+mapType=atomic``).
        **common: As for :class:`Many`.
    """

    def __init__(
        self,
        item: Field,
        doc: str = "",
        *,
        key: Field | None = None,
        key_bytes: int = 0,
        key_go: str = "string",
        is_atomic: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(item, doc, **common)
        self.key, self.is_atomic, self.key_bytes, self.key_go = key, is_atomic, key_bytes, key_go

    def type_name(self, package: str) -> str:
        """Name the Go map."""
        key = f"{package}.{self.key_go}" if self.key_go[:1].isupper() else self.key_go
        return f"map[{key}]{self.item.type_name(package)}"

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        item = self.item.stated(target).compile(target, owner, package)

        def canonical(value: Any) -> Any:
            return {name: item.canonical(each) for name, each in value.items()} if value else None

        def view(value: Any, place: Place) -> Any:
            if item.seen_as_is and (not value or None not in value.values()):
                return value or {}
            return {name: item.view(each, (place, Key(name))) for name, each in (value or {}).items()}

        walk = self._walk(item, target, owner, package)
        return CompiledField(walk, self._frozen(canonical), canonical, view, struct=item.struct)

    def _walk(self, item: CompiledField, target: Target, owner: str, package: str) -> Walk:
        go_type, release, enough = self.type_name(package), target.release, target.enough
        walk_item = item.walk
        decode_item = walking_later(partial(self.item.compile, target.decoding, owner, package))
        limit = self.limit(target)
        absent = (required(Path()),) if self.required and target.validates else NOTHING
        walk_key = self.key.stated(target).compile(target, owner, package).walk if self.key else None
        key_bytes = self.key_bytes if release >= LONG_KEY_CUT_SINCE else 0
        at_key = target.pick(BAD_KEY_HAS_KEY)

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not dict:
                return absent if value is None else wrong_type(value, owner, go_type)
            if not value:
                return absent
            found: list[SchemaFinding] = []
            walk_name, walk_each, items = walk_key, walk_item, iter(value.items())
            if len(value) > limit:
                found.append(too_many(Path(), len(value), limit, release))
                walk_name, walk_each = None, decode_item
            for name, each in items:
                of_key = walk_name(name) if walk_name is not None else NOTHING
                of_item = walk_each(each)
                if of_key or of_item:
                    shown = (_cut(name, key_bytes),)
                    found += _below(of_key, name, shown if at_key else ())
                    found += _below(of_item, name, shown)
                    if len(found) >= enough:
                        found += _misfits(items, decode_item)
                        break
            return found

        return walk


def _below(findings: Iterable[SchemaFinding], key: str, shown: Sequence[str]) -> list[SchemaFinding]:
    steps = (Key(key),)  # which all findings share, as it may be long
    return [finding.below(steps, shown) for finding in findings]


def _cut(key: str, limit: int) -> Key:
    """Shorten a key in the middle, as ``truncateIfTooLong`` does."""
    text = key.encode("utf-8", "surrogatepass")
    if not limit or len(text) <= limit:
        return Key(key)
    left = limit - len("...")
    cut = text[: (left + 1) // 2] + b"..." + text[len(text) - left // 2 :]
    # Go replaces each byte of a character that was cut apart, Python all of them at once.
    return Key(_HALF.sub("\ufffd", cut.decode("utf-8", "surrogateescape")))


# -- Structs


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

    @property
    def struct(self) -> type[Struct]:
        """The struct that it holds."""
        return self.type

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
