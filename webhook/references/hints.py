"""Explains errors by the object around them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.kubernetes.gates import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES
from webhook.formats.quantities import readable_quantity, without_byte
from webhook.objects import items, text
from webhook.problem import Advice, Fix, at
from webhook.references.rules import in_place, listed
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from webhook.problem import Problem

_CLASSIC_MODE: Final = re.compile(r'Unsupported value: "(Immediate|WaitForFirstConsumer)"')
_SUPPORTED: Final = re.compile(r'Unsupported value: "([^"]*)": supported values: (.*)')
_NO_REPLACEMENT: Final = ("", "")
_AND: Final = "CEL writes `and` as &&"
_OR: Final = "CEL writes `or` as ||"
_SYNTAX: Final[tuple[tuple[re.Pattern[str], str, tuple[str, str]], ...]] = (
    (
        re.compile(r"token recognition error at: '=~"),
        'regular expressions are matched by a method: ….matches("A100.*")',
        _NO_REPLACEMENT,
    ),
    (re.compile(r"extraneous input '>' expecting"), "CEL writes <> as !=", ("<>", "!=")),
    (re.compile(r"reserved identifier: if"), "CEL writes `if` as a condition: … ? … : …", _NO_REPLACEMENT),
    (re.compile(r"token recognition error at: '=[^=]"), "compare with == in place of =", ("=", "==")),
    (re.compile(r"Syntax error: .*'(and)'", re.IGNORECASE), _AND, ("and", "&&")),
    (re.compile(r"Syntax error: .*'(or)'", re.IGNORECASE), _OR, ("or", "||")),
    (re.compile(r"token recognition error at: '&[^&]"), _AND, ("&", "&&")),
    (re.compile(r"token recognition error at: '\|[^|]"), _OR, ("|", "||")),
    (re.compile(r"undeclared reference to 'True'"), "CEL writes true in lower case", ("True", "true")),
    (re.compile(r"undeclared reference to 'False'"), "CEL writes false in lower case", ("False", "false")),
    (
        re.compile(r"token recognition error at: '[\u201c\u201d\u2018\u2019]"),
        "quotes are straight: \" or '",
        _NO_REPLACEMENT,
    ),
    (re.compile(r"token recognition error at: '\$"), "a selector is about `device`", _NO_REPLACEMENT),
    (
        re.compile(r"token recognition error at: ''?[\"']"),
        "a string is not closed: the closing quote is missing",
        _NO_REPLACEMENT,
    ),
    (re.compile(r"missing '\)' at|expecting '?\)"), "a parenthesis is not closed", _NO_REPLACEMENT),
    (
        re.compile(r"extraneous input '\)'|mismatched input '\)' expecting <EOF>"),
        "there is one ) too many",
        _NO_REPLACEMENT,
    ),
)
"""Syntax of other languages, by the compiler's message, with CEL's counterpart."""
_LOCATED: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): ")
_FURTHER: Final = re.compile(r"(?<=\^)\nERROR: <input>:.*|(?<=\uff3e)\nERROR: <input>:.*", re.DOTALL)
_STRING: Final = re.compile(r"""[rRbB]*(\"{3}|'{3}|[\"'])(?:\\.|(?!\1).)*?(?:\1|$)""", re.DOTALL)
_NOT: Final = re.compile(r"(?:^|[(&|])\s*not\s+\Z")
_NOT_CALLED: Final = "undeclared reference to 'not'"
_SAYS_NOT: Final = "CEL writes `not` as !"
_TYPES: Final = (
    (
        re.compile(r"operator: Quantity|applied to '\(kubernetes\.Quantity, [\w.]+\)'"),
        'a capacity is a quantity: compare it as in …memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        re.compile(r"(?:extraneous|mismatched) input '(?:[KMGTPE]i|[kmMGTPE])' expecting"),
        'CEL has no units: compare a capacity as in …memory.compareTo(quantity("40Gi")) >= 0',
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
        re.compile(r"invalid int literal"),
        "whole numbers have 64 bits: from -9223372036854775808 to 9223372036854775807",
    ),
    (
        re.compile(r"invalid matches argument"),
        "write a regular expression in RE2's syntax (github.com/google/re2/wiki/Syntax)",
    ),
)
"""Type mismatches, by the compiler's message."""
_CAPACITY: Final = r"""(device\.capacity\[["'][^"']+["']\]\.\w+)"""
_ATTRIBUTE: Final = r"""(device\.attributes\[["'][^"']+["']\]\.\w+)"""
_TEXT: Final = r"""("[^"\\]*"|'[^'\\]*')"""
_AMOUNT: Final = r"""(?P<amount>"[^"\\]*"|'[^'\\]*')"""
"""A text that is meant as a quantity."""
_ORDER: Final = r"(>=|<=|>|<)"
_REWRITTEN: Final = (
    (re.compile(rf"{_CAPACITY}\s*{_ORDER}\s*(quantity\({_AMOUNT}\))"), r"\1.compareTo(\3) \2 0"),
    (re.compile(rf"{_ATTRIBUTE}\s*{_ORDER}\s*(semver\({_TEXT}\))"), r"\1.compareTo(\3) \2 0"),
    (re.compile(rf"{_CAPACITY}\s*{_ORDER}\s*{_AMOUNT}"), r"\1.compareTo(quantity(\3)) \2 0"),
    (re.compile(rf"{_CAPACITY}\s*{_ORDER}\s*([0-9]+(?:[KMGTPE]i|[kMGTPE]))\b"), r'\1.compareTo(quantity("\3")) \2 0'),
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_AMOUNT}"), r"\1 \2 quantity(\3)"),
    (re.compile(rf"{_CAPACITY}\.(isGreaterThan|isLessThan|compareTo)\({_AMOUNT}\)"), r"\1.\2(quantity(\3))"),
    (re.compile(rf"{_CAPACITY}\.value\b(?!\()"), r"\1"),
    (re.compile(r"""device\.(attributes|capacity)\[["']([^"'/]+)/(\w+)["']\]"""), r'device.\1["\2"].\3'),
)
"""Comparisons and reads with one possible meaning, and their form in CEL."""
_TWO_TYPES: Final = re.compile(r"for '_(?:[=!]=|[<>]=?)_' applied to '\((\w+), (\w+)\)'")
_UNDEFINED: Final = re.compile(r"undefined field '(\w+)'")
_UNDECLARED: Final = re.compile(r"undeclared reference to '(\w+)'")
_GATED: Final = {"allowMultipleAllocations": CONSUMABLE_CAPACITY, "includes": LIST_ATTRIBUTES}
"""The feature gates without which a name of device selectors is not declared."""
_FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_NAMES: Final = (
    *("device", "quantity", "isQuantity", "semver", "isSemver", "has", "size", "string", "int", "double"),
    *("startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii", "split", "replace", "trim"),
    *("compareTo", "isGreaterThan", "isLessThan", "asInteger", "orValue", "hasValue", "major", "minor", "patch"),
    *("exists", "exists_one", "all", "filter", "includes"),
)
_INSTEAD: Final = {
    "exists": "exists() is for lists: has(…) asks whether a field is there",
    "any": "CEL searches a list by exists(): ….exists(x, x == …)",
    "len": "CEL counts by size()",
    **dict.fromkeys(("self", "object", "this", "attributes", "capacity"), "a selector is about `device`"),
    "null": "what is absent is not null: has(…) asks whether a field is there",
}
"""Names of other languages, where no known name is near."""
_NO_NAME: Final = re.compile("a lowercase RFC 1123 (label|subdomain) must consist of")
_NOT_IN_NAMES: Final = re.compile("[^a-z0-9.-]+")
_NOT_IN_IDENTIFIERS: Final = re.compile("[^A-Za-z0-9_]")
_REQUESTS: Final = "the claim's requests"
_NUMBERS: Final = 3
"""How many numbers a version has."""
_LONGEST: Final = 253
"""The most characters of a name."""
_NO_DOMAIN: Final = re.compile(r"applied to '\(map\(string, (?:any|dyn|kubernetes\.Quantity)\)")
_DOMAINS: Final = re.compile(r"""device\.(?:(?:attributes|capacity)\[|driver\s*==\s*)["']([^"'/.]+\.[^"'/]+)["']""")
_NAME_DOMAIN: Final = "name the domain, which is usually the driver"
_DRIVER: Final = "DRIVER"
"""The placeholder for an unknown driver in hints."""
_FIELD: Final = re.compile(r"""device\.(attributes|capacity)(?:\.|\[["'])(\w+)\b(?!["']?\]?\.)""")
_DOTTED: Final = re.compile(r"\bdevice\.(attributes|capacity)\.([\w-]+(?:\.[\w-]+)+)\.([A-Za-z_]\w*)\b(?!\s*\()")
"""A domain with dots that is not in brackets, and what is read of it."""
_PATH: Final = re.compile(r"""device\.(attributes|capacity)\[["']([^"'/]+)/(\w+)["']\]""")


def hint_of(problem: Problem, obj: Any) -> Advice:
    """Suggest the intended value; empty if unclear.

    Args:
        problem: The API server's finding.
        obj: The refused object.
    """
    if problem.reason == "FieldValueDuplicate":
        return _repeated(problem, obj)
    if (hint := _BY_RULE.get(problem.rule)) and (advice := hint(problem, obj)).hint:
        return advice
    if match := _SUPPORTED.search(problem.message):
        names = _quoted(match[2])
        lower = {each.lower(): each for each in names}
        near = lower.get(nearest(match[1].lower(), lower)) or nearest(match[1], names)
        return _rename(near) if near else Advice()
    if _NO_NAME.search(problem.message):
        return _respelt(at(obj, problem.path), is_request=problem.path[-1] == "request")
    return Advice()


def _rename(name: str, *, safe: bool = True) -> Advice:
    return Advice(f'did you mean "{name}"?', Fix("replace", name, safe=safe))


def _unchanged(problem: Problem, _obj: Any) -> Advice:
    return Advice("" if "status" in problem.path[:1] else "delete the object and create it again")


def _repeated(problem: Problem, obj: Any) -> Advice:
    """Suggest leaving out an item of a list that repeats an earlier one."""
    around, place = at(obj, problem.path[:-1]), problem.path[-1]
    if isinstance(around, list) and isinstance(place, int) and around[place] in around[:place]:
        is_reference = not isinstance(around[place], dict) or problem.rule == "container-claims"
        return Advice("leave it out: the list has it already", Fix("remove", safe=is_reference))
    return Advice()


def _respelt(name: object, *, is_request: bool) -> Advice:
    """Suggest a name with only allowed characters."""
    if not isinstance(name, str) or len(name) > _LONGEST:
        return Advice()
    request, slash, _ = name.partition("/")
    if is_request and slash and request:
        hint = f'containers name the request alone, whichever alternative is allocated: "{request}"'
        return Advice(hint, Fix("replace", request))
    respelt = _NOT_IN_NAMES.sub("-", name.lower()).strip("-.")
    return Advice(f'did you mean "{respelt}"?', Fix("respell", respelt, safe=False)) if respelt else Advice()


def _version(problem: Problem, obj: Any) -> Advice:
    """Complete a version to three numbers."""
    written = at(obj, problem.path)
    numbers = written.removeprefix("v").split(".") if isinstance(written, str) else []
    is_short = 0 < len(numbers) <= _NUMBERS and all(each.isascii() and each.isdigit() for each in numbers)
    return _rename(".".join([*numbers, "0", "0"][:_NUMBERS]), safe=False) if is_short else Advice()


def _quantity(problem: Problem, obj: Any) -> Advice:
    written = at(obj, problem.path)
    if problem.path[-2:] in {("limits", "claims"), ("requests", "claims")}:
        return Advice("claims are not quantities: they stand beside limits and requests, in resources.claims")
    near = without_byte(written) if isinstance(written, str) else ""
    return _rename(near) if near else Advice()


def _quoted(listed: str) -> list[str]:
    return re.findall(r'"([^"]*)"', listed)


def _request(problem: Problem, obj: Any) -> Advice:
    steps = problem.path
    devices = at(obj, steps[: steps.index("devices") + 1]) if "devices" in steps else None
    wanted = at(obj, steps)
    known = []
    for request in items(devices, "requests"):
        name = text(request, "name")
        known += [name, *(f"{name}/{text(each, 'name')}" for each in items(request, "firstAvailable"))]
    if not isinstance(wanted, str):
        return Advice()
    hint, fix = in_place(wanted, known, _REQUESTS)
    return Advice(f"{hint} {_REQUESTS}: {listed(known)}" if fix and known[1:] else hint, fix)


def _claim(problem: Problem, obj: Any) -> Advice:
    steps = problem.path
    lists = [index for index, step in enumerate(steps) if isinstance(step, str) and step.lower().endswith("containers")]
    spec = at(obj, steps[: lists[0]]) if lists else None
    wanted = text(at(obj, steps), "name")
    near = nearest(wanted, [text(each, "name") for each in items(spec, "resourceClaims")]) if wanted else ""
    is_missing = near and "Not found" in problem.message
    return Advice(f'did you mean "{near}"?', Fix("replace", near, safe=False, below="name")) if is_missing else Advice()


def _name(written: str, names: Iterable[str], what: str) -> str:
    near = nearest(written, names)
    if near:
        return f"did you mean {near}?"
    return (
        f"{what}: {', '.join(names)}"
        if what
        else "only `device` and CEL's functions are defined here; put text in quotes"
    )


def _selector(problem: Problem, obj: Any) -> Advice:
    expression = at(obj, problem.path)
    if not isinstance(expression, str):
        return Advice()
    message = _first_error(problem.message)
    if advice := syntax(message, expression):
        return advice
    if (advice := _dotted(expression)).hint:
        return advice
    hint = _unknown(message, expression) or _types(message, expression)
    if hint.startswith(_NAME_DOMAIN) and (domain := _only_domain(obj)):
        mended = _FIELD.sub(rf'device.\1["{domain}"].\2', expression)
        return Advice(hint.replace(_DRIVER, domain), Fix("replace", mended, safe=False))
    return _mended(hint, expression)


def _first_error(message: str) -> str:
    """Return a compiler's message without the errors after the first, whose place is shown."""
    return _FURTHER.sub("", message, count=1)


def _mended(hint: str, expression: str) -> Advice:
    """Explain a type mismatch, and fix it where the meaning is clear."""
    mended = expression
    for pattern, replacement in _REWRITTEN:
        mended = pattern.sub(partial(_replacement, replacement), mended)
    return Advice(hint, Fix("replace", mended) if hint and mended != expression else None)


def _replacement(replacement: str, match: re.Match[str]) -> str:
    """Return the form in CEL of what is written; of a text that is no quantity, what is written."""
    amount = match.groupdict().get("amount")
    is_meant = amount is None or readable_quantity(amount[1:-1]) is not None
    return match.expand(replacement) if is_meant else match[0]


def syntax(message: str, expression: str) -> Advice | None:
    """Suggest CEL's form for syntax of another language; None if there is none.

    Args:
        message: The compiler's message.
        expression: The expression.
    """
    if not expression.strip():
        return Advice("the expression is empty")
    message = _first_error(message)
    if _NOT.search(expression, 0, _place(expression, message)) or _NOT_CALLED in message:
        return Advice(_SAYS_NOT)
    for pattern, hint, (written, replacement) in _SYNTAX:
        if match := pattern.search(message):
            return Advice(hint, _rewritten(expression, message, match[1] if match.lastindex else written, replacement))
    return None


def _place(expression: str, message: str) -> int:
    """Return the offset in an expression of the first error of a message; 0 if it names none."""
    match = _LOCATED.search(message)
    if match is None:
        return 0
    lines = expression.split("\n")
    number, column = int(match[1]), int(match[2])
    return sum(len(line) + 1 for line in lines[: number - 1]) + column - 1


def _rewritten(expression: str, message: str, written: str, replacement: str) -> Fix | None:
    """Return the fix of an expression at, or just before, the place of a message."""
    if not written:
        return None
    at = _place(expression, message)
    at -= 0 if expression.startswith(written, at) else len(written) - 1  # the error for <> is at its end
    texts = [each.span() for each in _STRING.finditer(expression)]
    if not expression.startswith(written, at) or any(start <= at < end for start, end in texts):
        return None
    return Fix("replace", f"{expression[:at]}{replacement}{expression[at + len(written) :]}")


def _unknown(message: str, expression: str) -> str:
    match = _UNDEFINED.search(message) or _UNDECLARED.search(message)
    if match and (gate := _GATED.get(match[1])):
        return f"{match[1]} needs the feature gate {gate}, which is off"
    if match := _UNDEFINED.search(message):
        return _name(match[1], _FIELDS, "fields of device")
    if (
        (match := _UNDECLARED.search(message))
        and f".{match[1]}" not in expression
        and (dashed := re.search(rf"\.(\w+(?:-\w+)*-{match[1]})\b", expression))
    ):
        return f"CEL reads {dashed[1]} as a subtraction: names of attributes have no dashes"
    if match and match[1] in _INSTEAD:
        return _INSTEAD[match[1]]
    if match:
        return f"did you mean device.{match[1]}?" if match[1] in _FIELDS else _name(match[1], _NAMES, "")
    return ""


def _dotted(expression: str) -> Advice:
    """Suggest brackets for a domain that is read field by field; empty if there is none."""
    match = _DOTTED.search(expression)
    if match is None:
        return Advice()
    holder, domain, name = match.groups()
    meant = f'device.{holder}["{domain}"].{name}'
    mended = f"{expression[: match.start()]}{meant}{expression[match.end() :]}"
    return Advice(f"put the domain in brackets and quotes: {meant}", Fix("replace", mended, safe=False))


def _types(message: str, expression: str) -> str:
    if _NO_DOMAIN.search(message) and (path := _PATH.search(expression)):
        return f'domain and name are two steps: device.{path[1]}["{path[2]}"].{path[3]}'
    if _NO_DOMAIN.search(message) and (field := _FIELD.search(expression)):
        holder, name = field.groups()
        return f'{_NAME_DOMAIN}: device.{holder}["{_DRIVER}"].{name}'
    if hint := next((hint for pattern, hint in _TYPES if pattern.search(message)), ""):
        return hint
    if match := _TWO_TYPES.search(message):
        return f"both sides must have one type, and are {match[1]} and {match[2]}"
    return ""


def _domain(problem: Problem, obj: Any) -> Advice:
    name = at(obj, problem.path)
    if not isinstance(name, str) or not name:
        return Advice()
    stated, slash, own = name.rpartition("/")
    if slash:
        respelt = _NOT_IN_IDENTIFIERS.sub("_", own)
        return _rename(f"{stated}/{respelt}", safe=False) if own and respelt != own else Advice()
    if domain := _only_domain(obj):
        return _rename(f"{domain}/{name}", safe=False)
    return Advice(f"{_NAME_DOMAIN}: {_DRIVER}/{name}")


def _only_domain(obj: Any) -> str:
    """Return the domain that all selectors of an object read; empty if they read several, or none."""
    expressions = [text(each, "cel", "expression") for each in _all_in(obj, "selectors")]
    domains = {domain for each in expressions for domain in _DOMAINS.findall(each)}
    return domains.pop() if len(domains) == 1 else ""


def _all_in(value: Any, field: str) -> Iterator[Any]:
    """Yield the items of all lists in fields of a name."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and isinstance(listed := value.get(field), list):
        yield from listed
    for each in inner:
        yield from _all_in(each, field)


def _mode(message: str) -> str:
    """Explain what a mode of allocation goes without, or what a mode of v1alpha2 was."""
    if message.endswith("is 'All'"):
        return "All takes all matching devices: leave out count"
    classic = _CLASSIC_MODE.search(message)
    now = "said when to allocate in v1alpha2, now always when a pod needs the devices: leave the field out"
    return f"{classic[1]} {now}" if classic else ""


def _source(_problem: Problem, _obj: Any) -> Advice:
    return Advice(
        "resourceClaimTemplateName gives each pod a claim of its own; resourceClaimName names one that pods share"
    )


_BY_RULE: Final[dict[str, Callable[[Problem, Any], Advice]]] = {
    "immutable": _unchanged,
    "requests-that-exist": _request,
    "container-claims": _claim,
    "cel-selector": _selector,
    "attribute-of-a-domain": _domain,
    "one-source": _source,
    "quantity": _quantity,
    "semver": _version,
    "json-object": lambda problem, obj: Advice(
        "write a map: without quotes around it, and without | after the key"
        if isinstance(at(obj, problem.path), str)
        else ""
    ),
    "exactly-or-first-available": lambda *_: Advice(
        "one class stands below exactly; of several, in the order of preference, each is an item of firstAvailable"
    ),
    "count-for-mode": lambda problem, _: Advice(_mode(problem.message)),
}
