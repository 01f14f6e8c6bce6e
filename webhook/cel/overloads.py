"""Overloads: the signatures of a function, with implementations and costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel.costs import CostFunction, Estimate
    from webhook.cel.types.base import Type
    from webhook.cel.types.values import Value

    Implementation = Callable[..., Value]


class Overload(NamedTuple):
    """One signature of a function.

    Args:
        id: Its name, unique in the environment; cel-go's, where cel-go has it.
        parameters: The types of the arguments; for a member, the target's first.
        result: The type of the result.
        implementation: Computes the result; None if the compiler does it itself.
        member: Whether it is called on a target, `target.f(x)`, and not as `f(target, x)`.
        cost: The cost of a call at run time, a number or a function of arguments and result.
        estimate: The estimated cost of a call; None for the plain cost of 1.
        guarded: Whether the first element of a list or map must be of the parameter's type when it is called (cel-go
            common/decls/decls.go, DisableTypeGuards; functions with a singleton binding have no guards either).
        stops_early: Whether a call ends at its first argument that is an error, and is then free; so is every call
            of three or more arguments (cel-go interpreter/interpretable.go, evalVarArgs).
    """

    id: str
    parameters: tuple[Type, ...]
    result: Type
    implementation: Implementation | None = None
    member: bool = False
    cost: int | CostFunction = 1
    estimate: Estimate | None = None
    guarded: bool = True
    stops_early: bool = False
