"""Hints for errors in the expressions of device selectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final

from webhook.cel.errors import (
    EXTRANEOUS,
    INVALID_ARGUMENT,
    INVALID_LITERAL,
    MISMATCHED,
    MISMATCHED_TYPE,
    MISSING,
    NO_OVERLOAD,
    NOT_A_FIELD,
    RESERVED_NAME,
    SYNTAX,
    UNDECLARED,
    UNDEFINED,
    UNRECOGNIZED,
    UNRESOLVED,
)
from webhook.cel.kubernetes.devices import CONSUMABLE_CAPACITY, DEVICE, LIST_ATTRIBUTES, NOT_A_RESULT
from webhook.cel.kubernetes.quantity import QUANTITY
from webhook.cel.kubernetes.semver import SEMVER
from webhook.cel.syntax.ast import Call, Expression, ListExpression, Literal
from webhook.cel.syntax.lexer import END
from webhook.cel.types.base import ANY, BOOL, DYN, ERROR, STRING, Type, is_optional, is_simple, map_of
from webhook.formats import near_semver
from webhook.formats.quantities import readable_quantity
from webhook.issues import Issue
from webhook.objects import text
from webhook.problem import Advice, Fix, Problem, value_at
from webhook.spelling import nearest

_CAPACITY: Final = r"""(device\.capacity\[["'][^"']+["']\]\.\w+)"""
_ATTRIBUTE: Final = r"""(device\.attributes\[["'][^"']+["']\]\.\w+)"""
TEXT: Final = r"""("[^"\\]*"|'[^'\\]*')"""
"""Matches a text."""
_AMOUNT: Final = r"""(?P<amount>"[^"\\]*"|'[^'\\]*')"""
"""Matches a text that is meant as a quantity."""
_NUMBERS: Final = r"[0-9]+(?:\.[0-9]+){0,2}"
_VERSION: Final = rf"""(?P<version>"{_NUMBERS}"|'{_NUMBERS}'|[0-9]+(?:\.[0-9]+)?)"""
"""Matches a text or number that is meant as a version."""
ORDER: Final = r"(>=|<=|>|<)"
"""Matches an operator of quantities and versions in other languages."""
NO_FURTHER: Final = r"(?!\s*(?:[-=!<>+*/%.\[\w]|in\b))"
"""Matches the end of a side of a comparison."""
_BARE: Final = rf"([0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[kMGTPE]))\b{NO_FURTHER}"
"""Matches an amount with a unit, without quotes."""
_NUMBER: Final = rf"([0-9]+(?:\.[0-9]+)?)\b{NO_FURTHER}"
BARE_AMOUNT: Final = re.compile(r"""\bquantity\(\s*([0-9.]+(?:[KMGTPE]i|[kMGTPE]))\s*\)""")
"""Matches a quantity without the quotes around its amount."""
_VERSION_ALONE: Final = re.compile(rf"{_ATTRIBUTE}\.(isGreaterThan|isLessThan|compareTo)\({_VERSION}\)")
_COMPARISONS: Final = (
    # quantity(40Gi) -> quantity("40Gi")
    (BARE_AMOUNT, r'quantity("\1")'),
    # version.isLessThan("550") -> version.isLessThan(semver("550.0.0"))
    (_VERSION_ALONE, r"\1.\2(semver(\3))"),
    # quantity(memory) -> memory
    (re.compile(rf"quantity\(\s*{_CAPACITY}\s*\)"), r"\1"),
    # memory >= quantity("40Gi") -> memory.compareTo(quantity("40Gi")) >= 0
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*(quantity\({_AMOUNT}\))"), r"\1.compareTo(\3) \2 0"),
    # quantity("40Gi") <= memory -> quantity("40Gi").compareTo(memory) <= 0
    (re.compile(rf"(quantity\({_AMOUNT}\))\s*{ORDER}\s*{_CAPACITY}{NO_FURTHER}"), r"\1.compareTo(\4) \3 0"),
    # version >= semver("1.2") -> version.compareTo(semver("1.2.0")) >= 0
    (re.compile(rf"{_ATTRIBUTE}\s*{ORDER}\s*(semver\((?P<version>{TEXT})\))"), r"\1.compareTo(\3) \2 0"),
    # memory >= "40Gi" -> memory.compareTo(quantity("40Gi")) >= 0
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*{_AMOUNT}"), r"\1.compareTo(quantity(\3)) \2 0"),
    # memory >= 40Gi -> memory.compareTo(quantity("40Gi")) >= 0
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*{_BARE}"), r'\1.compareTo(quantity("\3")) \2 0'),
    # memory == "40Gi" -> memory == quantity("40Gi")
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_AMOUNT}"), r"\1 \2 quantity(\3)"),
    # memory == 40Gi -> memory == quantity("40Gi")
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_BARE}"), r'\1 \2 quantity("\3")'),
    # memory.isLessThan("40Gi") -> memory.isLessThan(quantity("40Gi"))
    (re.compile(rf"{_CAPACITY}\.(isGreaterThan|isLessThan|compareTo)\({_AMOUNT}\)"), r"\1.\2(quantity(\3))"),
    # memory.value -> memory
    (re.compile(rf"{_CAPACITY}\.value\b(?!\()"), r"\1"),
    # device.attributes["gpu.example.com/model"] -> device.attributes["gpu.example.com"].model
    (re.compile(r"""device\.(attributes|capacity)\[["']([^"'/]+)/(\w+)["']\]"""), r'device.\1["\2"].\3'),
)
"""Comparisons and reads with one possible meaning, and their form in CEL. In the comments, memory is short for
``device.capacity["gpu.example.com"].memory``, and version for ``device.attributes["gpu.example.com"].version``."""
_LAST: Final = r"""\b(\w+)(?:["']\])?"""
"""Matches the name before an operator, at a word boundary: a search from each letter takes quadratic time."""
_UNIT: Final = '; units follow the number, as in "40Gi"'
_SHOWN: Final = (
    # memory >= 40 -> memory.compareTo(quantity("40")) >= 0
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*{_NUMBER}"), rf'\1.compareTo(quantity("\3")) \2 0{_UNIT}'),
    # memory == 40 -> memory == quantity("40")
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_NUMBER}"), rf'\1 \2 quantity("\3"){_UNIT}'),
    # driver in "a" -> … in ["a"]
    (re.compile(r"""\bin\s*("[^"\\\s,]*"|'[^'\\\s,]*')"""), r"… in [\1]"),
    # c["memory"] >= 40Gi -> …memory.compareTo(quantity("40Gi")) >= 0
    (re.compile(rf"{_LAST}\s*{ORDER}\s*{_BARE}"), r'compare a capacity as in …\1.compareTo(quantity("\3")) \2 0'),
    (re.compile(rf"{_LAST}\s*{ORDER}\s*{_AMOUNT}"), r"compare it as in …\1.compareTo(quantity(\3)) \2 0"),
)
"""Comparisons of which only the author knows all, such as the unit: shown as a hint, never applied as a fix."""


def _in_cel(replacement: str, match: re.Match[str]) -> str:
    """Return a comparison in the form that CEL requires; unchanged if the text is not a valid quantity."""
    amount, version = (match.groupdict().get(name) for name in ("amount", "version"))
    if amount is not None and readable_quantity(amount[1:-1]) is None:
        return match[0]
    form = match.expand(replacement)
    if not version:
        return form
    # A version has three numbers; it may be written as a number, or with fewer.
    numbers = version.strip("\"'")
    quote = '"' if numbers == version else version[0]
    return form.replace(f"({version})", f"({quote}{near_semver(numbers) or numbers}{quote})")


DRIVER: Final = "DRIVER"
"""The placeholder for an unknown driver in hints."""
_ONE: Final = r"""(?:"[^"\\]*"|'[^'\\]*'|-?[0-9]+)"""
_DEVICE: Final = "a selector reads `device` alone, as in device.driver"
_AND: Final = "CEL writes `and` as &&"
_OR: Final = "CEL writes `or` as ||"
_UNRECOGNIZED: Final = {
    "=~": ('regular expressions are matched by a method: ….matches("A100.*")', ""),
    "=": ("compare with == in place of =", "=="),
    "&": (_AND, "&&"),
    "|": (_OR, "||"),
    **dict.fromkeys("\u201c\u201d\u2018\u2019", ("use straight quotes: \" or '", "")),
    "$": (_DEVICE, ""),
    **dict.fromkeys("\"'", ("a string is not closed: the closing quote is missing", "")),
    ";": ("CEL has no `;`: join conditions by &&", ""),
    "#": ("a comment in CEL begins with //", ""),
}
"""Syntax of other languages that CEL does not have, by how it begins, with CEL's counterpart."""
_WORDS: Final = {
    "and": (_AND, "&&"),
    "or": (_OR, "||"),
    **{each: (f"CEL writes {each} in lower case", each) for each in ("true", "false")},
}
"""Words of other languages, in lower case, with CEL's counterpart."""
ABSENT: Final = "what is absent is not null: has(…) asks whether a field is there"
"""The hint for a comparison with null."""
_OTHERWISE: Final[Mapping[str, Mapping[str, str]]] = {
    UNDECLARED: {
        **dict.fromkeys(("None", "nil", "NULL", "undefined"), ABSENT),
        **dict.fromkeys(("math", "base64", "json", "strings"), "Kubernetes does not have this library of CEL"),
    },
    RESERVED_NAME: {"if": "CEL writes `if` as a condition: … ? … : …"},
    INVALID_ARGUMENT: {
        "matches": "write a regular expression in RE2's syntax (github.com/google/re2/wiki/Syntax), without lookaround"
    },
}
"""What is written as in other languages, by the error and what it is about, with CEL's counterpart."""
_FUNCTIONS: Final = {
    **dict.fromkeys(("any", "some"), "CEL searches a list by exists(): ….exists(x, x == …)"),
    **dict.fromkeys(("every", "forEach", "forall"), "CEL asks all items of a list by all(): ….all(x, x == …)"),
    **dict.fromkeys(("len", "length", "count"), "CEL counts by size()"),
    "version": "semver('1.2.3') makes a version of a text",
    **dict.fromkeys(("toLowerCase", "toLower", "lower"), "CEL writes lowerAscii()"),
    **dict.fromkeys(("toUpperCase", "toUpper", "upper"), "CEL writes upperAscii()"),
    **dict.fromkeys(("keys", "values"), "a map is a list of its keys: MAP.all(key, …), MAP.map(key, MAP[key])"),
    **dict.fromkeys(("now", "uuid", "random"), "expressions know neither the time nor anything random"),
}
"""Functions of other languages, with CEL's counterpart; attributes have some of these names, too."""
_FORMS: Final = (
    (re.compile(r"===|!=="), "CEL writes {0} as {1}", lambda match: match[0][:2]),
    (
        re.compile(rf"(?<=\bin)\s*\((\s*{_ONE}(?:\s*,\s*{_ONE})+\s*)\)"),
        "a CEL list is written in brackets: {1}",
        lambda match: f" [{match[1]}]",
    ),
)
"""Syntax of other languages, by what stands around the place of a syntax error, with CEL's form."""
_KEY: Final = re.compile(
    r"\b(labels|annotations|data|nodeSelector|matchLabels|limits|requests|allocatable)"
    r"\.([\w.]{1,99}+[-/][\w./-]{0,99}\w)"
)
"""A key with a dash or a slash that is not in brackets."""
_TEXT_OR_COMMENT: Final = re.compile(
    r"""//(?P<comment>.*)|[rRbB]{0,2}(?P<quote>"{3}|'{3}|["'])(?s:\\.|(?!(?P=quote)).)*?(?:(?P=quote)|$)"""
)
COMMENTED: Final = "// begins a comment up to the end of the line, and > joins lines: write the expression behind |"
_NOT: Final = re.compile(r"(?:^|[(&|])\s*not\s+\Z")
_COMPARED: Final = "_==_ _!=_ _<_ _>_ _<=_ _>=_"
_AS_CAPACITY: Final = f'quantities are capacities: device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
_OF_CAPACITY: Final = 'compare it as in …memory.compareTo(quantity("40Gi")) >= 0'
_UNITS: Final = frozenset({*"kmMGTPE", *(f"{each}i" for each in "KMGTPE")})
_HAS: Final = f'has() takes a field after a dot: has(device.attributes["{DRIVER}"].model)'
_Wanted = Sequence[Type | Callable[[Type], bool]]


def _is_known(type_: Type) -> bool:
    """Tell whether a type is known, and has no parameters."""
    return type_ is not ERROR and not type_.parameters


_CALLS: Final[tuple[tuple[str, _Wanted, str, str], ...]] = (
    ("", (ANY, QUANTITY), _AS_CAPACITY, ""),
    ("", (QUANTITY, ANY), _AS_CAPACITY, ""),
    ("quantity", (QUANTITY,), "a capacity is a quantity: leave out quantity(…) around it", ""),
    (
        "int uint double string",
        (QUANTITY,),
        "a capacity becomes a number by a method: ….memory.asInteger() > 40000000000",
        "",
    ),
    (
        "_-_ _+_",
        (QUANTITY, QUANTITY),
        'quantities are added by methods: ….memory.add(quantity("1Gi")), ….memory.sub(…)',
        "",
    ),
    ("", (QUANTITY, _is_known), "a capacity is a quantity", _OF_CAPACITY),
    ("", (_is_known, SEMVER), "versions are compared by methods", '….version.compareTo(semver("1.0.0")) >= 0'),
    ("_[_]", (DEVICE, STRING), "read a field of device with a dot, as in device.driver", ""),
    ("@in", (is_simple, STRING), "`in` takes a list", '… in ["A", "B"]'),
    ("!_", (STRING,), "! is for conditions: write !=, or put what is denied in parentheses, as in !(… == …)", ""),
)
"""Calls of functions, of any if none are named, with arguments of wrong types: a hint, and an example where the form of
the expression itself is unclear."""
_METHODS: Final = {
    QUANTITY: ("a quantity is compared with a quantity", 'write it as quantity("40Gi")'),
    ANY: ("state the type", 'quantity("40Gi") for a capacity, semver("1.0.0") for a version'),
}
"""Hints for the methods that compare, by the type that they are called on."""
_OTHERS: Final = {
    Issue(UNRESOLVED, (QUANTITY.name,)): "a capacity is the quantity itself: leave out .value",
    Issue(UNRESOLVED, (SEMVER.name,)): "the parts of a version are methods: ….major()",
    Issue(NOT_A_FIELD): _HAS,
    Issue(NOT_A_RESULT): "a selector is true or false for a device: compare, as in device.driver == …",
    Issue(INVALID_LITERAL.format("int")): (
        "whole numbers have 64 bits: from -9223372036854775808 to 9223372036854775807"
    ),
}
"""Hints for other issues, wherever they are."""
_GATED: Final = {"allowMultipleAllocations": CONSUMABLE_CAPACITY, "includes": LIST_ATTRIBUTES}
"""The feature gates without which a name of device selectors is not declared."""
_FIELDS: Final = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_OF_DEVICE: Final = re.compile(rf"\.(?:{'|'.join(_FIELDS)})\b")
_NAMES: Final = (
    *("device", "quantity", "isQuantity", "semver", "isSemver", "has", "size", "string", "int", "double"),
    *("startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii", "split", "replace", "trim"),
    *("compareTo", "isGreaterThan", "isLessThan", "asInteger", "orValue", "hasValue", "major", "minor", "patch"),
    *("exists", "exists_one", "all", "filter", "includes"),
)
_INSTEAD: Final = {
    "has": _HAS,
    "exists": "exists() is for lists: has(…) asks whether a field is there",
    **dict.fromkeys(("self", "object", "this"), _DEVICE),
    "null": ABSENT,
}
"""Names of other languages, where no known name is near."""
_DOMAIN: Final = frozenset(map_of(STRING, each) for each in (ANY, DYN, QUANTITY))
"""The types of what has the attributes, or the capacities, of a domain."""
_DOMAINS: Final = re.compile(r"""device\.(?:(?:attributes|capacity)\[|driver\s*==\s*)["']([^"'/.]+\.[^"'/]+)["']""")
NAME_DOMAIN: Final = "name the domain, which is usually the driver"
_OF_DOMAIN: Final = f'read an attribute as in device.attributes["{DRIVER}"].{{}}'
_OF_DOMAINS: Final = f'{_OF_DOMAIN}, a capacity as in device.capacity["{DRIVER}"].{{0}}'.replace("{}", "{0}")
_BEFORE_TEXT: Final = re.compile(r"\.(?:startsWith|endsWith|contains|matches)\(\Z")
_FIELD: Final = re.compile(r"""device\.(attributes|capacity)(?:\.|(\[["']))(\w+)\b(?(2)["']\])(?!\.(?!\w+\())""")
"""A field that is read without its domain; the call of a method may follow."""
_WHOLE: Final = re.compile(r"""(?<!in )device\.(attributes|capacity)\[["'][^"'/]+["']\](?!\s*(?:\[|\.(?!\w+\()))""")
"""What a domain has, none of which is named."""
_ONE_OF: Final = {
    "attributes": "attributes: name one, as in {}.model",
    "capacity": "capacities: name one, as in {}.memory",
}
_CONSTANT: Final = re.compile(_ONE)
_READ: Final = r"""(?P<read>device\.(?:driver|(?:attributes|capacity)\[["'][^"']+["']\]\.\w+))"""
_CHOICES: Final = tuple(
    (re.compile(rf"{_READ}\s*{equal}\s*(?P<values>{_ONE}(?:\s*{joint}\s*{_ONE})+){NO_FURTHER}"), form)
    for equal, joint, form in (("==", r"\|\|", "{} in [{}]"), ("!=", "&&", "!({} in [{}])"))
)
"""Comparisons with several values in other languages' form, and CEL's form."""
_DENIED: Final = re.compile(rf"!\s*{_READ}\s*==\s*(?P<value>{_ONE}){NO_FURTHER}")
_ATTRIBUTE_AS_QUANTITY: Final = re.compile(
    rf"""device\.attributes(?P<read>\[["'][^"']+["']\]\.\w+)\s*(?P<operator>{ORDER})\s*(?P<amount>quantity\({TEXT}\))"""
)
_DOTTED: Final = re.compile(r"\bdevice\.(attributes|capacity)\.([\w-]+(?:\.[\w-]+)+)\.([A-Za-z_]\w*)\b(?!\s*\()")
"""A domain with dots that is not in brackets, and what is read of it."""
_REWRITTEN: Final[Sequence[tuple[re.Pattern[str], Sequence[tuple[str, _Wanted]], str, str]]] = (
    (_DOTTED, (), "put the domain in brackets and quotes", r'device.\1["\2"].\3'),
    (
        _ATTRIBUTE_AS_QUANTITY,
        [("", (ANY, QUANTITY))],
        "quantities are capacities",
        r"device.capacity\g<read>.compareTo(\g<amount>) \g<operator> 0",
    ),
    (_DENIED, [("_==_", (BOOL, is_simple)), ("!_", (STRING,))], "! is for conditions", r"\g<read> != \g<value>"),
)
"""Parts of expressions whose meaning is clear: the calls that fail then, if not any error, a hint, and CEL's form."""
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
    issue = problem.issues[0] if problem.issues else Issue("")
    if amount := BARE_AMOUNT.search(expression):
        return _with_fix(f'the amount is a string in quotes: quantity("{amount[1]}")', expression)
    for suggest in (_gated, syntax, _rewritten, _choice):
        if advice := suggest(issue, expression):
            return advice
    unknown, domain = _unknown(issue, expression), only_domain(obj)
    if unknown.fix:
        return unknown
    if advice := _without_domain(issue, expression, domain):
        return advice
    hint = unknown.hint or _types(issue, expression)
    return _with_fix(hint.replace(DRIVER, domain or DRIVER), expression)


def _with_fix(hint: str, expression: str) -> Advice:
    """Give a hint about a type mismatch, with the fix that rewrites all comparisons whose meaning is clear."""
    corrected = expression
    for pattern, replacement in _COMPARISONS if hint else ():
        corrected = pattern.sub(partial(_in_cel, replacement), corrected)
    is_safe = not any(near_semver(each["version"].strip("\"'")) for each in _VERSION_ALONE.finditer(expression))
    return Advice(hint, Fix("replace", corrected, safe=is_safe) if corrected != expression else None)


def _gated(issue: Issue, _expression: str) -> Advice | None:
    gate = _GATED.get(issue.arguments[0]) if issue.code in {UNDEFINED, UNDECLARED} else None
    return Advice(f"{issue.arguments[0]} needs the feature gate {gate}, which is off") if gate else None


def syntax(issue: Issue, expression: str) -> Advice | None:
    """Suggest CEL's form for syntax of another language; None if there is none.

    Args:
        issue: The first error in the expression.
    """
    if not expression.strip():
        return Advice("the expression is empty")
    if issue.code in SYNTAX and comments_in(expression):
        return Advice(COMMENTED)
    place = _place(issue)
    if _NOT.search(expression, 0, place) or (issue.code == UNDECLARED and issue.arguments[0] == "not"):
        return Advice("CEL writes `not` as !")
    for around, hint, form in _FORMS if issue.code in SYNTAX else ():
        at_place = (each for each in around.finditer(expression) if each.start() <= place < each.end())
        if (match := next(at_place, None)) and not _is_in_text(expression, match.start()):
            meant = form(match)
            corrected = f"{expression[: match.start()]}{meant}{expression[match.end() :]}"
            return Advice(hint.format(match[0], meant.strip()), Fix("replace", corrected))
    if issue.code == UNDECLARED and (key := _KEY.search(expression)) and key.start() < place <= key.end():
        return Advice(f"put the key in brackets and quotes: {key[1]}['{key[2]}']")
    is_called = issue.code == UNDECLARED and _is_called(expression, place)
    hint, written, replacement = _foreign(issue, _FUNCTIONS if is_called else _OTHERWISE.get(issue.code, {}))
    return Advice(hint, _token_replaced(expression, place, written, replacement)) if hint else None


def _foreign(issue: Issue, names: Mapping[str, str]) -> tuple[str, str, str]:
    """Explain syntax of another language: a hint, what is written, and its replacement; each empty if there is none.

    Args:
        names: The names of other languages, with CEL's counterpart.
    """
    word = issue.arguments[0] if issue.arguments else ""
    if issue.code == UNRECOGNIZED:
        for begin, (hint, replacement) in _UNRECOGNIZED.items():
            if word.startswith(begin):
                return hint, begin if replacement else "", replacement
    if meant := names.get(word):
        return meant, "", ""
    if issue.code in {UNDECLARED, *SYNTAX} and (said := _WORDS.get(word.lower())) and word != said[1]:
        return said[0], word, said[1]
    if issue.code == EXTRANEOUS and word == ">":
        return "CEL writes <> as !=", "<>", "!="
    is_token = issue.code in {MISSING, EXTRANEOUS, MISMATCHED}
    return (_unexpected(issue.code, word, issue.arguments[1]) if is_token else ""), "", ""


def _unexpected(code: str, word: str, expected: AbstractSet[str]) -> str:
    """Explain a token that cannot come next; empty if unclear."""
    if word == END and expected == {")"}:
        return "a parenthesis is not closed"
    if "]" in expected <= {"]", ","} and (code == MISSING or word == END):
        return "a bracket is not closed: a ] is missing"
    if word == END and expected == {":"}:
        return "`?` needs a value for false, too: … ? … : …"
    if code != MISSING and word.lower() == "like":
        return 'CEL has no LIKE: write …startsWith("A"), …contains("A"), or …matches("^A")'
    is_surplus = code == EXTRANEOUS or (code == MISMATCHED and expected == {END})
    return "there is one ) too many" if word == ")" and is_surplus else ""


def comments_in(expression: str) -> list[int]:
    """Return where the comments begin that have parts of an expression."""
    comments = ((each.start(), each["comment"] or "") for each in _TEXT_OR_COMMENT.finditer(expression))
    return [start for start, comment in comments if "&&" in comment or "||" in comment]


_PATTERN: Final = re.compile(r"\^.|.*(?:\*|\w\|\w|[^$]\$$)", re.DOTALL)
AS_TEXT: Final = "{} is a pattern, and is compared letter by letter"
FOR_PATTERNS: Final = "only .matches() takes patterns; .startsWith() finds the beginning of a text"


def compared(call: Call) -> Iterator[tuple[Expression, Sequence[Expression]]]:
    """Yield each side of a comparison for equality, and the values with which it is compared."""
    if call.function in {"_==_", "_!=_"}:
        left, right = call.arguments
        yield from ((left, [right]), (right, [left]))
    elif call.function == "@in" and isinstance(of := call.arguments[1], ListExpression):
        yield call.arguments[0], of.elements


def compared_texts(call: Call) -> Iterator[tuple[Expression, Literal]]:
    """Yield what a call compares with a text, as a whole or in part, and the text."""
    sides = [*compared(call)]
    if call.function == "@in":
        sides.append((call.arguments[1], call.arguments[:1]))
    elif call.target and call.function in {"startsWith", "endsWith", "contains"}:
        sides.append((call.target, call.arguments))
    for side, several in sides:
        yield from ((side, each) for each in several if isinstance(each, Literal) and isinstance(each.value, str))


def patterns_in(call: Call) -> Iterator[tuple[Expression, Literal]]:
    """Yield what a call compares with a pattern, which it takes for a plain text, and the pattern."""
    return (each for each in compared_texts(call) if _PATTERN.match(each[1].value))


def _is_in_text(expression: str, at: int) -> bool:
    texts = (each.span() for each in _TEXT_OR_COMMENT.finditer(expression) if each["quote"])
    return any(start <= at < end for start, end in texts)


def _place(issue: Issue) -> int:
    """Return the offset of an issue in an expression; 0 if it has none."""
    return max(issue.offset, 0)


def _is_called(expression: str, place: int) -> bool:
    """Tell whether an undeclared name is called: the place of a call is its parenthesis."""
    return expression.startswith("(", place)


def _token_replaced(expression: str, at: int, written: str, replacement: str) -> Fix | None:
    """Return the fix that replaces a token at, or just before, the place of an issue: ``and`` by ``&&``."""
    if not written:
        return None
    at -= 0 if expression.startswith(written, at) else len(written) - 1  # the error for <> is at its end
    if not expression.startswith(written, at) or _is_in_text(expression, at):
        return None
    return Fix("replace", f"{expression[:at]}{replacement}{expression[at + len(written) :]}")


def _unknown(issue: Issue, expression: str) -> Advice:
    if issue.code not in {UNDEFINED, UNDECLARED} or not str.isidentifier(name := issue.arguments[0]):
        return Advice()
    place = _place(issue)
    if issue.code == UNDECLARED:
        return _undeclared(name, place, expression)
    if name in {"name", "node", "nodeName", "pool"}:
        return Advice("selectors read attributes and capacities, not the names of devices, pools and nodes")
    near = nearest(name, _FIELDS)
    return _near(name, near, place, expression) if near else Advice(_OF_DOMAINS.format(name))


def _near(name: str, near: str, place: int, expression: str) -> Advice:
    """Suggest another name; a compiler's place is that of a name, of the dot in front or the parenthesis behind it."""
    start = place - len(name) if _is_called(expression, place) else place + expression.startswith(".", place)
    is_there = expression.startswith(name, start)
    corrected = f"{expression[:start]}{near}{expression[start + len(name) :]}"
    fix = Fix("replace", corrected, safe=name.lower() == near.lower()) if is_there else None
    return Advice(f'did you mean "{near}"?', fix)


_UNQUOTED: Final = re.compile(r"\w[-./\w]*+(?!\()")
"""A text without quotes, such as a driver's name; a call is none."""
_OF_OBJECT: Final = re.compile(r"\.\w++(?!\()")
"""A field of something else than a device, such as of a claim; a method is none."""


def _undeclared(name: str, place: int, expression: str) -> Advice:
    dashed = re.search(rf"\.(\w+(?:-\w+)*-{name})\b", expression)
    if dashed and f".{name}" not in expression:
        return Advice(f"CEL reads {dashed[1]} as a subtraction: names of attributes have no dashes")
    if name in _INSTEAD:
        return Advice(_INSTEAD[name])
    is_device = _OF_DEVICE.match(expression, place + len(name))
    if near := "device" if is_device else f"device.{name}" if name in _FIELDS else nearest(name, _NAMES):
        return _near(name, near, place, expression)
    before = expression[:place].rstrip()
    if before.endswith(("==", "!=", "[", ",")) or _BEFORE_TEXT.search(before):
        match = _UNQUOTED.match(expression, place)
        whole = match[0].rstrip("-./") if match else name
        quoted = f'{expression[:place]}"{whole}"{expression[place + len(whole) :]}'
        return Advice(f'put text in quotes: "{whole}"', Fix("replace", quoted, safe=False) if match else None)
    if _is_called(expression, place):
        return Advice("only `device` and CEL's functions are defined here")
    return Advice(_DEVICE if _OF_OBJECT.match(expression, place + len(name)) else _OF_DOMAIN.format(name))


def _rewritten(issue: Issue, expression: str) -> Advice | None:
    """Suggest CEL's form for a part of an expression whose meaning is clear."""
    for pattern, calls, hint, form in _REWRITTEN:
        is_it = not calls or any(_is_call(issue, *each) for each in calls)
        if is_it and (match := pattern.search(expression)):
            return _part_replaced(hint, match.expand(form), match)
    return None


def _choice(issue: Issue, expression: str) -> Advice | None:
    """Suggest a list of values, where only the first of several is compared."""
    if issue.code != MISMATCHED_TYPE or issue.arguments[0] is not BOOL:
        return None
    for pattern, form in _CHOICES:
        if match := pattern.search(expression):
            values = ", ".join(each[0] for each in _CONSTANT.finditer(expression, *match.span("values")))
            return _part_replaced("each side of || and && is a condition", form.format(match["read"], values), match)
    return Advice('a condition is true or false: compare each value, as in … == "A" || … == "B"')


def _is_call(issue: Issue, functions: str, wanted: _Wanted) -> bool:
    """Tell whether no overload of a function, or of any if none are named, takes arguments of some types."""
    if issue.code != NO_OVERLOAD:
        return False
    function, (target, arguments) = issue.arguments
    if target is not None or len(arguments) != len(wanted) or (functions and function not in functions.split()):
        return False
    return all(
        type_ is each if isinstance(type_, Type) else type_(each) for type_, each in zip(wanted, arguments, strict=True)
    )


def _part_replaced(hint: str, meant: str, match: re.Match[str]) -> Advice:
    """Suggest CEL's form for the matched part of an expression, with an unsafe fix that replaces this part alone."""
    corrected = f"{match.string[: match.start()]}{meant}{match.string[match.end() :]}"
    return Advice(f"{hint}: {meant}", Fix("replace", corrected, safe=False))


def _without_domain(issue: Issue, expression: str, known: str) -> Advice | None:
    """Suggest the domain of an attribute or a capacity that is read without one; None if all have one.

    Args:
        issue: The first error in the expression.
        known: The only domain that the object's selectors read; empty if that is unclear.
    """
    if issue.code != NO_OVERLOAD:
        return None
    _, (target, arguments) = issue.arguments
    if next(iter(arguments if target is None else [target]), None) not in _DOMAIN:
        return None
    if path := _PATH.search(expression):
        return _with_fix(f'domain and name are two steps: device.{path[1]}["{path[2]}"].{path[3]}', expression)
    if (field := _FIELD.search(expression)) is None:
        whole = _WHOLE.search(expression)
        return Advice(f"a domain has several {_ONE_OF[whole[1]].format(whole[0])}") if whole else None
    holder, _, name = field.groups()
    hint = f'{NAME_DOMAIN}: device.{holder}["{known or DRIVER}"].{name}'
    if not known:
        return _with_fix(hint, expression)
    return Advice(hint, Fix("replace", _FIELD.sub(rf'device.\1["{known}"].\3', expression), safe=False))


def _types(issue: Issue, expression: str) -> str:
    """Explain a mismatch of types; empty if unclear."""
    hint, example = _mismatch(issue)
    if example:
        place = _place(issue)
        at_place = (
            form
            for pattern, replacement in _COMPARISONS + _SHOWN
            for match in pattern.finditer(expression)
            if match.start() <= place < match.end() and (form := _in_cel(replacement, match)) != match[0]
        )
        return f"{hint}: {next(at_place, example)}"
    if not hint and _is_call(issue, _COMPARED, (is_simple, is_simple)):
        left, right = issue.arguments[1].arguments
        return f"both sides must have one type, and are {left} and {right}"
    return hint


def _mismatch(issue: Issue) -> tuple[str, str]:
    """Return a hint, and an example if the form of the expression itself is unclear; both empty if none is known."""
    if issue.code in {EXTRANEOUS, MISMATCHED} and issue.arguments[0] in _UNITS:
        return "CEL has no units", 'compare a capacity as in …memory.compareTo(quantity("40Gi")) >= 0'
    if issue.code != NO_OVERLOAD:
        return _OTHERS.get(Issue(issue.code, issue.arguments), ""), ""
    function, (target, arguments) = issue.arguments
    if function in {"isGreaterThan", "isLessThan", "compareTo"} and target in _METHODS:
        return _METHODS[target]
    for functions, wanted, hint, example in _CALLS:
        if _is_call(issue, functions, wanted):
            return hint, example
    if target is None and arguments and is_optional(arguments[0]):
        return 'a read with .? or [?…] is optional: give a default, as in ….?model.orValue("")', ""
    return "", ""


def only_domain(obj: Any) -> str:
    """Return the domain that all selectors of an object read; empty if they read several, or none."""
    domains, ahead = set[str](), [obj]
    while ahead:
        value = ahead.pop()
        ahead += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        listed = value.get("selectors") if isinstance(value, dict) else None
        for each in listed if isinstance(listed, list) else ():
            domains.update(_DOMAINS.findall(text(each, "cel", "expression")))
    return domains.pop() if len(domains) == 1 else ""
