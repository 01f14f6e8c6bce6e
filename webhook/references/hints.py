"""What was probably meant, for what the API server refuses without saying so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from webhook.inventory.reading import items, text
from webhook.references.rules import instead, nearest

if TYPE_CHECKING:
    from webhook.problem import Problem

_SUPPORTED: Final = re.compile(r'Unsupported value: "([^"]*)": supported values: (.*)')
_QUANTITY: Final = re.compile(r"operator: Quantity|applied to '\(kubernetes\.Quantity, (?:u?int|double|string)\)'")
_NO_DOMAIN: Final = re.compile(r"applied to '\(map\(string, (?:any|dyn|kubernetes\.Quantity)\)")
_FIELD: Final = re.compile(r"device\.(attributes|capacity)\.(\w+)")


def hint_of(problem: Problem, obj: Any) -> str:
    """Say what was probably meant; nothing if that cannot be told.

    Args:
        problem: What the API server refuses.
        obj: The object that it refuses.
    """
    if problem.rule == "requests-that-exist":
        return _request(problem, obj)
    if problem.rule == "container-claims":
        return _claim(problem, obj)
    if match := _SUPPORTED.search(problem.message):
        near = nearest(match[1].lower(), [each.lower() for each in _quoted(match[2])])
        meant = [each for each in _quoted(match[2]) if each.lower() == near]
        return f'did you mean "{meant[0]}"?' if meant else ""
    if problem.rule == "cel-selector":
        return _selector(problem, obj)
    return ""


def _quoted(listed: str) -> list[str]:
    return re.findall(r'"([^"]*)"', listed)


def _at(obj: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        try:
            obj = obj[step]
        except (LookupError, TypeError):
            return None
    return obj


def _request(problem: Problem, obj: Any) -> str:
    steps = tuple(problem.path)
    devices = _at(obj, steps[: steps.index("devices") + 1]) if "devices" in steps else None
    wanted = _at(obj, steps)
    known = []
    for request in items(devices, "requests"):
        name = text(request, "name")
        known += [name, *(f"{name}/{text(each, 'name')}" for each in items(request, "firstAvailable"))]
    return instead(wanted, known, "requests") if isinstance(wanted, str) else ""


def _claim(problem: Problem, obj: Any) -> str:
    steps = tuple(problem.path)
    lists = [index for index, step in enumerate(steps) if isinstance(step, str) and step.lower().endswith("containers")]
    spec = _at(obj, steps[: lists[0]]) if lists else None
    wanted = text(_at(obj, steps), "name")
    near = nearest(wanted, [text(each, "name") for each in items(spec, "resourceClaims")]) if wanted else ""
    return f'did you mean "{near}"?' if near and "Not found" in str(problem.message) else ""


def _selector(problem: Problem, obj: Any) -> str:
    expression = _at(obj, tuple(problem.path))
    if not isinstance(expression, str):
        return ""
    if _QUANTITY.search(problem.message):
        return 'a capacity is a quantity: compare it as in …memory.compareTo(quantity("40Gi")) >= 0'
    if _NO_DOMAIN.search(problem.message) and (field := _FIELD.search(expression)):
        holder, name = field.groups()
        return f'name the domain, which is mostly the driver: device.{holder}["DRIVER"].{name}'
    return ""
