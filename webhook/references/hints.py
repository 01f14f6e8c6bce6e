"""Hints that explain an error by the object around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from webhook.inventory.reading import items, text
from webhook.references.rules import instead, listed, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webhook.problem import Problem

_SUPPORTED: Final = re.compile(r'Unsupported value: "([^"]*)": supported values: (.*)')
_SYNTAX: Final = (
    (
        re.compile(r"token recognition error at: '=~"),
        'regular expressions are matched by a method: ….matches("A100.*")',
    ),
    (re.compile(r"extraneous input '>' expecting"), "CEL writes <> as !="),
    (re.compile(r"reserved identifier: if"), "CEL writes `if` as a condition: … ? … : …"),
    (re.compile(r"token recognition error at: '=[^=]"), "compare with == in place of ="),
    (re.compile(r"(?:mismatched|extraneous) input 'and'|Syntax error: .*'and'"), "CEL writes `and` as &&"),
    (re.compile(r"(?:mismatched|extraneous) input 'or'|Syntax error: .*'or'"), "CEL writes `or` as ||"),
    (re.compile(r"token recognition error at: '&[^&]"), "CEL writes `and` as &&"),
    (re.compile(r"token recognition error at: '\|[^|]"), "CEL writes `or` as ||"),
    (re.compile(r"undeclared reference to 'True'"), "CEL writes true in lower case"),
    (re.compile(r"undeclared reference to 'False'"), "CEL writes false in lower case"),
    (re.compile(r"token recognition error at: ''?[\"']"), "a string is not closed: a quote is missing at its end"),
    (re.compile(r"missing '\)' at|expecting '?\)"), "a parenthesis is not closed"),
    (re.compile(r"extraneous input '\)'|mismatched input '\)' expecting <EOF>"), "there is a ) too many"),
)
"""What people write of other languages, by the compiler's words for it."""
_NOT: Final = re.compile(r"(?:^|[(&|])\s*not\s")
_SAYS_NOT: Final = "CEL writes `not` as !"
_TYPES: Final = (
    (
        re.compile(r"operator: Quantity|applied to '\(kubernetes\.Quantity, [\w.]+\)'"),
        'a capacity is a quantity: compare it as in …memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        re.compile(r"'(?:isGreaterThan|isLessThan|compareTo)' applied to 'kubernetes\.Quantity\.\("),
        'a quantity is compared with a quantity: write it as quantity("40Gi")',
    ),
    (
        re.compile(r"unexpected failed resolution of 'kubernetes\.Quantity'"),
        "a capacity is the quantity itself: leave out .value",
    ),
    (
        re.compile(r"applied to '\([\w.]+, kubernetes\.Semver\)'"),
        'versions are compared by methods: ….version.compareTo(semver("1.0.0")) >= 0',
    ),
    (
        re.compile(r"'(?:isGreaterThan|isLessThan|compareTo)' applied to 'any\.\("),
        'say what is compared: quantity("40Gi") for a capacity, semver("1.0.0") for a version',
    ),
    (
        re.compile(r"invalid argument to has\(\) macro"),
        'has() takes a field behind a dot: has(device.attributes["DRIVER"].model)',
    ),
    (
        re.compile(r"'_\[_\]' applied to '\(kubernetes\.DRADevice, string\)"),
        "a field of device stands behind a dot, as in device.driver",
    ),
    (
        re.compile(r"'@in' applied to '\(\w+, string\)'"),
        '`in` takes a list: device.driver in ["a.example.com", "b.example.com"]',
    ),
    (
        re.compile(r"'!_' applied to '\(string\)'"),
        "! is for conditions: write !=, or put what is denied in parentheses, as in !(… == …)",
    ),
    (
        re.compile(r"applied to '\(optional_type"),
        'what .? or [?…] gives is optional: say what counts if it is absent, as in ….?model.orValue("")',
    ),
    (
        re.compile(r"must evaluate to bool"),
        "a selector is true or false for a device: compare, as in device.driver == …",
    ),
    (
        re.compile(r"invalid matches argument"),
        "write a regular expression in RE2's syntax (github.com/google/re2/wiki/Syntax)",
    ),
)
"""What does not fit together, by the compiler's words for it."""
_TWO_TYPES: Final = re.compile(r"for '_(?:[=!]=|[<>]=?)_' applied to '\((\w+), (\w+)\)'")
_UNDEFINED: Final = re.compile(r"undefined field '(\w+)'")
_UNDECLARED: Final = re.compile(r"undeclared reference to '(\w+)'")
_FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_NAMES: Final = (
    *("device", "quantity", "isQuantity", "semver", "isSemver", "has", "size", "string", "int", "double"),
    *("startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii", "split", "replace", "trim"),
    *("compareTo", "isGreaterThan", "isLessThan", "asInteger", "orValue", "hasValue", "major", "minor", "patch"),
)
_INSTEAD: Final = {
    "exists": "exists() is for lists: has(…) asks whether a field is there",
    "any": "CEL asks a list by exists(): ….exists(x, x == …)",
    "len": "CEL counts by size()",
    "null": "what is absent is not null: has(…) asks whether a field is there",
}
"""What people write of other languages, where no name is near."""
_NO_DOMAIN: Final = re.compile(r"applied to '\(map\(string, (?:any|dyn|kubernetes\.Quantity)\)")
_FIELD: Final = re.compile(r"""device\.(attributes|capacity)(?:\.|\[["'])(\w+)\b(?!["']?\]?\.)""")
_PATH: Final = re.compile(r"""device\.(attributes|capacity)\[["']([^"'/]+)/(\w+)["']\]""")


def hint_of(problem: Problem, obj: Any) -> str:
    """Suggest what was probably meant; nothing if that is unclear.

    Args:
        problem: What the API server refuses.
        obj: The object that it refuses.
    """
    if hint := _BY_RULE.get(problem.rule):
        return hint(problem, obj)
    if match := _SUPPORTED.search(problem.message):
        near = nearest(match[1].lower(), [each.lower() for each in _quoted(match[2])])
        meant = [each for each in _quoted(match[2]) if each.lower() == near]
        return f'did you mean "{meant[0]}"?' if meant else ""
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
    if not isinstance(wanted, str):
        return ""
    hint = instead(wanted, known, "requests")
    return f"{hint} requests: {listed(known)}" if hint.startswith("did") and known[1:] else hint


def _claim(problem: Problem, obj: Any) -> str:
    steps = tuple(problem.path)
    lists = [index for index, step in enumerate(steps) if isinstance(step, str) and step.lower().endswith("containers")]
    spec = _at(obj, steps[: lists[0]]) if lists else None
    wanted = text(_at(obj, steps), "name")
    near = nearest(wanted, [text(each, "name") for each in items(spec, "resourceClaims")]) if wanted else ""
    return f'did you mean "{near}"?' if near and "Not found" in str(problem.message) else ""


def _name(written: str, names: Iterable[str], what: str) -> str:
    near = nearest(written, names)
    if near:
        return f"did you mean {near}?"
    return (
        f"{what}: {', '.join(names)}"
        if what
        else "a selector knows `device` and CEL's functions; quote what is meant as text"
    )


def _selector(problem: Problem, obj: Any) -> str:
    expression = _at(obj, tuple(problem.path))
    if not isinstance(expression, str):
        return ""
    message = problem.message
    return syntax(message, expression) or _unknown(message) or _types(message, expression)


def syntax(message: str, expression: str) -> str:
    """Say how CEL writes what an expression writes as another language does; empty if it does not.

    Args:
        message: What the compiler says.
        expression: The expression.
    """
    if not expression.strip():
        return "the expression is empty"
    if _NOT.search(expression):
        return _SAYS_NOT
    return next((hint for pattern, hint in _SYNTAX if pattern.search(message)), "")


def _unknown(message: str) -> str:
    if match := _UNDEFINED.search(message):
        return _name(match[1], _FIELDS, "fields of device")
    if (match := _UNDECLARED.search(message)) and match[1] in _INSTEAD:
        return _INSTEAD[match[1]]
    if match:
        return f"did you mean device.{match[1]}?" if match[1] in _FIELDS else _name(match[1], _NAMES, "")
    return ""


def _types(message: str, expression: str) -> str:
    if _NO_DOMAIN.search(message) and (path := _PATH.search(expression)):
        return f'domain and name are two steps: device.{path[1]}["{path[2]}"].{path[3]}'
    if _NO_DOMAIN.search(message) and (field := _FIELD.search(expression)):
        holder, name = field.groups()
        return f'name the domain, which is mostly the driver: device.{holder}["DRIVER"].{name}'
    if hint := next((hint for pattern, hint in _TYPES if pattern.search(message)), ""):
        return hint
    if match := _TWO_TYPES.search(message):
        return f"both sides must have one type, and are {match[1]} and {match[2]}"
    return ""


def _domain(problem: Problem, obj: Any) -> str:
    name = _at(obj, tuple(problem.path))
    return f"name the domain, which is mostly the driver: DRIVER/{name}" if isinstance(name, str) and name else ""


def _source(_problem: Problem, _obj: Any) -> str:
    return "resourceClaimTemplateName gives each pod a claim of its own; resourceClaimName names one that pods share"


_BY_RULE: Final[dict[str, Callable[[Problem, Any], str]]] = {
    "requests-that-exist": _request,
    "container-claims": _claim,
    "cel-selector": _selector,
    "attribute-of-a-domain": _domain,
    "one-source": _source,
}
