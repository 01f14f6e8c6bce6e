"""List and map fields."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from webhook.patterns import Pattern
from webhook.problem import (
    DUPLICATE,
    TOO_LONG,
    TOO_MANY,
    WRITE_LIST,
    Advice,
    Fix,
    InYaml,
    Key,
    Path,
    Problem,
    duplicate,
    invalid,
    required,
    too_many,
)
from webhook.schema.compiled import CompiledField
from webhook.schema.decoding import UNKNOWN_FIELD, Misfit, SchemaFinding, apart, refuses, under, wrong_type
from webhook.schema.fields import EMPTY, NOTHING, Change, Field, Place, Walk, most
from webhook.schema.target import Target

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


class Array(Field):
    """A list.

    Args:
        item: The field that each item is.
        max_items: The most items it may have.
        unique: The item's field that may not repeat, or ``""`` where whole items may not.
        at_item: Whether a repeated key is reported at the item; if not, at its key, before the item's other findings.
            None if the place depends on the release, after the findings in all items.
        skips_repeated: Whether a repeated item is not checked any further.
        size_ends_list: Whether a list that is too long is not checked any further, in releases that stop there.
        required_detail: The API server's message for an empty list, if ``required``.
        list_type: How server-side apply merges it (``+listType``): ``atomic`` as a whole, ``set``, or ``map``.
        list_map_keys: The fields of an item by which a ``map`` is merged (``+listMapKey``).
        **common: As for :class:`Field`.
    """

    def __init__(
        self,
        item: Field,
        doc: str = "",
        *,
        max_items: int | Mapping[int, int] | None = None,
        unique: str | None = None,
        at_item: bool | None = None,
        skips_repeated: bool | Mapping[int, bool] = False,
        size_ends_list: bool = True,
        required_detail: str = "",
        list_type: str = "atomic",
        list_map_keys: Sequence[str] = (),
        **common: Any,
    ) -> None:
        super().__init__(doc, **common)
        self.list_type, self.list_map_keys = "map" if list_map_keys else list_type, list_map_keys
        self.item, self.max_items, self.unique, self.at_item = item, max_items, unique, at_item
        self.skips_repeated, self.size_ends_list, self.required_detail = skips_repeated, size_ends_list, required_detail

    def states(self, problem: Problem) -> bool:
        """Tell whether the list's own rules can find a problem: its size, repeated items."""
        return problem.reason in _OWN_REASONS

    def type_name(self, package: str) -> str:
        """Name the Go slice."""
        return f"[]{self.item.type_name(package)}"

    def limits(self) -> list[str]:
        """Describe the declared limits of the list."""
        facts = super().limits() + most(self.max_items, "items")
        return facts + ([f"unique {self.unique or 'items'}"] if self.unique is not None else [])

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
        walk_item, decode_item = item.walk, decoding(self.item, target, owner, package)
        validates = target.validates
        absent: Sequence[Problem] = (
            (required(Path(), self.required_detail),) if validates and self.required else NOTHING
        )
        empty = (invalid(Path(), [], self.empty).named(EMPTY),) if validates and self.empty else absent
        limit = (target.pick(self.max_items) if target.validates else None) or sys.maxsize
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
            walk_each = (_walk_declarative(item) if goes_on else decode_item()) if ends else walk_item
            for index, each in items:
                if findings := walk_each(each):
                    found += under(findings, index)
                    if len(found) >= enough:
                        found += _misfits(items, decode_item())
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


def decoding(item: Field, target: Target, owner: str, package: str) -> Callable[[], Walk]:
    """Return the factory of the walk that only decodes an item; few values need it."""
    return lambda: item.compile(target.decoding, owner, package).walk


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


class Map(Field):
    """A map from strings to values of one kind.

    Args:
        item: The field that each value is.
        key: The field that each key is, if keys are checked.
        key_bytes: The bytes of a key that error paths show.
        key_go: The Go type of the keys.
        max_items: The most entries it may have.
        is_atomic: Whether server-side apply replaces it as a whole (``+mapType=atomic``).
        **common: As for :class:`Field`.
    """

    def __init__(
        self,
        item: Field,
        doc: str = "",
        *,
        key: Field | None = None,
        key_bytes: int = 0,
        key_go: str = "string",
        max_items: int | Mapping[int, int] | None = None,
        is_atomic: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(doc, **common)
        self.item, self.key, self.max_items, self.is_atomic = item, key, max_items, is_atomic
        self.key_bytes, self.key_go = key_bytes, key_go

    def type_name(self, package: str) -> str:
        """Name the Go map."""
        key = f"{package}.{self.key_go}" if self.key_go[:1].isupper() else self.key_go
        return f"map[{key}]{self.item.type_name(package)}"

    def limits(self) -> list[str]:
        """Describe the declared limits of the map."""
        return super().limits() + most(self.max_items, "items")

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
        walk_item, decode_item = item.walk, decoding(self.item, target, owner, package)
        limit = target.pick(self.max_items) if target.validates else None
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
            if limit is not None and len(value) > limit:
                found.append(too_many(Path(), len(value), limit, release))
                walk_name, walk_each = None, decode_item()
            for name, each in items:
                of_key = walk_name(name) if walk_name is not None else NOTHING
                of_item = walk_each(each)
                if of_key or of_item:
                    shown = (_cut(name, key_bytes),)
                    found += _below(of_key, name, shown if at_key else ())
                    found += _below(of_item, name, shown)
                    if len(found) >= enough:
                        found += _misfits(items, decode_item())
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
