"""Node selectors, matched against nodes.

Follows component-helpers ``scheduling/corev1/nodeaffinity/nodeaffinity.go`` and apimachinery ``labels.NewRequirement``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from webhook import formats
from webhook.inventory.affinity import as_int64
from webhook.objects import JSONObject
from webhook.problem import aggregate, quoted
from webhook.release import Release

_SETS: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_NUMBERS: Final = ("Gt", "Lt")
_NEWEST: Final = Release(36)


class SelectorError(Exception):
    """A node selector that cannot be parsed; ``str()`` is upstream's text."""


def node_matches(node: str, labels: Mapping[str, str], spec: Mapping[str, Any]) -> bool:
    """Tell whether a slice or a device is for a node (``NodeMatches``).

    Args:
        spec: A mapping that may have ``nodeName``, ``allNodes`` and ``nodeSelector``.

    Raises:
        SelectorError: The node selector cannot be parsed.
    """
    name = spec.get("nodeName")
    if name:
        return bool(name == node)
    if spec.get("allNodes"):
        return True
    selector = spec.get("nodeSelector")
    return selector is not None and selects(selector, node, labels)


def selects(selector: JSONObject, node: str, labels: Mapping[str, str]) -> bool:
    """Tell whether any term of a node selector selects a node; an empty term selects nothing.

    Raises:
        SelectorError: The node selector cannot be parsed.
    """
    terms = selector.get("nodeSelectorTerms") or []
    problems = [each for index, term in enumerate(terms) for each in _problems(term, f"nodeSelectorTerms[{index}]")]
    if problems:
        raise SelectorError(f"failed to parse node selector {_shown(selector)}: {aggregate(problems)}")
    return any(term_selects(term, node, labels) for term in terms)


def term_selects(term: JSONObject, node: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a term of a node selector selects a node; a requirement that cannot be parsed holds for none."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(_holds(each, labels) for each in expressions) and all(
        _holds(each, {each.get("key", ""): "", "metadata.name": node}) for each in fields
    )


def _holds(requirement: JSONObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = requirement.get("key", ""), requirement.get("operator"), requirement.get("values") or []
    value = labels.get(key)
    if operator in _SETS:
        return bool((value in values) == (operator == "In"))
    if operator in _PRESENCE:
        return bool((key in labels) == (operator == "Exists"))
    numbers = [number for each in (value, *values) if each is not None and (number := as_int64(each)) is not None]
    if operator not in _NUMBERS or len(values) != 1 or len(numbers) != 2:  # noqa: PLR2004 - both are numbers
        return False
    return numbers[0] > numbers[1] if operator == "Gt" else numbers[0] < numbers[1]


def _problems(term: JSONObject, path: str) -> list[str]:
    found: list[str] = []
    for index, each in enumerate(term.get("matchExpressions") or []):
        found += _requirement_problems(each, f"{path}.matchExpressions[{index}]")
    for index, each in enumerate(term.get("matchFields") or []):
        found += _field_problems(each, f"{path}.matchFields[{index}]")
    return found


def _requirement_problems(each: JSONObject, path: str) -> list[str]:
    operator, values, key = each.get("operator", ""), each.get("values") or [], each.get("key", "")
    supported = (*_SETS, *_PRESENCE, *_NUMBERS)
    if operator not in supported:
        return [_unsupported(operator, path, supported)]
    details = formats.label_key(key, _NEWEST)
    found = [f"{path}.key: Invalid value: {quoted(key)}: {'; '.join(details)}"] if details else []
    if operator in _SETS and not values:
        found.append(f"{path}.values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    elif operator in _PRESENCE and values:
        shown = _go_strings(values)
        found.append(f"{path}.values: Invalid value: {shown}: values set must be empty for exists and does not exist")
    elif operator in _NUMBERS:
        if len(values) != 1:
            shown = _go_strings(values)
            detail = "for 'Gt', 'Lt' operators, exactly one value is required"
            found.append(f"{path}.values: Invalid value: {shown}: {detail}")
        found += [
            f"{path}.values[{index}]: Invalid value: {quoted(value)}: "
            "for 'Gt', 'Lt' operators, the value must be an integer"
            for index, value in enumerate(values)
            if as_int64(value) is None
        ]
    for index, value in enumerate(values):
        details = formats.label_value(value, _NEWEST)
        if details:
            found.append(f"{path}.values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(details)}")
    return found


def _field_problems(each: JSONObject, path: str) -> list[str]:
    operator, values = each.get("operator", ""), each.get("values") or []
    if operator not in _SETS:
        return [_unsupported(operator, path, _SETS)]
    if len(values) != 1:
        shown = _go_strings(values)
        return [f"{path}.values: Invalid value: {shown}: must have one element"]
    return []


def _unsupported(operator: str, path: str, supported: Sequence[str]) -> str:
    known = ", ".join(map(quoted, supported))
    return f"{path}.operator: Unsupported value: {quoted(operator)}: supported values: {known}"


def _go_strings(values: Sequence[str]) -> str:
    return f"[{','.join(map(quoted, values))}]"


def _shown(selector: JSONObject) -> str:
    """Write a node selector as Go does (gogo protobuf's ``String``)."""
    terms = "".join(
        f"NodeSelectorTerm{{MatchExpressions:{_shown_requirements(term.get('matchExpressions'))},"
        f"MatchFields:{_shown_requirements(term.get('matchFields'))},}},"
        for term in selector.get("nodeSelectorTerms") or []
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}"


def _shown_requirements(requirements: Sequence[JSONObject] | None) -> str:
    shown = "".join(
        f"NodeSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or [])}],}},"
        for each in requirements or []
    )
    return f"[]NodeSelectorRequirement{{{shown}}}"
