"""PodGroup: pods that are scheduled together, and the claims that they share.

Only the parts about claims are judged. Its rules are declarative upstream
(``staging/src/k8s.io/api/scheduling/v1alpha2/types.go``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from webhook import formats
from webhook.api.core.meta import Condition, Object
from webhook.api.core.values import one_member
from webhook.problem import Problem, invalid
from webhook.schema.declarations import ITSELF, Default, Struct, check, exactly_one
from webhook.schema.fields import Anything, Array, Nested, Text, View
from webhook.schema.target import MAIN, STATUS, UPDATE_STATUS

SOURCES = "resourceClaimName", "resourceClaimTemplateName"


class PodGroupResourceClaim(Struct):
    """A claim that the group's pods share."""

    name = Text("The name by which pods refer to the claim.", format=formats.short_name, required=True, written=True)
    resourceClaimName = Text("A ResourceClaim.", format=formats.long_name, pointer=True)
    resourceClaimTemplateName = Text(
        "A ResourceClaimTemplate, from which the group gets a claim of its own.", format=formats.long_name, pointer=True
    )


class PodGroupSpec(Struct):
    """The scheduling of the group, and its shared claims."""

    instead: ClassVar = {"podGroupTemplateRef": "from 1.37 on: workloadRef, with workloadName and templateName"}
    opaque: ClassVar = {
        **dict.fromkeys(("priority", "priorityClassName", "schedulingConstraints", "schedulingPolicy"), Anything()),
        "disruptionMode": Anything(default={36: "Pod", 37: Default({"single": {}}, {})}),
    }

    podGroupTemplateRef = Anything("The template of a Workload from which the group was made.", until=36)
    workloadRef = Anything("The Workload, and its template, from which the group was made.", since=37)
    parentCompositePodGroupName = Text("The CompositePodGroup that it belongs to.", since=37, gate="CompositePodGroup")
    preemptionPolicy = Text("Whether its pods preempt others.", since=37, gate="PodGroupPreemptionPolicy")
    resourceClaims = Array(
        Nested(PodGroupResourceClaim),
        "The claims that the group's pods share.",
        max_items=4,
        list_map_keys=["name"],
        unique="name",
        immutable=True,
        declarative=True,
        rechecked={36: ITSELF},
        gate="DRAWorkloadResourceClaims",
    )


class PodGroupResourceClaimStatus(Struct):
    """The claim that was made for the group."""

    name = Text("The name by which pods refer to the claim.", required=True, written=True)
    resourceClaimName = Text("The ResourceClaim; none if it was not needed.", format=formats.long_name, pointer=True)


class PodGroupStatus(Struct):
    """The status of the group."""

    conditions = Array(Nested(Condition), "The conditions of the group.", list_map_keys=["type"])
    resourceClaimStatuses = Array(
        Nested(PodGroupResourceClaimStatus),
        "The claims that were made for the group.",
        list_map_keys=["name"],
        unique="name",
        declarative=True,
        gate="DRAWorkloadResourceClaims",
    )


class PodGroup(Object):
    """Pods that are scheduled together."""

    spec = Nested(PodGroupSpec, subresource=MAIN)
    status = Nested(PodGroupStatus, subresource=STATUS)


@exactly_one(PodGroupResourceClaim, *SOURCES)
def source_of_claim(claim: View, given: Sequence[str]) -> Iterator[Problem]:
    """A claim comes either from an object or from a template."""
    yield from one_member(claim.path, SOURCES, given)


@check(PodGroup, on=[UPDATE_STATUS])
def claims_of_the_group(group: View) -> Iterator[Problem]:
    """A status is for a claim of the group."""
    known = {claim.name for claim in group.spec.resourceClaims}
    for status in group.status.resourceClaimStatuses:
        if status.name not in known:
            yield invalid(status / "name", status.name, "must match the name of an entry in `spec.resourceClaims`")
