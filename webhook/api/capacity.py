"""The capacity of a device, and how much of it a request may take.

Rules follow ``validateRequestPolicy`` in ``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from webhook.api.values import Quantity
from webhook.formats.quantities import Quantity as Value
from webhook.formats.quantities import decode_quantity
from webhook.problem import duplicate, forbidden, invalid, refused, required, too_many
from webhook.schema import Array, Nested, Struct
from webhook.schema.collections import SIZE_ENDS_LIST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Problem
    from webhook.schema import View

VALID_VALUES_MAX_ITEMS = 10


class CapacityRequestPolicyRange(Struct):
    """Requests are multiples of a step between two bounds."""

    min = Quantity("The least that a request takes.", pointer=True)
    max = Quantity("The most that a request takes.", pointer=True)
    step = Quantity("What requests are rounded up to, counted from min.", pointer=True)


class CapacityRequestPolicy(Struct):
    """How much of a capacity a request may take."""

    default = Quantity("What a request takes that does not say.", pointer=True)
    validValues = Array(Quantity(), "What requests are rounded up to.")
    validRange = Nested(CapacityRequestPolicyRange, "The bounds of what requests take.", pointer=True)


class DeviceCapacity(Struct):
    """A capacity of a device."""

    plain = "value"

    value = Quantity("How much there is.")
    requestPolicy = Nested(
        CapacityRequestPolicy,
        "How much of it a request may take.",
        pointer=True,
        since=34,
        gate="DRAConsumableCapacity",
    )


class Counter(Struct):
    """Something that can be counted."""

    value = Quantity("How much there is.")


def request_policy(capacity: View) -> Iterator[Problem]:
    """A policy for requests has values or a range, and a default that is among them."""
    policy, total = capacity.requestPolicy, _value(capacity.value)
    if policy.validValues and policy.validRange:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield forbidden(policy.path, detail)
    elif policy.validValues or policy.validRange:
        if "default" not in policy:
            yield required(
                policy / "default", f"required when {'validValues' if policy.validValues else 'validRange'} is defined"
            )
        elif policy.validValues:
            yield from _values(policy, total)
        else:
            yield from _range(policy, total)


def _value(submitted: object) -> Value:
    return decode_quantity(submitted or "0")


def _values(policy: View, total: Value) -> Iterator[Problem]:
    path, default = policy / "validValues", _value(policy.default)
    values = [_value(each) for each in policy.validValues]
    for index, (value, following) in enumerate(pairwise(values), 1):
        if value > following:
            yield invalid(path / index, str(following), "values must be sorted in ascending order")
    found = False
    if len(values) > VALID_VALUES_MAX_ITEMS:
        yield too_many(path, len(values), VALID_VALUES_MAX_ITEMS, policy.release)
    if len(values) <= VALID_VALUES_MAX_ITEMS or policy.release < SIZE_ENDS_LIST:
        seen = set()
        for index, value in enumerate(values):
            found = found or value == default
            if value > total:
                yield invalid(path / index, str(value), f"option is larger than capacity value: {total}")
            # Upstream compares what is left after rounding to whole numbers.
            if value.value() in seen:
                yield duplicate(path / index, str(value.value()))
            seen.add(value.value())
    if not found:
        yield invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _range(policy: View, total: Value) -> Iterator[Problem]:
    bounds, default = policy.validRange, _value(policy.default)
    if "min" not in bounds:
        yield required(bounds / "min", "required when validRange is defined")
        return
    least = _value(bounds.min)
    if least > total:
        yield invalid(bounds / "min", str(least), f"min is larger than capacity value: {total}")
    if default < least:
        yield invalid(bounds / "min", str(default), f"default is less than min: {least}")
    most = _value(bounds.max) if "max" in bounds else None
    if most is not None:
        if least > most:
            yield invalid(bounds / "max", str(least), f"min is larger than max: {most}")
        if most > total:
            yield invalid(bounds / "max", str(most), f"max is larger than capacity value: {total}")
        if default > most:
            yield invalid(bounds / "max", str(default), f"default is more than max: {most}")
    if "step" in bounds:
        yield from _steps(bounds, total, least, [default] if most is None else [default, most])


def _steps(bounds: View, total: Value, least: Value, values: list[Value]) -> Iterator[Problem]:
    path, step = bounds / "step", _value(bounds.step)
    if least + step > total:
        yield invalid(path, str(step), f"one step {least + step} is larger than capacity value: {total}")
    if not step.value():
        # The API server divides by it: the request handler panics, and the connection is closed.
        yield refused("InternalError", path, "Internal error: runtime error: integer divide by zero")
        return
    for value in values:
        if (value.value() - least.value()) % step.value():
            detail = f"value is not a multiple of a given step ({step}) from ({least})"
            yield invalid(path, str(value), detail)
