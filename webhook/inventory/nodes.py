"""Nodes: the parts that decide which pods they take."""

from __future__ import annotations

from functools import cache
from typing import Final

from webhook.api.core.meta import Metadata, Object
from webhook.api.core.values import Quantity, V1Struct
from webhook.api.versions import NEWEST
from webhook.objects import JSONObject
from webhook.problem import ERROR, Problem
from webhook.schema import CREATE, Array, Bool, CompiledStruct, Map, Nested, Target, Text, compile_struct
from webhook.schema.decoding import apart, as_reported

_EFFECTS: Final = ("NoExecute", "NoSchedule", "PreferNoSchedule")


class Taint(V1Struct):
    """What keeps pods away that do not tolerate it."""

    key = Text("What is wrong.")
    value = Text("More about it.")
    effect = Text("What happens to pods that do not tolerate it.", go="TaintEffect", one_of=_EFFECTS)


class NodeSpec(V1Struct):
    """What keeps pods away."""

    taints = Array(Nested(Taint), "The taints.")
    unschedulable = Bool("Whether it takes no new pods.")


class NodeStatus(V1Struct):
    """The resources of a node."""

    allocatable = Map(Quantity(), "What pods can have.")
    capacity = Map(Quantity(), "What there is.")


class Node(Object):
    """A machine that runs pods."""

    package = "v1"

    metadata = Nested(Metadata, "Its name and labels.")
    spec = Nested(NodeSpec, "What keeps pods away.")
    status = Nested(NodeStatus, "Its resources.")


@cache
def _struct() -> CompiledStruct:
    return compile_struct(Node, Target("v1", NEWEST, CREATE, strict=False))


def refused(node: JSONObject) -> Problem | None:
    """Return why no API server would have stored a Node, if it is a matter of the parts that count; None if it would.

    Args:
        node: The Node, without null values; its other fields are not looked at.
    """
    misfits, problems = apart(_struct().walk(node))
    if misfits:
        return as_reported(misfits)[0].problem()
    return next((each for each in problems if each.level == ERROR and each.path[:1] == ("spec",)), None)
