"""Coverage of policy tests: each validation must be true and false, each mutation make a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from webhook.grouping import by_key
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.verdict import PolicyDecision
from webhook.policy.manifest.model import Policy
from webhook.problem import Path


class Covered(NamedTuple):
    """The coverage of one expression.

    Args:
        passed: Whether a validation was true, or a mutation left an object as it was.
        failed: Whether a validation was false, or a mutation changed an object.
    """

    policy: Policy
    path: Path
    passed: bool
    failed: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """The outcomes that no test has covered."""
        words = ("change an object",) if self.policy.mutations else ("true", "false")
        seen = (self.failed,) if self.policy.mutations else (self.passed, self.failed)
        return tuple(word for word, was_seen in zip(words, seen, strict=True) if not was_seen)

    @property
    def complaint(self) -> str:
        """The outcomes that no case has covered, as a sentence; empty if there are none."""
        return f"no case makes this {' or '.join(self.missing)}" if self.missing else ""


def coverage_of(policies: PolicySet, decisions: Iterable[PolicyDecision]) -> list[Covered]:
    """List all validations and mutations of policies, with their coverage by decisions."""
    judged = (each for each in decisions if each.path is not None and not each.is_error)
    seen = by_key(((each.policy.kind, each.policy.name, each.path), each.denied or each.changed) for each in judged)
    covered = []
    for policy in policies.policies:
        for stated in (*(each.expression for each in policy.validations), *policy.mutations):
            outcomes = seen.get((policy.kind, policy.name, stated.path), ())
            covered.append(Covered(policy, stated.path, passed=False in outcomes, failed=True in outcomes))
    return covered
