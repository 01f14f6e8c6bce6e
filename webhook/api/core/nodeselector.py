"""Node selectors of the core group.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidateNodeSelector).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from webhook import formats
from webhook.api.core.meta import OPERATORS, wrong_values
from webhook.api.core.values import V1Struct
from webhook.problem import AS_JSON_SINCE, Fix, Problem, Verbatim, invalid, malformed, of_own_type, required
from webhook.release import Release
from webhook.schema.declarations import IN_PLACE, check
from webhook.schema.fields import Array, Nested, Text, View


class _Unchecked(V1Struct):
    """A condition on a node's labels or fields, without their rules."""

    go_name = "NodeSelectorRequirement"

    key = Text("The label's key.", written=True)
    operator = Text("In, NotIn, Exists, DoesNotExist, Gt or Lt.", go="NodeSelectorOperator", written=True)
    values = Array(Text(), "The values that the operator compares the label with.")


class NodeSelectorRequirement(_Unchecked):
    """A condition on a node's labels."""

    key = _Unchecked.key.but(formats=(formats.label_key,), always=True)


class NodeFieldRequirement(_Unchecked):
    """A condition on a node's fields, of which only the name can be matched."""

    key = _Unchecked.key.but(doc="The field: metadata.name.")
    operator = _Unchecked.operator.but(doc="In or NotIn.")
    values = _Unchecked.values.but(doc="One node name.")


class NodeSelectorTerm(V1Struct):
    """Conditions that a node must all meet; an empty term matches no node."""

    atomic = True
    instead: ClassVar = {"matchLabels": "write matchExpressions: [{key: KEY, operator: In, values: [VALUE]}]"}

    matchExpressions = Array(Nested(NodeSelectorRequirement), "Conditions on labels.")
    matchFields = Array(Nested(NodeFieldRequirement), "Conditions on fields.")


class _Terms(V1Struct):
    """Terms of which a node must meet one."""

    atomic = True

    nodeSelectorTerms = Array(
        Nested(NodeSelectorTerm),
        "The terms, one of which must match.",
        required=True,
        required_detail="must have at least one node selector term",
        written=True,
    )


class NodeSelector(_Terms):
    """Terms of which a node must meet one."""


class RequiredNodeSelector(_Terms):
    """Terms of which a node must meet one for a pod to run on it."""

    go_name = "NodeSelector"


_OPERATORS: Final = (*OPERATORS, "Gt", "Lt")
_MEANT: Final = {
    **{each.lower(): each for each in _OPERATORS},
    **dict.fromkeys(("equal", "equals", "=", "=="), "In"),
    **dict.fromkeys(("notequal", "notequals", "!="), "NotIn"),
    "notexists": "DoesNotExist",
    ">": "Gt",
    "<": "Lt",
}
"""The operators that are meant by operators of tolerations and of programming languages, in lower case."""


def _no_operator(requirement: View, known: Sequence[str]) -> Problem:
    operator = requirement.operator
    shown = of_own_type(operator, requirement.release)
    problem = invalid(requirement / "operator", shown, "not a valid selector operator")
    meant = _MEANT.get(str(operator).lower(), "")
    return problem._replace(hint=f'did you mean "{meant}"?', fix=Fix("replace", meant)) if meant in known else problem


@check(NodeSelectorRequirement, before="key")
def values_for_operator(requirement: View) -> Iterator[Problem]:
    """In and NotIn need values, Gt and Lt exactly one, Exists and DoesNotExist none."""
    yield from wrong_values(requirement)
    if requirement.operator not in _OPERATORS:
        yield _no_operator(requirement, _OPERATORS)
    elif requirement.operator not in OPERATORS and len(requirement.values) != 1:
        yield required(requirement / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'")


@check(NodeSelector, since=32, before=IN_PLACE)
@check(RequiredNodeSelector, since=33, before=IN_PLACE)
def label_values(selector: View) -> Iterator[Problem]:
    """The values must be valid for labels; others would never match."""
    if not selector.target.stored:
        yield from other_values(selector)


def other_values(selector: View) -> Iterator[Problem]:
    """Find values that are not valid for labels."""
    for term in selector.nodeSelectorTerms:
        for requirement in term.matchExpressions:
            for index, value in enumerate(requirement.values):
                faults = formats.label_value(value or "", selector.release)
                yield from malformed(requirement / "values" / index, value or "", faults)


@check(NodeFieldRequirement)
def one_node_name(requirement: View) -> Iterator[Problem]:
    """Only metadata.name can be matched, with In or NotIn and one value."""
    path = requirement / "values"
    if requirement.operator not in {"In", "NotIn"}:
        yield _no_operator(requirement, _OPERATORS[:2])
    elif len(requirement.values) != 1:
        yield required(path, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
    if requirement.key != "metadata.name":
        yield invalid(requirement / "key", requirement.key, "not a valid field selector key")
        return
    for index, value in enumerate(requirement.values):
        yield from malformed(path / index, value or "", formats.dns_subdomain(value or "", requirement.release))


def shown_terms(terms: Sequence[Any] | None, release: Release) -> Any:
    """Return rejected terms in the form for messages.

    Args:
        terms: The terms; None if the list is absent, as Go tells it from an empty one.
    """
    if terms or release >= AS_JSON_SINCE:
        return terms
    return Verbatim(f"[]core.NodeSelectorTerm{'(nil)' if terms is None else '{}'}")
