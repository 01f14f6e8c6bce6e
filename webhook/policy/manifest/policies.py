"""The types ValidatingAdmissionPolicy and MutatingAdmissionPolicy.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go``. Errors of CEL expressions are reported
among the others, in the API server's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from webhook import formats
from webhook.api.core.meta import PlainObject
from webhook.escapes import GO_SPACE
from webhook.policy.manifest.expressions import Compiler, complaints
from webhook.policy.manifest.formats import dns1035_label, go_lower, is_cel_identifier
from webhook.policy.manifest.matchresources import (
    MatchConstraints,
    MutatingMatchConstraints,
)
from webhook.problem import duplicate, invalid, not_supported, required, too_many
from webhook.schema import Anything, Array, Nested, Struct, Text, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Problem
    from webhook.schema import View

MAX_MATCH_CONDITIONS = 64
MAX_AUDIT_ANNOTATIONS = 20
MAX_VALUE_EXPRESSION_BYTES = 5 * 1024
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
REINVOCATIONS = ("IfNeeded", "Never")
SHORT_TEXTS = 34
"""From Kubernetes 1.34, some messages no longer repeat the name of their field."""


# Parts of both kinds of policy


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


def _match_conditions(spec: View, compiler: Compiler) -> Iterator[Problem]:
    path, conditions = spec / "matchConditions", spec.matchConditions
    if len(conditions) > MAX_MATCH_CONDITIONS:
        yield too_many(path, len(conditions), MAX_MATCH_CONDITIONS, spec.release)
    seen = set()
    for condition in conditions:
        expression = condition.expression.strip(GO_SPACE)
        if not expression:
            yield required(condition / "expression")
        else:
            yield from complaints(compiler.condition(expression), condition / "expression", expression)
        if not condition.name:
            yield required(condition / "name")
            continue
        for detail in formats.label_key(condition.name, spec.release):
            yield invalid(condition / "name", condition.name, detail)
        if condition.name in seen:
            yield duplicate(condition / "name", condition.name)
        seen.add(condition.name)


def _variables(spec: View, compiler: Compiler) -> Iterator[Problem]:
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


# ValidatingAdmissionPolicy


class Validation(Struct):
    """A condition on objects, and the message for one that fails it."""

    expression = Text("A CEL expression: true for objects that are admitted.")
    message = Text("What is said of others; one line.")
    reason = Text("Why they are refused: Forbidden, Invalid, RequestEntityTooLarge.", pointer=True, go="StatusReason")
    messageExpression = Text("A CEL expression that makes the message.", since=27)


class AuditAnnotation(Struct):
    """What is noted of a request in the audit log."""

    key = Text("The annotation's name; the policy's name is put before it.")
    valueExpression = Text("A CEL expression for its value: a text, or null for none.")


class ValidatingAdmissionPolicySpec(PolicySpec):
    """What a validating policy asks of objects."""

    matchConstraints = Nested(MatchConstraints, "The requests it is about.", pointer=True, required=True)
    matchConditions = Array(Nested(MatchCondition), "Further conditions on requests.", since=27)
    variables = Array(
        Nested(Variable), "Expressions to be used in others, later ones in this list among them.", since=28
    )
    validations = Array(Nested(Validation), "The conditions on objects.")
    auditAnnotations = Array(Nested(AuditAnnotation), "What is noted in the audit log.", since=27)


class ValidatingAdmissionPolicy(PlainObject):
    """Admits or refuses objects by CEL expressions, without changing them."""

    namespaced = False
    opaque: ClassVar = {"status": Anything()}

    spec = Nested(ValidatingAdmissionPolicySpec, "Its conditions on objects.")


@check(ValidatingAdmissionPolicy)
def validating_expressions(policy: View) -> Iterator[Problem]:
    """Conditions, variables, validations and audit annotations are well formed, and their expressions compile."""
    spec = policy.spec
    compiler = Compiler(spec.release, params=bool(spec.paramKind), composed=bool(spec.variables))
    yield from _match_conditions(spec, compiler)
    yield from _variables(spec, compiler)
    if not spec.validations and not spec.auditAnnotations:
        detail = "validations or auditAnnotations must contain at least one item"
        yield required(spec / "validations", detail)
        yield required(spec / "auditAnnotations", detail)
    for validation in spec.validations:
        yield from _validation(validation, compiler)
    annotations = spec.auditAnnotations or ()
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        # The internal type has no names for JSON, so Go's are shown.
        path = spec / "auditAnnotations"
        shown = [{"Key": each.key, "ValueExpression": each.valueExpression} for each in annotations]
        yield invalid(path, shown, f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations")
    seen = set()
    for annotation in annotations:
        yield from _audit_annotation(annotation, policy.metadata.name, compiler)
        if annotation.key in seen:
            yield duplicate(annotation / "key", annotation.key)
        seen.add(annotation.key)


def _validation(validation: View, compiler: Compiler) -> Iterator[Problem]:
    short = validation.release >= SHORT_TEXTS
    if not validation.expression.strip(GO_SPACE):
        yield required(validation / "expression", "expression is not specified")
    else:
        result = compiler.validation(validation.expression)
        yield from complaints(result, validation / "expression", validation.expression)
    text = validation.messageExpression or ""
    if text and not text.strip(GO_SPACE):
        yield invalid(validation / "messageExpression", text, "must be non-empty if specified")
    elif text:
        yield from complaints(compiler.message(text), validation / "messageExpression", text)
    path, message = validation / "message", validation.message
    if message and not message.strip(GO_SPACE):
        yield invalid(path, message, f"{'' if short else 'message '}must be non-empty if specified")
    elif {"\n", "\r"} & set(message.strip(GO_SPACE)):
        yield invalid(path, message, f"{'' if short else 'message '}must not contain line breaks")
    if validation.reason is not None and validation.reason not in REASONS:
        yield not_supported(validation / "reason", validation.reason, REASONS, validation.release)


def _audit_annotation(annotation: View, policy: str, compiler: Compiler) -> Iterator[Problem]:
    path = annotation / "key"
    if policy:
        name = f"{policy}/{annotation.key}"
        for detail in formats.label_key(name, annotation.release):
            yield invalid(path, name, detail)
    else:
        yield invalid(path, annotation.key, "requires metadata.name be non-empty")
    path, expression = annotation / "valueExpression", annotation.valueExpression.strip(GO_SPACE)
    if not expression:
        yield required(path, "valueExpression is not specified")
    elif len(expression.encode(errors="replace")) > MAX_VALUE_EXPRESSION_BYTES:
        yield required(path, f"must not exceed {MAX_VALUE_EXPRESSION_BYTES} bytes in length")
    else:
        yield from complaints(compiler.annotation(expression), path, annotation.valueExpression)


# MutatingAdmissionPolicy


class ApplyConfiguration(Struct):
    """A change, as an object that is merged into the one that is admitted."""

    expression = Text("A CEL expression for an Object{…}.")


class JSONPatch(Struct):
    """A change, as the operations of a JSON Patch."""

    expression = Text("A CEL expression for a list of JSONPatch{…}.")


class Mutation(Struct):
    """One change to the object."""

    patchType = Text("ApplyConfiguration or JSONPatch.", go="PatchType")
    applyConfiguration = Nested(ApplyConfiguration, "The change, as an object to merge.", pointer=True)
    jsonPatch = Nested(JSONPatch, "The change, as a JSON Patch.", pointer=True)


class MutatingAdmissionPolicySpec(PolicySpec):
    """What a mutating policy changes."""

    matchConstraints = Nested(MutatingMatchConstraints, "The requests it is about.", pointer=True, required=True)
    matchConditions = Array(Nested(MatchCondition), "Further conditions on requests.")
    variables = Array(Nested(Variable), "Expressions to be used in others.")
    mutations = Array(Nested(Mutation), "The changes, made one after the other.")
    reinvocationPolicy = Text(
        "Whether it is evaluated again after a later change: Never, or IfNeeded.", go="v1.ReinvocationPolicyType"
    )


class MutatingAdmissionPolicy(PlainObject):
    """Changes objects by CEL expressions."""

    namespaced = False
    opaque: ClassVar = {"status": Anything()}

    spec = Nested(MutatingAdmissionPolicySpec, "What it changes.")


@check(MutatingAdmissionPolicy)
def mutating_expressions(policy: View) -> Iterator[Problem]:
    """Conditions, variables and mutations are well formed, and their expressions compile."""
    spec = policy.spec
    compiler = Compiler(spec.release, params=bool(spec.paramKind), composed=True, patches=True)
    yield from _match_conditions(spec, compiler)
    yield from _variables(spec, compiler)
    if not spec.mutations:
        yield required(spec / "mutations", "mutations must contain at least one item")
    for mutation in spec.mutations:
        yield from _mutation(mutation, compiler)
    path, value = spec / "reinvocationPolicy", spec.reinvocationPolicy
    if not value:
        yield required(path)
    elif value not in REINVOCATIONS:
        yield not_supported(path, value, REINVOCATIONS, spec.release)


_PATCH_FIELDS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def _mutation(mutation: View, compiler: Compiler) -> Iterator[Problem]:
    kind = mutation.patchType
    if not kind:
        yield required(mutation / "patchType")
        return
    if kind not in _PATCH_FIELDS:
        yield not_supported(mutation / "patchType", kind, PATCH_TYPES, mutation.release)
        return
    field = _PATCH_FIELDS[kind]
    patch: View = getattr(mutation, field)
    if not patch:
        yield required(mutation / field, f"must be specified when patchType is {kind}")
    elif not patch.expression.strip(GO_SPACE):
        yield required(patch / "expression")
    else:
        text = patch.expression.strip(GO_SPACE)
        yield from complaints(compiler.mutation(kind, text), patch / "expression", text)
    for other in _PATCH_FIELDS.values():
        if other != field and other in mutation:
            yield invalid(mutation / other, f"{{{other}}}", f"must not be specified when patchType is {kind}")
