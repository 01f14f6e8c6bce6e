"""Evaluates validating policies.

Follows apiserver ``pkg/admission/plugin/policy/validating`` (dispatcher.go, validator.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from webhook.cel.kubernetes.environments import POLICY_LIMIT
from webhook.cel.runtime.meter import Meter
from webhook.escapes import GO_SPACE
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import Invocation, PolicySet
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.session import (
    TRUE,
    ConfigurationError,
    Evaluation,
    EvaluationResult,
    OutOfBudgetError,
    Session,
    evaluate_conditions,
)
from webhook.policy.evaluation.verdict import (
    MAX_MESSAGE_BYTES,
    VALIDATION_FAILURE,
    PolicyDecision,
    Tally,
    Verdict,
    code_of,
    forbidden,
)
from webhook.policy.manifest.model import VALIDATING, CompiledValidation

_NO_MESSAGE: Final = "failed expression: "


def validate(request: Request, policies: PolicySet, authorizer: Authorizer = DENY_ALL) -> Verdict:
    """Evaluate the validating policies for a request; raises only at the end of the budget in force.

    Args:
        authorizer: Decides what the user may do.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    session = Session(request, policies, authorizer)
    tally = Tally(VALIDATION_FAILURE)
    for invocation in session.invocations(VALIDATING):
        if not invocation.fault:
            _evaluate(session, invocation, tally)
        elif not invocation.hook.policy.fails_open:
            tally.add(invocation.unconfigured(invocation.fault))
    verdict = tally.verdict(request.object, session.notes, session.meter.cost)
    if verdict.allowed:
        return verdict
    reason, refusal = tally.refusals[0].reason, tally.refusals[0].refusal
    message = forbidden(request, refusal)
    return verdict._replace(code=code_of(reason), reason=reason, message=message, causes=(refusal,))


def _evaluate(session: Session, invocation: Invocation, tally: Tally) -> None:
    policy, matched = invocation.hook.policy, invocation.matched
    try:
        bindings = session.bindings(invocation, session.converted(session.request.object, matched.kind))
    except ConfigurationError as error:
        text = f"failed to configure binding: failed to convert object version: {error}"
        tally.add(invocation.failed(text, is_of_binding=True))
        return
    met = evaluate_conditions(policy, bindings, session.request, session.meter)
    if met.error and not policy.fails_open:  # with failurePolicy Ignore, such a policy does not apply
        tally.add(invocation.failed(met.error, path=met.path, fault=met.fault))
    if not met.value:
        return
    annotations: Sequence[tuple[str, str]] = ()
    try:
        decisions = _validations(invocation, bindings, session.meter)
        if policy.annotations:
            whole = {**_without_authorizer(bindings), "namespaceObject": session.namespace}
            errors, annotations = _annotations(invocation, whole, session.meter)
            decisions = [*decisions, *errors]
    except OutOfBudgetError as error:
        decisions = [invocation.failed(str(error))]
    for index, decision in enumerate(decisions):
        tally.add(decision, index)
    for key, value in annotations:
        tally.annotate(policy, key, value)


def _without_authorizer(bindings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that messages and audit annotations see: all but ``authorizer`` (validator.go)."""
    return {name: each for name, each in bindings.items() if not name.startswith("authorizer")}


def _validations(invocation: Invocation, bindings: Mapping[str, Any], meter: Meter) -> Sequence[PolicyDecision]:
    policy = invocation.hook.policy
    evaluation = Evaluation(bindings, policy.composed, POLICY_LIMIT, meter)
    outcomes = [evaluation.evaluate(each.expression) for each in policy.validations]
    if outcomes.count(TRUE) == len(outcomes) and evaluation.is_certain(len(outcomes)):
        return invocation.passed
    speaker = Evaluation(_without_authorizer(bindings), policy.composed, evaluation.budget, meter)
    expressions = (each.message_expression for each in policy.validations)
    try:
        messages = [speaker.evaluate(each) if each else None for each in expressions]
    except OutOfBudgetError as error:
        unsaid = f"failed messageExpression: {error}"
        return [
            invocation.failed(outcome.error or unsaid, path=validation.expression.path, fault=outcome.fault)
            for outcome, validation in zip(outcomes, policy.validations, strict=True)
        ]
    return [
        _decision(invocation, validation, outcome, message)
        for validation, outcome, message in zip(policy.validations, outcomes, messages, strict=True)
    ]


def _decision(
    invocation: Invocation,
    validation: CompiledValidation,
    outcome: EvaluationResult,
    expression: EvaluationResult | None,
) -> PolicyDecision:
    text, path, *_ = validation.expression
    if outcome.error:
        return invocation.failed(outcome.error, path=path, fault=outcome.fault)
    if outcome.value is True:
        return invocation.decision(denied=False, path=path)
    message = unused = ""
    if expression is not None:
        message, unused = ("", expression.error) if expression.error else usable_message(expression.value)
    return invocation.decision(
        denied=True,
        message=message or validation.message.strip(GO_SPACE) or _NO_MESSAGE + text.strip(GO_SPACE),
        reason=validation.reason,
        path=path,
        unused_message=unused,
        fault=expression.fault if expression else None,
    )


def usable_message(value: Any) -> tuple[str, str]:
    """Return the message that the value of a messageExpression makes, or why it is not used."""
    message = value.strip(GO_SPACE) if isinstance(value, str) else ""
    if not message:
        return "", "the message is empty"
    if "\n" in message:
        return "", "the message has a line break"
    if len(message.encode(errors="replace")) > MAX_MESSAGE_BYTES:
        return "", f"the message has more than {MAX_MESSAGE_BYTES} bytes"
    return message, ""


def _annotations(
    invocation: Invocation, bindings: Mapping[str, Any], meter: Meter
) -> tuple[Sequence[PolicyDecision], Sequence[tuple[str, str]]]:
    """Return errors, which refuse the request whatever the binding's actions are, and the audit annotations."""
    policy = invocation.hook.policy
    evaluation = Evaluation(bindings, policy.composed, POLICY_LIMIT, meter)
    found: list[tuple[str, str]] = []
    errors: list[PolicyDecision] = []
    for expression in policy.annotations:
        outcome = evaluation.evaluate(expression)
        if outcome.error and not policy.fails_open:
            fault, path = outcome.fault, expression.path
            errors.append(invocation.failed(outcome.error, fault=fault, path=path, refuses=True))
        elif isinstance(outcome.value, str) and (value := outcome.value.strip(GO_SPACE)):
            found.append((expression.name, value))
    return errors, found
