"""The options of the commands that answer reviews."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Collection
from dataclasses import replace

from webhook import admission
from webhook.admission import MODES, Enforcement, Mode
from webhook.check.cluster import read_cluster
from webhook.check.target import feature_gates, kubernetes
from webhook.engine import prescheduled
from webhook.problem import ERROR
from webhook.report.model import Report
from webhook.report.text import as_text
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

_POLICY = "policy/"


def enforcement(arguments: Namespace) -> Enforcement:
    """Read ``--enforce`` and the exemptions.

    Raises:
        UsageError: A mode or a rule is unknown.
    """
    modes: dict[str, Mode] = {}
    for text in arguments.enforce:
        what, _, named = text.rpartition("=")
        mode = next((each for each in MODES if each == named), None)
        if mode is None or what == _POLICY or ("=" in text and not what):
            message = f"{text!r}: give deny, warn or audit, or RULE=MODE, policy/NAME=MODE, workloads=MODE"
            raise UsageError(message, "--enforce")
        modes[what] = mode
    for what in ("namespace", "user", "group"):
        if "" in getattr(arguments, f"exempt_{what}"):
            message = "an empty pattern is most likely a variable that is not set; leave the option out"
            raise UsageError(message, f"--exempt-{what}")
    overall, workloads = modes.pop("", "deny"), modes.pop("workloads", None)
    rules = {name: mode for name, mode in modes.items() if not name.startswith(_POLICY)}
    if rules:
        from webhook.explain.names import is_rule, rule_names  # takes longer than all the rest

        for name in rules:
            if not is_rule(name):
                hint = did_you_mean(name, rule_names(), "; `draguard explain` lists them", lead="; ")
                raise UsageError(f"unknown rule {name}{hint}", "--enforce")
    return Enforcement(
        mode=overall,
        workloads=workloads,
        rules=rules,
        policies={name.removeprefix(_POLICY): mode for name, mode in modes.items() if name.startswith(_POLICY)},
        exempt_namespaces=arguments.exempt_namespace,
        exempt_users=arguments.exempt_user,
        exempt_groups=arguments.exempt_group,
    )


def _check_policies(named: Collection[str], known: Collection[str]) -> None:
    """Check the names of policies that have a mode of their own."""
    for name in named:
        if name not in known:
            hint = did_you_mean(name, known, lead="; ")
            raise UsageError(f"policy {name} not found in --policies{hint}", "--enforce")


def options(
    arguments: Namespace, tell: Callable[[str], None], note: Callable[[str], None], level: str = ERROR
) -> admission.ReviewOptions:
    """Read the options.

    Args:
        tell: Receives the lines of the report about policies.
        note: Receives lines about what was not read of a cluster.
        level: The level of findings about objects that cannot be decoded; those in parameters are errors.

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
        from webhook.references.lookup import Surroundings  # few clusters are given

        report = Report()
        inventory = read_cluster(arguments.cluster, report, is_whole=True, tell=note)
        if report.errors:
            raise UsageError("\n".join(["--cluster cannot be used:", *as_text(report.findings)]))
        around = Surroundings(inventory, answering.kubernetes, answering.feature_gates)
        answering = replace(answering, surroundings=around)
    if not arguments.policies:
        _check_policies(answering.enforcement.policies, ())
        return answering
    from webhook.check.policies import sound_policies  # needed only with policies

    policies = sound_policies(arguments, stated, tell, answering.enforcement.strongest, level)
    _check_policies(answering.enforcement.policies, {policy.name for policy in policies.set.policies})
    return replace(answering, policies=policies.set, authorizer=policies.authorizer)
