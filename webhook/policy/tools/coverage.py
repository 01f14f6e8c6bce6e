"""Coverage of policy tests: each validation must be true and false, each mutation make a change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.policy.evaluation.policyset import PolicySet
    from webhook.policy.evaluation.verdict import Decision
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
        words = ("changing an object",) if self.policy.mutations else ("true", "false")
        seen = (self.failed,) if self.policy.mutations else (self.passed, self.failed)
        return tuple(word for word, was_seen in zip(words, seen, strict=True) if not was_seen)


class Coverage:
    """Collects the coverage of policies by tests."""

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies
        self._seen: set[tuple[str, str, Path, bool]] = set()

    def add(self, decisions: Iterable[Decision]) -> None:
        """Add the decisions of policies for one request."""
        for each in decisions:
            if each.path is not None and not each.is_error:
                self._seen.add((each.policy.kind, each.policy.name, each.path, each.denied or each.changed))

    def covered(self) -> list[Covered]:
        """List all validations and mutations with their coverage."""
        paths = (
            (policy, stated.path)
            for policy in self._policies.policies
            for stated in (*(each.expression for each in policy.validations), *policy.mutations)
        )
        return [
            Covered(
                policy,
                path,
                passed=(policy.kind, policy.name, path, False) in self._seen,
                failed=(policy.kind, policy.name, path, True) in self._seen,
            )
            for policy, path in paths
        ]
