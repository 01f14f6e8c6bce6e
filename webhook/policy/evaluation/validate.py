"""Evaluates validating policies.

Follows apiserver ``pkg/admission/plugin/policy/validating`` (dispatcher.go, validator.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.kubernetes.environments import POLICY_LIMIT
from webhook.escapes import GO_SPACE
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import ConfigurationError, Invocation
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.session import (
    TRUE,
    Evaluation,
    EvaluationResult,
    OutOfBudgetError,
    Session,
    evaluate_conditions,
)
from webhook.policy.evaluation.verdict import VALIDATION_FAILURE, Audit, Decision, Verdict, code_of, forbidden
from webhook.policy.manifest.model import DENY, VALIDATING, WARN, Validation
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel.runtime.meter import Meter
    from webhook.policy.evaluation.policyset import PolicySet

MAX_MESSAGE_BYTES: Final = 5 * 1024
"""A longer result of a messageExpression is not used."""
_NO_MESSAGE: Final = "failed expression: "


class _Result(NamedTuple):
    """The outcome of one evaluation of a policy."""

    decisions: Sequence[Decision] = ()
    annotations: Sequence[tuple[str, str]] = ()
    errors: Sequence[Decision] = ()
    """Errors of audit annotations, which refuse the request whatever the binding's actions are."""


_NOTHING: Final = _Result()


def validate(
    request: Request, policies: PolicySet, authorizer: Authorizer = DENY_ALL, *, deadline: float | None = None
) -> Verdict:
    """Evaluate the validating policies for a request; raises only at the deadline.

    Args:
        authorizer: Decides what the user may do.
        deadline: When evaluation must be finished, by ``time.monotonic`` in seconds; None for no limit.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    session = Session(request, policies, authorizer, deadline)
    audit = Audit(VALIDATION_FAILURE)
    decisions: list[Decision] = []
    refusals: list[Decision] = []
    warnings: list[str] = []
    for invocation in session.invocations(VALIDATING):
        policy, binding, fault = invocation.hook.policy, invocation.binding, invocation.fault
        if fault and policy.fails_open:
            continue
        result = _Result(errors=[invocation.unconfigured(fault)]) if fault else _evaluate(session, invocation)
        decisions += result.decisions
        decisions += result.errors
        for index, decision in enumerate((*result.decisions, *result.errors)):
            for action in decision.actions if decision.denied else ():
                if action == DENY:
                    refusals.append(decision)
                elif action == WARN:
                    who = f" with binding '{binding.name}'" if binding else ""
                    warnings.append(f"Validation failed for {policy.kind} '{policy.name}'{who}: {decision.message}")
                else:
                    audit.failure(index, decision)
        for key, value in result.annotations:
            audit.annotate(policy, key, value)
    verdict = Verdict(
        allowed=True,
        cost=session.meter.cost,
        warnings=tuple(dict.fromkeys(warnings)),
        audit_annotations=audit.published(),
        decisions=tuple(decisions),
        object=session.request.object,
        notes=tuple(session.notes),
    )
    if not refusals:
        return verdict
    reason, refusal = refusals[0].reason, refusals[0].refusal
    message = forbidden(session.request, refusal)
    return verdict._replace(allowed=False, code=code_of(reason), reason=reason, message=message, causes=(refusal,))


def _evaluate(session: Session, invocation: Invocation) -> _Result:
    policy, matched = invocation.hook.policy, invocation.matched
    try:
        bindings = session.bindings(invocation, session.object(matched.kind))
    except ConfigurationError as error:
        text = f"failed to configure binding: failed to convert object version: {error}"
        return _Result([invocation.failed(text, is_of_binding=True)])
    met = evaluate_conditions(policy, bindings, session.request, session.meter)
    if met.error:
        # With failurePolicy Ignore, a policy whose match conditions fail does not apply.
        failed = invocation.failed(met.error, path=met.failed, fault=met.fault)
        return _NOTHING if policy.fails_open else _Result([failed])
    if not met.holds:
        return _NOTHING
    try:
        decisions = _validations(invocation, bindings, session.meter)
        if not policy.annotations:
            return _Result(decisions)
        whole = {**_without_authorizer(bindings), "namespaceObject": session.namespace}
        return _Result(decisions, *_annotations(invocation, whole, session.meter))
    except OutOfBudgetError as error:
        return _Result([invocation.failed(str(error))])


def _without_authorizer(bindings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that messages and audit annotations see: all but ``authorizer`` (validator.go)."""
    return {name: each for name, each in bindings.items() if not name.startswith("authorizer")}


def _validations(invocation: Invocation, bindings: Mapping[str, Any], meter: Meter) -> Sequence[Decision]:
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
    invocation: Invocation, validation: Validation, outcome: EvaluationResult, expression: EvaluationResult | None
) -> Decision:
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
) -> tuple[list[tuple[str, str]], list[Decision]]:
    policy = invocation.hook.policy
    evaluation = Evaluation(bindings, policy.composed, POLICY_LIMIT, meter)
    found: list[tuple[str, str]] = []
    errors: list[Decision] = []
    for expression in policy.annotations:
        outcome = evaluation.evaluate(expression)
        if outcome.error and not policy.fails_open:
            decision = Decision(
                policy,
                invocation.binding,
                denied=True,
                is_error=True,
                message=outcome.error,
                fault=outcome.fault,
                path=expression.path,
                refuses=True,
            )
            errors.append(decision)
        elif isinstance(outcome.value, str) and (value := outcome.value.strip(GO_SPACE)):
            found.append((expression.name, value))
    return found, errors
