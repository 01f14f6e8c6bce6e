"""Rules about the permissions of drivers and schedulers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.inventory.objects import DRA
from webhook.objects import JSONObject, items, texts
from webhook.problem import Problem
from webhook.references.rules import Context, finding, rule

ROLES: Final = ("ClusterRole", "Role")
_GATE: Final = "DRAResourceClaimGranularStatusAuthorization"
_ANY: Final = "*"
_STATUS: Final = "resourceclaims/status"
_UPDATES: Final = frozenset({_ANY, "update", "patch"})
_NEEDED: Final = {
    "driver": frozenset(
        {_ANY, *(f"{where}-node:{verb}" for where in ("associated", "arbitrary") for verb in ("update", "patch"))}
    ),
    "binding": _UPDATES,
}
"""The verbs that allow changes of a part of the status, by the subresource that stands for it."""


@rule("status-without-part", *ROLES)
def status_without_part(role: JSONObject, context: Context) -> Iterator[Problem]:
    """A role allows updates of the status of claims, and no role allows updates of any part of it.

    From Kubernetes 1.36 the API server refuses such updates unless the user has a permission for the part, too: verbs
    associated-node:update and associated-node:patch of resourceclaims/driver for status.devices, for a driver that runs
    on the node of the claim (arbitrary-node:update and arbitrary-node:patch for others); update and patch of
    resourceclaims/binding for status.allocation and status.reservedFor, which schedulers set. All roles count: those of
    other files, and of the cluster with --cluster.
    """
    if _GATE not in context.gates or _allows_parts(context):
        return
    for index, each in enumerate(items(role, "rules")):
        resources = texts(each, "resources")
        if DRA in texts(each, "apiGroups") and _STATUS in resources and _UPDATES & {*texts(each, "verbs")}:
            message = "from Kubernetes 1.36 this allows no update of a claim's status: no role allows one of its parts"
            hint = (
                "add resourceclaims/driver with associated-node:update and associated-node:patch for drivers, or "
                "resourceclaims/binding with update and patch for schedulers"
            )
            yield finding(("rules", index, "resources", resources.index(_STATUS)), message, hint, "Forbidden")


def _allows_parts(context: Context) -> bool:
    """Tell whether any role allows updates of a part of the status."""
    rules = (each for kind in ROLES for role in context.inventory.all(kind) for each in items(role, "rules"))
    return any(
        {DRA, _ANY} & {*texts(each, "apiGroups")}
        and verbs & {*texts(each, "verbs")}
        and {_ANY, f"*/{part}", f"resourceclaims/{part}"} & {*texts(each, "resources")}
        for each in rules
        for part, verbs in _NEEDED.items()
    )
