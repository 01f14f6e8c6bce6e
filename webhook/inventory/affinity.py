"""Node selectors, of pods and of devices: which nodes they select, and why none can meet one.

Follows component-helpers ``scheduling/corev1/nodeaffinity/nodeaffinity.go`` and apimachinery ``labels.NewRequirement``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook import formats
from webhook.budget import work
from webhook.engine.prescheduled import REQUIRED
from webhook.grouping import by_key
from webhook.objects import JSONObject, items, labels_of, mapping, name_of, text, texts
from webhook.problem import Steps, aggregate, cut, quoted
from webhook.release import Release
from webhook.spelling import some_of

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
_SETS: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_NUMBERS: Final = ("Gt", "Lt")
_OPERATORS: Final = (*_SETS, *_PRESENCE, *_NUMBERS)
_TERMS: Final = "nodeSelectorTerms"
_FIELDS: Final = ("matchExpressions", "matchFields")


class Unmatched(NamedTuple):
    """Why no node can meet a term.

    Args:
        path: The requirement that no node can meet, or the empty term.
        contradicts: Whether the requirement could be met without others.
    """

    path: Steps
    reason: str
    contradicts: bool = False


class _Requirement(NamedTuple):
    path: Steps
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


def _of_term(term: JSONObject, path: Steps, spec: JSONObject) -> Unmatched | None:
    if not any(term.get(field) for field in _FIELDS):
        return Unmatched(path, "an empty term matches no node")
    for field in _FIELDS:
        labels = mapping(spec, "nodeSelector") if field == _FIELDS[0] else {}
        read = ((text(each, "key"), _read(each, (*path, field, index))) for index, each in _numbered(term, field))
        for key, requirements in by_key((key, each) for key, each in read if each).items():
            if isinstance(value := labels.get(key), str):
                selected = _Requirement((), "In", frozenset((value,)), f"nodeSelector {_cut(key)}: {_cut(value)}")
                requirements.insert(0, selected)
            if not _is_possible(requirements):
                return _contradiction(requirements)
    return None


def _read(requirement: JSONObject, path: Steps) -> _Requirement | None:
    """Read a requirement; None if the API server refuses it."""
    operator, values = text(requirement, "operator"), texts(requirement, "values")
    work(1 + len(values))
    takes_values = operator not in _PRESENCE
    if operator not in _OPERATORS or takes_values != bool(values) or (operator in _NUMBERS and len(values) > 1):
        return None
    named = ", ".join(map(_cut, some_of(values, _SHOWN, "…")))
    shown = f"{_cut(text(requirement, 'key'))} {operator} {named}".rstrip()
    return _Requirement(path, operator, frozenset(values), shown)


def _cut(name: str) -> str:
    """Shorten a key or value: findings repeat several, of any length."""
    return cut(name, _LONGEST_KEY)


def _is_possible(requirements: Sequence[_Requirement]) -> bool:
    """Tell whether a label, or its absence, can meet all requirements of a key."""
    values = by_key((each.operator, each.values) for each in requirements)
    if "DoesNotExist" in values:
        return values.keys() <= {"DoesNotExist", "NotIn"}
    low, high = -1, _LARGEST + 1  # labels have no signs
    for each in requirements:
        if each.operator in _NUMBERS:
            if (bound := as_int64(*each.values)) is None:
                return False
            low, high = (max(low, bound), high) if each.operator == "Gt" else (low, min(high, bound))
    excluded = frozenset[str]().union(*values.get("NotIn", ()))
    compares = not values.keys().isdisjoint(_NUMBERS)
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


# -- which nodes are selected


class SelectorError(Exception):
    """A node selector that cannot be parsed; ``str()`` is upstream's text."""


def node_matches(node: str, labels: Mapping[str, str], spec: Mapping[str, Any]) -> bool:
    """Tell whether a slice or a device is for a node (``NodeMatches``).

    Args:
        spec: A mapping that may have ``nodeName``, ``allNodes`` and ``nodeSelector``.

    Raises:
        SelectorError: The node selector cannot be parsed.
    """
    if name := spec.get("nodeName"):
        return bool(name == node)
    if spec.get("allNodes"):
        return True
    selector = spec.get("nodeSelector")
    terms = (selector or {}).get(_TERMS) or []
    problems = [each for index, term in enumerate(terms) for each in _problems(term, f"{_TERMS}[{index}]")]
    if problems:
        raise SelectorError(f"failed to parse node selector {_as_in_go(terms)}: {aggregate(problems)}")
    return any(term_selects(term, node, labels) for term in terms)


def selects(selector: JSONObject, node: JSONObject) -> bool:
    """Tell whether a NodeSelector selects a node: at least one of its terms must."""
    name, labels = name_of(node), mapping(node, "metadata", "labels")
    return any(term_selects(each, name, labels) for each in items(selector, _TERMS))


class NodesByLabel:
    """Finds out whether node selectors select any node, without asking each selector about each node."""

    def __init__(self, nodes: Sequence[JSONObject]) -> None:
        self._nodes = nodes
        self._named = by_key((name_of(each), each) for each in nodes)
        self._labelled = by_key((label, each) for each in nodes for label in labels_of(each).items())
        self._found: dict[str, bool] = {}

    def any_selected(self, selector: JSONObject) -> bool:
        """Tell whether a NodeSelector selects one of the nodes."""
        if (key := repr(selector)) not in self._found:
            terms = items(selector, _TERMS)
            self._found[key] = any(selects({_TERMS: [term]}, node) for term in terms for node in self._candidates(term))
        return self._found[key]

    def _candidates(self, term: JSONObject) -> Sequence[JSONObject]:
        """Return the only nodes that a term may select: the fewest that have a value it lists, or all."""
        found = [self._nodes]
        for each in items(term, "matchExpressions"):
            if text(each, "operator") == "In":
                labels = {(text(each, "key"), value): None for value in texts(each, "values")}
                found.append([node for label in labels for node in self._labelled.get(label, ())])
        found += (
            [node for name in texts(each, "values") for node in self._named.get(name, ())]
            for each in items(term, "matchFields")
            if text(each, "operator") == "In" and text(each, "key") == "metadata.name"
        )
        return min(found, key=len)


def term_selects(term: JSONObject, node: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a term of a node selector selects a node; a requirement that cannot be parsed holds for none."""
    expressions, fields = (items(term, each) for each in _FIELDS)
    if not expressions and not fields:
        return False
    return all(_holds(each, labels) for each in expressions) and all(
        _holds(each, {text(each, "key"): "", "metadata.name": node}) for each in fields
    )


def _holds(requirement: JSONObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = text(requirement, "key"), text(requirement, "operator"), texts(requirement, "values")
    value = labels.get(key)
    if operator in _SETS:
        return bool((value in values) == (operator == "In"))
    if operator in _PRESENCE:
        return bool((key in labels) == (operator == "Exists"))
    numbers = [number for each in (value, *values) if each is not None and (number := as_int64(each)) is not None]
    if operator not in _NUMBERS or len(values) != 1 or len(numbers) != 2:  # noqa: PLR2004 - both are numbers
        return False
    return numbers[0] > numbers[1] if operator == "Gt" else numbers[0] < numbers[1]


def wants(spec: JSONObject, node: JSONObject) -> bool:
    """Tell whether the node selector and the required node affinity of a pod's spec select a node."""
    labels = mapping(node, "metadata", "labels")
    if any(labels.get(key) != value for key, value in mapping(spec, "nodeSelector").items()):
        return False
    affinity = mapping(spec, *REQUIRED)
    return not affinity or selects(affinity, node)


def nodes_named(spec: JSONObject) -> frozenset[str] | None:
    """Return the names of the only nodes that the required node affinity can select; None if it names none.

    Follows the scheduler's ``plugins/nodeaffinity/node_affinity.go`` (PreFilter).
    """
    terms = items(spec, *REQUIRED, _TERMS) if spec.get("affinity") else ()
    by_term = [nodes_named_by(term) for term in terms]
    names = [each for each in by_term if each is not None]
    return frozenset[str]().union(*names) if names and len(names) == len(by_term) else None


def nodes_named_by(term: JSONObject) -> frozenset[str] | None:
    """Return the names of the only nodes that a term can select; None if it names none."""
    stated = [
        frozenset(texts(each, "values"))
        for each in items(term, "matchFields")
        if text(each, "key") == "metadata.name" and text(each, "operator") == "In"
    ]
    return frozenset.intersection(*stated) if stated else None


def requirement(expression: JSONObject) -> str:
    """Write what a node selector requires of a label or field, such as ``zone In a, b``."""
    parts = text(expression, "key"), text(expression, "operator"), ", ".join(texts(expression, "values"))
    return " ".join(filter(None, parts))


def required(selector: JSONObject) -> str:
    """Write what a NodeSelector requires, such as ``zone In a, b and gpu Exists``."""
    terms = [
        [requirement(each) for field in _FIELDS for each in items(term, field)] for term in items(selector, _TERMS)
    ]
    return " or ".join(" and ".join(each) for each in terms)


# -- in Go's words


_NEWEST: Final = Release(36)


def _problems(term: JSONObject, path: str) -> Iterator[str]:
    """Yield upstream's errors for a term that cannot be parsed."""
    for index, each in enumerate(term.get("matchExpressions") or []):
        yield from _problems_of_label(each, f"{path}.matchExpressions[{index}]")
    for index, each in enumerate(term.get("matchFields") or []):
        here, values = f"{path}.matchFields[{index}]", each.get("values") or []
        if each.get("operator", "") not in _SETS:
            yield _unsupported(each, here, _SETS)
        elif len(values) != 1:
            yield f"{here}.values: Invalid value: {_strings(values)}: must have one element"


def _problems_of_label(each: JSONObject, path: str) -> Iterator[str]:
    operator, values, key = each.get("operator", ""), each.get("values") or [], each.get("key", "")
    if operator not in _OPERATORS:
        yield _unsupported(each, path, _OPERATORS)
        return
    if details := formats.label_key(key, _NEWEST):
        yield f"{path}.key: Invalid value: {quoted(key)}: {'; '.join(details)}"
    shown = f"{path}.values: Invalid value: {_strings(values)}"
    if operator in _SETS and not values:
        yield f"{shown}: for 'in', 'notin' operators, values set can't be empty"
    elif operator in _PRESENCE and values:
        yield f"{shown}: values set must be empty for exists and does not exist"
    elif operator in _NUMBERS:
        if len(values) != 1:
            yield f"{shown}: for 'Gt', 'Lt' operators, exactly one value is required"
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        wrong = ((index, value) for index, value in enumerate(values) if as_int64(value) is None)
        yield from (f"{path}.values[{index}]: Invalid value: {quoted(value)}: {detail}" for index, value in wrong)
    for index, value in enumerate(values):
        if details := formats.label_value(value, _NEWEST):
            yield f"{path}.values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(details)}"


def _unsupported(requirement: JSONObject, path: str, supported: Sequence[str]) -> str:
    operator, known = requirement.get("operator", ""), ", ".join(map(quoted, supported))
    return f"{path}.operator: Unsupported value: {quoted(operator)}: supported values: {known}"


def _strings(values: Sequence[str]) -> str:
    return f"[{','.join(map(quoted, values))}]"


def _as_in_go(terms: Sequence[JSONObject]) -> str:
    """Write a node selector as Go does (gogo protobuf's ``String``)."""

    def requirements(term: JSONObject, field: str) -> str:
        shown = "".join(
            f"NodeSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
            f"Values:[{' '.join(each.get('values') or [])}],}},"
            for each in term.get(field) or []
        )
        return f"[]NodeSelectorRequirement{{{shown}}}"

    shown = "".join(
        f"NodeSelectorTerm{{MatchExpressions:{requirements(term, _FIELDS[0])},"
        f"MatchFields:{requirements(term, _FIELDS[1])},}},"
        for term in terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{shown}}},}}"
