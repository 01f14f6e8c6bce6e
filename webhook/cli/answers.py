"""The options by which reviews are answered, as ``review`` and ``serve`` share them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from webhook import admission, prescheduled
from webhook.cli.release import feature_gates, kubernetes

if TYPE_CHECKING:
    from argparse import Namespace


def options(arguments: Namespace) -> admission.Options:
    """Read the options.

    Raises:
        UsageError: The Kubernetes version or a feature gate is not known, or something is wrong with the policies.
    """
    stated = kubernetes(arguments)
    answering = admission.Options(
        kubernetes=stated,
        fail_open=arguments.failure_policy == "ignore",
        prescheduled=prescheduled.Options(arguments.select_node_by, arguments.pods),
        feature_gates=feature_gates(arguments, stated),
    )
    if not arguments.policies:
        return answering
    from webhook.cli.policies import sound_policies  # noqa: PLC0415 - only who has policies pays for the engine

    policies = sound_policies(arguments, stated)
    return replace(answering, policies=policies.set, authorizer=policies.authorizer)
