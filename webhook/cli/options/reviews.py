"""The review options that ``review`` and ``serve`` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from webhook import admission
from webhook.check.target import feature_gates, kubernetes
from webhook.cli.console.lines import print_error
from webhook.cli.options.enforcement import check_policies, enforcement
from webhook.engine import prescheduled
from webhook.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from webhook.references.cluster import Surroundings


def options(arguments: Namespace, tell: Callable[[str], None] = print_error) -> admission.ReviewOptions:
    """Read the options.

    Args:
        tell: Receives the lines of the report about policies.

    Raises:
        UsageError: A release, a feature gate or a rule is unknown, or the policies have errors.
    """
    stated = kubernetes(arguments)
    answering = admission.ReviewOptions(
        kubernetes=stated,
        fail_open=arguments.failure_policy == "ignore",
        prescheduled=prescheduled.RewriteOptions(arguments.select_node_by, arguments.pods),
        feature_gates=feature_gates(arguments, stated),
        enforcement=enforcement(arguments),
    )
    if arguments.cluster:
        answering = replace(answering, surroundings=_surroundings(arguments, answering))
    if not arguments.policies:
        check_policies(answering.enforcement.policies, ())
        return answering
    from webhook.check.policies import sound_policies  # needed only with policies

    policies = sound_policies(arguments, stated, tell, answering.enforcement.strongest)
    check_policies(answering.enforcement.policies, {policy.name for policy in policies.set.policies})
    return replace(answering, policies=policies.set, authorizer=policies.authorizer)


def _surroundings(arguments: Namespace, answering: admission.ReviewOptions) -> Surroundings:
    """Read the objects of the cluster.

    Raises:
        UsageError: A file cannot be read, or an object in it cannot be used.
    """
    from webhook.check.cluster import read_cluster  # needed only with a snapshot
    from webhook.cli.console.reading import tell as show
    from webhook.references.cluster import Surroundings
    from webhook.report.model import Report
    from webhook.report.text import as_text

    report = Report()
    inventory = read_cluster(arguments.cluster, report, tell=show)
    if report.errors:
        raise UsageError("\n".join(["--cluster cannot be used:", *as_text(report.findings)]))
    return Surroundings(inventory, answering.kubernetes, answering.feature_gates)
