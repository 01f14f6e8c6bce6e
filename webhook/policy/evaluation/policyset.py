"""Policies with their bindings, and the objects that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from webhook.objects import DEFAULT_NAMESPACE, JSONObject, plain, text
from webhook.policy.evaluation.clusterobjects import ClusterObjects, stored_in
from webhook.policy.evaluation.plan import Hook, Plans
from webhook.policy.manifest.kinds import kind_of
from webhook.policy.manifest.model import MUTATING, VALIDATING, Given, Policy
from webhook.problem import ERROR, Problem
from webhook.records import NamedTuple
from webhook.release import Release


class PolicyFinding(NamedTuple):
    """A problem of a policy or binding, and which one it is."""

    given: Given
    problem: Problem


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PolicySet(ClusterObjects):
    """Policies with their bindings, in the order in which they were given, and the objects that they read.

    Args:
        validating: Validating policies that have bindings.
        mutating: Mutating policies that have bindings.
        policies: All policies, including those without a binding.
        findings: Problems of policies and bindings; those with an error are not in the set.
        plans: The plans of which policies to evaluate, by the kind of policy.
    """

    release: Release
    validating: tuple[Hook, ...]
    mutating: tuple[Hook, ...]
    policies: tuple[Policy, ...]
    findings: tuple[PolicyFinding, ...]
    plans: Mapping[str, Plans] = field(init=False)

    def __post_init__(self) -> None:
        """Make the empty plans."""
        ClusterObjects.__post_init__(self)  # slots make a new class, which `super` does not know
        plans = {VALIDATING: Plans(self.validating, self), MUTATING: Plans(self.mutating, self)}
        object.__setattr__(self, "plans", plans)

    def prepare(self) -> None:
        """Compile all expressions now instead of on first use."""
        for hook in (*self.validating, *self.mutating):
            hook.policy.prepare()

    @property
    def errors(self) -> list[PolicyFinding]:
        """The findings for which the API server would refuse a policy or binding."""
        return [finding for finding in self.findings if finding.problem.level == ERROR]

    def beside(self, objects: Sequence[JSONObject], namespace: str = DEFAULT_NAMESPACE) -> PolicySet:
        """Return the same policies with further objects to read; earlier objects take precedence.

        Args:
            namespace: The namespace of those that state none.
        """
        known, kinds = dict(self.objects), self.kinds.beside(objects)
        for each in objects:
            kind = kind_of(text(each, "apiVersion"), text(each, "kind"))
            known[kind] = (*known.get(kind, ()), stored_in(plain(namespace), plain(each), kind, kinds))
        return replace(self, objects=known, kinds=kinds)
