"""Missing references of pending pods and their claims, beside the scheduler's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.inventory.claims import allocation_of
from webhook.references import Context, every_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.simulation import Cluster
    from webhook.simulation.scheduler import Placement

_CAUSES: Final = (
    "claim-not-found",
    "template-not-found",
    "class-not-found",
    "extended-resource-unknown",
    "not-published",
)
"""The rules about causes of pending pods for which the scheduler has no hint."""


class References:
    """Adds to the scheduler's messages which name was probably meant.

    Args:
        cluster: The cluster that pods are scheduled into.
    """

    def __init__(self, cluster: Cluster) -> None:
        settings = cluster.settings
        self._context = Context(cluster.inventory, settings.release, settings.gates)

    def notes(self, placement: Placement) -> list[str]:
        """Report references of a pending pod or its claims to objects that do not exist.

        Args:
            placement: The pod, with its claims.
        """
        return list(dict.fromkeys(self._notes(placement)))

    def _notes(self, placement: Placement) -> Iterator[str]:
        claims = [("ResourceClaim", claim) for claim in placement.claims if not allocation_of(claim)]
        for kind, obj in (("Pod", placement.pod), *claims):
            for rule in map(every_rule().__getitem__, _CAUSES):
                if kind in rule.kinds:
                    for problem in rule.check(obj, self._context):
                        yield ": ".join(filter(None, (problem.message, problem.hint)))
