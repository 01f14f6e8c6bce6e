"""Match conditions of policies.

Follows apiserver ``pkg/admission/plugin/webhook/matchconditions/matcher.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.kubernetes.environments import MATCH_CONDITIONS_LIMIT
from webhook.policy.evaluation.activation import Evaluation, OutOfBudgetError, resource_value
from webhook.policy.evaluation.verdict import Fault
from webhook.problem import Path, aggregate
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel import Meter
    from webhook.policy.evaluation.request import Request
    from webhook.policy.manifest.model import Policy


class MatchResult(NamedTuple):
    """Whether the conditions hold, or the error that leaves this undecided.

    Args:
        failed: The path of the first condition that failed.
        fault: Why the last did.
    """

    holds: bool
    error: str = ""
    failed: Path | None = None
    fault: Fault | None = None


HOLD: Final = MatchResult(holds=True)


def evaluate_conditions(policy: Policy, bindings: Mapping[str, Any], request: Request, meter: Meter) -> MatchResult:
    """Evaluate a policy's match conditions: if one is false, the policy does not apply, even if others fail.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    if not policy.conditions:
        return HOLD
    # Conditions see no namespace, and the resource as it was requested.
    seen = bindings
    if "request" in bindings or bindings["namespaceObject"] is not None:
        seen = {**bindings, "namespaceObject": None}
        if "request" in seen:
            seen["request"] = seen["request"] | {"resource": resource_value(request.resource)}
    evaluation = Evaluation(seen, None, MATCH_CONDITIONS_LIMIT, meter)
    errors: list[str] = []
    fault: Fault | None = None
    failed: Path | None = None
    refused = False
    try:
        for index, condition in enumerate(policy.conditions):
            if refused and evaluation.is_certain(len(policy.conditions) - index):
                break
            outcome = evaluation.evaluate(condition)
            if outcome.error:
                errors.append(outcome.error)
                fault = outcome.fault
                failed = failed or condition.path
            refused = refused or outcome.value is False
    except OutOfBudgetError as error:
        return MatchResult(holds=False, error=str(error))
    if refused:
        return MatchResult(holds=False)
    return MatchResult(holds=False, error=aggregate(errors), failed=failed, fault=fault) if errors else HOLD
