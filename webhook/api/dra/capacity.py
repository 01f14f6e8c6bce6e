"""The capacity of a device, and how much of it a request may take.

Rules follow ``validateRequestPolicy`` in ``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import ClassVar

from webhook.api.core.values import Quantity
from webhook.formats.quantities import Quantity as Value
from webhook.formats.quantities import decode_quantity, whole_quantity, wrapped
from webhook.problem import Path, Problem, duplicate, forbidden, invalid, refused, required, too_many
from webhook.schema import Array, Nested, Struct, View
from webhook.schema.collections import SIZE_ENDS_LIST_SINCE

VALID_VALUES_MAX_ITEMS = 10
FRACTIONS = "DRAFractionalCapacityRange"
_GUARDED_SINCE = 37
_BOUNDS = "min", "max", "step"
_LARGEST = whole_quantity(2**63 - 1)


class CapacityRequestPolicyRange(Struct):
    """Requests are multiples of a step between two bounds."""

    min = Quantity("The least that a request takes.", pointer=True)
    max = Quantity("The most that a request takes.", pointer=True)
    step = Quantity("What requests are rounded up to, counted from min.", pointer=True)


class CapacityRequestPolicy(Struct):
    """The amounts of a capacity that a request may take."""

    default = Quantity("What a request takes that does not say.", pointer=True, written=True)
    validValues = Array(Quantity(), "What requests are rounded up to.")
    validRange = Nested(CapacityRequestPolicyRange, "The bounds of what requests take.", pointer=True)


class DeviceCapacity(Struct):
    """A capacity of a device."""

    plain = "value"
    shorthand: ClassVar = {str: "value", int: "value"}

    value = Quantity("How much there is.", default="0")
    requestPolicy = Nested(
        CapacityRequestPolicy,
        "How much of it a request may take.",
        pointer=True,
        since=34,
        gate="DRAConsumableCapacity",
    )


class Counter(Struct):
    """Something that can be counted."""

    value = Quantity("How much there is.", default="0")


def request_policy(capacity: View) -> Iterator[Problem]:
    """A request policy has valid values or a valid range, and a default that is among them."""
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
    if len(values) <= VALID_VALUES_MAX_ITEMS or policy.release < SIZE_ENDS_LIST_SINCE:
        in_decimals = policy.enabled(FRACTIONS)
        seen = set()
        for index, value in enumerate(values):
            found = found or value == default
            if value > total:
                yield invalid(path / index, str(value), f"option is larger than capacity value: {total}")
            # Upstream compares decimals, whose scale matters, or values rounded to whole numbers.
            key = value.decimal() if in_decimals else str(value.value())
            if key in seen:
                yield duplicate(path / index, key)
            seen.add(key)
    if not found:
        yield invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _range(policy: View, total: Value) -> Iterator[Problem]:
    bounds, default = policy.validRange, _value(policy.default)
    if "min" not in bounds:
        yield required(bounds / "min", "required when validRange is defined")
        return
    # Upstream reports the default as a field of the range.
    at_default = policy.release >= _GUARDED_SINCE
    least = _value(bounds.min)
    if least > total:
        yield invalid(bounds / "min", str(least), f"min is larger than capacity value: {total}")
    if default < least:
        yield invalid(bounds / ("default" if at_default else "min"), str(default), f"default is less than min: {least}")
    most = _value(bounds.max) if "max" in bounds else None
    if most is not None:
        if least > most:
            yield invalid(bounds / "max", str(least), f"min is larger than max: {most}")
        if most > total:
            yield invalid(bounds / "max", str(most), f"max is larger than capacity value: {total}")
        if default > most:
            path = bounds / ("default" if at_default else "max")
            yield invalid(path, str(default), f"default is more than max: {most}")
    if policy.release >= _GUARDED_SINCE:
        yield from _guarded_steps(bounds, total, default)
    elif "step" in bounds:
        yield from _steps(bounds, total, least, [default] if most is None else [default, most])


def _steps(bounds: View, total: Value, least: Value, values: list[Value]) -> Iterator[Problem]:
    path, step = bounds / "step", _value(bounds.step)
    if least + step > total:
        yield invalid(path, str(step), f"one step {least + step} is larger than capacity value: {total}")
    if not step.value():
        # The API server divides by it: the request handler panics, and the connection is closed.
        yield refused("InternalError", path, "Internal error: runtime error: integer divide by zero")
        return
    yield from _between_steps(path, step, least, values, Value.value)


def _guarded_steps(bounds: View, total: Value, default: Value) -> Iterator[Problem]:
    """Check steps as Kubernetes 1.37 does: in whole numbers of 64 bits or, with a gate, in thousandths."""
    values = {"default": default} | {name: _value(getattr(bounds, name)) for name in _BOUNDS if name in bounds}
    in_thousandths = bounds.enabled(FRACTIONS) and any(value.power < 0 for value in values.values())
    if in_thousandths and (bad := [name for name, value in values.items() if value.thousandths() is None]):
        for name in bad:
            yield invalid(bounds / name, str(values[name]), "value cannot be represented as a milli value")
        return
    if "step" not in values:
        return
    path, least, step = bounds / "step", values["min"], values["step"]
    if step.sign <= 0:
        yield invalid(path, str(step), "must be greater than zero")
        return
    if least + step > total:
        yield invalid(path, str(step), f"one step {least + step} is larger than capacity value: {total}")
    if not in_thousandths and (wrong := list(_beyond_64_bits(bounds, values))):
        yield from wrong
        return
    checked = [values[name] for name in ("default", "max") if name in values]
    yield from _between_steps(path, step, least, checked, Value.thousandths if in_thousandths else Value.value)


def _beyond_64_bits(bounds: View, values: Mapping[str, Value]) -> Iterator[Problem]:
    for name, value in values.items():
        if value.sign < 0:
            yield invalid(bounds / name, str(value), "must be greater than or equal to 0")
        elif value > _LARGEST:
            yield invalid(bounds / name, str(value), f"must not be larger than {_LARGEST.value()}")


def _between_steps(
    path: Path, step: Value, least: Value, values: Iterable[Value], count: Callable[[Value], int | None]
) -> Iterator[Problem]:
    for value in values:
        if wrapped((count(value) or 0) - (count(least) or 0)) % (count(step) or 1):
            yield invalid(path, str(value), f"value is not a multiple of a given step ({step}) from ({least})")
