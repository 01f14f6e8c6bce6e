"""Hints for expressions of policies that do not compile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Final

from webhook.api.versions import NEWEST
from webhook.cel.checker.declarations import ORDERS
from webhook.cel.errors import MISMATCHED_TYPE, NO_OVERLOAD, NOT_A_FIELD, RESERVED_NAME, UNDECLARED, UNDEFINED
from webhook.cel.kubernetes.environments import admission_environment
from webhook.cel.kubernetes.quantity import QUANTITY
from webhook.cel.kubernetes.semver import SEMVER
from webhook.cel.syntax.parser import OPERATORS
from webhook.cel.types import base as types
from webhook.cel.types.base import Kind, Type
from webhook.release import Release
from webhook.schema.target import OLDEST
from webhook.spelling import did_you_mean

if TYPE_CHECKING:
    from webhook.cel.environment import Environment
    from webhook.cel.errors import CompileError, Signature

_OPERATORS: Final = frozenset(function for function, _ in OPERATORS.values() if function != "@in")
_SEVERAL: Final = frozenset({Kind.MAP, Kind.LIST, Kind.DYN})
_INSTEAD: Final = {
    "params": "only a policy with a paramKind has parameters: add spec.paramKind",
    "namespace": "namespaceObject is the Namespace, request.namespace its name",
    "variables": "variables are those of spec.variables, and match conditions have none",
    "authorizer": "a messageExpression cannot use the authorizer",
    **dict.fromkeys(("self", "oldSelf"), "the object is called object here, and the old one oldObject"),
}
"""Hints for variables of other policies, of other expressions, and of the rules of a CustomResourceDefinition."""
_OBJECTS: Final = frozenset({"object", "oldObject", "namespaceObject"})
_OF_PATHS: Final = f"{ascii_letters}{digits}_."
_ASKED: Final = {Kind.LIST: "VALUE in LIST asks for an item", Kind.MAP: "'KEY' in MAP asks for a key"}
_COMPARED: Final = {
    QUANTITY: "a quantity is compared with a quantity: quantity('1Gi')",
    SEMVER: "a version is compared with a version: semver('1.2.3')",
}


def hint_of(error: CompileError, environment: Environment) -> str:
    """Suggest what was probably meant; empty if that is unclear."""
    hint = ""
    for issue in error.issues:
        if issue.code == UNDECLARED:
            before, behind = error.text[: max(issue.offset, 0)], error.text[max(issue.offset, 0) :]
            is_method = before.removesuffix(issue.arguments[0]).endswith(".")
            is_called = behind.startswith("(")  # the place of a call is its parenthesis
            return _of_name(issue.arguments[0], environment, is_called=is_called, is_method=is_method)
        if issue.code == RESERVED_NAME and (meant := _INSTEAD.get(issue.arguments[0])):
            return meant
        if issue.code == UNDEFINED:
            return _of_field(issue.arguments[0], issue.arguments[1], environment, error.text[: max(issue.offset, 0)])
        if issue.code == NO_OVERLOAD and (meant := _of_call(issue.arguments[0], issue.arguments[1], environment)):
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


def _of_name(name: str, environment: Environment, *, is_called: bool, is_method: bool) -> str:
    functions = (name for name in environment.functions if name.isidentifier())
    macros = (name for name, _, _ in environment.macros)
    known = (*environment.variables, *functions, *macros, *environment.structs)
    instead = _INSTEAD.get(name) or (is_called and _called_otherwise(name, environment, is_method=is_method))
    return instead or (is_called and _later(name)) or _another(name, known)


def _later(name: str) -> str:
    """Name the first release that has a function or macro; empty if none has it."""
    for release in map(Release, range(OLDEST, NEWEST + 1)):
        known = admission_environment(release)
        if name in known.functions or any(name == macro for macro, _, _ in known.macros):
            return f"{name} needs Kubernetes 1.{release}"
    return ""


def _of_field(name: str, owner: str, environment: Environment, before: str) -> str:
    if name in _OBJECTS and owner == "kubernetes.AdmissionRequest":
        return f"{name} is a variable of its own, beside request"
    parts, nearer = parts_with(name, owner, environment), nearest_field(name, owner, environment)
    path = before[len(before.rstrip(_OF_PATHS)) :]  # object.spec, where the field of a template is object.spec.spec.x
    return nearer or (f'did you mean "{path}{"." * bool(path)}{parts[0]}.{name}"?' if len(parts) == 1 else "")


def _of_call(function: str, signature: Signature, environment: Environment) -> str:
    target, sides = signature
    operands = [each for each in (target, *sides) if each is not None]
    if meant := _of_operands(function, operands) if operands else "":
        return meant
    if function in _OPERATORS and len({*sides}) > 1 and all(map(types.is_simple, sides)):
        return "both sides must be of one type: convert one of them, as by int(…) or string(…)"
    return "" if target is not None else _called_otherwise(function, environment)


def _of_operands(function: str, operands: Sequence[Type]) -> str:
    """Suggest another call for values of these types; empty if none is known."""
    first, last = operands[0], operands[-1]
    if function == "@in" and last == types.STRING:
        return "….contains(…) looks for a part of a text; `in` is for items of lists and keys of maps"
    if function == "contains":
        return _ASKED.get(first.kind, "")
    if function == "_+_" and {first.kind, last.kind} == {Kind.STRING, Kind.LIST}:
        return "a list of texts becomes a text by LIST.join(', ')"
    if first in _COMPARED and function in ORDERS:
        return "quantities and versions are compared by isGreaterThan, isLessThan and compareTo"
    return _COMPARED.get(first, "") if last != first else ""


def _called_otherwise(name: str, environment: Environment, *, is_method: bool = False) -> str:
    """Say how a function or macro is called, if it is called as a method only, or never as one.

    Args:
        is_method: Whether it was called as one.
    """
    of_macros = {is_member for macro, _, is_member in environment.macros if macro == name}
    are_members = of_macros or {each.member for each in environment.functions.get(name, ())}
    if are_members == {True}:
        if is_method and of_macros:
            return f"it takes the name of an item, and what is asked of it: LIST.{name}(item, …)"
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
