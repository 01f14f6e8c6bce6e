"""The order of findings: those of some rules come among those in fields, as the API server finds them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from operator import itemgetter
from typing import Final

from webhook.problem import DUPLICATE, Key, Problem
from webhook.schema.fields import StructFields

Place = list[tuple[float, str]]

_LAST: Final = (inf, "")


def merged(
    found: Sequence[Problem], of_rules: Sequence[Problem], struct: StructFields, before: Mapping[str, str | None]
) -> list[Problem]:
    """Return the findings in a struct in the API server's order.

    Args:
        found: The findings in fields, in their order.
        of_rules: The findings of rules about several fields, in the order of the rules.
        before: Where the findings of each rule come, by its name; see :func:`webhook.schema.check`.
    """
    placed: list[tuple[Place, Problem]] = []
    last: list[Problem] = []
    for problem in of_rules:
        field = before.get(problem.rule)
        if field is None:
            last.append(problem)
        else:
            placed.append((_place(problem, struct, field), problem))
    placed.sort(key=itemgetter(0))
    return [*_inserted(placed, found, struct), *last]


def _inserted(
    placed: Iterable[tuple[Place, Problem]], found: Iterable[Problem], struct: StructFields
) -> Iterator[Problem]:
    """Yield each placed finding before the first one in a later place; found ones keep their order, the walk's."""
    waiting = deque(placed)
    for each in found:
        if waiting:
            place = _place(each, struct)
            while waiting and waiting[0][0] < place:
                yield waiting.popleft()[1]
        yield each
    for _, problem in waiting:
        yield problem


def as_declared(problem: Problem, struct: StructFields | None) -> Place:
    """Return the sort key of a declarative finding: a struct or list before its parts, what repeats before items."""
    path = problem.path
    items = [index for index, step in enumerate(path) if isinstance(step, int)]
    place: Place = []
    for step in path[: items[-1]] if items and problem.reason == DUPLICATE else path:
        if isinstance(step, int | Key):
            place.append((step, "") if isinstance(step, int) else (0, step))
            continue
        place.append((_position(struct, step), ""))
        field = struct.wire.get(step) if struct else None
        struct = field.struct if field else None
    return place


def _place(problem: Problem, struct: StructFields | None, before: str | None = None) -> Place:
    """Return the sort key of a finding: as declared, a struct or list after its parts, what repeats after all items.

    Without ``before``, the finding comes where its rule says, in the struct that has the rule.
    """
    path = problem.path
    items = [index for index, step in enumerate(path) if isinstance(step, int)]
    is_repeated = bool(items) and problem.reason == DUPLICATE
    place: Place = []
    anchored: Place = []
    for step in path[: items[-1]] if is_repeated else path:
        if isinstance(step, int | Key):
            place.append((step, "") if isinstance(step, int) else (0, step))
            continue
        anchored = _anchored(place, struct, _stated(problem, struct, before)) or anchored
        place.append((_position(struct, step), ""))
        field = struct.wire.get(step) if struct else None
        struct = field.struct if field else None
    if is_repeated:
        return [*place, _LAST]
    return _anchored(place, struct, _stated(problem, struct, before)) or anchored or [*place, _LAST]


def _stated(problem: Problem, struct: StructFields | None, before: str | None) -> str | None:
    return struct.before.get(problem.rule) if before is None and struct else before


def _anchored(place: Place, struct: StructFields | None, before: str | None) -> Place:
    """Return the sort key of what comes before a field of a struct, or of its box; empty if it has no such field."""
    if not before or not struct:
        return []
    if before in struct.positions:
        return [*place, (_position(struct, before) - 0.5, "")]
    box = struct.wire.get(struct.type.box)
    return _anchored([*place, (_position(struct, struct.type.box), "")], box.struct, before) if box else []


def _position(struct: StructFields | None, name: str) -> float:
    return struct.positions.get(name, inf) if struct else inf
