"""The type ValidatingAdmissionPolicy.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook import formats
from webhook.api.core.meta import created_name
from webhook.escapes import GO_SPACE
from webhook.policy.manifest.expressions import Compiler, complaints
from webhook.policy.manifest.matchresources import MatchConstraints
from webhook.policy.manifest.policies import SHORT_TEXTS, AdmissionPolicy, PolicySpec, match_conditions, variables
from webhook.problem import Problem, duplicate, invalid, not_supported, required
from webhook.schema import Array, Nested, Struct, Text, View, check

MAX_AUDIT_ANNOTATIONS: Final = 20
MAX_VALUE_EXPRESSION_BYTES: Final = 5 * 1024
REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")


class Validation(Struct):
    """A condition on objects, and the message for one that fails it."""

    expression = Text("A CEL expression: true for objects that are admitted.")
    message = Text("What is said of others; one line.")
    reason = Text("Why they are refused: Forbidden, Invalid, RequestEntityTooLarge.", pointer=True, go="StatusReason")
    messageExpression = Text("A CEL expression that makes the message.")


class AuditAnnotation(Struct):
    """What is noted of a request in the audit log."""

    key = Text("The annotation's name; the policy's name is put before it.")
    valueExpression = Text("A CEL expression for its value: a text, or null for none.")


class ValidatingAdmissionPolicySpec(PolicySpec):
    """What a validating policy asks of objects."""

    matchConstraints = Nested(MatchConstraints, "The requests it is about.", pointer=True, required=True)
    validations = Array(Nested(Validation), "The conditions on objects.")
    auditAnnotations = Array(Nested(AuditAnnotation), "What is noted in the audit log.")


class ValidatingAdmissionPolicy(AdmissionPolicy):
    """Admits or refuses objects by CEL expressions, without changing them."""

    spec = Nested(ValidatingAdmissionPolicySpec, "Its conditions on objects.")


@check(ValidatingAdmissionPolicy)
def validating_expressions(policy: View) -> Iterator[Problem]:
    """Conditions, variables, validations and audit annotations are well formed, and their expressions compile."""
    spec = policy.spec
    compiler = Compiler(spec.release, params=bool(spec.paramKind), composed=bool(spec.variables))
    yield from match_conditions(spec, compiler)
    yield from variables(spec, compiler)
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
        yield from _audit_annotation(annotation, created_name(policy.metadata), compiler)
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
    path, stated = annotation / "valueExpression", annotation.valueExpression
    expression = stated.strip(GO_SPACE)
    if not expression:
        yield required(path, "valueExpression is not specified")
    elif len(expression.encode(errors="replace")) > MAX_VALUE_EXPRESSION_BYTES:
        yield required(path, f"must not exceed {MAX_VALUE_EXPRESSION_BYTES} bytes in length")
    else:
        yield from complaints(compiler.annotation(expression), path, stated, stated)
