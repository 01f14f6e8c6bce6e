"""Python expressions that stand for calls: each with the condition under which it has the call's result."""

from __future__ import annotations

from webhook.cel.runtime import operators
from webhook.cel.types.base import STRING
from webhook.cel.types.values import INT_MAX, INT_MIN, Optional, python_type
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Final

    from webhook.cel.overloads import Overload
    from webhook.cel.runtime.writer import Operand, Writer
    from webhook.cel.types.values import Value

_BOTH_TEXTS: Final = (str, str)
_BOTH_WHOLE: Final = (int, int)
_COMPARED: Final = (_BOTH_WHOLE, _BOTH_TEXTS)
_IN_RANGE: Final = f"{INT_MIN} <= ({{r}} := {{0}} {{sign}} {{1}}) <= {INT_MAX}"
_POSITIVE: Final = "{0} >= 0 and {1} > 0"
_SHORT: Final = "len({0}) + len({1}) < 4096"


class _Direct(NamedTuple):
    """A Python expression in place of an implementation.

    Args:
        source: The expression, with the arguments as `{0}` and `{1}` and the result as `{r}`.
        classes: The classes of the arguments; None for any.
    """

    source: str
    classes: tuple[tuple[type | None, ...], ...]
    condition: str = ""


def _checked(sign: str) -> _Direct:
    return _Direct("{r}", (_BOTH_WHOLE,), _IN_RANGE.replace("{sign}", sign))


_DIRECT: Final[Mapping[Callable[..., Value], tuple[_Direct, ...]]] = {
    operators.less: (_Direct("{0} < {1}", _COMPARED),),
    operators.less_equal: (_Direct("{0} <= {1}", _COMPARED),),
    operators.greater: (_Direct("{0} > {1}", _COMPARED),),
    operators.greater_equal: (_Direct("{0} >= {1}", _COMPARED),),
    operators.add: (_checked("+"), _Direct("{0} + {1}", (_BOTH_TEXTS, (list, list)), _SHORT)),
    operators.subtract: (_checked("-"),),
    operators.multiply: (_checked("*"),),
    operators.divide: (_Direct("{0} // {1}", (_BOTH_WHOLE,), _POSITIVE),),
    operators.modulo: (_Direct("{0} % {1}", (_BOTH_WHOLE,), _POSITIVE),),
    operators.starts_with: (_Direct("{0}.startswith({1})", (_BOTH_TEXTS,)),),
    operators.ends_with: (_Direct("{0}.endswith({1})", (_BOTH_TEXTS,)),),
    operators.contains_text: (_Direct("{1} in {0}", (_BOTH_TEXTS,)),),
    operators.identity: (_Direct("{0}", ((str,), (int,), (bool,))),),
    operators.has_value: (_Direct("{0}.present", ((Optional,),)),),
    operators.value_of: (_Direct("{0}.value", ((Optional,),), "{0}.present"),),
    operators.of_non_zero: (_Direct("Optional({0})", ((None,),), "type({0}) is list and {0}"),),
    len: (_Direct("len({0})", ((list,), (str,), (dict,))),),
}
_OF_WHOLE: Final[Mapping[str, tuple[str, str]]] = {
    "list_int_max_int": ("max({0})", "{0}"),
    "list_int_min_int": ("min({0})", "{0}"),
    "list_int_sum_int": ("{r}", f"{{0}} and min({{0}}) >= 0 and ({{r}} := sum({{0}})) <= {INT_MAX}"),
}
"""Python expressions with their conditions for lists that are known to hold integers; no partial sum is too large."""


def direct(result: str, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """The Python expressions for a call, as source, each with its condition."""
    chosen: dict[_Direct, list[str]] = {}
    for overload in overloads:
        parameters = tuple(map(python_type, overload.parameters))
        for each in _DIRECT.get(overload.implementation, ()) if overload.implementation is not None else ():
            for classes in each.classes:
                condition = _condition(operands, classes) if classes == parameters else None
                if condition is not None:
                    chosen.setdefault(each, []).append(condition)
    texts = [operand.text for operand in operands]
    ways = []
    for way, conditions in chosen.items():
        condition = "" if "" in conditions else f"({' or '.join(conditions)})" if conditions[1:] else conditions[0]
        beside = way.condition.format(*texts, r=result)
        ways.append((way.source.format(*texts, r=result), " and ".join(filter(None, (condition, beside))) or "True"))
    return ways


def scanning(result: str, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """As `direct`, for a function that looks at all values of a list."""
    values = operands[0]
    if values.fails or not values.layout.item or values.layout.item.cls is not int:
        return []
    known = [_OF_WHOLE[each.id] for each in overloads if each.id in _OF_WHOLE]
    return [
        (source.format(values.text, r=result), condition.format(values.text, r=result)) for source, condition in known
    ]


def called(writer: Writer, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """The call of the implementation itself, for texts."""
    texts = [overload for overload in overloads if {*overload.parameters} == {STRING}]
    condition = _condition(operands, [str] * len(operands)) if len(overloads) == len(texts) == 1 else None
    if condition is None:
        return []
    source = f"{writer.given(texts[0].implementation)}({', '.join(operand.text for operand in operands)})"
    return [(source, condition or "True")]


def _condition(operands: list[Operand], classes: Iterable[type | None]) -> str | None:
    """The condition that operands have some classes; None if one never has."""
    unknown = []
    for operand, cls in zip(operands, classes, strict=True):
        if cls is None:
            continue
        if operand.fails or operand.cls is None:
            unknown.append(f"type({operand.text}) is {cls.__name__}")
        elif operand.cls is not cls:
            return None
    return " and ".join(unknown)
