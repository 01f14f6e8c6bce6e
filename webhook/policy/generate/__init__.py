"""Rules as policies that a cluster evaluates by itself, without a webhook."""

from __future__ import annotations

from webhook.policy.generate.checks import CHECKS, LIMITS, Check
from webhook.policy.generate.policies import MUTATING_SINCE, OLDEST, generate

__all__ = ["CHECKS", "LIMITS", "MUTATING_SINCE", "OLDEST", "Check", "generate"]
