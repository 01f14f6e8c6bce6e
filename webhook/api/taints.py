"""Taints, which keep devices from being used, and tolerations, which let them be used nevertheless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook import formats
from webhook.api.names import TAGGED
from webhook.api.values import Time
from webhook.problem import invalid, not_supported
from webhook.schema import CHANGED, Array, Int, Nested, Struct, Text, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.problem import Problem
    from webhook.schema import View

EFFECTS = {33: ("NoExecute", "NoSchedule"), 35: ("NoExecute", "NoSchedule", "None")}


OPERATORS = "Equal", "Exists"

_TAGGED_EFFECT: Mapping[int, Mapping[str, Any]] = {
    35: {"one_of": EFFECTS, "always": True},  # an effect was not optional yet
    37: {"one_of": EFFECTS},
}


class DeviceTaint(Struct):
    """A reason not to use a device."""

    key = Text("What is wrong, as a label key.", format=formats.label_key, always=True)
    value = Text("More about it, as a label value.", format=formats.label_value)
    effect = Text(
        "What happens to pods that do not tolerate it.",
        go="DeviceTaintEffect",
        required=True,
        one_of=EFFECTS,
        declared=TAGGED,
    )
    timeAdded = Time("When it was added; set by the API server.", pointer=True)


class DeviceTaintOfRule(DeviceTaint):
    """A taint that a DeviceTaintRule puts on devices."""

    go_name = "DeviceTaint"

    effect = DeviceTaint.effect.but(rechecked={35: CHANGED})


class AllocatedToleration(Struct):
    """A taint that did not matter when the device was allocated; what the scheduler copies is not validated."""

    go_name = "DeviceToleration"

    key = Text("The taint's key; empty for all.", declared={35: {"formats": (formats.label_key,)}})
    operator = Text(
        "Exists or Equal.",
        go="DeviceTolerationOperator",
        default="Equal",
        declared={35: {"one_of": OPERATORS}},
    )
    value = Text("The taint's value, for Equal.")
    effect = Text("The effect to tolerate; empty for all.", go="DeviceTaintEffect", declared=_TAGGED_EFFECT)
    tolerationSeconds = Int("For how long NoExecute is tolerated.", pointer=True)


class DeviceToleration(AllocatedToleration):
    """A taint that does not matter."""

    go_name = "DeviceToleration"

    key = AllocatedToleration.key.but(formats=(formats.label_key,), declared=TAGGED)
    effect = AllocatedToleration.effect.but(one_of=EFFECTS)


def tolerations(doc: str, type_: type[AllocatedToleration] = DeviceToleration, **common: Any) -> Array:
    """Declare tolerations, which DRADeviceTaints brought."""
    return Array(Nested(type_), doc, since=33, gate="DRADeviceTaints", **common)


@check(DeviceToleration)
def value_for_operator(toleration: View) -> Iterator[Problem]:
    """A toleration compares values only with Equal."""
    path, value = toleration / "value", toleration.value
    if toleration.operator == "Exists":
        if value:
            yield invalid(path, value, "must be empty for operator `Exists`")
    elif toleration.operator == "Equal":
        for detail in formats.label_value(value, toleration.release):
            yield invalid(path, value, detail)
    elif not toleration.target.declarative:
        yield not_supported(toleration / "operator", toleration.operator, OPERATORS)
