"""Plain selectors: every API server since 1.31 accepts them, as their form tells without the compiler.

They compare attributes, capacities and the driver with constants, and join such conditions by ``&&``, ``||`` and ``!``.
"""

from __future__ import annotations

from webhook.budget import NONE, current
from webhook.cel.errors import CompileError, Issues
from webhook.cel.syntax.ast import Call, Ident, ListExpression, Literal, Select
from webhook.cel.syntax.grammar import Quoting
from webhook.cel.syntax.macros import STANDARD
from webhook.cel.syntax.parser import parse
from webhook.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.cel.syntax.ast import Expression
    from webhook.release import Release

_FIRST: Final = 31
_LONGEST: Final = 512
"""The most characters of a plain selector: its cost, which grows with its length, is far below the limit."""
_MACROS: Final = {(each.name, each.arity, each.member): each for each in STANDARD}

_JOINING: Final = frozenset({"_&&_", "_||_", "!_"})
_EQUALITY: Final = frozenset({"_==_", "_!=_"})
_ORDER: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_OF_TEXT: Final = frozenset({"startsWith", "endsWith", "contains"})
_OF_ORDER: Final = frozenset({"isGreaterThan", "isLessThan"})
_MAKING: Final = {
    "attributes": ("semver", Pattern(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}")),
    "capacity": ("quantity", Pattern("[0-9]{1,9}(?:[KMGTPE]i|[kMGTPE])?")),
}
"""The functions that make a value to compare with, and what they certainly accept."""


def plain_tree(expression: str, release: Release) -> Expression | None:
    """Parse a selector; None if it is not plain.

    The webhook compiles all selectors, and counts this work: there, other limits end it.

    Args:
        expression: The selector.
        release: The Kubernetes release, as the minor of 1.x.
    """
    if release < _FIRST or len(expression) > _LONGEST or not current().is_offline:
        return None
    try:
        root = _parsed(expression)
    except CompileError:
        return None
    return root if _is_condition(root) else None


def error_of_nothing() -> CompileError | None:
    """Return the error of a selector without text, which is one of syntax alone."""
    try:
        _parsed("")
    except CompileError as error:
        return error
    return None


def _parsed(expression: str) -> Expression:
    return parse(Issues(expression), _MACROS, NONE, optional_syntax=False, quoting=Quoting.UNKNOWN)


def _is_condition(node: Expression) -> bool:
    if _holder_of(node) == "attributes" or _holder_of(node, test=True):
        return True
    if not isinstance(node, Call):
        return False
    if node.target is not None:
        return _is_call(node.function, node.target, node.arguments)
    if node.function in _JOINING:
        return all(map(_is_condition, node.arguments))
    if node.function == "@in":
        return _is_choice(*node.arguments)
    return node.function in _EQUALITY | _ORDER and _is_comparison(node.function, *node.arguments)


def _is_comparison(function: str, subject: Expression, wanted: Expression) -> bool:
    type_ = type(wanted.value) if isinstance(wanted, Literal) else None
    if isinstance(subject, Call) and subject.function == "compareTo" and subject.target is not None:
        return type_ is int and _is_made(subject.target, subject.arguments)
    if _is_driver(subject):
        return type_ is str and function in _EQUALITY
    return _holder_of(subject) == "attributes" and type_ in ((str, int, bool) if function in _EQUALITY else (int,))


def _is_choice(subject: Expression, among: Expression) -> bool:
    if isinstance(among, ListExpression):
        types = {type(each.value) if isinstance(each, Literal) else None for each in among.elements}
        return (types == {str} and _is_text(subject)) or (types == {int} and _holder_of(subject) == "attributes")
    is_name = isinstance(subject, Literal) and type(subject.value) is str
    return is_name and (_is_holder(among) or _is_holder(_within(among)))


def _is_call(function: str, target: Expression, arguments: list[Expression]) -> bool:
    if function in _OF_TEXT:
        return (
            len(arguments) == 1
            and isinstance(arguments[0], Literal)
            and type(arguments[0].value) is str
            and _is_text(target)
        )
    return function in _OF_ORDER and _is_made(target, arguments)


def _is_made(target: Expression, arguments: list[Expression]) -> bool:
    """Tell whether an attribute is compared with a version, or a capacity with a quantity."""
    holder = _holder_of(target)
    if holder is None or len(arguments) != 1:
        return False
    made = arguments[0]
    if not isinstance(made, Call) or made.target is not None or len(made.arguments) != 1:
        return False
    function, pattern = _MAKING[holder]
    text = made.arguments[0].value if isinstance(made.arguments[0], Literal) else None
    return made.function == function and type(text) is str and pattern.fullmatch(text) is not None


def _is_text(node: Expression) -> bool:
    """Tell whether an expression can be a text: an attribute or the driver."""
    return _is_driver(node) or _holder_of(node) == "attributes"


def _is_driver(node: Expression) -> bool:
    return isinstance(node, Select) and not node.test and node.field == "driver" and _is_device(node.operand)


def _is_device(node: Expression) -> bool:
    return isinstance(node, Ident) and node.name == "device"


def _is_holder(node: Expression | None) -> bool:
    return isinstance(node, Select) and not node.test and node.field in _MAKING and _is_device(node.operand)


def _holder_of(node: Expression, *, test: bool = False) -> str | None:
    """Return what a value is read from, or tested in: `attributes` of `device.attributes["a.example.com"].model`."""
    outer = node.operand if isinstance(node, Select) and node.test is test else None if test else _within(node)
    holder = _within(outer) if outer is not None else None
    return holder.field if isinstance(holder, Select) and _is_holder(holder) else None


def _within(node: Expression) -> Expression | None:
    """Return the map of which an expression reads an entry: `device.attributes["a.example.com"]`."""
    if not isinstance(node, Call) or node.function != "_[_]":
        return None
    operand, key = node.arguments
    return operand if isinstance(key, Literal) and type(key.value) is str else None
