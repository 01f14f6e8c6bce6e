"""Label selectors: what the API server takes for one, and what one selects.

Rules follow apimachinery ``pkg/apis/meta/v1/validation/validation.go`` (ValidateLabelSelector), selection follows
``pkg/labels/selector.go``.
"""

# ruff: noqa: N815 - fields are named as on the wire

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from webhook import formats
from webhook.problem import forbidden, invalid, required
from webhook.schema import Array, Map, Nested, Struct, Text, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.problem import Problem
    from webhook.schema import View


class LabelSelectorRequirement(Struct):
    """A condition on one label."""

    package = "v1"

    key = Text("The label's key.")
    operator = Text("In, NotIn, Exists or DoesNotExist.", go="LabelSelectorOperator")
    values = Array(Text(), "What In and NotIn compare the label with.")


class LabelSelector(Struct):
    """Conditions on labels that must all hold; none selects everything."""

    package = "v1"

    matchLabels = Map(Text(), "Labels with the values that they must have.")
    matchExpressions = Array(Nested(LabelSelectorRequirement), "Further conditions.")


@check(LabelSelector)
def match_labels(selector: View) -> Iterator[Problem]:
    """Keys of labels are qualified names, values are short names."""
    for key, value in selector.matchLabels.items():
        for detail in formats.label_key(key, selector.release):
            yield invalid(selector / "matchLabels", key, detail)
        for detail in formats.label_value(value or "", selector.release):
            yield invalid(selector / "matchLabels", value or "", detail)


@check(LabelSelectorRequirement)
def requirement(each: View) -> Iterator[Problem]:
    """In and NotIn need values, Exists and DoesNotExist take none, and all must be what labels can be."""
    path = each / "values"
    if each.operator in {"In", "NotIn"}:
        if not each.values:
            yield required(path, "must be specified when `operator` is 'In' or 'NotIn'")
    elif each.operator in {"Exists", "DoesNotExist"}:
        if each.values:
            yield forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield invalid(each / "operator", each.operator, "not a valid selector operator")
    for detail in formats.label_key(each.key, each.release):
        yield invalid(each / "key", each.key, detail)
    for index, value in enumerate(each.values):
        for detail in formats.label_value(value or "", each.release):
            yield invalid(path / index, value or "", detail)


class Requirement(NamedTuple):
    """A condition on one label: In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Tell whether labels meet the condition; NotIn is met by a label that is not there."""
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return self.key not in labels or labels[self.key] not in self.values
        return (self.key in labels) == (self.operator == "Exists")


class Selector(NamedTuple):
    """What a label selector selects.

    Args:
        requirements: The conditions, which must all hold.
    """

    requirements: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the selector selects everything."""
        return not self.requirements

    def matches(self, labels: Mapping[str, Any]) -> bool:
        """Tell whether labels are selected."""
        return all(each.holds(labels) for each in self.requirements)


EVERYTHING = Selector()


def selector_of(selector: Mapping[str, Any] | None) -> Selector:
    """Read a well-formed label selector.

    Args:
        selector: A LabelSelector as it stands in a manifest; None, the API server's default, selects everything.
    """
    if not selector:
        return EVERYTHING
    labels = (selector.get("matchLabels") or {}).items()
    expressions = selector.get("matchExpressions") or ()
    return Selector(
        (
            *(Requirement(key, "In", frozenset({value or ""})) for key, value in labels),
            *(
                Requirement(each.get("key") or "", each.get("operator") or "", frozenset(each.get("values") or ()))
                for each in expressions
            ),
        )
    )
