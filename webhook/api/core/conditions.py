"""Conditions of an object's status.

Rules follow apimachinery ``pkg/apis/meta/v1/validation/validation.go`` (ValidateConditions).
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook import formats
from webhook.api.core.values import Time, V1Struct
from webhook.problem import Problem, required
from webhook.schema import IN_PLACE, OLDEST, Array, Int, Nested, Text, View, check

REASON_MAX_BYTES = 1024
MESSAGE_MAX_BYTES = 32 * 1024

_DETAIL = {OLDEST: "must be set", 34: ""}
_NO_TIME = {"", "0001-01-01T00:00:00Z"}


class Condition(V1Struct):
    """One aspect of an object's state."""

    type = Text("What it is about, as a label key.", format=formats.label_key, always=True, written=True)
    status = Text(
        "Whether it holds: True, False or Unknown.",
        go="ConditionStatus",
        one_of=("False", "True", "Unknown"),
        always=True,
        written=True,
    )
    observedGeneration = Int(
        "The generation of the object it is about.", minimum=(0, "must be greater than or equal to zero")
    )
    lastTransitionTime = Time("When it came to be so.")
    reason = Text(
        "Why, as a word for programs.", format=formats.condition_reason, max_length=REASON_MAX_BYTES, written=True
    )
    message = Text("Why, as a string for people.", max_length=MESSAGE_MAX_BYTES, written=True)


@check(Condition, before=IN_PLACE)
def reason_and_time(condition: View) -> Iterator[Problem]:
    """A condition says why it holds, and since when."""
    detail = condition.target.pick(_DETAIL)
    if condition.lastTransitionTime in _NO_TIME:
        yield required(condition / "lastTransitionTime", detail)
    if not condition.reason:
        yield required(condition / "reason", detail)


def conditions(max_items: int) -> Array:
    """Declare conditions; the size of the list does not keep the API server from checking them."""
    return Array(
        Nested(Condition),
        "What is to be known about the state.",
        max_items=max_items,
        unique="type",
        list_map_keys=["type"],
        at_item=False,
        size_ends_list=False,
    )
