"""Enforcement of findings: refusals, warnings or audit annotations; exemptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any, Final, Literal

from webhook.admission.requests import kind_of, user_of
from webhook.api.templates import template_of
from webhook.later import cached_property
from webhook.objects import text

Mode = Literal["deny", "warn", "audit"]
DENY: Final = "deny"
"""The request is refused."""
WARN: Final = "warn"
"""The request is admitted, and its user warned."""
AUDIT: Final = "audit"
"""The request is admitted, and the finding recorded in the API server's audit log."""
MODES: Final[tuple[Mode, ...]] = (DENY, WARN, AUDIT)
"""From the strictest to the mildest."""


@dataclass(frozen=True)
class Enforcement:
    """The modes of findings, and exemptions; the most specific mode applies.

    Args:
        workloads: The mode of findings in the pod templates of workloads; None for a warning, or ``mode`` if it is
            milder. The user who changes a workload can seldom fix its claims at that moment.
        rules: The modes of rules, by name.
        policies: The modes of policies, by name; a mode never exceeds the actions of the policy's binding.
        exempt_namespaces: Namespaces whose objects are not reviewed, as shell patterns.
        exempt_users: Users whose requests are not reviewed, as shell patterns.
        exempt_groups: Groups of such users, as shell patterns.
    """

    mode: Mode = DENY
    workloads: Mode | None = None
    rules: Mapping[str, Mode] = field(default_factory=dict)
    policies: Mapping[str, Mode] = field(default_factory=dict)
    exempt_namespaces: Sequence[str] = ()
    exempt_users: Sequence[str] = ()
    exempt_groups: Sequence[str] = ()

    def of_rules(self, request: Mapping[str, Any], obj: Any) -> Mode:
        """Return the mode of findings in an object, for rules without a mode of their own."""
        kind, group, _ = kind_of(request, obj)
        if not template_of(group, kind):  # a pod is its own template
            return self.mode
        return self.workloads or milder(self.mode, WARN)

    def strongest(self, policy: str) -> str:
        """Return the strongest action that a policy, given by name, may lead to: Deny, Warn or Audit."""
        return self.policies.get(policy, self.mode).capitalize()

    def exempts(self, request: Mapping[str, Any]) -> bool:
        """Tell whether a request is exempt from review."""
        namespaces, users, groups = self._exempt
        if namespaces and (namespace := text(request, "namespace")) and namespaces(namespace):
            return True
        if not (users or groups):
            return False
        user, member_of = user_of(request)
        return bool((users and users(user)) or (groups and any(map(groups, member_of))))

    @cached_property
    def _exempt(self) -> tuple[Any, Any, Any]:
        return _matcher(self.exempt_namespaces), _matcher(self.exempt_users), _matcher(self.exempt_groups)


def milder(mode: Mode, other: Mode) -> Mode:
    """Return the milder of two modes."""
    return max(mode, other, key=MODES.index)


def _matcher(patterns: Iterable[str]) -> Any:
    """Compile shell patterns to one function; None without patterns."""
    return re.compile("|".join(map(translate, patterns))).match if patterns else None
