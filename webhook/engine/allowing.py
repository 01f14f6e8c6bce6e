"""Explains why a request was allowed that a test expects to be refused, by the outcome of the validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from webhook.policy.evaluation.policyset import PolicySet
    from webhook.policy.evaluation.verdict import Decision, Verdict
    from webhook.policy.manifest.model import Policy, Validation

_SHOWN: Final = 5
_NOT_ASKED: Final = "does not match the request, or has no binding that does"


def why_allowed(verdict: Verdict, policies: PolicySet, message: str | None) -> str:
    """Explain which validation was expected to refuse a request, and why it did not.

    Args:
        verdict: The verdict of the policies.
        message: The expected message; None for any message.
    """
    every = [(policy, validation) for policy in policies.policies for validation in policy.validations]
    if not every:
        return "no policy has validations"
    expected = [each for each in every if each[1].message == message]
    if message is not None and not expected:
        expected = [each for each in every if each[1].message_expression]
    reasons = [_reason(policy, validation, verdict) for policy, validation in expected or every]
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    return f"{'; '.join(dict.fromkeys(reasons[:_SHOWN]))}{more}"


def _reason(policy: Policy, validation: Validation, verdict: Verdict) -> str:
    path = validation.path / "expression"
    decision = next((each for each in verdict.decisions if each.policy == policy and each.path == path), None)
    if decision is None:
        return f"{policy.name} {_NOT_ASKED}"
    return f"{path} of {policy.name} {_outcome(decision)}"


def _outcome(decision: Decision) -> str:
    if decision.is_error:
        return f"could not be evaluated, which its failurePolicy ignores: {decision.message}"
    if decision.denied:
        return f"is false, but its binding only does {', '.join(decision.actions)}"
    return "is true"
