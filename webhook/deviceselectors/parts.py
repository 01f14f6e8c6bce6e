"""A selector split into parts: which part is false for a device, and the value it saw.

``a && b`` is true if both parts are; the first one that is not rejects the device. A comparison reports the value that
it saw and the one that it wanted: ``memory is 40Gi, wanted >= 80Gi``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.cel.cache import Cache
from webhook.cel.checker.declarations import Checked
from webhook.cel.environment import Environment, Program
from webhook.cel.errors import CelError
from webhook.cel.kubernetes import devices, quantity
from webhook.cel.runtime import meter
from webhook.cel.syntax.ast import (
    Call,
    Comprehension,
    Expression,
    Ident,
    ListExpression,
    Literal,
    Select,
    Shared,
    step_of,
    within,
)
from webhook.cel.types.base import BOOL
from webhook.cel.types.values import Optional
from webhook.later import cached_property
from webhook.records import NamedTuple
from webhook.release import Release

AND: Final = "_&&_"
OR: Final = "_||_"
NOT: Final = "!_"
INDEX: Final = "_[_]"

OPERATORS: Final = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
"""The operators of comparisons, by their functions."""
CONDITIONAL: Final = "_?_:_"
_INFIX: Final = {
    **OPERATORS,
    **{f"_{each}_": each for each in ("+", "-", "*", "/", "%", "&&", "||")},
    "@in": "in",
}
_WRAPPED: Final = {INDEX: "{}[{}]", "_[?_]": "{}[?{}]", "_?._": "{}[?{}]", NOT: "!{}", CONDITIONAL: "{} ? {} : {}"}
_MOST_SHOWN: Final = 1 << 14
"""The number of characters after which a value is cut; an attribute has fewer."""
_NEGATED: Final = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operators that say the same with their sides exchanged."""
_COMPARED: Final = {"isGreaterThan": ">", "isLessThan": "<"}
_TEXTUAL: Final = {
    "startsWith": "to start with",
    "endsWith": "to end with",
    "contains": "to contain",
    "matches": "to match",
}


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


class Parts:
    """A selector, split into parts.

    Raises:
        CelError: The selector cannot be compiled.
    """

    def __init__(self, expression: str, release: Release, gates: frozenset[str] = frozenset()) -> None:
        self._around = release, gates
        self.text = expression
        self.root = self._environment.check(expression).root
        self.all = tuple(_flat(self.root, AND))
        self._programs: dict[int, Program] = {}
        self.memo: dict[str, Any] = {}
        """The results of analyses of the expression; equal expressions are parsed once."""

    @cached_property
    def nodes(self) -> Sequence[Expression]:
        """The expression and its subexpressions, in the order in which they are written."""
        return list(within(self.root))

    @cached_property
    def _environment(self) -> Environment:
        release, gates = self._around
        return devices.selector_environment(release, gates, stored=True)

    def evaluate(self, part: Expression, bindings: Mapping[str, Any]) -> Any:
        """Return the value of a part of the expression for a device.

        Raises:
            CelError: The evaluation fails.
        """
        program = self._programs.get(id(part))
        if program is None:
            checked = Checked(self.text, part, BOOL, is_checked=True)
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

    def wanted(self) -> str:
        """Describe the selector in short, such as ``memory >= 80Gi``."""
        return " and ".join(self._wish(part) for part in self.all)

    def comparison(self, part: Expression) -> tuple[str, str]:
        """Return the subject of a condition, as written, and the value that it wants; empty without a comparison."""
        subject, wish = compared(part)
        return ("", "") if subject is None else (source_of(subject), wish)

    def written(self, part: Expression) -> str:
        """Write a part in short."""
        return source_of(part)

    def _why_false(self, part: Expression, bindings: Mapping[str, Any]) -> Blame:
        if isinstance(part, Call) and part.function == OR:
            each = tuple(self._why_false(one, bindings) for one in _flat(part, OR))
            return Blame(", and ".join(one.text for one in each), alternatives=each)
        subject, wish = compared(part)
        if _constant(subject or part) is not None:
            return Blame(f"the selector {source_of(part)} is never true")
        if subject is None:
            return Blame(f"{source_of(part)} is false")
        name = label(subject)
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
            return source_of(part)
        name = label(subject)
        return f"{name} = {wish[3:]}" if wish.startswith("== ") else f"{name} {wish}"


def start_of(part: Expression) -> int:
    """Return the offset at which a part begins; its own offset is that of its operator or parenthesis."""
    return min(each.offset - len(_function_before(each)) for each in within(part))


def _function_before(node: Expression) -> str:
    """Return the function whose name stands before the parenthesis that a node begins with; empty for others."""
    if isinstance(node, Select) and node.test:
        return "has"
    if isinstance(node, Call) and node.target is None and node.function.isidentifier():
        return node.function
    return ""


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
    if isinstance(node, Select) and not node.test:
        return node, "false" if negated else "true"
    if not isinstance(node, Call):
        return None, ""
    if node.function == INDEX:
        return node, "false" if negated else "true"
    if found := ordering(node):
        return found.subject, f"{_NEGATED[found.operator] if negated else found.operator} {_constant(found.wanted)}"
    return _named(node, negated=negated) or (None, "")


class Ordering(NamedTuple):
    """A comparison with a constant.

    Args:
        operator: The operator, as in ``subject operator wanted``.
    """

    subject: Expression
    operator: str
    wanted: Expression


def ordering(node: Expression) -> Ordering | None:
    """Read ``a >= b``, ``a.compareTo(b) >= 0`` and ``a.isGreaterThan(b)``; None if the expression is none of these."""
    if not isinstance(node, Call):
        return None
    subject: Expression | None
    if node.function in _COMPARED:
        operator, subject, wanted = _COMPARED[node.function], node.target, node.arguments[0]
    elif node.function in OPERATORS:
        operator, (left, wanted) = OPERATORS[node.function], node.arguments
        subject = left
        if isinstance(left, Call) and left.function == "compareTo" and _constant(wanted) == "0":
            subject, wanted = left.target, left.arguments[0]
        elif _constant(left) is not None:
            operator, subject, wanted = TURNED.get(operator, operator), wanted, left
    else:
        return None
    if subject is None or _constant(wanted) is None:
        return None
    return Ordering(subject, operator, wanted)


def _named(node: Call, *, negated: bool) -> tuple[Expression, str] | None:
    """Read ``a.startsWith("b")`` and similar calls, and ``a in ["b"]``."""
    if node.function in _TEXTUAL and node.target is not None and (constant := _constant(node.arguments[0])):
        return node.target, f"{'not ' if negated else ''}{_TEXTUAL[node.function]} {constant}"
    if node.function == "@in" and (constant := _constant(node.arguments[1])):
        return node.arguments[0], f"{'none' if negated else 'one'} of {constant}"
    return None


def _constant(node: Expression) -> str | None:
    """Write a constant as people do; None if the expression is not a constant."""
    if isinstance(node, Literal):
        return shown(node.value)
    if isinstance(node, Call) and node.function in {"quantity", "semver"} and node.target is None:
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
    """Name an attribute or capacity as people do: by its own name, which hardly ever needs its domain."""
    return _label(node) or source_of(node)


def _label(node: Expression) -> str:
    if isinstance(node, Call) and node.function in {"orValue", "value"} and node.target is not None:
        return _label(node.target)
    read = read_of(node)
    return read.name if read else field_of(node)


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
    if isinstance(value, list):
        yield "["
        for index, each in enumerate(value):
            if index:
                yield ", "
            yield from _pieces(each)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for index, (key, each) in enumerate(value.items()):
            yield f"{', ' if index else ''}{shown(key)}: "
            yield from _pieces(each)
        yield "}"
    elif isinstance(value, Optional) and value.present:
        yield "optional("
        yield from _pieces(value.value)
        yield ")"
    elif isinstance(value, str | bool) or value is None:
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, quantity.Quantity):
        yield str(value.number)
    else:
        yield str(value)


def source_of(node: Expression) -> str:  # noqa: PLR0911 - a return for each kind of node
    """Write an expression in short."""
    if isinstance(node, Literal):
        return shown(node.value)
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        inner = f"{source_of(node.operand)}.{node.field}"
        return f"has({inner})" if node.test else inner
    if isinstance(node, ListExpression):
        return f"[{', '.join(map(source_of, node.elements))}]"
    if isinstance(node, Call):
        return _source_of_call(node)
    if isinstance(node, Comprehension):
        if node.shape == "bind":
            return f"cel.bind({node.accumulator}, {source_of(node.initial)}, {source_of(node.result)})"
        return f"{source_of(node.range)}.{node.shape}(…)"
    return "…"


def _source_of_mapping(has_value: Expression, mapped: Expression, _: Expression) -> str:
    """Write what ``optMap`` and ``optFlatMap`` expand to as the macro; empty for other conditions."""
    target = has_value.target if isinstance(has_value, Call) else None
    if not isinstance(target, Shared):
        return ""
    name = "optFlatMap"
    if isinstance(mapped, Call) and mapped.function == "optional.of":
        name, mapped = "optMap", mapped.arguments[0]
    if not isinstance(mapped, Comprehension):
        return ""
    return f"{source_of(target.original)}.{name}({mapped.accumulator}, {source_of(mapped.result)})"


def _source_of_call(node: Call) -> str:
    if node.function == CONDITIONAL and (macro := _source_of_mapping(*node.arguments)):
        return macro
    arguments = [source_of(each) for each in node.arguments]
    if node.function == NOT and getattr(node.arguments[0], "function", "") in _INFIX:
        return f"!({arguments[0]})"
    if operator := _INFIX.get(node.function):
        return f" {operator} ".join(arguments)
    if node.function in _WRAPPED:
        return _WRAPPED[node.function].format(*arguments)
    called = f"{node.function}({', '.join(arguments)})"
    return f"{source_of(node.target)}.{called}" if node.target else called
