"""A selector split into parts: which part is false for a device, and the value it saw.

``a && b`` is true if both parts are; the first one that is not rejects the device. A comparison reports the value that
it saw and the one that it wanted: ``memory is 40Gi, wanted >= 80Gi``.

Also the attributes and capacity that a selector reads, and whether it guards each read.
``has(device.attributes["d"].x) && device.attributes["d"].x == 1`` is a guard; so are ``device.attributes["d"].?x`` and
``"x" in device.attributes["d"] && …``. A read without a guard is a run-time error on a device that lacks it. Tests of
the driver or the domain exclude the devices of other drivers, before the read or after it: ``&&`` is false if one side
is false and the other an error, and ``||`` is true if one side is true (cel-go ``interpreter/interpretable.go``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar

from webhook.cel.cache import Cache
from webhook.cel.checker.declarations import Checked
from webhook.cel.environment import Program
from webhook.cel.errors import CelError
from webhook.cel.kubernetes import devices, quantity
from webhook.cel.runtime import meter
from webhook.cel.syntax.ast import (
    Call,
    Expression,
    Ident,
    ListExpression,
    Literal,
    Select,
    step_of,
    within,
)
from webhook.cel.syntax.ast import reads as paths
from webhook.cel.syntax.parser import Places
from webhook.cel.types.base import BOOL
from webhook.cel.types.values import Optional
from webhook.later import cached_property
from webhook.objects import JSONObject, text
from webhook.problem import Fix
from webhook.release import Release

AND: Final = "_&&_"
OR: Final = "_||_"
NOT: Final = "!_"
INDEX: Final = "_[_]"

CONDITIONAL: Final = "_?_:_"
_MOST_SHOWN: Final = 1 << 14
"""The number of characters after which a value is cut; an attribute has fewer."""
TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operators of an order, by those that say the same with their sides exchanged."""
_NEGATED: Final = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TEXTUAL: Final = {
    "startsWith": "to start with",
    "endsWith": "to end with",
    "contains": "to contain",
    "matches": "to match",
}
_COMPARED: Final = {
    **{f"_{operator}_": operator for operator in _NEGATED},
    "isGreaterThan": ">",
    "isLessThan": "<",
    "@in": "in",
    **{each: each for each in _TEXTUAL},
}
"""The operators of all comparisons, by their functions."""
_SAID: Final = {
    **{operator: (operator, negated) for operator, negated in _NEGATED.items()},
    **{function: (said, f"not {said}") for function, said in _TEXTUAL.items()},
    "in": ("one of", "none of"),
}
"""How a comparison is written, and one that is negated."""


class Read(NamedTuple):
    """An attribute or capacity that an expression reads.

    Args:
        is_guarded: Whether the expression tests first whether it exists.
        offset: The offset of its name in the expression, in code points.
        domain_offset: The offset of its domain.
        is_of_tested_domain: Whether the expression tests whether the device has the domain.
        is_of_tested_driver: Whether it tests the driver.
    """

    holder: str
    domain: str
    name: str
    is_guarded: bool = False
    offset: int = 0
    domain_offset: int = 0
    is_of_tested_domain: bool = False
    is_of_tested_driver: bool = False


class Blame(NamedTuple):
    """The reason why a selector is false or fails for a device.

    Args:
        text: The whole text, such as ``memory is 40Gi, wanted >= 80Gi``.
        name: The name that was compared, such as ``memory``; empty without a comparison.
        alternatives: The reason of each alternative, none of which holds; empty without alternatives.
    """

    text: str
    name: str = ""
    met: str = ""
    wanted: str = ""
    alternatives: tuple[Blame, ...] = ()

    @property
    def each(self) -> tuple[Blame, ...]:
        """The reasons of all alternatives."""
        return self.alternatives or (self,)

    @classmethod
    def of(cls, name: str, met: str, wanted: str) -> Blame:
        """Write the reason for a value, or for several, joined in words."""
        return cls(f"{name} is {met}, wanted {wanted}", name, met, wanted)


T = TypeVar("T")
Name = tuple[str, str, str]
"""The holder, domain and name of a read."""


class Parts:
    """A selector, split into parts.

    Raises:
        CelError: The selector cannot be compiled.
    """

    def __init__(self, expression: str, release: Release, gates: frozenset[str] = frozenset()) -> None:
        self.release, self.gates = release, gates
        self._environment = devices.selector_environment(release, gates, stored=True)
        self.text = expression
        self.places: Places = {}
        self.root = self._environment.check(expression, self.places).root
        self.all = tuple(_flat(self.root, AND))
        self._programs: dict[int, Program] = {}
        self._known: dict[str, Any] = {}
        """The results of analyses of the expression; equal expressions are parsed once."""

    def once(self, name: str, analyze: Callable[[Parts], T]) -> T:
        """Return the result of an analysis of the expression, made once for equal ones."""
        if name not in self._known:
            self._known[name] = analyze(self)
        found: T = self._known[name]
        return found

    @cached_property
    def nodes(self) -> Sequence[Expression]:
        """The expression and its subexpressions, in the order in which they are written."""
        return list(within(self.root))

    @cached_property
    def reads(self) -> Sequence[Read]:
        """The attributes and capacity of the device that it reads."""
        return reads(self.root)

    @cached_property
    def drivers(self) -> Collection[str]:
        """The drivers that it requires: ``device.driver == "a"``; several contradict each other."""
        found = (each for each in map(comparison, self.all) if each and each.operator == "==")
        texts = ((field_of(each.subject), each.wanted) for each in found)
        return {each.value for field, each in texts if field == "driver" and isinstance(each, Literal)}

    def evaluate(self, part: Expression, bindings: Mapping[str, Any]) -> Any:
        """Return the value of a part of the expression for a device.

        Raises:
            CelError: The evaluation fails.
        """
        program = self._programs.get(id(part))
        if program is None:
            checked = Checked(self.text, part, BOOL)
            program = self._programs[id(part)] = self._environment.program(checked)
        return program.evaluate(bindings, meter=meter.Meter(devices.MAX_COST))

    def first_false_part(self, bindings: Mapping[str, Any]) -> tuple[Expression | None, str]:
        """Return the part that made the selector false or fail for a device, with the error, if there is one.

        Args:
            bindings: The device, as expressions see it.
        """
        wrong: Expression | None = None
        failed = ""
        for part in self.all:
            try:
                value = self.evaluate(part, bindings)
            except CelError as error:
                wrong, failed = wrong or part, failed or str(error)
                continue
            if value is not True:
                return part, ""
        return wrong, failed

    def blame(self, bindings: Mapping[str, Any]) -> Blame:
        """Describe the part that made the selector false or fail for a device, with the value that it saw."""
        part, failed = self.first_false_part(bindings)
        return Blame(failed) if part is None or failed else self._why_false(part, bindings)

    def source(self, node: Expression) -> str:
        """Return the text of a part of the expression, on one line."""
        start, end = self.places.get(node, (0, len(self.text)))
        return " ".join(self.text[start:end].split())

    def rewritten(self, part: Expression, text: str, *, safe: bool = False) -> Fix | None:
        """Return the fix that writes another text in the place of a part; None for a part that a macro makes.

        Args:
            text: The text; a string keeps the quotes that are there, if it may.
            safe: Whether it is meant beyond doubt.
        """
        if part not in self.places:
            return None
        start, end = self.places[part]
        if text.startswith('"') and self.text[start] == "'" and not {*text[1:-1]} & {*"'\"\\"}:
            text = f"'{text[1:-1]}'"
        return Fix("replace", f"{self.text[:start]}{text}{self.text[end:]}", safe=safe)

    @cached_property
    def wanted(self) -> str:
        """What the selector wants, in short, such as ``memory >= 80Gi``."""
        return " and ".join(self._wish(part) for part in self.all)

    def guarded(self, names: Collection[Name]) -> str:
        """Add a presence test to each condition that reads one of the names, for devices that lack it.

        Returns:
            The selector; unchanged if no test can be added.
        """
        parts = self
        for _ in range(_MOST_READS):
            tested = parts_of(parts._with_presence_test(names), self.release, self.gates)
            if not tested or len(_open(tested.root, names)) >= len(_open(parts.root, names)):
                break
            parts = tested
        return parts.text

    def _with_presence_test(self, names: Collection[Name]) -> str:
        """Add a test before the first condition that reads one of the names without one, if there is one."""
        node, parent, test = _first(self.root, names)
        if not test or node not in self.places:  # what a macro makes is not in the text
            return self.text
        start, end = self.places[node]
        before, condition, after = self.text[:start], f"{test}{self.text[start:end]}", self.text[end:]
        is_enclosed = before.rstrip().endswith("(") and after.lstrip().startswith(")")
        if test.startswith("!") and parent == AND and not is_enclosed:
            condition = f"({condition})"
        return f"{before}{condition}{after}"

    def _why_false(self, part: Expression, bindings: Mapping[str, Any]) -> Blame:
        if isinstance(part, Call) and part.function == OR:
            each = tuple(self._why_false(one, bindings) for one in _flat(part, OR))
            return Blame(", and ".join(one.text for one in each), alternatives=each)
        subject, wish = compared(part)
        if _constant(subject or part) is not None:
            return Blame(f"the selector {self.source(part)} is never true")
        if subject is None:
            return Blame(f"{self.source(part)} is false")
        name = label(subject) or self.source(subject)
        try:
            met = shown(self.evaluate(subject, bindings))
        except CelError as error:
            return Blame(f"{name}: {error}")
        return Blame.of(name, met, wish.removeprefix("== "))

    def _wish(self, part: Expression) -> str:
        if isinstance(part, Call) and part.function == OR:
            return f"({' or '.join(self._wish(each) for each in _flat(part, OR))})"
        subject, wish = compared(part)
        if subject is None or _constant(subject) is not None:
            return self.source(part)
        name = label(subject) or self.source(subject)
        return f"{name} = {wish[3:]}" if wish.startswith("== ") else f"{name} {wish}"


_MOST_READS: Final = 16
"""The most tests that are added to a selector."""
_STEPS: Final = 500
_STEPS_A_CHARACTER: Final = 4
"""The most parts to visit; without macros that double them, even comprehensions have fewer for their text."""
_BYTES: Final = 20_000
"""The memory that the parts of a selector take, besides that of its text."""
_BYTES_A_CHARACTER: Final = 400
_kept: Final[Cache[Parts | bool]] = Cache(64 << 20)


def parts_of(expression: str, release: Release, gates: frozenset[str] = frozenset()) -> Parts | None:
    """Split a selector into parts; None if it cannot be compiled, or nested macros multiply its parts."""
    key = expression, release, gates
    known = _kept.get(key)
    if known is None:
        try:
            parts = Parts(expression, release, gates)
            known = _is_walkable(parts.root, _STEPS + _STEPS_A_CHARACTER * len(expression)) and parts
        except CelError:
            known = False
        _kept.put(key, known, _BYTES + _BYTES_A_CHARACTER * len(expression))
    return known if isinstance(known, Parts) else None


def _is_walkable(root: Expression, most: int) -> bool:
    """Tell whether there are few ways to all parts: nested ``optMap`` share their targets, and each doubles them."""
    left, count = [root], 0
    while left and count < most:
        left += left.pop().children()
        count += 1
    return not left


def _flat(node: Expression, function: str) -> Iterator[Expression]:
    if isinstance(node, Call) and node.function == function:
        for each in node.arguments:
            yield from _flat(each, function)
    else:
        yield node


def compared(node: Expression) -> tuple[Expression | None, str]:
    """Return the subject of a condition and the value that it wants; None without a comparison with a constant."""
    negated = False
    while isinstance(node, Call) and node.function == NOT:
        node, negated = node.arguments[0], not negated
    if (isinstance(node, Select) and not node.test) or (isinstance(node, Call) and node.function == INDEX):
        return node, "false" if negated else "true"
    found = comparison(node)
    return (found.subject, f"{_SAID[found.operator][negated]} {_constant(found.wanted)}") if found else (None, "")


class Comparison(NamedTuple):
    """A comparison with a constant.

    Args:
        operator: The operator, as in ``subject operator wanted``, or the name of a method.
        wanted: The constant, or a list of them.
    """

    subject: Expression
    operator: str
    wanted: Expression

    @property
    def has_operator(self) -> bool:
        """Whether it has an operator such as ``<``, and neither ``in`` nor a method for texts."""
        return self.operator in _NEGATED


def comparison(node: Expression) -> Comparison | None:
    """Read ``a >= b``, ``a.compareTo(b) >= 0``, ``a.isLessThan(b)``, ``a in [b]``; None if it is not a comparison."""
    if not isinstance(node, Call) or (operator := _COMPARED.get(node.function)) is None:
        return None
    subject, wanted = node.children()
    if isinstance(subject, Call) and subject.target and subject.function == "compareTo" and _constant(wanted) == "0":
        subject, wanted = subject.children()
    if operator in _NEGATED and _constant(subject) is not None:
        subject, wanted, operator = wanted, subject, TURNED.get(operator, operator)
    return None if _constant(wanted) is None else Comparison(subject, operator, wanted)


def equals(node: Expression) -> Sequence[Literal]:
    """Return the constants one of which a condition, or its first alternative, wants."""
    found = comparison(next(_flat(node, OR)))
    if found is None or found.operator not in {"==", "in"}:
        return ()
    among = found.wanted.elements if isinstance(found.wanted, ListExpression) else [found.wanted]
    return [each for each in among if isinstance(each, Literal)]


def is_textual(node: Expression) -> bool:
    """Tell whether a condition looks at a part of a text."""
    return any(isinstance(each, Call) and each.function in _TEXTUAL for each in within(node))


def _constant(node: Expression) -> str | None:
    """Write a constant as people do; None if the expression is not a constant."""
    if isinstance(node, Literal):
        return shown(node.value)
    if is_made(node):
        inner = node.arguments[0]
        return str(inner.value) if isinstance(inner, Literal) else None
    if isinstance(node, ListExpression):
        each = [_constant(element) for element in node.elements]
        return f"[{', '.join(filter(None, each))}]" if all(one is not None for one in each) else None
    return None


def read_of(node: Expression) -> Read | None:
    """Return the read at a node: ``device.attributes["domain"].name`` or one of its other spellings."""
    if (last := step_of(node)) and (outer := step_of(last[0])) and (holder := holder_of(outer[0])):
        return Read(holder, outer[1], last[1], offset=last[2], domain_offset=outer[2])
    return None


def holder_of(node: Expression) -> str:
    """Return ``attributes`` or ``capacity`` for these fields of the device; empty for other expressions."""
    return field if (field := field_of(node)) in {"attributes", "capacity"} else ""


def field_of(node: Expression) -> str:
    """Return the field of the device that an expression reads, such as ``driver``; empty for other expressions."""
    if isinstance(node, Select) and not node.test and isinstance(node.operand, Ident) and node.operand.name == "device":
        return node.field
    return ""


def label(node: Expression) -> str:
    """Name an attribute or capacity as people do: by its own name, which hardly ever needs its domain; else empty."""
    inner: Expression = node
    while isinstance(inner, Call) and inner.function in {"orValue", "value"} and inner.target is not None:
        inner = inner.target
    read = read_of(inner)
    return read.name if read else field_of(inner)


def shown(value: Any) -> str:
    """Write a value; of a very long one, only the beginning: its parts may share others many times."""
    found, size = [], 0
    for piece in _pieces(value):
        if size > _MOST_SHOWN:
            found.append("…")
            break
        found.append(piece)
        size += len(piece)
    return "".join(found)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, list | dict):
        yield "{" if isinstance(value, dict) else "["
        for index, each in enumerate(value):
            yield ", " if index else ""
            yield from _pieces(each)
            if isinstance(value, dict):
                yield ": "
                yield from _pieces(value[each])
        yield "}" if isinstance(value, dict) else "]"
    elif isinstance(value, Optional) and value.present:
        yield "optional("
        yield from _pieces(value.value)
        yield ")"
    elif isinstance(value, str | bool) or value is None:
        yield json.dumps(value, ensure_ascii=False)
    else:
        yield str(value.number if isinstance(value, quantity.Quantity) else value)


_OPTIONAL: Final = frozenset({"_?._", "_[?_]"})

Guards = frozenset[tuple[str, str, str]]
"""The subject of a condition: the holder, domain and name of a read; the domain alone; or, all empty, the driver."""
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
            told = [_told(each, holds=node.function == AND) for each in node.arguments]
            for place, each in enumerate(node.arguments):
                origins = (_origins(later) for later in told[place + 1 :])
                yield from _reads(each, guards.union(*told[:place], *origins))
            return
        if node.function == CONDITIONAL:
            condition, then, otherwise = node.arguments
            yield from _reads(condition, guards)
            yield from _reads(then, guards | _told(condition, holds=True))
            yield from _reads(otherwise, guards | _told(condition, holds=False))
            return
    read = read_of(node)
    if read is not None:
        optional = isinstance(node, Call) and node.function in _OPTIONAL
        guarded = optional or (read.holder, read.domain, read.name) in guards or _is_optional_below(node)
        yield read._replace(
            is_guarded=guarded,
            is_of_tested_domain=("", read.domain, "") in guards,
            is_of_tested_driver=_DRIVER in guards,
        )
        return
    yield from _children(node, guards)


def _children(node: Expression, guards: Guards) -> Iterator[Read]:
    for each in node.children():
        yield from _reads(each, guards)


def _is_optional_below(node: Expression) -> bool:
    """Tell whether a read continues an optional one, as ``.x`` does in ``device.attributes[?"d"].x``."""
    outer = node.operand if isinstance(node, Select) else node.arguments[0] if isinstance(node, Call) else None
    return isinstance(outer, Call) and outer.function in _OPTIONAL


def _origins(guards: Guards) -> Guards:
    """Return the guards of the domain and the driver."""
    return frozenset(each for each in guards if not each[0])


def tested_origins(node: Expression) -> set[str]:
    """Return the domains that a device has if a condition is true; the empty text stands for a test of the driver."""
    return {domain for _, domain, _ in _origins(_told(node, holds=True))}


def _told(node: Expression, *, holds: bool) -> Guards:
    """Return what exists if a condition is true, or if it is false."""
    if isinstance(node, Call):
        if node.function == NOT:
            return _told(node.arguments[0], holds=not holds)
        if node.function in {AND, OR}:
            each = [_told(one, holds=holds) for one in node.arguments]
            return frozenset().union(*each) if (node.function == AND) == holds else frozenset.intersection(*each)
    if holds:
        return _tested(node) | _tested_driver(node)
    return _tested_driver(node) if isinstance(node, Call) and node.function == "_!=_" else _NONE


def _tested_driver(node: Expression) -> Guards:
    return frozenset({_DRIVER}) if ("driver",) in paths(node, "device") else _NONE


def _tested(node: Expression) -> Guards:
    if isinstance(node, Select) and node.test:
        read = read_of(Select(node.offset, node.operand, node.field))
        return frozenset({read[:3]}) if read else _NONE
    if isinstance(node, Call) and node.function == "@in":
        key, holder = node.arguments
        if isinstance(key, Literal) and isinstance(key.value, str):
            if holder_of(holder):
                return frozenset({("", key.value, "")})
            read = read_of(Select(node.offset, holder, key.value))
            return frozenset({read[:3]}) if read else _NONE
    return _NONE


def is_made(node: Expression) -> TypeGuard[Call]:
    """Tell whether an expression makes a quantity or a version."""
    return isinstance(node, Call) and node.function in {"quantity", "semver"} and node.target is None


def drivers_of(selectors: Iterable[JSONObject], release: Release, gates: frozenset[str]) -> set[str]:
    """Return the drivers that selectors insist on; more than one if they contradict each other."""
    found: set[str] = set()
    for each in selectors:
        expression = text(each, "cel", "expression")
        if ".driver" in expression and (parts := parts_of(expression, release, gates)) is not None:
            found.update(parts.drivers)
    return found


def depends_on_device(node: Expression) -> bool:
    """Tell whether an expression looks at the device at all."""
    return any(isinstance(each, Ident) and each.name == "device" for each in within(node))


def presence_test(root: Expression, name: Name) -> str:
    """Return the test before the first condition that reads a name without one: ``has(…) && `` or ``!has(…) || ``.

    A condition that denies a value, such as ``x != "a"``, is meant to hold for a device that has none.
    """
    return _first(root, {name})[2]


def _open(node: Expression, names: Collection[Name]) -> list[Read]:
    """List the reads of the names without a guard."""
    return [each for each in reads(node) if not each.is_guarded and each[:3] in names]


def _first(root: Expression, names: Collection[Name]) -> tuple[Expression, str, str]:
    """Find the first condition that reads one of the names without a guard, and the test that it needs, if it does.

    Returns:
        The condition, the function that joins it, empty if it stands alone, and the test; empty if there is none.
    """
    wanted = _open(root, names)
    if not wanted:
        return root, "", ""
    (holder, domain, name), offset = wanted[0][:3], wanted[0].offset
    node, parent, is_denied = next(
        each for each in _conditions(root) if any(read.offset == offset for read in reads(each[0]))
    )
    test = f'has(device.{holder}["{domain}"].{name})'
    return node, parent, f"!{test} || " if _holds_if_absent(node, is_denied=is_denied) else f"{test} && "


def _conditions(
    node: Expression, parent: str = "", *, is_denied: bool = False
) -> Iterator[tuple[Expression, str, bool]]:
    """Yield the conditions that ``&&``, ``||``, ``?:`` or ``!`` join, by which function, and whether each is denied."""
    if isinstance(node, Call) and node.function in {AND, OR, CONDITIONAL}:
        for place, each in enumerate(node.arguments):
            is_asked = place == 0 and node.function == CONDITIONAL
            yield from _conditions(each, node.function, is_denied=is_denied and not is_asked)
        return
    inner = node.arguments[0] if isinstance(node, Call) and node.function == NOT else None
    if isinstance(inner, Call) and inner.function in {AND, OR, CONDITIONAL}:
        yield from _conditions(inner, is_denied=not is_denied)
    else:
        yield node, parent, is_denied


def _holds_if_absent(node: Expression, *, is_denied: bool) -> bool:
    """Tell what the value of a condition has to be where a device lacks what it reads.

    It is that of a value that equals no other: neither less nor greater, and ``!= ""`` asks for any value.
    """
    function = node.function if isinstance(node, Call) else ""
    if isinstance(node, Call) and function == NOT:
        return not _holds_if_absent(node.arguments[0], is_denied=not is_denied)
    if function == "_!=_":
        return not any(isinstance(each, Literal) and each.value == "" for each in node.children())
    return is_denied and function in {"_<_", "_<=_", "_>_", "_>=_", "isLessThan", "isGreaterThan"}
