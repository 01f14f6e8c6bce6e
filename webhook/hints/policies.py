"""Hints for expressions of policies that do not compile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import MISMATCHED_TYPE, NO_OVERLOAD, NOT_A_FIELD, UNDECLARED, UNDEFINED
from webhook.cel.syntax.parser import OPERATORS
from webhook.cel.types import base as types
from webhook.cel.types.base import Kind, Type
from webhook.spelling import did_you_mean

if TYPE_CHECKING:
    from webhook.cel.environment import Environment
    from webhook.cel.errors import CompileError

_OPERATORS: Final = frozenset(function for function, _ in OPERATORS.values() if function != "@in")
_SEVERAL: Final = frozenset({Kind.MAP, Kind.LIST, Kind.DYN})
_INSTEAD: Final = {
    "params": "only a policy with a paramKind has parameters: add spec.paramKind",
    "variables": "variables are those of spec.variables, and match conditions have none",
    "authorizer": "a messageExpression cannot use the authorizer",
    **dict.fromkeys(("self", "oldSelf"), "the object is called object here, and the old one oldObject"),
}
"""Hints for variables of other policies, of other expressions, and of the rules of a CustomResourceDefinition."""


def hint_of(error: CompileError, environment: Environment) -> str:
    """Suggest what was probably meant; empty if that is unclear."""
    hint = ""
    for issue in error.issues:
        if issue.code == UNDECLARED:
            name = issue.arguments[0]
            functions = (name for name in environment.functions if name.isidentifier())
            macros = (name for name, _, _ in environment.macros)
            known = (*environment.variables, *functions, *macros, *environment.structs)
            return _INSTEAD.get(name) or _called_otherwise(name, environment) or _another(name, known)
        if issue.code == UNDEFINED:
            name, owner = issue.arguments
            parts, nearer = parts_with(name, owner, environment), nearest_field(name, owner, environment)
            return nearer or (f'did you mean "{parts[0]}.{name}"?' if len(parts) == 1 else "")
        if issue.code == NO_OVERLOAD:
            function, signature = issue.arguments
            sides = signature.arguments
            if function in _OPERATORS and len({*sides}) > 1 and all(map(types.is_simple, sides)):
                return "both sides must be of one type: convert one of them, as by int(…) or string(…)"
            if signature.target is None and (meant := _called_otherwise(function, environment)):
                return meant
        if issue.code == NOT_A_FIELD:
            hint = (
                "has(…) asks whether a field is there, as has(object.spec), 'key' in MAP whether a key is; "
                "objects may be null"
            )
        if issue.code == MISMATCHED_TYPE and issue.arguments[1].kind in _SEVERAL:
            hint = (
                "the values of a map are of one type, and so are the items of a list: dyn(…) around each allows others"
            )
            if "JSONPatch" in environment.structs:
                hint = f"{hint}; a change is written JSONPatch{{op: …, path: …}}, an object Object.spec{{…}}"
    return hint


def _called_otherwise(name: str, environment: Environment) -> str:
    """Say how a function or macro is called, if it is called as a method only, or never as one."""
    of_macros = {is_member for macro, _, is_member in environment.macros if macro == name}
    are_members = of_macros or {each.member for each in environment.functions.get(name, ())}
    if are_members == {True}:
        return f"it is called on a value: VALUE.{name}(…)"
    return f"it is not called on a value: {name}(…)" if of_macros == {False} else ""


def parts_with(name: str, owner: str, environment: Environment) -> list[str]:
    """List the fields of a struct that have a field of a name."""
    fields = _fields(owner, environment)
    return [part for part, type_ in fields.items() if name in _fields(type_.name, environment)]


def nearest_field(name: str, owner: str, environment: Environment) -> str:
    """Suggest a field of a struct in place of one that it does not have; empty if none is near."""
    return _another(name, _fields(owner, environment))


def _fields(owner: str, environment: Environment) -> Mapping[str, Type]:
    struct = environment.struct(owner)
    return struct.fields if struct else {}


def _another(name: str, known: Iterable[str]) -> str:
    """Suggest another name than the written one, which may be known elsewhere."""
    return did_you_mean(name, (each for each in known if each != name), quotes='"')


def hint_of_type(found: Type, wanted: Iterable[Type]) -> str:
    """Suggest how to make a value of the wanted type; empty if that is unclear."""
    for each in wanted:
        if each == types.BOOL:
            return "it must say true or false: compare the value with something, or ask whether it is there by has(…)"
        if each == types.STRING:
            return "string(…) makes a string of a number, a boolean or a time"
        if each == types.list_of(found):
            return "put it in brackets: […]"
        if _item(found).kind is Kind.MAP and _item(each).kind is Kind.STRUCT:
            return f"write {_item(each).name}{{…}} in place of a map, and its fields without quotes"
    return ""


def _item(type_: Type) -> Type:
    return type_.parameters[0] if type_.kind is Kind.LIST else type_
