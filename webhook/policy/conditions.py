"""Match conditions: whether a policy is about a request, by its own expressions.

Follows apiserver ``pkg/admission/plugin/webhook/matchconditions/matcher.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.cel.kubernetes import MATCH_CONDITIONS_LIMIT
from webhook.policy.activation import Evaluation, OutOfBudgetError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.policy.match import Matched
    from webhook.policy.programs import Programs
    from webhook.policy.request import Request


class Outcome(NamedTuple):
    """Whether the conditions hold, or the error that keeps one from telling."""

    holds: bool
    error: str = ""


def evaluate_conditions(programs: Programs, bindings: Mapping[str, Any], request: Request, matched: Matched) -> Outcome:
    """Evaluate a policy's match conditions: one that is false decides, whatever the others come to.

    Args:
        programs: The policy's expressions.
        bindings: What they may use.
        request: The request.
        matched: The version in which the policy sees the object.
    """
    if not programs.conditions:
        return Outcome(holds=True)
    # Conditions see no namespace, and the resource as it was requested.
    shown = bindings["request"] | {"resource": request.resource._asdict(), "kind": matched.kind._asdict()}
    evaluation = Evaluation({**bindings, "namespaceObject": None, "request": shown}, {}, MATCH_CONDITIONS_LIMIT)
    errors: list[str] = []
    refused = False
    try:
        for index, condition in enumerate(programs.conditions):
            if refused and evaluation.is_certain(len(programs.conditions) - index):
                break
            outcome = evaluation.evaluate(condition)
            if outcome.error:
                errors.append(outcome.error)
            refused = refused or outcome.value is False
    except OutOfBudgetError as error:
        return Outcome(holds=False, error=str(error))
    if refused:
        return Outcome(holds=False)
    unique = list(dict.fromkeys(errors))
    if unique:
        return Outcome(holds=False, error=unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")
    return Outcome(holds=True)
