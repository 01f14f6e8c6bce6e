"""`&&`, `||`, `==` and `!=`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.cel.cost.calls import STRING_FACTOR, traversal
from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.equality import equal_in_time
from webhook.cel.runtime.frame import FAILED, try_to_evaluate
from webhook.cel.runtime.operators import equal, no_such_overload
from webhook.cel.types.values import Value, size_of

if TYPE_CHECKING:
    from webhook.cel.cost.calls import CallCost
    from webhook.cel.runtime.frame import Closure, Frame

_ONE_STEP = int(1 / STRING_FACTOR)
_SCALARS = frozenset({bool, int, float, type(None)})


def conjunction(terms: list[Closure]) -> Closure:
    """`a && b && …`: false if any is, else the first error, else true."""
    if len(terms) == 2:  # noqa: PLR2004  # the most frequent by far
        first, second = terms

        def both(frame: Frame) -> bool:
            try:
                value = first(frame)
            except EvaluationError as error:
                return _absorb(second, frame, error, stop=False)
            if value is False:
                return False
            other = second(frame)
            if other is False or (value is True and other is True):
                return other
            raise no_such_overload()

        return both
    return _chain(terms, stop=False)


def _absorb(second: Closure, frame: Frame, error: EvaluationError, *, stop: bool) -> bool:
    """The second term decides after the first failed, if it can."""
    try:
        decided = second(frame) is stop
    except EvaluationError:
        decided = False
    if decided:
        return stop
    raise error


def disjunction(terms: list[Closure]) -> Closure:
    """`a || b || …`: true if any is, else the first error, else false."""
    if len(terms) == 2:  # noqa: PLR2004  # the most frequent by far
        first, second = terms

        def either(frame: Frame) -> bool:
            try:
                value = first(frame)
            except EvaluationError as error:
                return _absorb(second, frame, error, stop=True)
            if value is True:
                return True
            other = second(frame)
            if other is True or (value is False and other is False):
                return other
            raise no_such_overload()

        return either
    return _chain(terms, stop=True)


def _chain(terms: list[Closure], *, stop: bool) -> Closure:
    def chain(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
            except EvaluationError as error:
                failure = failure or error
                continue
            if type(value) is not bool:
                failure = failure or no_such_overload()
            elif value is stop:
                return bool(value)
        if failure is not None:
            raise failure
        return not stop

    return chain


def equality(first: Closure, second: Closure, *, negated: bool) -> Closure:
    """`a == b`, or `a != b`; the cost goes by the smaller size."""

    def same(frame: Frame) -> bool:
        try:
            left = first(frame)
        except EvaluationError:
            right = try_to_evaluate(second, frame)  # changes what is left, hence not within the next line
            frame[0] -= _smaller(FAILED, right)
            raise
        try:
            right = second(frame)
        except EvaluationError:
            frame[0] -= _smaller(left, FAILED)
            raise
        cls, other = type(left), type(right)
        if cls is other:  # texts and whole numbers are the most frequent by far
            if cls is str:
                size = min(len(left), len(right))
                frame[0] -= 1 if 0 < size <= _ONE_STEP else traversal(size)
                return (left == right) is not negated
            if cls is int:
                frame[0] -= 1
                return (left == right) is not negated
        if cls in _SCALARS or other in _SCALARS:
            frame[0] -= 1 if cls in _SCALARS and other in _SCALARS else _smaller(left, right)
        else:
            frame[0] -= _smaller(left, right)
            if cls is other:
                return equal_in_time(frame, left, right) is not negated
        return equal(left, right) is not negated

    return same


def custom_equality(first: Closure, second: Closure, *, negated: bool, by_name: CallCost) -> Closure:
    """`a == b`, or `a != b`, where the environment says itself what that costs."""
    id_ = "not_equals" if negated else "equals"

    def count(frame: Frame, left: Value, right: Value, result: Value) -> None:
        named = by_name(id_, (left, right), result)
        frame[0] -= _smaller(left, right) if named is None else named

    def custom(frame: Frame) -> bool:
        left: Value = FAILED
        try:
            left = first(frame)
            right = second(frame)
        except EvaluationError:
            count(frame, left, try_to_evaluate(second, frame) if left is FAILED else FAILED, FAILED)
            raise
        result = equal_in_time(frame, left, right) is not negated
        count(frame, left, right, result)
        return result

    return custom


def _smaller(left: Value, right: Value) -> int:
    own: int | None = getattr(left, "cel_equality_cost", None)
    if own is not None:
        return own
    return traversal(min(size_of(left), size_of(right)))
