"""Fields that hold many values: lists and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.problem import Key, Path, Problem, duplicate, invalid, required, too_many
from webhook.schema.decoding import Misfit, not_enough, refuses, wrong_type
from webhook.schema.fields import EMPTY, NO_PROBLEMS, Compiled, Field, most
from webhook.schema.fine import fine_of

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from webhook.schema.fields import Change, Check, Fine
    from webhook.schema.target import Target
    from webhook.schema.view import Place


DUPLICATES_PATH_IS_ITEM = 35
"""From Kubernetes 1.35 a repeated item is reported at ``list[i]``, before at ``list[i].key``."""
SIZE_ENDS_LIST = 35
"""From Kubernetes 1.35 the size error of a list is its only one."""
BAD_KEY_HAS_KEY = {31: False, 32: True, 36: False}
"""Whether a key that is wrong is reported at ``map[key]``, not at ``map``."""
LONG_KEY_IS_CUT = 32
"""From Kubernetes 1.32 a long key is shortened in paths."""


class Array(Field):
    """A list.

    Args:
        item: The field that each item is.
        max_items: The most items it may have.
        unique: The item's field that may not repeat, or ``""`` where whole items may not.
        at_item: Whether a repeated key is reported at the item, not at its key; None if that depends on the release.
        skips_repeated: Whether a repeated item is not checked any further.
        size_ends_list: Whether a list that is too long is not checked any further, in releases that do that.
        required_detail: What the API server says of an empty list, if ``required``.
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

    def type_name(self, package: str) -> str:
        """Name the Go slice."""
        return f"[]{self.item.type_name(package)}"

    def limits(self) -> list[str]:
        """Say what is declared about the list."""
        facts = super().limits() + most(self.max_items, "items")
        return facts + ([f"unique {self.unique or 'items'}"] if self.unique is not None else [])

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        item, go_type = self.item.compile(target, owner, package), self.type_name(package)
        decode_item, plain, as_is, enough = item.decode, item.plain, _seen_as_is(item), target.enough

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is not list:
                return wrong_type(value, owner, go_type)
            found: list[Misfit] = []
            for index, each in enumerate(value):
                if type(each) is not plain and each is not None and (misfits := decode_item(each)):
                    if len(found) >= enough:
                        misfits = not_enough(misfits)
                    found += [misfit.under(index) for misfit in misfits]
                    if len(found) > enough and refuses(misfits):
                        break
            return found

        def canonical(value: Any) -> Any:
            return [item.canonical(each) for each in value] if value else None

        def view(value: Any, place: Place) -> Any:
            if as_is and (not value or None not in value):
                return value or []
            return [item.view(each, (place, index)) for index, each in enumerate(value or ())]

        change, check = self._frozen(canonical) or self._changer(item), self._checker(target, item.check)
        fine = self._tester(target, item, check)
        return Compiled(decode, check, change, canonical, view, struct=item.struct, fine=fine)

    def _tester(self, target: Target, item: Compiled, check: Check | None) -> Fine:
        limit, unique = target.pick(self.max_items), self.unique
        item_type, item_fine = item.plain if item.check is None else None, fine_of(item)

        def fine(value: object) -> bool:
            if type(value) is not list:
                return False
            if not value:
                return check is None or not check(value)
            if limit is not None and len(value) > limit:
                return False
            for each in value:
                if type(each) is not item_type and (each is None or not item_fine(each)):
                    return False
            if unique is None or len(value) == 1:
                return True
            keys = {each.get(unique) or "" for each in value} if unique else set(value)
            return len(keys) == len(value)

        return fine

    def _checker(self, target: Target, check_item: Check | None) -> Check | None:
        release, limit, unique = target.release, target.pick(self.max_items), self.unique
        if check_item is None and limit is None and unique is None and not self.required and not self.empty:
            return None
        at_item = release >= DUPLICATES_PATH_IS_ITEM if self.at_item is None else self.at_item
        needed, detail, empty = self.required, self.required_detail, self.empty
        skips, shows_item = target.pick(self.skips_repeated), self.declarative
        size_ends_list, enough = self.size_ends_list and release >= SIZE_ENDS_LIST, target.enough

        def check(value: list[Any] | None) -> Sequence[Problem]:
            if not value:
                if empty and value is not None:
                    return (invalid(Path(), value, empty).named(EMPTY),)
                return (required(Path(), detail),) if needed else NO_PROBLEMS
            found: list[Problem] = []
            if limit is not None and len(value) > limit:
                found.append(too_many(Path(), len(value), limit, release))
                if size_ends_list:
                    return found
            repeated = {}
            if unique is not None:
                repeated = _repeated(value, unique, at_item=at_item, shows_item=shows_item, enough=enough)
            if check_item is not None:
                found += _of_items(value, check_item, repeated if skips else (), enough)
            found += repeated.values()
            return found

        return check

    def _changer(self, item: Compiled) -> Change | None:
        """Validate what an update validates only if it has changed; items are matched by their key."""
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


def _seen_as_is(item: Compiled) -> bool:
    """Tell whether rules see the values of a list or map, nulls aside, as they were submitted."""
    return item.plain is not None and item.view(item.plain(), ()) == item.plain()


def _of_items(value: list[Any], check_item: Check, skipped: Container[int], enough: int) -> list[Problem]:
    """Find what is wrong with the items of a list, until that is enough."""
    found: list[Problem] = []
    for index, each in enumerate(value):
        if (problems := check_item(each)) and index not in skipped:
            found += [problem.under(index) for problem in problems]
            if len(found) >= enough:
                break
    return found


def _repeated(value: list[Any], unique: str, *, at_item: bool, shows_item: bool, enough: int) -> dict[int, Problem]:
    """Find the items whose key repeats an earlier one's."""
    seen: set[Any] = set()
    repeated = {}
    for index, each in enumerate(value):
        key = (each or {}).get(unique) or "" if unique else each or ""
        if key in seen:
            path = Path() / index
            repeated[index] = duplicate(path if at_item or not unique else path / unique, each if shows_item else key)
            if len(repeated) >= enough:
                break
        seen.add(key)
    return repeated


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
        """Say what is declared about the map."""
        return super().limits() + most(self.max_items, "items")

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        item, go_type = self.item.compile(target, owner, package), self.type_name(package)
        key = self.key.compile(target, owner, package) if self.key else None
        decode_item, plain, as_is, enough = item.decode, item.plain, _seen_as_is(item), target.enough

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is not dict:
                return wrong_type(value, owner, go_type)
            found: list[Misfit] = []
            for name, each in value.items():
                if type(each) is not plain and each is not None and (misfits := decode_item(each)):
                    if len(found) >= enough:
                        misfits = not_enough(misfits)
                    found += [misfit.under(Key(name)) for misfit in misfits]
                    if len(found) > enough and refuses(misfits):
                        break
            return found

        def canonical(value: Any) -> Any:
            return {name: item.canonical(each) for name, each in value.items()} if value else None

        def view(value: Any, place: Place) -> Any:
            if as_is and (not value or None not in value.values()):
                return value or {}
            return {name: item.view(each, (place, Key(name))) for name, each in (value or {}).items()}

        check_key = key.check if key else None
        check = self._checker(target, item.check, check_key)
        fine = self._tester(target, item, key, check)
        return Compiled(decode, check, self._frozen(canonical), canonical, view, struct=item.struct, fine=fine)

    def _tester(self, target: Target, item: Compiled, key: Compiled | None, check: Check | None) -> Fine:
        limit, key_fine = target.pick(self.max_items), fine_of(key) if key else None
        item_type, item_fine = item.plain if item.check is None else None, fine_of(item)

        def fine(value: object) -> bool:
            if type(value) is not dict:
                return False
            if not value:
                return check is None or not check(value)
            if limit is not None and len(value) > limit:
                return False
            for name, each in value.items():
                if key_fine is not None and not key_fine(name):
                    return False
                if type(each) is not item_type and (each is None or not item_fine(each)):
                    return False
            return True

        return fine

    def _checker(self, target: Target, check_item: Check | None, check_key: Check | None) -> Check | None:
        limit, needed, release = target.pick(self.max_items), self.required, target.release
        if check_item is None and check_key is None and limit is None and not needed:
            return None
        key_bytes = self.key_bytes if release >= LONG_KEY_IS_CUT else 0
        at_key, enough = target.pick(BAD_KEY_HAS_KEY), target.enough

        def check(value: dict[str, Any] | None) -> Sequence[Problem]:
            if not value:
                return (required(Path()),) if needed else NO_PROBLEMS
            if limit is not None and len(value) > limit:
                return (too_many(Path(), len(value), limit, release),)
            found: list[Problem] = []
            for name, each in value.items():
                if len(found) >= enough:
                    break
                if check_key is not None and (problems := check_key(name)):
                    shown = (_cut(name, key_bytes),) if at_key else ()
                    found += [problem.below((Key(name),), shown) for problem in problems]
                if check_item is not None and (problems := check_item(each)):
                    shown = (_cut(name, key_bytes),)
                    found += [problem.below((Key(name),), shown) for problem in problems]
            return found

        return check


def _cut(key: str, limit: int) -> Key:
    """Shorten a key in the middle, as ``truncateIfTooLong`` does."""
    text = key.encode("utf-8", "surrogatepass")
    if not limit or len(text) <= limit:
        return Key(key)
    left = limit - len("...")
    cut = text[: (left + 1) // 2] + b"..." + text[len(text) - left // 2 :]
    return Key(cut.decode("utf-8", "replace"))
