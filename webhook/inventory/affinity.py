"""The required node affinity of a pod, and why no node can meet it.

Follows component-helpers ``scheduling/corev1/nodeaffinity/nodeaffinity.go`` and apimachinery ``labels.NewRequirement``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from webhook.budget import work
from webhook.engine.prescheduled import REQUIRED
from webhook.objects import JSONObject, mapping, text, texts
from webhook.problem import cut
from webhook.records import NamedTuple

_INT: Final = re.compile(r"[-+]?[0-9]{1,80}").fullmatch
_LARGEST: Final = (1 << 63) - 1
_LONGEST: Final = 63
"""The most characters of a label's value."""
_LONGEST_KEY: Final = 317
"""The most characters of a label's key: a prefix of 253, a slash and a name of 63."""
_SHOWN: Final = 4
"""The most values, and requirements, that are named."""
_COMPARED: Final = 16
"""The most requirements among which the contradicted one is sought."""
_NUMBERS: Final = frozenset({"Gt", "Lt"})
_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist", *_NUMBERS})
_TERMS: Final = "nodeSelectorTerms"
_FIELDS: Final = ("matchExpressions", "matchFields")


class Unmatched(NamedTuple):
    """Why no node can meet a term.

    Args:
        path: The requirement that no node can meet, or the empty term.
        contradicts: Whether the requirement could be met without others.
    """

    path: tuple[str | int, ...]
    reason: str
    contradicts: bool = False


class _Requirement(NamedTuple):
    path: tuple[str | int, ...]
    operator: str
    values: frozenset[str]
    shown: str


def as_int64(value: str) -> int | None:
    """Read a value as Go's ``strconv.ParseInt`` does; None if it is not an int64."""
    number = int(value) if _INT(value) else None
    return number if number is not None and -_LARGEST - 1 <= number <= _LARGEST else None


def unmatched(spec: JSONObject) -> list[Unmatched]:
    """Explain why no node can meet the required node affinity and the nodeSelector of a pod's spec.

    Args:
        spec: The spec, of any shape.

    Returns:
        A reason for each term; nothing if a node with some labels could meet one.
    """
    found = []
    for index, term in _numbered(mapping(spec, *REQUIRED), _TERMS):
        reason = _of_term(term, (*REQUIRED, _TERMS, index), spec)
        if reason is None:
            return []
        found.append(reason)
    return found


def _numbered(holder: JSONObject, field: str) -> Iterator[tuple[int, JSONObject]]:
    """Yield the items of a list and their indices; an item of another type counts as empty."""
    found = holder.get(field)
    for index, each in enumerate(found if isinstance(found, list) else ()):
        yield index, each if isinstance(each, dict) else {}


def _of_term(term: JSONObject, path: tuple[str | int, ...], spec: JSONObject) -> Unmatched | None:
    if not any(term.get(field) for field in _FIELDS):
        return Unmatched(path, "an empty term matches no node")
    for field in _FIELDS:
        labels = mapping(spec, "nodeSelector") if field == _FIELDS[0] else {}
        by_key: dict[str, list[_Requirement]] = {}
        for index, each in _numbered(term, field):
            if requirement := _read(each, (*path, field, index)):
                by_key.setdefault(text(each, "key"), []).append(requirement)
        for key, requirements in by_key.items():
            if isinstance(value := labels.get(key), str):
                selected = _Requirement((), "In", frozenset((value,)), f"nodeSelector {_cut(key)}: {_cut(value)}")
                requirements.insert(0, selected)
            if not _is_possible(requirements):
                return _contradiction(requirements)
    return None


def _read(requirement: JSONObject, path: tuple[str | int, ...]) -> _Requirement | None:
    """Read a requirement; None if the API server refuses it."""
    operator, values = text(requirement, "operator"), texts(requirement, "values")
    work(1 + len(values))
    takes_values = operator not in {"Exists", "DoesNotExist"}
    if operator not in _OPERATORS or takes_values != bool(values) or (operator in _NUMBERS and len(values) > 1):
        return None
    more = ", …" if len(values) > _SHOWN else ""
    named = ", ".join(_cut(each) for each in values[:_SHOWN])
    shown = f"{_cut(text(requirement, 'key'))} {operator} {named}{more}".rstrip()
    return _Requirement(path, operator, frozenset(values), shown)


def _cut(name: str) -> str:
    """Shorten a key or value: findings repeat several, of any length."""
    return cut(name, _LONGEST_KEY)


def _is_possible(requirements: Sequence[_Requirement]) -> bool:
    """Tell whether a label, or its absence, can meet all requirements of a key."""
    values: dict[str, list[frozenset[str]]] = {}
    for each in requirements:
        values.setdefault(each.operator, []).append(each.values)
    if "DoesNotExist" in values:
        return values.keys() <= {"DoesNotExist", "NotIn"}
    low, high = -1, _LARGEST + 1  # labels have no signs
    for each in requirements:
        if each.operator in _NUMBERS:
            if (bound := as_int64(*each.values)) is None:
                return False
            low, high = (max(low, bound), high) if each.operator == "Gt" else (low, min(high, bound))
    excluded = frozenset[str]().union(*values.get("NotIn", ()))
    compares = bool(_NUMBERS & values.keys())
    if "In" in values:
        possible = frozenset.intersection(*values["In"]) - excluded
        numbers = (as_int64(each) for each in possible)
        return any(number is not None and low < number < high for number in numbers) if compares else bool(possible)
    least = str(low + 1)
    # NotIn compares texts, and leading zeros make other texts of the same number.
    texts_of_least = (least.zfill(width) for width in range(len(least), _LONGEST + 1))
    return not compares or (low + 1 < high and any(each not in excluded for each in texts_of_least))


def _contradiction(requirements: Sequence[_Requirement]) -> Unmatched:
    """Name the first requirement that contradicts earlier ones, and one of these if it suffices."""
    ends = range(1, len(requirements) + 1)
    count = ends[bisect_left(ends, 1, key=lambda end: not _is_possible(requirements[:end]))]
    earlier, last = requirements[: count - 1], requirements[count - 1]
    if not _is_possible([last]):
        written = next(iter(last.values))
        reason = (
            "labels hold no such numbers" if as_int64(written) is not None else f"{_cut(written)} is not an integer"
        )
        return Unmatched(last.path, f"no node matches {last.shown}: {reason}")
    one = next(([each] for each in earlier[:_COMPARED] if not _is_possible([each, last])), earlier)
    names = " and ".join(dict.fromkeys(each.shown for each in [*one[:_SHOWN], last]))
    return Unmatched(last.path, f"no node matches {names}", contradicts=True)
