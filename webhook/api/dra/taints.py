"""Device taints and tolerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from webhook import formats
from webhook.api.core.values import Time
from webhook.api.dra.names import TAGGED
from webhook.problem import Path, Problem, invalid, malformed, not_supported
from webhook.schema.declarations import CHANGED, Struct, check
from webhook.schema.fields import Array, Int, Nested, Text, View
from webhook.schema.target import Target

EFFECTS = {33: ("NoExecute", "NoSchedule"), 35: ("NoExecute", "NoSchedule", "None")}


OPERATORS = "Equal", "Exists"
NO_VALUE = "must be empty for operator `Exists`"

_TAGGED_EFFECT: Mapping[int, Mapping[str, Any]] = {
    35: {"one_of": EFFECTS, "always": True},  # an effect was not optional yet
    37: {"one_of": EFFECTS},
}


class DeviceTaint(Struct):
    """A taint of a device, whose effect applies to pods that do not tolerate it."""

    key = Text(
        "The taint key to be applied to a device, a label key.", format=formats.label_key, always=True, written=True
    )
    value = Text("The taint value that belongs to the key, a label value.", format=formats.label_value)
    effect = Text(
        "The effect on pods that do not tolerate the taint.",
        go="DeviceTaintEffect",
        required=True,
        one_of=EFFECTS,
        declared=TAGGED,
        written=True,
    )
    timeAdded = Time("When the taint was added; the API server sets it if it is missing.", pointer=True)


class DeviceTaintOfRule(DeviceTaint):
    """The taint that a DeviceTaintRule puts on devices."""

    go_name = "DeviceTaint"

    effect = DeviceTaint.effect.but(rechecked={35: CHANGED})


_ALLOCATED_SINCE = 37


def allocated_key(text: str, target: Target) -> Iterator[Problem]:
    """A label key, which the API server checks from Kubernetes 1.37 on."""
    if target.release >= _ALLOCATED_SINCE:
        yield from malformed(Path(), text, formats.label_key(text, target.release))


class AllocatedToleration(Struct):
    """A toleration that applied when the device was allocated; it is validated from Kubernetes 1.37 on."""

    go_name = "DeviceToleration"

    key = Text(
        "The taint key that is tolerated; empty for all.",
        checked_by=allocated_key,
        declared={35: {"formats": (formats.label_key,), "checked_by": None}},
    )
    operator = Text(
        "Exists or Equal.", go="DeviceTolerationOperator", default="Equal", declared={35: {"one_of": OPERATORS}}
    )
    value = Text("The taint value that is tolerated, for Equal.")
    effect = Text(
        "The effect to tolerate; empty for all.",
        go="DeviceTaintEffect",
        one_of={_ALLOCATED_SINCE: EFFECTS[35]},
        declared=_TAGGED_EFFECT,
    )
    tolerationSeconds = Int("For how long a taint with the effect NoExecute is tolerated.", pointer=True)


class DeviceToleration(AllocatedToleration):
    """A taint that the request tolerates."""

    go_name = "DeviceToleration"

    key = AllocatedToleration.key.but(formats=(formats.label_key,), checked_by=None, declared=TAGGED)
    effect = AllocatedToleration.effect.but(one_of=EFFECTS)


def tolerations(doc: str, type_: type[AllocatedToleration] = DeviceToleration, **common: Any) -> Array:
    """Declare tolerations; in a status and before 1.35 they are kept while DRADeviceTaints is off."""
    return Array(Nested(type_), doc, since=33, **common)


@check(DeviceToleration, until=_ALLOCATED_SINCE - 1, before="effect")
@check(AllocatedToleration, since=_ALLOCATED_SINCE, before="effect")
def value_for_operator(toleration: View) -> Iterator[Problem]:
    """A toleration has a value only with the operator Equal."""
    path, value = toleration / "value", toleration.value
    if toleration.operator == "Exists":
        if value:
            yield invalid(path, value, NO_VALUE)
    elif toleration.operator == "Equal":
        yield from malformed(path, value, formats.label_value(value, toleration.release))
    elif not toleration.target.declarative:
        yield not_supported(toleration / "operator", toleration.operator, OPERATORS, toleration.release)
