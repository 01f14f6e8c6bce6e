"""The rules that CEL can express, with their expressions for ValidatingAdmissionPolicies.

An expression sees an object with the API server's defaults, after it was decoded and before it is validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from webhook.records import NamedTuple


class CheckedObjects(Enum):
    """The objects that a check is about."""

    CLAIMS = "claims"
    PODS = "pods"
    NEW_PODS = "new pods"


class Check(NamedTuple):
    """A rule as a part of a policy.

    Args:
        doc: The rule in a sentence.
        validations: Expressions that must be true, by the message for one that is not; ``variables`` are those of the
            objects.
    """

    objects: CheckedObjects
    doc: str
    validations: Mapping[str, str]


VARIABLES: Final[Mapping[CheckedObjects, Mapping[str, str]]] = {
    CheckedObjects.CLAIMS: {
        "devices": (
            "object.kind == 'ResourceClaimTemplate'\n"
            "? (has(object.spec.spec.devices) ? [object.spec.spec.devices] : [])\n"
            ": (has(object.spec.devices) ? [object.spec.devices] : [])"
        ),
        "requests": (  # null in a claim without requests
            "variables.devices.all(d, !has(d.requests)) ? []\n"
            ": optional.ofNonZeroValue(variables.devices[0].requests).orValue([])"
        ),
        "alternatives": (
            "variables.requests.map(r, has(r.firstAvailable) ? r.firstAvailable : [has(r.exactly) ? r.exactly : r])"
        ),
        "names": (
            "variables.requests.map(r, [r.name]\n"
            "+ (has(r.firstAvailable) ? r.firstAvailable.map(a, r.name + '/' + a.name) : []))"
        ),
    },
    CheckedObjects.PODS: {
        "pod": (
            "object.kind == 'Pod' ? object.spec\n"
            ": object.kind == 'CronJob' ? object.spec.jobTemplate.spec.template.spec\n"
            ": object.spec.template.spec"
        ),
        "claims": "has(variables.pod.resourceClaims) ? variables.pod.resourceClaims : []",
        "containers": (
            "variables.pod.containers + (has(variables.pod.initContainers) ? variables.pod.initContainers : [])"
        ),
        "uses": ("variables.containers.map(c, has(c.resources) && has(c.resources.claims) ? c.resources.claims : [])"),
    },
    CheckedObjects.NEW_PODS: {},
}
"""The variables for the objects of a check; a policy has those that its expressions need."""

_DNS_LABEL: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

CHECKS: Final[Mapping[str, Check]] = {
    "admin-access": Check(
        CheckedObjects.CLAIMS,
        "Administrative access to devices is only for namespaces that are labelled for it.",
        {
            "adminAccess needs the label resource.kubernetes.io/admin-access: true on the namespace": (
                "has(namespaceObject.metadata.labels)\n"
                "&& 'resource.kubernetes.io/admin-access' in namespaceObject.metadata.labels\n"
                "&& namespaceObject.metadata.labels['resource.kubernetes.io/admin-access'] == 'true'\n"
                "|| !variables.alternatives.exists(each, each.exists(a, has(a.adminAccess) && a.adminAccess))"
            )
        },
    ),
    "asks-for-nothing": Check(
        CheckedObjects.CLAIMS,
        "A claim requests at least one device.",
        {"the claim has no requests, so it is allocated with no devices": "size(variables.requests) > 0"},
    ),
    "claim-names": Check(
        CheckedObjects.PODS,
        "Every claim of a pod has a name of its own.",
        {
            "two entries of resourceClaims have the same name": (
                "variables.claims.all(c, variables.claims.exists_one(o, o.name == c.name))"
            ),
            "the name of a claim is not a DNS label": (
                f"variables.claims.all(c, has(c.name) && size(c.name) <= 63 && c.name.matches('{_DNS_LABEL}'))"
            ),
        },
    ),
    "claim-not-used": Check(
        CheckedObjects.PODS,
        "Every claim of a pod is used by one of its containers.",
        {
            "no container uses one of the claims in resourceClaims": (
                "variables.claims.all(c, variables.uses.exists(each, each.exists(u, u.name == c.name)))"
            )
        },
    ),
    "container-claims": Check(
        CheckedObjects.PODS,
        "A container uses claims of its pod, and names each claim, or each request of it, once.",
        {
            "a container uses a claim that resourceClaims does not have": (
                "variables.uses.all(each, each.all(u, variables.claims.exists(c, c.name == u.name)))"
            ),
            "a container names a claim twice": (
                "variables.uses.all(each, each.all(u, each.filter(o, o.name == u.name\n"
                "&& (!has(o.request) || !has(u.request) || o.request == u.request)).size() == 1))"
            ),
            "the request that a container names is not a DNS label": (
                "variables.uses.all(each, each.all(u, !has(u.request)\n"
                f"|| (size(u.request) <= 63 && u.request.matches('{_DNS_LABEL}'))))"
            ),
        },
    ),
    "count-for-mode": Check(
        CheckedObjects.CLAIMS,
        "A request asks for a positive number of devices (ExactCount), or for All.",
        {
            "count is positive with ExactCount, and left out with All": (
                "variables.alternatives.all(each, each.all(a, !has(a.allocationMode)\n"
                "|| (a.allocationMode == 'ExactCount' ? !has(a.count) || a.count > 0\n"
                ": a.allocationMode == 'All' && (!has(a.count) || a.count == 0))))"
            )
        },
    ),
    "one-source": Check(
        CheckedObjects.PODS,
        "A claim of a pod comes either from a ResourceClaim or from a ResourceClaimTemplate.",
        {
            "each entry of resourceClaims has either resourceClaimName or resourceClaimTemplateName": (
                "variables.claims.all(c, has(c.resourceClaimName) != has(c.resourceClaimTemplateName))"
            )
        },
    ),
    "prescheduled": Check(
        CheckedObjects.NEW_PODS,
        "A pod with claims does not name its node.",
        {
            "nodeName bypasses the scheduler, which alone allocates resource claims": (
                "!has(object.spec.resourceClaims) || size(object.spec.resourceClaims) == 0\n"
                "|| !has(object.spec.nodeName) || object.spec.nodeName == ''"
            )
        },
    ),
    "requests-that-exist": Check(
        CheckedObjects.CLAIMS,
        "Constraints and configuration refer to requests of the claim.",
        {
            f"{field} refers to a request that the claim does not have": (
                f"variables.devices.all(d, !has(d.{field}) || d.{field}.all(c, !has(c.requests)\n"
                "|| c.requests.all(r, variables.names.exists(each, r in each))))"
            )
            for field in ("constraints", "config")
        },
    ),
}
"""The check that each rule becomes."""

LIMITS: Final[Mapping[str, Check]] = {
    "claims": Check(
        CheckedObjects.PODS,
        "A pod has at most {claims}.",
        {"a pod has at most {claims}": "size(variables.claims) <= {limit}"},
    ),
    "devices": Check(
        CheckedObjects.CLAIMS,
        "A claim requests at most {devices}, and never all.",
        {
            "allocationMode All is not allowed": (
                "variables.alternatives.all(each, each.all(a, !has(a.allocationMode) || a.allocationMode != 'All'))"
            ),
            "a claim requests at most {devices}": (
                "variables.alternatives.map(each, each.map(a, has(a.count) ? int(a.count) : 1).max()).sum() <= {limit}"
            ),
        },
    ),
    "requests": Check(
        CheckedObjects.CLAIMS,
        "A claim has at most {requests}.",
        {"a claim has at most {requests}": "size(variables.requests) <= {limit}"},
    ),
}
"""Checks for user-defined limits, by name; ``{limit}`` stands for the number, ``{NAME}`` for that with its noun."""


def numbers(name: str, limit: int | str) -> dict[str, object]:
    """Return the values of the placeholders in the texts of a limit."""
    return {"limit": limit, name: f"{limit} {name.removesuffix('s') if limit == 1 else name}"}
