"""Rules about the configurations of webhooks, such as those of drivers that check their parameters."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.inventory import DRA
from webhook.objects import JSONObject, placed, text, texts
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds
from webhook.problem import Problem, quoted
from webhook.references.rules import WEBHOOKS, Context, finding, rule
from webhook.spelling import did_you_mean


@rule(*WEBHOOKS)
def webhook_not_called(configuration: JSONObject, context: Context) -> Iterator[Problem]:
    """The rules of a webhook name a resource of DRA wrongly, or leave out versions in which the cluster serves it.

    By default (matchPolicy: Equivalent) the API server calls a webhook for requests in all versions if the cluster
    serves one that a rule names; with matchPolicy: Exact, only in those that are named. From Kubernetes 1.34 on, only
    v1 is on by default.
    """
    kinds = Kinds(context.release, runtime_config=context.runtime_config)
    served = {each.resource: kinds.versions_on(GroupVersionKind(DRA, "", each.kind)) for each in kinds.of_group(DRA)}
    for path, webhook in placed(configuration, "webhooks"):
        rules = [each for each in placed(webhook, "rules") if DRA in texts(each[1], "apiGroups")]
        for place, each in rules:
            for index, name in enumerate(texts(each, "resources")):
                whole = name.partition("/")[0]
                if whole not in served and (hint := did_you_mean(whole, served, quotes='"')):
                    message = f"{DRA} has no resource {quoted(name)}: the API server never calls the webhook for it"
                    yield finding((*path, *place, "resources", index), message, hint, "NotCalled")
        for resource, on in served.items() if rules else ():
            naming = [(place, each) for place, each in rules if resource in texts(each, "resources")]
            versions = {version for _, each in naming for version in texts(each, "apiVersions")}
            missed = [version for version in on if naming and versions.isdisjoint((version, "*"))]
            if missed and (missed == on or text(webhook, "matchPolicy") == "Exact"):
                where = ", ".join(missed)
                message = f"the API server does not call the webhook for {resource} in {where}, which it serves"
                yield finding((*path, *naming[0][0], "apiVersions"), message, f"add {where}", "NotCalled")
