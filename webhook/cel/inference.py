"""Which type may stand where which is expected, and what type parameters come to (cel-go checker/types.go)."""

from __future__ import annotations

from webhook.cel import types
from webhook.cel.types import Kind, Type

_ALWAYS_FIT = types.UNKNOWN_KINDS | {Kind.ERROR}
_SAYS_NOTHING = types.UNKNOWN_KINDS | {Kind.PARAMETER}
_NULLABLE = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL})
_COMPOSED = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Inference:
    """What the type parameters met so far stand for."""

    def __init__(self) -> None:
        self._meanings: dict[Type, Type] = {}
        self._made = 0

    def fresh(self) -> Type:
        """A type parameter not used before."""
        self._made += 1
        return types.parameter(f"_var{self._made - 1}")

    def assignable(self, first: Type, second: Type) -> bool:
        """Whether the types agree; if so, what that says of their parameters is remembered."""
        if first is second:
            return True
        if not (first.generic or second.generic):
            return self._agree(first, second)
        before = self._meanings.copy()
        if self._agree(first, second):
            return True
        self._meanings = before
        return False

    def all_assignable(self, first: list[Type], second: list[Type]) -> bool:
        """As `assignable`, for as many arguments of a call as it has parameters: all of them or nothing."""
        before = self._meanings.copy()
        if all(one is other or self._agree(one, other) for one, other in zip(first, second, strict=True)):
            return True
        self._meanings = before
        return False

    def instantiate(self, type_: Type, made: dict[Type, Type]) -> Type:
        """The type with fresh parameters in the place of an overload's own."""
        if not type_.generic:
            return type_
        if type_.kind is Kind.PARAMETER:
            if type_ not in made:
                made[type_] = self.fresh()
            return made[type_]
        return _rebuild(type_, tuple(self.instantiate(each, made) for each in type_.parameters))

    def substitute(self, type_: Type, *, to_dyn: bool = False) -> Type:
        """The type with every parameter replaced by what it stands for; by `dyn`, if asked, where that is open."""
        if not type_.generic:
            return type_
        if type_.kind is Kind.PARAMETER:
            meaning = self._meanings.get(type_)
            if meaning is not None:
                return self.substitute(meaning, to_dyn=to_dyn)
            return types.DYN if to_dyn else type_
        return _rebuild(type_, tuple(self.substitute(each, to_dyn=to_dyn) for each in type_.parameters))

    def _agree(self, first: Type, second: Type) -> bool:  # noqa: C901, PLR0911  # the order of the rules is cel-go's
        if second.kind is Kind.PARAMETER:
            stands, known = self._stands_for(first, second)
            if stands:
                return True
            if known:
                return False
        if first.kind is Kind.PARAMETER:
            return self._stands_for(second, first)[0]
        if first.kind in _ALWAYS_FIT or second.kind in _ALWAYS_FIT:
            return True
        if first.kind is Kind.NULL:
            return second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.kind in _NULLABLE
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind is not second.kind or first.name != second.name:
            return False
        if first.kind in _COMPOSED:
            return len(first.parameters) == len(second.parameters) and all(
                map(self._agree, first.parameters, second.parameters)
            )
        return True

    def _stands_for(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether the parameter can stand for the type, and whether it already stood for something."""
        if type_ == parameter:
            return True, True
        meaning = self._meanings.get(parameter)
        if meaning is not None:
            if type_ == meaning:
                return True, True
            if self._agree(type_, meaning):
                general = most_general(type_, meaning)
                if self._is_free_of(parameter, general):
                    self._meanings[parameter] = general
                return True, True
            return False, True
        if self._is_free_of(parameter, type_):
            self._meanings[parameter] = type_
            return True, False
        return False, False

    def _is_free_of(self, parameter: Type, type_: Type) -> bool:
        if parameter == type_:
            return False
        if type_.kind is Kind.PARAMETER:
            meaning = self._meanings.get(type_)
            return meaning is None or self._is_free_of(parameter, meaning)
        return all(self._is_free_of(parameter, each) for each in type_.parameters)


def most_general(first: Type, second: Type) -> Type:
    """The one of two types that says less."""
    return first if _says_less(first, second) else second


def _says_less(first: Type, second: Type) -> bool:
    if first.kind in _SAYS_NOTHING:
        return True
    if second.kind in _SAYS_NOTHING or first.kind is not second.kind:
        return False
    if first.kind in _COMPOSED:
        return (
            first.name == second.name
            and len(first.parameters) == len(second.parameters)
            and all(map(_says_less, first.parameters, second.parameters))
        )
    return first.kind is Kind.TYPE or first == second


def _rebuild(type_: Type, parameters: tuple[Type, ...]) -> Type:
    if type_.kind is Kind.LIST:
        return types.list_of(parameters[0])
    if type_.kind is Kind.MAP:
        return types.map_of(*parameters)
    return Type(type_.kind, type_.name, parameters)
