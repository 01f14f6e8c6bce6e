"""Fields that hold many values: lists and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.problem import Key, Path, Problem, duplicate, required, too_many
from webhook.schema.decoding import Misfit, wrong_type
from webhook.schema.fields import NO_PROBLEMS, Compiled, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.schema.fields import Check
    from webhook.schema.target import Target


DUPLICATES_PATH_IS_ITEM = 35
"""From Kubernetes 1.35 a repeated item is reported at ``list[i]``, before at ``list[i].key``."""
SIZE_ENDS_LIST = 35
"""From Kubernetes 1.35 the size error of a list is its only one."""


class Array(Field):
    """A list.

    Args:
        item: The field that each item is.
        max_items: The most items it may have.
        unique: The item's field that may not repeat, or ``""`` where whole items may not.
        at_item: Whether a repeated key is reported at the item, not at its key.
        skips_repeated: Whether a repeated item is not checked any further.
        required_detail: What the API server says of an empty list, if ``required``.
        **common: As for :class:`Field`.
    """

    def __init__(
        self,
        item: Field,
        doc: str = "",
        *,
        max_items: int | None = None,
        unique: str | None = None,
        at_item: bool = False,
        skips_repeated: bool = False,
        required_detail: str = "",
        **common: Any,
    ) -> None:
        super().__init__(doc, **common)
        self.item, self.max_items, self.unique, self.at_item = item, max_items, unique, at_item
        self.skips_repeated, self.required_detail = skips_repeated, required_detail

    def type_name(self, package: str) -> str:
        """Name the Go slice."""
        return f"[]{self.item.type_name(package)}"

    def limits(self) -> list[str]:
        """Say what is declared about the list."""
        facts = super().limits()
        facts += [f"{self.max_items} items at most"] if self.max_items else []
        return facts + ([f"unique {self.unique or 'items'}"] if self.unique is not None else [])

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        item, go_type = self.item.compile(target, owner, package), self.type_name(package)
        decode_item, plain = item.decode, item.plain

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is not list:
                return wrong_type(value, owner, go_type)
            found: list[Misfit] = []
            for index, each in enumerate(value):
                if type(each) is not plain and each is not None and (misfits := decode_item(each)):
                    found += [misfit.under(index) for misfit in misfits]
            return found

        def canonical(value: Any) -> Any:
            return [item.canonical(each) for each in value] if value else None

        def view(value: Any, path: Path) -> Any:
            return [item.view(each, path / index) for index, each in enumerate(value or ())]

        return Compiled(decode, self._checker(target, item.check), self._frozen(canonical), canonical, view)

    def _checker(self, target: Target, check_item: Check | None) -> Check | None:
        if check_item is None and self.max_items is None and self.unique is None and not self.required:
            return None
        release, limit, unique = target.release, self.max_items, self.unique
        at_item = self.at_item or release >= DUPLICATES_PATH_IS_ITEM
        needed, detail, skips = self.required, self.required_detail, self.skips_repeated

        def check(value: list[Any] | None) -> Sequence[Problem]:
            if not value:
                return (required(Path(), detail),) if needed else NO_PROBLEMS
            found: list[Problem] = []
            if limit is not None and len(value) > limit:
                found.append(too_many(Path(), len(value), limit, release))
                if release >= SIZE_ENDS_LIST:
                    return found
            repeated = _repeated(value, unique, at_item=at_item) if unique is not None else {}
            if check_item is not None:
                for index, each in enumerate(value):
                    if (problems := check_item(each)) and not (skips and index in repeated):
                        found += [problem.under(index) for problem in problems]
            found += repeated.values()
            return found

        return check


def _repeated(value: list[Any], unique: str, *, at_item: bool) -> dict[int, Problem]:
    """Find the items whose key repeats an earlier one's."""
    seen: set[Any] = set()
    repeated = {}
    for index, each in enumerate(value):
        key = (each or {}).get(unique) or "" if unique else each or ""
        if key in seen:
            path = Path() / index
            repeated[index] = duplicate(path if at_item or not unique else path / unique, key)
        seen.add(key)
    return repeated


class Map(Field):
    """A map from strings to values of one kind.

    Args:
        item: The field that each value is.
        **common: As for :class:`Field`.
    """

    def __init__(self, item: Field, doc: str = "", **common: Any) -> None:
        super().__init__(doc, **common)
        self.item = item

    def type_name(self, package: str) -> str:
        """Name the Go map."""
        return f"map[string]{self.item.type_name(package)}"

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        item, go_type = self.item.compile(target, owner, package), self.type_name(package)
        decode_item, plain, check_item = item.decode, item.plain, item.check

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is not dict:
                return wrong_type(value, owner, go_type)
            found: list[Misfit] = []
            for key, each in value.items():
                if type(each) is not plain and each is not None and (misfits := decode_item(each)):
                    found += [misfit.under(Key(key)) for misfit in misfits]
            return found

        def check(value: dict[str, Any] | None) -> Sequence[Problem]:
            found: list[Problem] = []
            for key, each in (value or {}).items():
                if check_item is not None and (problems := check_item(each)):
                    found += [problem.under(Key(key)) for problem in problems]
            return found

        def canonical(value: Any) -> Any:
            return {key: item.canonical(each) for key, each in value.items()} if value else None

        def view(value: Any, _: Path) -> Any:
            return value or {}

        return Compiled(decode, check if check_item else None, self._frozen(canonical), canonical, view)
