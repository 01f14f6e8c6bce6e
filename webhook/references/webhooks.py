"""Rules about the configurations of webhooks, such as those of drivers that check their parameters."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.inventory import DRA
from webhook.objects import JSONObject, placed, text, texts
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, Resource
from webhook.problem import Problem
from webhook.references.rules import WEBHOOKS, Context, finding, rule


@rule("webhook-not-called", *WEBHOOKS)
def webhook_not_called(configuration: JSONObject, context: Context) -> Iterator[Problem]:
    """The rules of a webhook name a resource of DRA in versions that leave out those of a cluster.

    By default the API server calls a webhook for a request in another version, too (matchPolicy: Equivalent), if the
    cluster serves the version that a rule names; with matchPolicy: Exact it does not. From Kubernetes 1.34 on only v1
    is on by default.
    """
    kinds = Kinds(context.release, runtime_config=context.runtime_config)
    for path, webhook in placed(configuration, "webhooks"):
        named: dict[GroupVersionKind, tuple[tuple[str | int, ...], set[str]]] = {}
        for place, each in placed(webhook, "rules"):
            found = (kinds.kind_of(Resource(DRA, "", name)) for name in texts(each, "resources"))
            for kind in filter(None, found if DRA in texts(each, "apiGroups") else ()):
                named.setdefault(kind, ((*path, *place, "apiVersions"), set()))[1].update(texts(each, "apiVersions"))
        for kind, (place, versions) in named.items():
            on = kinds.versions_on(kind)
            missed = [] if "*" in versions else [version for version in on if version not in versions]
            if missed and (missed == on or text(webhook, "matchPolicy") == "Exact"):
                resource, where = kinds.resource_of(kind).resource, ", ".join(missed)
                message = (
                    f"the API server does not call the webhook for {resource} in {where}, in which a cluster has them"
                )
                yield finding(place, message, f"add {where}", "Unknown")
