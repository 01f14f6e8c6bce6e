"""What ValidatingAdmissionPolicy and MutatingAdmissionPolicy share: parameters, match conditions, variables.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go``. Errors of CEL expressions are reported
among the others, in the API server's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from webhook import formats
from webhook.api.core.meta import PlainObject
from webhook.escapes import GO_SPACE
from webhook.policy.manifest.expressions import Compiler, complaints
from webhook.policy.manifest.formats import dns1035_label, go_lower, is_cel_identifier
from webhook.problem import Problem, duplicate, invalid, required, too_many
from webhook.schema import Anything, Array, Nested, Struct, Text, View, check

MAX_MATCH_CONDITIONS: Final = 64
SHORT_TEXTS: Final = 34
"""From Kubernetes 1.34, some messages no longer repeat the name of their field."""


class ParamKind(Struct):
    """The kind of the objects that parametrise a policy."""

    apiVersion = Text("Group and version.")
    kind = Text("The kind.")


class MatchCondition(Struct):
    """A condition on a request, beside those of matchConstraints."""

    name = Text("What the condition is called; a qualified name.")
    expression = Text("A CEL expression: true for requests that the policy is about.")


class Variable(Struct):
    """A named expression, evaluated when it is first used."""

    name = Text("The name: expressions say variables.<name>.")
    expression = Text("A CEL expression.")


class PolicySpec(Struct):
    """What both kinds of policy have."""

    failurePolicy = Text(
        "What an error means: Fail, or Ignore.", one_of=("Fail", "Ignore"), pointer=True, go="FailurePolicyType"
    )
    paramKind = Nested(ParamKind, "The kind of the policy's parameters.", pointer=True)
    matchConditions = Array(Nested(MatchCondition), "Further conditions on requests.")
    variables = Array(
        Nested(Variable), "Expressions to be used in others, later ones in this list among them.", since=28
    )


class AdmissionPolicy(PlainObject):
    """What both kinds of policy are."""

    namespaced = False
    opaque: ClassVar = {"status": Anything()}


@check(ParamKind)
def param_kind(kind: View) -> Iterator[Problem]:
    """A param kind has an API version and a kind."""
    path, value = kind / "apiVersion", kind.apiVersion
    if not value:
        yield required(path)
    elif value.count("/") > 1:
        yield invalid(path, value, f"unexpected GroupVersion string: {value}")
    else:
        group, _, version = ("", "", "") if value == "/" else value.rpartition("/")
        if group and (details := formats.dns_subdomain(group, kind.release)):
            yield invalid(path, group, ",".join(details))
        if not version:
            yield invalid(path, value, "version must be specified")
        elif details := dns1035_label(version):
            yield invalid(path, version, ",".join(details))
    if not kind.kind:
        yield required(kind / "kind")
    elif details := dns1035_label(go_lower(kind.kind)):
        detail = "may have mixed case, but should otherwise match: " + ",".join(details)
        yield invalid(kind / "kind", kind.kind, detail)


def match_conditions(spec: View, compiler: Compiler) -> Iterator[Problem]:
    """Find what is wrong with the conditions of a policy on requests."""
    path, conditions = spec / "matchConditions", spec.matchConditions
    if len(conditions) > MAX_MATCH_CONDITIONS:
        yield too_many(path, len(conditions), MAX_MATCH_CONDITIONS, spec.release)
    seen = set()
    for condition in conditions:
        expression = condition.expression.strip(GO_SPACE)
        if not expression:
            yield required(condition / "expression")
        else:
            result, path_of_it = compiler.condition(expression), condition / "expression"
            yield from complaints(result, path_of_it, expression, condition.expression)
        if not condition.name:
            yield required(condition / "name")
            continue
        for detail in formats.label_key(condition.name, spec.release):
            yield invalid(condition / "name", condition.name, detail)
        if condition.name in seen:
            yield duplicate(condition / "name", condition.name)
        seen.add(condition.name)


def variables(spec: View, compiler: Compiler) -> Iterator[Problem]:
    """Find what is wrong with the variables of a policy."""
    for variable in spec.variables or ():  # 1.27 has none
        if not variable.name.strip(GO_SPACE):
            yield required(variable / "name", "name is not specified")
        elif not is_cel_identifier(variable.name):
            short = spec.release >= SHORT_TEXTS
            detail = "must be a valid CEL identifier" if short else "name is not a valid CEL identifier"
            yield invalid(variable / "name", variable.name, detail)
        if not variable.expression.strip(GO_SPACE):
            yield required(variable / "expression", "expression is not specified")
        else:
            result = compiler.variable(variable.name, variable.expression)
            yield from complaints(result, variable / "expression", variable.expression)
