"""The verdict of policies on a request."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.policy.manifest.model import AUDIT, DENY, WARN
from webhook.problem import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.objects import JSONObject
    from webhook.policy.ask.request import Request
    from webhook.policy.manifest.model import Binding, Policy
    from webhook.problem import Path

INVALID: Final = "Invalid"
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_OTHER_CODE: Final = 422


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of one expression of a policy, or why it cannot be evaluated.

    Args:
        policy: The policy.
        binding: The binding; None if the policy itself is at fault.
        denied: Whether the object is refused by it.
        is_error: Whether it came to an error, which the failure policy turned into a decision.
        message: The message.
        reason: Why it is refused, as Kubernetes classifies it.
        path: Where the expression stands in the policy; None if it is about the whole.
        params: The parameters that the policy was evaluated with.
        changed: Whether a mutation changed the object.
        refuses: Whether it refuses the request if it is denied, whatever the binding's actions are.
        missing: What the objects lack so that it can be evaluated.
    """

    policy: Policy
    binding: Binding | None
    denied: bool
    is_error: bool = False
    message: str = ""
    reason: str = INVALID
    path: Path | None = None
    params: JSONObject | None = None
    changed: bool = False
    refuses: bool = False
    missing: str = ""

    @property
    def actions(self) -> tuple[str, ...]:
        """What it does: Deny, Warn or Audit; nothing if it denies nothing."""
        if not self.denied:
            return ()
        actions = (DENY,) if self.refuses or self.binding is None else self.binding.actions
        strongest = self.policy.strongest
        if strongest == DENY:
            return actions
        milder = {each: AUDIT if strongest == AUDIT else each for each in (AUDIT, WARN)} | {DENY: strongest}
        return tuple(dict.fromkeys(milder[action] for action in actions))

    @property
    def refusal(self) -> str:
        """What the API server says when it refuses the request for this."""
        binding = f" with binding '{self.binding.name}'" if self.binding else ""
        return f"{self.policy.kind} '{self.policy.name}'{binding} denied request: {self.message}"


class Verdict(NamedTuple):
    """What policies say of a request, in the API server's words.

    Args:
        allowed: Whether the request is admitted.
        code: The HTTP status of a refusal.
        reason: Its reason.
        message: Its message.
        causes: What is listed in its details.
        warnings: What the user is warned of.
        audit_annotations: What is noted in the audit log.
        decisions: The decisions of the policies, one by one.
        object: The object as policies changed it.
        notes: What a judgement without a cluster cannot know, and what was assumed instead.
        cost: What their expressions cost together, in the API server's units.
    """

    allowed: bool
    code: int = 0
    reason: str = ""
    message: str = ""
    causes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = MappingProxyType({})
    decisions: tuple[Decision, ...] = ()
    object: Any = None
    notes: tuple[str, ...] = ()
    cost: int = 0

    def after(self, earlier: Verdict) -> Verdict:
        """Return this verdict after an earlier one of other policies for the request."""
        return self._replace(
            warnings=tuple(dict.fromkeys(earlier.warnings + self.warnings)),
            audit_annotations={**earlier.audit_annotations, **self.audit_annotations},
            decisions=earlier.decisions + self.decisions,
            notes=tuple(dict.fromkeys(earlier.notes + self.notes)),
            cost=earlier.cost + self.cost,
        )


def code_of(reason: str) -> int:
    """Return the HTTP status that goes with a reason (apiserver ``policy/validating/errors.go``)."""
    return _CODES.get(reason, _OTHER_CODE)


def forbidden(request: Request, message: str) -> str:
    """Say that a request is forbidden (apimachinery ``pkg/api/errors``, NewForbidden)."""
    if not request.resource.resource:
        return f"forbidden: {message}"
    return f"{request.resource.qualified} {quoted(request.shown_name)} is forbidden: {message}"
