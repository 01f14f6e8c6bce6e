"""Explains errors in the expressions of device selectors."""

from __future__ import annotations

import re

from webhook.cel.kubernetes.gates import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES
from webhook.objects import text
from webhook.problem import Advice, Fix, value_at
from webhook.references.selectorforms import BARE_AMOUNT, NO_FURTHER, ORDER, TEXT, rewritten, rewritten_at
from webhook.spelling import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from webhook.problem import Problem

DRIVER: Final = "DRIVER"
"""The placeholder for an unknown driver in hints."""
_ONE: Final = r"""(?:"[^"\\]*"|'[^'\\]*'|-?[0-9]+)"""
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
        "use straight quotes: \" or '",
        _NO_REPLACEMENT,
    ),
    (re.compile(r"token recognition error at: '\$"), "a selector reads `device`, as in device.driver", _NO_REPLACEMENT),
    (
        re.compile(r"token recognition error at: ''?[\"']"),
        "a string is not closed: the closing quote is missing",
        _NO_REPLACEMENT,
    ),
    (re.compile(r"missing '\)' at '<EOF>|'<EOF>' expecting '?\)"), "a parenthesis is not closed", _NO_REPLACEMENT),
    (
        re.compile(r"missing '\]' at|'<EOF>' expecting \{?'\]'"),
        "a bracket is not closed: a ] is missing",
        _NO_REPLACEMENT,
    ),
    (
        re.compile(r"(?:mismatched|extraneous) input '(?i:like)' expecting"),
        'CEL has no LIKE: write …startsWith("A"), …contains("A"), or …matches("^A")',
        _NO_REPLACEMENT,
    ),
    (
        re.compile(r"token recognition error at: ';"),
        "CEL has no `;`: join conditions by &&",
        _NO_REPLACEMENT,
    ),
    (re.compile(r"'<EOF>' expecting ':'"), "`?` needs a value for false, too: … ? … : …", _NO_REPLACEMENT),
    (
        re.compile(r"extraneous input '\)'|mismatched input '\)' expecting <EOF>"),
        "there is one ) too many",
        _NO_REPLACEMENT,
    ),
)
"""Syntax of other languages, by the compiler's message, with CEL's counterpart."""
_FORMS: Final = (
    (re.compile(r"===|!=="), "CEL writes {0} as {1}", lambda match: match[0][:2]),
    (
        re.compile(rf"(?<=\bin)\s*\((\s*{_ONE}(?:\s*,\s*{_ONE})+\s*)\)"),
        "a CEL list is written in brackets: {1}",
        lambda match: f" [{match[1]}]",
    ),
)
"""Syntax of other languages, by what stands around the place of a syntax error, with CEL's form."""
_LOCATED: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): ")
_FURTHER: Final = re.compile(r"(?<=\^)\nERROR: <input>:.*|(?<=\uff3e)\nERROR: <input>:.*", re.DOTALL)
_STRING: Final = re.compile(r"""[rRbB]*(\"{3}|'{3}|[\"'])(?:\\.|(?!\1).)*?(?:\1|$)""", re.DOTALL)
_NOT: Final = re.compile(r"(?:^|[(&|])\s*not\s+\Z")
_NOT_CALLED: Final = "undeclared reference to 'not'"
_SAYS_NOT: Final = "CEL writes `not` as !"
_TYPES: Final = (
    (
        re.compile(r"applied to '\((?:any, kubernetes\.Quantity|kubernetes\.Quantity, any)\)"),
        f'quantities are capacities: device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    (
        re.compile(r"'quantity' applied to '\(kubernetes\.Quantity\)'"),
        "a capacity is a quantity: leave out quantity(…) around it",
    ),
    (
        re.compile(r"'(?:int|uint|double|string)' applied to '\(kubernetes\.Quantity\)'"),
        "a capacity becomes a number by a method: ….memory.asInteger() > 40000000000",
    ),
    (
        re.compile(r"'_[-+]_' applied to '\(kubernetes\.Quantity, kubernetes\.Quantity\)"),
        'quantities are added by methods: ….memory.add(quantity("1Gi")), ….memory.sub(…)',
    ),
    (
        re.compile(r"operator: Quantity|applied to '\(kubernetes\.Quantity, [\w.]+\)'"),
        "a capacity is a quantity",
    ),
    (
        re.compile(r"(?:extraneous|mismatched) input '(?:[KMGTPE]i|[kmMGTPE])' expecting"),
        "CEL has no units",
    ),
    (
        re.compile(r"'(?:isGreaterThan|isLessThan|compareTo)' applied to 'kubernetes\.Quantity\.\("),
        "a quantity is compared with a quantity",
    ),
    (
        re.compile(r"unexpected failed resolution of 'kubernetes\.Quantity'"),
        "a capacity is the quantity itself: leave out .value",
    ),
    (
        re.compile(r"unexpected failed resolution of 'kubernetes\.Semver'"),
        "the parts of a version are methods: ….major()",
    ),
    (
        re.compile(r"applied to '\([\w.]+, kubernetes\.Semver\)'"),
        "versions are compared by methods",
    ),
    (
        re.compile(r"'(?:isGreaterThan|isLessThan|compareTo)' applied to 'any\.\("),
        "state the type",
    ),
    (
        re.compile(r"invalid argument to has\(\) macro"),
        f'has() takes a field after a dot: has(device.attributes["{DRIVER}"].model)',
    ),
    (
        re.compile(r"'_\[_\]' applied to '\(kubernetes\.DRADevice, string\)"),
        "read a field of device with a dot, as in device.driver",
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
        'a read with .? or [?…] is optional: give a default, as in ….?model.orValue("")',
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
_EXAMPLES: Final = {
    "a capacity is a quantity": 'compare it as in …memory.compareTo(quantity("40Gi")) >= 0',
    "CEL has no units": 'compare a capacity as in …memory.compareTo(quantity("40Gi")) >= 0',
    "a quantity is compared with a quantity": 'write it as quantity("40Gi")',
    "versions are compared by methods": '….version.compareTo(semver("1.0.0")) >= 0',
    "state the type": 'quantity("40Gi") for a capacity, semver("1.0.0") for a version',
}
"""What is said of such a mismatch where the form of the expression itself is unclear."""
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
    "has": f'has() takes a field after a dot: has(device.attributes["{DRIVER}"].model)',
    "exists": "exists() is for lists: has(…) asks whether a field is there",
    "any": "CEL searches a list by exists(): ….exists(x, x == …)",
    "len": "CEL counts by size()",
    **dict.fromkeys(("self", "object", "this"), "a selector reads `device`, as in device.driver"),
    "null": "what is absent is not null: has(…) asks whether a field is there",
}
"""Names of other languages, where no known name is near."""
_NO_DOMAIN: Final = re.compile(r"applied to '\(?map\(string, (?:any|dyn|kubernetes\.Quantity)\)")
_DOMAINS: Final = re.compile(r"""device\.(?:(?:attributes|capacity)\[|driver\s*==\s*)["']([^"'/.]+\.[^"'/]+)["']""")
NAME_DOMAIN: Final = "name the domain, which is usually the driver"
_OF_DOMAIN: Final = f'read an attribute as in device.attributes["{DRIVER}"].{{}}'
_OF_DOMAINS: Final = f'{_OF_DOMAIN}, a capacity as in device.capacity["{DRIVER}"].{{0}}'.replace("{}", "{0}")
_BEFORE_VALUES: Final = ("==", "!=", "[", ",")
_BEFORE_TEXT: Final = re.compile(r"\.(?:startsWith|endsWith|contains|matches)\(\Z")
_FIELD: Final = re.compile(r"""device\.(attributes|capacity)(?:\.|(\[["']))(\w+)\b(?(2)["']\])(?!\.(?!\w+\())""")
"""A field that is read without its domain; the call of a method may follow."""
_CONSTANT: Final = re.compile(_ONE)
_READ: Final = r"""(?P<read>device\.(?:driver|(?:attributes|capacity)\[["'][^"']+["']\]\.\w+))"""
_CHOICES: Final = tuple(
    (re.compile(rf"{_READ}\s*{equal}\s*(?P<values>{_ONE}(?:\s*{joint}\s*{_ONE})+){NO_FURTHER}"), form)
    for equal, joint, form in (("==", r"\|\|", "{} in [{}]"), ("!=", "&&", "!({} in [{}])"))
)
"""Comparisons with several values in other languages' form, and CEL's form."""
_DENIED_VALUE: Final = re.compile(r"'(?:_==_' applied to '\(bool, \w+|!_' applied to '\(string)\)")
_DENIED: Final = re.compile(rf"!\s*{_READ}\s*==\s*(?P<value>{_ONE}){NO_FURTHER}")
_NOT_A_CONDITION: Final = "expected type 'bool' but found '"
_ANY_AND_QUANTITY: Final = re.compile(r"applied to '\(any, kubernetes\.Quantity\)'")
_ATTRIBUTE_AS_QUANTITY: Final = re.compile(
    rf"""device\.attributes(?P<read>\[["'][^"']+["']\]\.\w+)\s*(?P<operator>{ORDER})\s*(?P<amount>quantity\({TEXT}\))"""
)
_DOTTED: Final = re.compile(r"\bdevice\.(attributes|capacity)\.([\w-]+(?:\.[\w-]+)+)\.([A-Za-z_]\w*)\b(?!\s*\()")
"""A domain with dots that is not in brackets, and what is read of it."""
_PATH: Final = re.compile(r"""device\.(attributes|capacity)\[["']([^"'/]+)/(\w+)["']\]""")


def hint_of(problem: Problem, obj: Any) -> Advice:
    """Suggest the intended expression; empty if unclear.

    Args:
        problem: The API server's finding about a selector.
        obj: The object with the selector.
    """
    expression = value_at(obj, problem.path)
    if not isinstance(expression, str):
        return Advice()
    message = _first_error(problem.message)
    if advice := _unquoted(expression) or syntax(message, expression):
        return advice
    if advice := _dotted(expression) or _mistaken(message, expression):
        return advice
    unknown = _unknown(message, expression)
    if unknown.fix:
        return unknown
    hint, domain = unknown.hint or _types(message, expression), only_domain(obj)
    if hint.startswith(NAME_DOMAIN) and domain:
        corrected = _FIELD.sub(rf'device.\1["{domain}"].\3', expression)
        return Advice(hint.replace(DRIVER, domain), Fix("replace", corrected, safe=False))
    return _corrected(hint.replace(DRIVER, domain or DRIVER), expression)


def _unquoted(expression: str) -> Advice | None:
    """Suggest quotes for an amount; None if none lacks them."""
    amount = BARE_AMOUNT.search(expression)
    return _corrected(f'the amount is a text in quotes: quantity("{amount[1]}")', expression) if amount else None


def _first_error(message: str) -> str:
    """Return a compiler's message without the errors after the first, whose place is shown."""
    return _FURTHER.sub("", message, count=1)


def _corrected(hint: str, expression: str) -> Advice:
    """Explain a type mismatch, and fix it where the meaning is clear."""
    return Advice(hint, rewritten(expression) if hint else None)


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
    for around, hint, form in _FORMS if "Syntax error" in message else ():
        if match := _around(around, expression, _place(expression, message)):
            meant = form(match)
            corrected = f"{expression[: match.start()]}{meant}{expression[match.end() :]}"
            return Advice(hint.format(match[0], meant.strip()), Fix("replace", corrected))
    for pattern, hint, (written, replacement) in _SYNTAX:
        if match := pattern.search(message):
            return Advice(hint, _rewritten(expression, message, match[1] if match.lastindex else written, replacement))
    return None


def _around(pattern: re.Pattern[str], expression: str, place: int) -> re.Match[str] | None:
    """Return the match of a pattern around an offset in an expression, outside of its texts; None if there is none."""
    texts = [each.span() for each in _STRING.finditer(expression)]
    for match in pattern.finditer(expression):
        if match.start() <= place < match.end():
            return None if any(start < match.start() < end for start, end in texts) else match
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


def _unknown(message: str, expression: str) -> Advice:
    match = _UNDEFINED.search(message) or _UNDECLARED.search(message)
    if match is None:
        return Advice()
    if gate := _GATED.get(match[1]):
        return Advice(f"{match[1]} needs the feature gate {gate}, which is off")
    place = _place(expression, message)
    return (_undefined if match.re is _UNDEFINED else _undeclared)(match[1], place, expression)


def _near(name: str, near: str, place: int, expression: str) -> Advice:
    """Suggest another name; a compiler's place is that of a name, of the dot in front or the parenthesis behind it."""
    start = place - len(name) if expression.startswith("(", place) else place + expression.startswith(".", place)
    is_there = expression.startswith(name, start)
    corrected = f"{expression[:start]}{near}{expression[start + len(name) :]}"
    fix = Fix("replace", corrected, safe=name.lower() == near.lower()) if is_there else None
    return Advice(f"did you mean {near}?", fix)


_UNSEEN: Final = frozenset({"name", "node", "nodeName", "pool"})
"""What selectors cannot read of a device."""


def _undefined(name: str, place: int, expression: str) -> Advice:
    if name in _UNSEEN:
        return Advice("selectors read attributes and capacities, not the names of devices, pools and nodes")
    near = nearest(name, _FIELDS)
    return _near(name, near, place, expression) if near else Advice(_OF_DOMAINS.format(name))


_UNQUOTED: Final = re.compile(r"\w[-./\w]*+(?!\()")
"""A text without quotes, such as a driver's name; a call is none."""


def _undeclared(name: str, place: int, expression: str) -> Advice:
    dashed = re.search(rf"\.(\w+(?:-\w+)*-{name})\b", expression)
    if dashed and f".{name}" not in expression:
        return Advice(f"CEL reads {dashed[1]} as a subtraction: names of attributes have no dashes")
    if name in _INSTEAD:
        return Advice(_INSTEAD[name])
    if near := f"device.{name}" if name in _FIELDS else nearest(name, _NAMES):
        return _near(name, near, place, expression)
    before = expression[:place].rstrip()
    if before.endswith(_BEFORE_VALUES) or _BEFORE_TEXT.search(before):
        match = _UNQUOTED.match(expression, place)
        whole = match[0].rstrip("-./") if match else name
        quoted = f'{expression[:place]}"{whole}"{expression[place + len(whole) :]}'
        return Advice(f'put text in quotes: "{whole}"', Fix("replace", quoted, safe=False) if match else None)
    is_called = expression.startswith("(", place)  # the place of a call is its parenthesis
    return Advice("only `device` and CEL's functions are defined here" if is_called else _OF_DOMAIN.format(name))


def _dotted(expression: str) -> Advice | None:
    """Suggest brackets for a domain that is read field by field."""
    match = _DOTTED.search(expression)
    if match is None:
        return None
    holder, domain, name = match.groups()
    return _meant("put the domain in brackets and quotes", f'device.{holder}["{domain}"].{name}', match)


def _mistaken(message: str, expression: str) -> Advice | None:
    return _choice(message, expression) or _quantity(message, expression) or _denied(message, expression)


def _choice(message: str, expression: str) -> Advice | None:
    """Suggest a list of values, where only the first of several is compared."""
    if _NOT_A_CONDITION not in message:
        return None
    for pattern, form in _CHOICES:
        if match := pattern.search(expression):
            values = ", ".join(each[0] for each in _CONSTANT.finditer(expression, *match.span("values")))
            return _meant("each side of || and && is a condition", form.format(match["read"], values), match)
    return Advice('a condition is true or false: compare each value, as in … == "A" || … == "B"')


def _quantity(message: str, expression: str) -> Advice | None:
    """Suggest a capacity for an attribute that is compared with a quantity."""
    match = _ATTRIBUTE_AS_QUANTITY.search(expression) if _ANY_AND_QUANTITY.search(message) else None
    if match is None:
        return None
    meant = f"device.capacity{match['read']}.compareTo({match['amount']}) {match['operator']} 0"
    return _meant("quantities are capacities", meant, match)


def _denied(message: str, expression: str) -> Advice | None:
    """Suggest ``a != b`` in place of ``!a == b``."""
    if not _DENIED_VALUE.search(message) or not (match := _DENIED.search(expression)):
        return None
    return _meant("! is for conditions", f"{match['read']} != {match['value']}", match)


def _meant(hint: str, meant: str, match: re.Match[str]) -> Advice:
    """Suggest a form in CEL for a part of an expression."""
    corrected = f"{match.string[: match.start()]}{meant}{match.string[match.end() :]}"
    return Advice(f"{hint}: {meant}", Fix("replace", corrected, safe=False))


def _types(message: str, expression: str) -> str:
    if _NO_DOMAIN.search(message) and (path := _PATH.search(expression)):
        return f'domain and name are two steps: device.{path[1]}["{path[2]}"].{path[3]}'
    if _NO_DOMAIN.search(message) and (field := _FIELD.search(expression)):
        holder, _, name = field.groups()
        return f'{NAME_DOMAIN}: device.{holder}["{DRIVER}"].{name}'
    if hint := next((hint for pattern, hint in _TYPES if pattern.search(message)), ""):
        example = _EXAMPLES.get(hint)
        return f"{hint}: {rewritten_at(expression, _place(expression, message)) or example}" if example else hint
    if match := _TWO_TYPES.search(message):
        return f"both sides must have one type, and are {match[1]} and {match[2]}"
    return ""


def only_domain(obj: Any) -> str:
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
