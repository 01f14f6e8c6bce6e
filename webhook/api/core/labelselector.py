"""Label selectors.

Rules follow apimachinery ``pkg/apis/meta/v1/validation/validation.go`` (ValidateLabelSelector).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook import formats
from webhook.api.core.meta import wrong_labels
from webhook.api.core.values import V1Struct
from webhook.problem import Problem, forbidden, invalid, of_own_type, required
from webhook.schema import Array, Map, Nested, Text, View, check


class LabelSelectorRequirement(V1Struct):
    """A condition on one label."""

    key = Text("The label's key.", written=True)
    operator = Text("In, NotIn, Exists or DoesNotExist.", go="LabelSelectorOperator", written=True)
    values = Array(Text(), "What In and NotIn compare the label with.")


class LabelSelector(V1Struct):
    """Conditions on labels that must all hold; an empty selector matches everything."""

    atomic = True

    matchLabels = Map(Text(), "Labels with the values that they must have.")
    matchExpressions = Array(Nested(LabelSelectorRequirement), "Further conditions.")


@check(LabelSelector)
def match_labels(selector: View) -> Iterator[Problem]:
    """Keys of labels are qualified names, values are short names."""
    yield from wrong_labels(selector.matchLabels, selector / "matchLabels", selector.release)


@check(LabelSelector)
def requirement(selector: View) -> Iterator[Problem]:
    """In and NotIn need values, Exists and DoesNotExist take none, and keys and values must be valid for labels."""
    # A rule of the selector, as the API server reports matchLabels first.
    for each in selector.matchExpressions:
        yield from wrong_values(each)
        if each.operator not in OPERATORS:
            shown = of_own_type(each.operator, each.release)
            yield invalid(each / "operator", shown, "not a valid selector operator")
        for detail in formats.label_key(each.key, each.release):
            yield invalid(each / "key", each.key, detail)
        for index, value in enumerate(each.values):
            for detail in formats.label_value(value or "", each.release):
                yield invalid(each / "values" / index, value or "", detail)


OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
"""The operators of all selectors."""


def wrong_values(requirement: View) -> Iterator[Problem]:
    """Find values that are missing or surplus beside one of these operators."""
    if requirement.operator in OPERATORS[:2] and not requirement.values:
        yield required(requirement / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif requirement.operator in OPERATORS[2:] and requirement.values:
        yield forbidden(requirement / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
