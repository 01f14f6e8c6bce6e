"""Type inference: assignability and type parameters (cel-go checker/types.go)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from webhook.budget import Budget
from webhook.cel.types import base as types
from webhook.cel.types.base import Kind, Type

if TYPE_CHECKING:
    from webhook.cel.functions import Signature

_ALWAYS_FIT = types.UNKNOWN_KINDS | {Kind.ERROR}
_SAYS_NOTHING = types.UNKNOWN_KINDS | {Kind.PARAMETER}
_NULLABLE = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL})
_COMPOSED = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Inference:
    """The meanings of the type parameters met so far.

    Args:
        budget: Pays for each step: a few nested literals make huge types.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._meanings: dict[str, Type] = {}
        """The meanings of parameters, by name."""
        self._changes: list[tuple[str, Type | None]] = []
        self._agreed: set[tuple[Type, Type]] = set()
        """The pairs of large types that were found to agree since the last type parameter was given up."""
        self._substituted: dict[Type, Type] = {}
        """The types substituted since the last change of a parameter's meaning."""
        self._generality: dict[tuple[Type, Type], bool] = {}
        self._made = 0

    def fresh(self) -> Type:
        """A type parameter not used before."""
        self._made += 1
        return _numbered(self._made - 1)

    def assignable(self, first: Type, second: Type) -> bool:
        """Whether the types agree; if so, the meanings of their parameters are remembered."""
        if first is second:
            return True
        return self._all_agree([first], [second])

    def _learn(self, parameter: Type, meaning: Type) -> None:
        before = self._meanings.get(parameter.name)
        if before is meaning:
            return
        self._changes.append((parameter.name, before))
        self._meanings[parameter.name] = meaning
        if before is not None:
            self._substituted.clear()

    def result(self, signature: Signature, given: list[Type]) -> Type | None:
        """The type of a call's value, with type parameters inferred from its arguments; None if they do not fit."""
        overload, parameters = signature
        if True in [bool(each.free) for each in given]:
            made: dict[Type, Type] = {}
            wanted = [self.instantiate(each, made) for each in overload.parameters]
            if not self._all_agree(given, wanted):
                return None
            return self.substitute(self.instantiate(overload.result, made))
        # No need to remember: these arguments alone determine the meanings of the overload's own parameters.
        first = self._made
        self._made += len(parameters)
        self._agreed.clear()
        meanings: dict[Type, Type] = {}
        for one, other in zip(given, overload.parameters, strict=True):
            if one is not other and not self._fits(one, other, meanings):
                return None
        if not overload.result.free:
            return overload.result
        for number, each in enumerate(parameters, first):
            meanings.setdefault(each, _numbered(number))
        return self.instantiate(overload.result, meanings)

    def _all_agree(self, first: list[Type], second: list[Type]) -> bool:
        """Like `assignable`, for all arguments of a call and its parameters together: all or nothing."""
        self._changes.clear()
        self._agreed.clear()
        if all(one is other or self._agree(one, other) for one, other in zip(first, second, strict=True)):
            return True
        for parameter, meaning in reversed(self._changes):
            if meaning is None:
                del self._meanings[parameter]
            else:
                self._meanings[parameter] = meaning
        return False

    def instantiate(self, type_: Type, made: dict[Type, Type]) -> Type:
        """The type with fresh parameters in the place of an overload's own."""
        if not type_.free:
            return type_
        self._budget.spend(1)
        if type_.kind is Kind.PARAMETER:
            if type_ not in made:
                made[type_] = self.fresh()
            return made[type_]
        return _rebuild(type_, tuple(self.instantiate(each, made) for each in type_.parameters))

    def substitute(self, type_: Type) -> Type:
        """The type with every parameter replaced by its meaning."""
        return self._substitute(type_, self._substituted, None)

    def closed(self, given: Iterable[Type]) -> list[Type]:
        """Some types with every parameter replaced by its meaning, or by `dyn` if it is open."""
        made: dict[Type, Type] = {}
        return [self._substitute(each, made, types.DYN) for each in given]

    def _substitute(self, type_: Type, made: dict[Type, Type], otherwise: Type | None) -> Type:
        if not type_.free:
            return type_
        known = made.get(type_)
        if known is not None and self._meanings.keys().isdisjoint(known.free):
            return known
        self._budget.spend(2)
        if type_.kind is Kind.PARAMETER:
            found = self._meanings.get(type_.name, otherwise) or type_
            if found.free and found is not type_:
                found = self._substitute(found, made, otherwise)
        else:
            found = _rebuild(type_, tuple([self._substitute(each, made, otherwise) for each in type_.parameters]))
        made[type_] = found
        return found

    def _agree(self, first: Type, second: Type) -> bool:  # noqa: C901, PLR0911 - the order of the rules is cel-go's
        if first is second:
            return True
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
            return second.is_nullable or second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.is_nullable or first.kind in _NULLABLE
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind is not second.kind or first.name != second.name:
            return False
        if first.kind in _COMPOSED and (first, second) not in self._agreed:
            self._budget.spend(1)
            if len(first.parameters) != len(second.parameters) or not all(
                map(self._agree, first.parameters, second.parameters)
            ):
                return False
            self._agreed.add((first, second))
        return True

    def _fits(self, given: Type, expected: Type, meanings: dict[Type, Type]) -> bool:
        """Like `_agree`, for a type without parameters and an overload's type, whose parameters are not yet fresh.

        Args:
            given: The type of an argument.
            expected: The type that the overload declares.
            meanings: The meanings of the overload's parameters; new ones are added.
        """
        if not expected.free:
            return self._agree(given, expected)
        if expected.kind is Kind.PARAMETER:
            return self._means(given, expected, meanings)
        if given.kind in _ALWAYS_FIT:
            return True
        if given.kind is Kind.NULL:
            return expected.kind in _NULLABLE
        if given.kind is not expected.kind or given.name != expected.name:
            return False
        return given.kind not in _COMPOSED or (
            len(given.parameters) == len(expected.parameters)
            and all(self._fits(*pair, meanings) for pair in zip(given.parameters, expected.parameters, strict=True))
        )

    def _means(self, given: Type, parameter: Type, meanings: dict[Type, Type]) -> bool:
        meaning = meanings.setdefault(parameter, given)
        if given is meaning:
            return True
        if not self._agree(given, meaning):
            return False
        meanings[parameter] = self.most_general(given, meaning)
        return True

    def _stands_for(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether the parameter can stand for the type, and whether it already stood for something."""
        if type_ is parameter:
            return True, True
        meaning = self._meanings.get(parameter.name)
        if meaning is not None:
            if type_ is meaning:
                return True, True
            if self._agree(type_, meaning):
                general = self.most_general(type_, meaning)
                if self._is_free_of(parameter, general):
                    self._learn(parameter, general)
                return True, True
            return False, True
        if self._is_free_of(parameter, type_):
            self._learn(parameter, type_)
            return True, False
        return False, False

    def _is_free_of(self, parameter: Type, type_: Type) -> bool:
        found, pending = set(type_.free), list(type_.free)
        while pending:
            self._budget.spend(1)
            name = pending.pop()
            if name == parameter.name:
                return False
            meaning = self._meanings.get(name)
            if meaning is not None:
                pending.extend(meaning.free - found)
                found |= meaning.free
        return True

    def most_general(self, first: Type, second: Type) -> Type:
        """The more general of two types."""
        return first if self._says_less(first, second) else second

    def _says_less(self, first: Type, second: Type) -> bool:
        if first is second or first.kind in _SAYS_NOTHING:
            return True
        if second.kind in _SAYS_NOTHING or first.kind is not second.kind:
            return False
        if first.kind not in _COMPOSED:
            return first.kind is Kind.TYPE or first.is_nullable
        if first.name != second.name or len(first.parameters) != len(second.parameters):
            return False
        known = self._generality.get((first, second))
        if known is None:
            self._budget.spend(1)
            known = all(map(self._says_less, first.parameters, second.parameters))
            self._generality[first, second] = known
        return known


def type_parameters(declared: Sequence[Type]) -> tuple[Type, ...]:
    """The parameters in some types, each once, in order of first appearance."""
    found: dict[Type, None] = {}
    for each in declared:
        if each.kind is Kind.PARAMETER:
            found[each] = None
        elif each.free:
            found |= dict.fromkeys(type_parameters(each.parameters))
    return tuple(found)


def _numbered(number: int) -> Type:
    return types.parameter(f"_var{number}")


def _rebuild(type_: Type, parameters: tuple[Type, ...]) -> Type:
    if type_.kind is Kind.LIST:
        return types.list_of(parameters[0])
    if type_.kind is Kind.MAP:
        return types.map_of(*parameters)
    if types.is_optional(type_):
        return types.optional_of(parameters[0])
    return Type(type_.kind, type_.name, parameters)
