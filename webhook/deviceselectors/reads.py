"""The attributes and capacity that a selector reads, and whether it guards each read.

``has(device.attributes["d"].x) && device.attributes["d"].x == 1`` is a guard; so are ``device.attributes["d"].?x`` and
``"x" in device.attributes["d"] && …``. A read without a guard is a run-time error on a device that lacks it. Tests of
the driver or the domain exclude the devices of other drivers, before the read or after it: ``&&`` is false if one side
is false and the other an error, and ``||`` is true if one side is true (cel-go ``interpreter/interpretable.go``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Final

from webhook.cel.errors import Issues
from webhook.cel.syntax.ast import Call, Expression, Ident, Literal, Select, within
from webhook.cel.syntax.ast import reads as paths
from webhook.cel.syntax.lexer import tokenize
from webhook.deviceselectors.parts import AND, CONDITIONAL, NOT, OR, Read, field_of, holder_of, parts_of, read_of
from webhook.objects import JSONObject, text
from webhook.problem import Advice, Fix
from webhook.records import NamedTuple
from webhook.release import Release

_OPTIONAL: Final = frozenset({"_?._", "_[?_]"})

Guards = frozenset[tuple[str, str, str]]
"""What a condition tests: the holder, domain and name of a read; the domain alone; or, all empty, the driver."""
_NONE: Final[Guards] = frozenset()
_DRIVER: Final = ("", "", "")


def reads(node: Expression) -> list[Read]:
    """List the attributes and capacity of the device that an expression reads, at each place in its text once."""
    return list(dict.fromkeys(_reads(node, _NONE)))


def _reads(node: Expression, guards: Guards) -> Iterator[Read]:
    if isinstance(node, Select) and node.test:
        yield from _children(node, guards)
        return
    if isinstance(node, Call):
        if node.function in {AND, OR}:
            tell = _asserted if node.function == AND else _denied
            told = [tell(each) for each in node.arguments]
            for place, each in enumerate(node.arguments):
                origins = (_origins(later) for later in told[place + 1 :])
                yield from _reads(each, guards.union(*told[:place], *origins))
            return
        if node.function == CONDITIONAL:
            condition, then, otherwise = node.arguments
            yield from _reads(condition, guards)
            yield from _reads(then, guards | _asserted(condition))
            yield from _reads(otherwise, guards | _denied(condition))
            return
    read = read_of(node)
    if read is not None:
        optional = isinstance(node, Call) and node.function in _OPTIONAL
        guarded = optional or (read.holder, read.domain, read.name) in guards or _is_optional_below(node)
        yield read._replace(
            is_guarded=guarded,
            is_of_tested_domain=_domain_guard(read.domain) in guards,
            is_of_tested_driver=_DRIVER in guards,
        )
        return
    yield from _children(node, guards)


def _children(node: Expression, guards: Guards) -> Iterator[Read]:
    for each in node.children():
        yield from _reads(each, guards)


def _is_optional_below(node: Expression) -> bool:
    """Tell whether a read continues an optional one: ``device.attributes[?"d"].x`` is none where there is no d."""
    outer = node.operand if isinstance(node, Select) else node.arguments[0] if isinstance(node, Call) else None
    return isinstance(outer, Call) and outer.function in _OPTIONAL


def _domain_guard(domain: str) -> tuple[str, str, str]:
    return "", domain, ""


def _origins(guards: Guards) -> Guards:
    """Return the guards of the domain and the driver."""
    return frozenset(each for each in guards if not each[0])


def tested_origins(node: Expression) -> set[str]:
    """Return the domains that a device has if a condition is true; the empty text stands for a test of the driver."""
    return {domain for _, domain, _ in _origins(_asserted(node))}


def _asserted(node: Expression) -> Guards:
    """Return what exists if a condition is true."""
    if isinstance(node, Call) and node.function == AND:
        return frozenset().union(*map(_asserted, node.arguments))
    if isinstance(node, Call) and node.function == OR:
        return frozenset.intersection(*map(_asserted, node.arguments))
    if isinstance(node, Call) and node.function == NOT:
        return _denied(node.arguments[0])
    return _tested(node) | _tested_driver(node)


def _denied(node: Expression) -> Guards:
    """Return what exists if a condition is false."""
    if isinstance(node, Call) and node.function == OR:
        return frozenset().union(*map(_denied, node.arguments))
    if isinstance(node, Call) and node.function == AND:
        return frozenset.intersection(*map(_denied, node.arguments))
    if isinstance(node, Call) and node.function == NOT:
        return _asserted(node.arguments[0])
    return _tested_driver(node) if isinstance(node, Call) and node.function == "_!=_" else _NONE


def _tested_driver(node: Expression) -> Guards:
    return frozenset({_DRIVER}) if ("driver",) in paths(node, "device") else _NONE


def _tested(node: Expression) -> Guards:
    if isinstance(node, Select) and node.test:
        plain = Select(node.offset, node.operand, node.field)
        read = read_of(plain)
        return frozenset({read[:3]}) if read else _NONE
    if isinstance(node, Call) and node.function == "@in":
        key, holder = node.arguments
        if isinstance(key, Literal) and isinstance(key.value, str):
            if holder_of(holder):
                return frozenset({_domain_guard(key.value)})
            read = read_of(Select(node.offset, holder, key.value))
            return frozenset({read[:3]}) if read else _NONE
    return _NONE


def constants(nodes: Iterable[Expression]) -> Iterator[Call]:
    """Iterate over the quantities and versions that are written as constants."""
    for each in nodes:
        if isinstance(each, Call) and each.function in {"quantity", "semver"} and each.target is None:
            yield each


def drivers_of(selectors: Iterable[JSONObject], release: Release, gates: frozenset[str]) -> set[str]:
    """Return the drivers that selectors insist on; more than one if they contradict each other."""
    found: set[str] = set()
    for each in selectors:
        expression = text(each, "cel", "expression")
        if ".driver" in expression and (parts := parts_of(expression, release, gates)) is not None:
            if "drivers" not in parts.memo:
                parts.memo["drivers"] = drivers(parts.all)
            found |= parts.memo["drivers"]
    return found


def drivers(parts: list[Expression] | tuple[Expression, ...]) -> set[str]:
    """Return the drivers that conditions, which must all hold, require: ``device.driver == "a"``."""
    found = set()
    for part in parts:
        if isinstance(part, Call) and part.function == "_==_":
            for one, other in (part.arguments, reversed(part.arguments)):
                if field_of(one) == "driver" and isinstance(other, Literal) and isinstance(other.value, str):
                    found.add(other.value)
    return found


def depends_on_device(node: Expression) -> bool:
    """Tell whether an expression looks at the device at all."""
    return any(isinstance(each, Ident) and each.name == "device" for each in within(node))


def with_constant(expression: str, call: Call, value: str, *, safe: bool = True) -> Advice:
    """Suggest the intended text of a call such as ``semver("1.0")``, and fix the expression if it has the call once.

    Args:
        value: The intended text; empty if it is unclear.
        safe: Whether it is intended beyond doubt.
    """
    literal = call.arguments[0]
    if not value or not isinstance(literal, Literal):
        return Advice()
    written = re.compile(rf"""\b({call.function}\(\s*["']){re.escape(str(literal.value))}(["']\s*\))""")
    corrected, count = written.subn(rf"\g<1>{value}\g<2>", expression)
    return Advice(
        f'did you mean {call.function}("{value}")?', Fix("replace", corrected, safe=safe) if count == 1 else None
    )


Name = tuple[str, str, str]
"""The holder, domain and name of a read."""
_MOST_READS: Final = 16
_MOST_PLACES: Final = 16
"""The number of tokens that may precede a read in an operand, such as parentheses and names of functions."""
_OPERATORS: Final = frozenset({"&&", "||", "?", ":"})
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_ORDERINGS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_", "isLessThan", "isGreaterThan"})


def guarded(expression: str, names: Collection[Name], release: Release, gates: frozenset[str] = frozenset()) -> str:
    """Add a presence test to each condition of a selector that reads a name, for devices that lack it.

    Args:
        expression: A selector that compiles.
        names: The names that it reads and devices may lack.

    Returns:
        The selector; unchanged if no test can be added.
    """
    for _ in range(_MOST_READS):
        parts = parts_of(expression, release, gates)
        tested = parts and _with_presence_test(expression, parts.root, names, release, gates)
        if not tested:
            break
        expression = tested
    return expression


def presence_test(root: Expression, name: Name) -> str:
    """Return the test before the first condition that reads a name without one: ``has(…) && `` or ``!has(…) || ``.

    A condition that denies a value, such as ``x != "a"``, is meant to hold for a device that has none.
    """
    first = _first(root, {name})
    return first[1] if first else ""


def _open(node: Expression, names: Collection[Name]) -> list[Read]:
    """List the reads of the names without a guard."""
    return [each for each in reads(node) if not each.is_guarded and each[:3] in names]


class _Condition(NamedTuple):
    """A condition that ``&&``, ``||``, ``?:`` or ``!`` join.

    Args:
        parent: The function that joins it; empty if it stands alone.
        is_denied: Whether the selector asks for the condition to be false.
    """

    node: Expression
    parent: str = ""
    is_denied: bool = False


def _first(root: Expression, names: Collection[Name]) -> tuple[_Condition, str] | None:
    """Find the first condition that reads one of the names without a guard, and the test that it needs."""
    wanted = _open(root, names)
    if not wanted:
        return None
    holder, domain, name = wanted[0][:3]
    offset = wanted[0].offset
    found = next(each for each in _conditions(root) if any(read.offset == offset for read in reads(each.node)))
    test = f'has(device.{holder}["{domain}"].{name})'
    return found, f"!{test} || " if _holds_if_absent(found.node, is_denied=found.is_denied) else f"{test} && "


def _conditions(node: Expression, parent: str = "", *, is_denied: bool = False) -> Iterator[_Condition]:
    if isinstance(node, Call) and node.function in {AND, OR, CONDITIONAL}:
        for place, each in enumerate(node.arguments):
            is_asked = place == 0 and node.function == CONDITIONAL
            yield from _conditions(each, node.function, is_denied=is_denied and not is_asked)
        return
    inner = node.arguments[0] if isinstance(node, Call) and node.function == NOT else None
    if isinstance(inner, Call) and inner.function in {AND, OR, CONDITIONAL}:
        yield from _conditions(inner, is_denied=not is_denied)
    else:
        yield _Condition(node, parent, is_denied)


def _holds_if_absent(node: Expression, *, is_denied: bool) -> bool:
    """Tell what the value of a condition has to be where a device lacks what it reads.

    It is that of a value that equals no other: neither less nor greater, and ``!= ""`` asks for any value.
    """
    function = node.function if isinstance(node, Call) else ""
    if isinstance(node, Call) and function == NOT:
        return not _holds_if_absent(node.arguments[0], is_denied=not is_denied)
    if function == "_!=_":
        return not any(isinstance(each, Literal) and each.value == "" for each in node.children())
    return is_denied and function in _ORDERINGS


def _with_presence_test(
    expression: str, root: Expression, names: Collection[Name], release: Release, gates: frozenset[str]
) -> str:
    """Add a presence test before a condition; empty if no name needs a test, or none can be added.

    Nodes do not know where they begin, as parentheses leave no trace. So the test is tried before one token after
    the other, from the first name or constant back to the operator before the condition.
    """
    first = _first(root, names)
    if first is None:
        return ""
    (node, parent, _), test = first
    before = len(_open(root, names))
    start = min(each.offset for each in within(node))
    for place in islice(_places(expression, start), _MOST_PLACES):
        end = _end(expression, place)
        condition = f"{test}{expression[place:end]}"
        is_enclosed = expression[:place].rstrip().endswith("(") and expression[end:].lstrip().startswith(")")
        if test.startswith("!") and parent == AND and not is_enclosed:
            condition = f"({condition})"
        tested = f"{expression[:place]}{condition}{expression[end:]}"
        parts = parts_of(tested, release, gates)
        if parts and len(_open(parts.root, names)) < before:
            return tested
    return ""


def _end(expression: str, start: int) -> int:
    """Return the end of the condition that begins at a word."""
    tokens = tokenize(expression, Issues(expression))
    depth, end, before = 0, start, ""
    for offset, word in zip(tokens.offsets, tokens.texts, strict=True):
        if offset < start:
            continue
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth < 0 or (depth == 0 and word in _OPERATORS and before != ".") or word == "<EOF>":
            break
        end, before = offset + len(word), word
    return end


def _places(expression: str, start: int) -> Iterator[int]:
    """Iterate backwards over the tokens of a condition."""
    tokens = tokenize(expression, Issues(expression))
    for offset, word in zip(reversed(tokens.offsets), reversed(tokens.texts), strict=True):
        if offset > start:
            continue
        if word in _OPERATORS:
            return
        yield offset
