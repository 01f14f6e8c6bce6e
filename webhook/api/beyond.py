"""Validates objects that cannot be decoded, so that all findings are reported in one run.

The API server stops at the first part that it cannot decode. Here the object is corrected first, as far as the hints
are unambiguous: a quoted number becomes a number, a misspelt field the intended one. A part that cannot be corrected
silences only the rules that may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from webhook.formats.quantities import near_quantity
from webhook.problem import ONCE_DECODED, Fix, Path, Problem, value_at
from webhook.schema.decoding import GATE_OFF, UNKNOWN_FIELD, Misfit
from webhook.schema.fields import CompiledStruct, examined
from webhook.schema.suggest import misspelt, opaque_part, suggestion

Judged = Callable[[dict[str, Any], Sequence[Misfit], Sequence[Problem]], Sequence[Problem]]

MOST: Final = 100
"""The most misfits to correct."""


def beyond(
    struct: CompiledStruct, obj: dict[str, Any], old: Any, misfits: Sequence[Misfit], judged: Judged
) -> Iterator[Problem]:
    """Yield the findings of validation in a corrected object.

    Args:
        struct: Its type.
        old: The stored object, for an update.
        misfits: The parts that cannot be decoded.
        judged: The function that judges a decodable object.
    """
    undecodable = [each for each in misfits if each.rule != GATE_OFF][:MOST]
    obj, misfits, problems, as_written, doubtful = _corrected(struct, obj, old, undecodable)
    rest = [misfit for misfit in misfits if misfit.rule != GATE_OFF]
    if not rest:
        problems = judged(obj, misfits, problems)
    elif old is not None:
        return
    around = doubtful | {Path(misfit.path[:-1]) for misfit in rest}
    for problem in problems:
        there = _there(obj, problem.path)
        # A field that seems to be missing may be one that could not be corrected.
        if problem.path not in around and (there == problem.path or there not in around):
            written = _written(problem.path, as_written)
            spelled = problem.path if problem.spelled is None else problem.spelled
            told = problem._replace(path=written, spelled=None if spelled == written else spelled, is_later=True)
            yield told if told.hint else told._replace(hint=ONCE_DECODED)


def _corrected(
    struct: CompiledStruct, obj: dict[str, Any], old: Any, misfits: Sequence[Misfit]
) -> tuple[dict[str, Any], Sequence[Misfit], Sequence[Problem], dict[Path, Path], set[Path]]:
    """Return a corrected object, the misfits that remain, and the findings of its validation.

    With them come the fields as written, by the paths of the intended ones, and the paths of missing fields that may
    have been misspelt.
    """
    obj = deepcopy(obj)
    written, doubtful = dict[Path, Path](), set[Path]()
    for misfit in reversed(misfits):  # findings further down have the submitted paths
        around, name = value_at(obj, misfit.path[:-1]), misfit.path[-1]
        if misfit.rule != UNKNOWN_FIELD:
            value = around[name]
            quantity = _quantity(misfit, value)
            if quantity or isinstance(value, bool):  # yes and no may have been meant, or on and off
                doubtful.add(misfit.path)
            around[name], steps = (quantity, ()) if quantity else _converted(value, misfit.problem().fix)
            written[Path((*misfit.path, *steps))] = misfit.path
            continue
        value = around.pop(name)
        name_meant = misspelt(struct, misfit.path)
        if name_meant and name_meant not in around:
            around[name_meant] = value
            written[Path((*misfit.path[:-1], name_meant))] = misfit.path
        elif place := _nested(struct, misfit.path, obj, around, value):
            written[place] = misfit.path
        elif opaque_part(struct, misfit.path) is None:
            doubtful.add(Path(misfit.path[:-1]))
    decoder = struct if old is None else struct.decoding  # an update is validated once it is prepared
    found, problems = examined(decoder, obj)
    doubtful |= {Path(misfit.path[:-1]) for misfit in found if misfit.rule == UNKNOWN_FIELD}
    parts = {part for misfit in found if (part := _left_out(struct, misfit))}
    for part in parts:  # an update leaves it as it was
        around, name = value_at(obj, part[:-1]), part[-1]
        stored = value_at(old, part[:-1]) if old is not None else None
        if isinstance(stored, dict) and name in stored:
            around[name] = stored[name]
        else:
            around.pop(name, None)
    if parts:
        found, problems = examined(decoder, obj)
    return obj, found, problems, written, doubtful


def _left_out(struct: CompiledStruct, misfit: Misfit) -> Path | None:
    """Return the part that no rule reads: one that is not judged, or an unknown field below a corrected name."""
    part = opaque_part(struct, misfit.path)
    return misfit.path if part is None and misfit.rule == UNKNOWN_FIELD else part


def _nested(struct: CompiledStruct, path: Path, obj: object, around: dict[str, Any], value: Any) -> Path | None:
    """Move a field into the map beside it where it belongs; return its place, or None if there is none."""
    fix = suggestion(struct, path, obj).fix
    if fix is None or fix.change != "nest":
        return None
    within, name = str(fix.value), path[-1]
    inner = around.get(within)
    if inner is None:
        inner = around[within] = {}
    if not isinstance(inner, dict) or name in inner:
        return None
    inner[name] = value
    return Path((*path[:-1], within, name))


def _quantity(misfit: Misfit, value: Any) -> str:
    """Return the quantity that is meant by a value; empty if that is unclear."""
    if misfit.rule != "quantity" or not isinstance(value, str):
        return ""
    meant, is_certain = near_quantity(value, str(misfit.path[-1]))
    return meant if is_certain else ""


def _converted(value: Any, fix: Fix | None) -> tuple[Any, tuple[str | int, ...]]:
    """Return a value of the probably intended type, and the steps in it to the written one; the same if unclear."""
    if fix and fix.change == "quote":
        return str(value).lower() if isinstance(value, bool) else str(value), ()
    if fix and fix.change == "wrap":
        return ({fix.value: value}, (str(fix.value),)) if fix.value else ([value], (0,))
    return fix.value if fix and fix.change == "replace" else value, ()


def _written(path: Path, written: dict[Path, Path]) -> Path:
    for length in range(len(path), 0, -1):
        if (head := Path(path[:length])) in written:
            return Path((*written[head], *path[length:]))
    return path


def _there(value: Any, path: Sequence[str | int]) -> Path:
    """Return the part of a path that exists in a value."""
    for index, step in enumerate(path):
        try:
            value = value[step]
        except (LookupError, TypeError):
            return Path(path[:index])
    return Path(path)
