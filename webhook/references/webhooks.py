"""Rules about the configurations of webhooks, such as those of drivers that check their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.inventory import DRA
from webhook.objects import JSONObject, items, placed, text, texts
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds
from webhook.policy.manifest.model import VALIDATING, Given, policy_of, rule_of
from webhook.problem import Path, Problem
from webhook.references.rules import WEBHOOKS, Context, finding, rule

_LISTS: Final = ("apiGroups", "apiVersions", "operations", "resources")


@rule(*WEBHOOKS)
def webhook_not_called(configuration: JSONObject, context: Context) -> Iterator[Problem]:
    """The rules of a webhook name a resource of DRA wrongly, or leave out versions in which the cluster serves it.

    By default (matchPolicy: Equivalent) the API server calls a webhook for requests in all versions if the cluster
    serves one that a rule names; with matchPolicy: Exact, only in those that are named. From Kubernetes 1.34 on, only
    v1 is on by default.
    """
    from webhook.policy.tools.check import unknown_resources  # few manifests configure webhooks

    kinds = Kinds(context.release, runtime_config=context.runtime_config)
    served = {each.resource: kinds.versions_on(GroupVersionKind(DRA, "", each.kind)) for each in kinds.of_group(DRA)}
    for path, webhook in placed(configuration, "webhooks"):
        every = list(placed(webhook, "rules"))
        for place, each in every:  # they may be malformed: a configuration that does not name DRA is not judged
            lists = {field: texts(each, field) for field in _LISTS}
            stated = rule_of({**lists, "scope": text(each, "scope")})
            if DRA in stated.groups or (stated.groups and any(name in served for name, _ in stated.resources)):
                for problem in unknown_resources(stated, Path((*path, *place)), kinds):
                    if problem.rule != "unserved-version":  # it has more to say about versions
                        yield finding(problem.path, problem.message, problem.hint, "NotCalled")
        rules = [each for each in every if DRA in texts(each[1], "apiGroups")]
        for resource, on in served.items() if rules else ():
            naming = [(place, each) for place, each in rules if resource in texts(each, "resources")]
            versions = {version for _, each in naming for version in texts(each, "apiVersions")}
            missed = [version for version in on if naming and versions.isdisjoint((version, "*"))]
            if missed and (missed == on or text(webhook, "matchPolicy") == "Exact"):
                where = ", ".join(missed)
                message = f"the API server does not call the webhook for {resource} in {where}, which it serves"
                yield finding((*path, *naming[0][0], "apiVersions"), message, f"add {where}", "NotCalled")


@rule(*WEBHOOKS)
def webhook_condition(configuration: JSONObject, context: Context) -> Iterator[Problem]:
    """A match condition of a webhook for DRA cannot work, such as a comparison with a misspelt kind.

    It is checked as `draguard policy check` checks one of a policy with the webhook's rules.
    """
    from webhook.policy.tools.check import expression_warnings  # few webhooks have conditions

    kinds = Kinds(context.release, runtime_config=context.runtime_config)
    for path, webhook in placed(configuration, "webhooks"):
        rules, conditions = items(webhook, "rules"), items(webhook, "matchConditions")
        if conditions and any(DRA in texts(each, "apiGroups") for each in rules):
            spec = {"matchConstraints": {"resourceRules": rules}, "matchConditions": conditions}
            given = Given({"kind": VALIDATING, "metadata": webhook, "spec": spec})
            for each in expression_warnings(policy_of(given, context.release), kinds):
                yield each._replace(path=Path((*path, *each.path[1:])))
