"""The verdict of policies on a request, and its audit annotations (apiserver ``policy/validating``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from webhook.objects import JSONObject
from webhook.policy.evaluation.request import Request
from webhook.policy.manifest.model import AUDIT, DENY, MUTATING, WARN, Binding, Policy
from webhook.problem import GO_JSON_ESCAPES, Path, cut, quoted

INVALID: Final = "Invalid"
_CODES: Final = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "Conflict": 409,
    "RequestEntityTooLarge": 413,
    **dict.fromkeys(("InternalError", ""), 500),
}
_OTHER_CODE: Final = 422


class EvaluationFault(NamedTuple):
    """Why the evaluation of an expression, or the patch that it makes, fails.

    Args:
        text: The error, without the expression.
        missing: The key that the expression does not find; empty for other errors.
        variables: The variables that fail in it.
        patch: The operation of a JSON Patch, and the path that it does not find; empty for other errors.
        is_work: Whether it is more work than draguard allows.
        atomic: The fields that an ApplyConfiguration sets although they are replaced as a whole.
    """

    text: str
    missing: str = ""
    variables: tuple[str, ...] = ()
    patch: tuple[str, str] | tuple[()] = ()
    is_work: bool = False
    atomic: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The decision of one expression of a policy, or why it cannot be evaluated.

    Args:
        binding: The binding; None if the policy itself is at fault.
        denied: Whether it denies the object.
        is_error: Whether evaluation failed, and the failure policy made the decision.
        reason: Why it is refused, as Kubernetes classifies it.
        path: Where the expression stands in the policy; None if it is about the whole.
        params: The parameters that the policy was evaluated with.
        changed: Whether a mutation changed the object.
        refuses: Whether a denial refuses the request, whatever the binding's actions are.
        missing: The object that is missing for its evaluation.
        is_of_binding: Whether the binding cannot be evaluated, not the policy.
        fault: Why the expression, or the messageExpression, cannot be evaluated.
        unused_message: Why the result of its messageExpression is not the message; empty if it is, or there is none.
        value: The text in a changed object for which it is refused; empty for other reasons.
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
    is_of_binding: bool = False
    fault: EvaluationFault | None = None
    unused_message: str = ""
    value: str = ""

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions to take: Deny, Warn or Audit; empty if it does not deny."""
        if not self.denied:
            return ()
        actions = (DENY,) if self.refuses or self.binding is None else self.binding.actions
        strongest = self.policy.strongest
        if strongest == DENY:
            return actions
        milder = {each: AUDIT if strongest == AUDIT else each for each in (AUDIT, WARN)} | {DENY: strongest}
        return tuple(dict.fromkeys(milder[action] for action in actions))

    @property
    def who(self) -> str:
        """The policy, and its binding if it has one, as the API server names them."""
        binding = f" with binding '{self.binding.name}'" if self.binding else ""
        return f"{self.policy.kind} '{self.policy.name}'{binding}"

    @property
    def refusal(self) -> str:
        """The API server's message when it refuses the request for this."""
        return f"{self.who} denied request: {self.message}"

    @property
    def warning(self) -> str:
        """The API server's warning of this; of mutating policies, whose bindings cannot warn, draguard's own."""
        step = "Mutation" if self.policy.kind == MUTATING else "Validation"
        return f"{step} failed for {self.who}: {self.message}"


class Verdict(NamedTuple):
    """The verdict of policies on a request, in the API server's words.

    Args:
        allowed: Whether the request is admitted.
        code: The HTTP status of a refusal.
        causes: The causes in its details.
        warnings: Warnings for the user.
        audit_annotations: Annotations for the audit log.
        decisions: The decisions of the policies, one by one.
        object: The object as policies changed it.
        judged: The request as the API server's rules judge it; None if policies saw no manifest.
        notes: Facts that cannot be known without a cluster, and the assumptions made instead.
        cost: The cost of all their expressions, in the API server's units.
        is_of_plugin: Whether another admission plugin refuses the request.
    """

    allowed: bool
    code: int = 0
    reason: str = ""
    message: str = ""
    causes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = MappingProxyType({})
    decisions: tuple[PolicyDecision, ...] = ()
    object: Any = None
    judged: Request | None = None
    notes: tuple[str, ...] = ()
    cost: int = 0
    is_of_plugin: bool = False

    def after(self, earlier: Verdict) -> Verdict:
        """Combine this verdict with an earlier one of other policies for the request."""
        return self._replace(
            warnings=tuple(dict.fromkeys(earlier.warnings + self.warnings)),
            audit_annotations={**earlier.audit_annotations, **self.audit_annotations},
            decisions=earlier.decisions + self.decisions,
            notes=tuple(dict.fromkeys(earlier.notes + self.notes)),
            cost=earlier.cost + self.cost,
        )


def code_of(reason: str) -> int:
    """Return the HTTP status that goes with a reason (apimachinery ``pkg/api/errors``)."""
    return _CODES.get(reason, _OTHER_CODE)


def refused(reason: str, message: str, obj: JSONObject | None = None, **facts: Any) -> Verdict:
    """Return a verdict that refuses an object for a reason, with further fields."""
    return Verdict(allowed=False, code=code_of(reason), reason=reason, message=message, object=obj, **facts)


def forbidden(request: Request, message: str) -> str:
    """Say that a request is forbidden (apimachinery ``pkg/api/errors``, NewForbidden)."""
    if not request.resource.resource:
        return f"forbidden: {message}"
    return f"{request.resource.qualified} {quoted(request.shown_name)} is forbidden: {message}"


MAX_ANNOTATION_BYTES: Final = 10 * 1024
"""The maximum length of an audit annotation's value; the rest is cut off."""
MAX_AUDITED_FAILURES: Final = 50
MAX_MESSAGE_BYTES: Final = 5 * 1024
"""A longer result of a messageExpression is not used; of an error, which may quote the object, no more is audited."""
_MAX_FAILURES: Final = 1 << 16
"""The most bytes of all audited failures, as a text in JSON; one always fits."""
VALIDATION_FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
"""The audit annotation that lists failures of bindings with the action Audit."""
MUTATION_FAILURE: Final = "mutation_failure"
"""draguard's own audit annotation: if a mutating policy fails, the API server refuses the request or ignores it."""


class Tally:
    """Collects the decisions of policies, and what they lead to: refusals, warnings and audit annotations.

    Args:
        failures: The key of the audit annotation that lists failures.

    Attributes:
        decisions: All decisions, in their order.
        refusals: The decisions that refuse the request.
    """

    def __init__(self, failures: str) -> None:
        self.decisions: list[PolicyDecision] = []
        self.refusals: list[PolicyDecision] = []
        self._key = failures
        self._warnings: dict[str, None] = {}
        self._failures: list[str] = []
        self._room = _MAX_FAILURES
        self._annotations: dict[str, dict[str, None]] = {}

    def add(self, decision: PolicyDecision, index: int = 0) -> None:
        """Add the decision of a policy's expression, the ``index``-th of its sort."""
        self.decisions.append(decision)
        for action in decision.actions:
            if action == DENY:
                self.refusals.append(decision)
            elif action == WARN:
                self._warnings[decision.warning] = None
            elif len(self._failures) < MAX_AUDITED_FAILURES:
                failure = {
                    "message": cut(decision.message, MAX_MESSAGE_BYTES),
                    "policy": decision.policy.name,
                    "binding": decision.binding.name if decision.binding else "",
                    "expressionIndex": index,
                    "validationActions": list(decision.actions),
                }
                text = json.dumps(failure, ensure_ascii=False, separators=(",", ":")).translate(GO_JSON_ESCAPES)
                self._room -= len(json.dumps(text))
                if self._room >= 0:
                    self._failures.append(text)

    def annotate(self, policy: Policy, key: str, value: str) -> None:
        """Add the value of an audit annotation; equal values of several bindings are recorded once."""
        kept = value.encode(errors="replace")[:MAX_ANNOTATION_BYTES].decode(errors="replace")
        self._annotations.setdefault(f"{policy.name}/{key}", {})[kept] = None

    def verdict(self, obj: JSONObject | None, notes: Iterable[str], cost: int) -> Verdict:
        """Return the verdict on an object, without the message of a refusal."""
        failures = {self._key: f"[{','.join(self._failures)}]"} if self._failures else {}
        annotations = failures | {key: ", ".join(values) for key, values in self._annotations.items()}
        return Verdict(
            allowed=not self.refusals,
            warnings=tuple(self._warnings),
            audit_annotations=annotations,
            decisions=tuple(self.decisions),
            object=obj,
            notes=tuple(notes),
            cost=cost,
        )
