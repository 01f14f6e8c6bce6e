"""Hints for expressions that do not compile."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from webhook.cel import CompileError
from webhook.cel.types import base as types
from webhook.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webhook.cel import Environment
    from webhook.cel.types.base import Type

_UNDECLARED: Final = re.compile(r"undeclared reference to '([\w.]+)'")
_UNDEFINED: Final = re.compile(r"undefined field '(\w+)'")
_PATH: Final = re.compile(r"[A-Za-z_][\w.]*$")
_TWO_SIDES: Final = re.compile(r"found no matching overload for '_\W+_' applied to '\((\w+), (\w+)\)'")
_INSTEAD: Final = {
    "params": "only a policy with a paramKind has parameters: add spec.paramKind",
    "variables": "variables are those of spec.variables, and match conditions have none",
    "authorizer": "a messageExpression cannot use the authorizer",
    **dict.fromkeys(("self", "oldSelf"), "the object is called object here, and the old one oldObject"),
}
"""Hints for variables of other policies, of other expressions, and of the rules of a CustomResourceDefinition."""
_SAME_TYPE: Final = "both sides must be of one type: convert one of them, as by int(…) or string(…)"


def hint_of(error: CompileError, environment: Environment) -> str:
    """Suggest what was probably meant; empty if that is unclear.

    Args:
        error: The error.
        environment: The expression's environment.
    """
    for issue in error.issues:
        if match := _UNDECLARED.match(issue.message):
            if meant := _INSTEAD.get(match[1]):
                return meant
            functions = (name for name in environment.functions if name.isidentifier())
            macros = (name for name, _, _ in environment.macros)
            known = (*environment.variables, *functions, *macros, *environment.structs)
            return _another(match[1], known)
        if match := _UNDEFINED.match(issue.message):
            before, is_made = error.text[: issue.offset], error.text.startswith(":", issue.offset)
            return _another(match[1], (_fields_of_literal if is_made else _fields)(before, environment))
        if (match := _TWO_SIDES.match(issue.message)) and match[1] != match[2]:
            return _SAME_TYPE
    return ""


def _fields(before: str, environment: Environment) -> Iterator[str]:
    """List the fields of the value before a dot; all known fields unless that is a plain path outside macros."""
    path = _PATH.search(before)
    try:
        struct = environment.struct(environment.check(path[0]).type.name) if path else None
    except CompileError:
        struct = None
    for each in (struct,) if struct else environment.structs.values():
        yield from each.fields


def _fields_of_literal(before: str, environment: Environment) -> Iterator[str]:
    """List the fields of the type whose literal is open, as in ``Object.spec{a: [1], b``; all if it is unknown."""
    inside = 0
    for index in range(len(before) - 1, -1, -1):
        inside += (before[index] in ")]}") - (before[index] in "([{")
        if inside < 0:
            name = _PATH.search(before[:index].rstrip())
            struct = environment.struct(name[0]) if name else None
            break
    else:
        struct = None
    for each in (struct,) if struct else environment.structs.values():
        yield from each.fields


def _another(name: str, known: Iterable[str]) -> str:
    """Suggest another name than the written one, which may be known elsewhere."""
    return did_you_mean(name, (each for each in known if each != name), quotes='"')


def hint_of_type(found: Type, wanted: Iterable[Type]) -> str:
    """Suggest how to make a value of the wanted type; empty if that is unclear.

    Args:
        found: The expression's type.
        wanted: The types that it may have.
    """
    for each in wanted:
        if each == types.BOOL:
            return "it must say true or false: compare the value with something, or ask whether it is there by has(…)"
        if each == types.STRING:
            return "string(…) makes a text of a number, a boolean or a time"
        if each == types.list_of(found):
            return "put it in brackets: […]"
    return ""
