"""Where a pod may run, and when it may be scheduled: tolerations, node affinity, scheduling gates.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidateTolerations, validateNodeAffinity,
validateSchedulingGates).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from webhook import formats
from webhook.api.core.nodeselector import NodeSelectorTerm, RequiredNodeSelector, other_values
from webhook.api.core.values import Others, V1Struct
from webhook.escapes import go_integer
from webhook.patterns import Pattern
from webhook.problem import Problem, invalid, malformed, not_supported, of_own_type, quoted
from webhook.schema.declarations import check
from webhook.schema.fields import Array, Int, Nested, Text, View


class Toleration(V1Struct):
    """A taint of nodes that the pod tolerates."""

    key = Text("The taint key that is tolerated; empty for all.", format=formats.label_key)
    operator = Text("Exists or Equal; Lt or Gt compare numbers.", go="TolerationOperator")
    value = Text("The taint value, for all operators but Exists.")
    effect = Text(
        "The effect to tolerate; empty for all.",
        go="TaintEffect",
        one_of=("NoSchedule", "PreferNoSchedule", "NoExecute"),
    )
    tolerationSeconds = Int("Seconds for which a taint with the effect NoExecute is tolerated.", pointer=True)


COMPARING: Final = ("Lt", "Gt")
_TOLERATING: Final = ("Equal", "Exists")
COMPARING_SINCE: Final = 35
COMPARING_GATE: Final = "TaintTolerationComparisonOperators"
_SHOWS_VALUE_SINCE: Final = 32
ONLY_EXISTS: Final = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
ONLY_EVICTING: Final = "effect must be 'NoExecute' when `tolerationSeconds` is set"
NO_VALUE: Final = "value must be empty when `operator` is 'Exists'"


@check(Toleration)
def value_to_tolerate(toleration: View) -> Iterator[Problem]:
    """The operator Exists takes no value, and only Exists no key; tolerationSeconds are for the effect NoExecute.

    Lt and Gt compare numbers, from Kubernetes 1.35 on and with the feature gate TaintTolerationComparisonOperators.
    """
    release, operator, value = toleration.release, toleration.operator, toleration.value
    path = toleration / "operator"
    if not toleration.key and operator != "Exists":
        yield invalid(path, of_own_type(operator, release), ONLY_EXISTS)
    if toleration.tolerationSeconds is not None and toleration.effect != "NoExecute":
        yield invalid(toleration / "effect", of_own_type(toleration.effect, release), ONLY_EVICTING)
    if operator in {"", "Equal"}:
        if details := formats.label_value(value, release):
            yield invalid(path, value, ";".join(details))
    elif operator == "Exists":
        if value:
            shown = value if release >= _SHOWS_VALUE_SINCE else toleration.submitted
            yield invalid(path, shown, NO_VALUE)
    elif operator in COMPARING and release >= COMPARING_SINCE:
        yield from _number(toleration)
    else:
        yield not_supported(path, operator, _TOLERATING, release)


def compare(tolerations: Sequence[View]) -> bool:
    """Tell whether any toleration compares numbers (taintTolerationComparisonOperatorsInUse)."""
    return any(toleration.operator in COMPARING for toleration in tolerations)


def _number(toleration: View) -> Iterator[Problem]:
    """Find what keeps a value from being compared as a number."""
    if not (toleration.target.stored or toleration.enabled(COMPARING_GATE)):
        supported = (*_TOLERATING, *COMPARING)
        yield not_supported(toleration / "operator", toleration.operator, supported, toleration.release)
        return
    path, value = toleration / "value", toleration.value
    if not _decimal_pattern.fullmatch(value):
        yield invalid(path, value, _NO_DECIMAL if value else "must be non-empty")
    try:
        go_integer(value)
    except ValueError as error:
        yield invalid(path, value, f"strconv.ParseInt: parsing {quoted(value)}: {error}")


_NO_DECIMAL: Final = "must be a valid decimal integer in canonical form"
_decimal_pattern = Pattern("0|-?[1-9][0-9]*+")


class PodSchedulingGate(V1Struct):
    """Something that must be done before the pod is scheduled."""

    name = Text("The name of the gate.", written=True)


@check(PodSchedulingGate)
def gate_name(gate: View) -> Iterator[Problem]:
    """The name of a scheduling gate is a qualified name, such as example.com/quota."""
    yield from malformed(gate.path, gate.name, formats.label_key(gate.name, gate.release))


# Nodes

_WEIGHTS: Final = "must be in the range 1-100"


class PreferredSchedulingTerm(V1Struct):
    """Nodes that the pod should run on, and how much."""

    weight = Int(
        "The weight of the preference, from 1 to 100.",
        go="int32",
        minimum=(1, _WEIGHTS),
        maximum=(100, _WEIGHTS),
        written=True,
    )
    preference = Nested(NodeSelectorTerm, "The preferred nodes.")


class NodeAffinity(V1Struct):
    """Nodes that the pod must or should run on."""

    requiredDuringSchedulingIgnoredDuringExecution = Nested(
        RequiredNodeSelector, "The nodes that the pod must run on.", pointer=True
    )
    preferredDuringSchedulingIgnoredDuringExecution = Array(
        Nested(PreferredSchedulingTerm), "The nodes that the pod should run on."
    )


class Affinity(V1Struct):
    """The nodes on which the pod must or should run."""

    opaque: ClassVar = Others("Affinity")

    nodeAffinity = Nested(NodeAffinity, pointer=True)


def requires_other_values(affinity: View) -> bool:
    """Tell whether any value for a required node is not one of a label (hasInvalidLabelValueInRequiredNodeAffinity)."""
    return any(other_values(affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution))
