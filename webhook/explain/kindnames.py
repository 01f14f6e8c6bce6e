"""Finds kinds by the names that ``kubectl explain`` takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from webhook.explain.places import Kind

_OTHER_NAMES: Final = {
    "cj": "cronjob",
    "deploy": "deployment",
    "ds": "daemonset",
    "po": "pod",
    "rc": "replicationcontroller",
    "rs": "replicaset",
    "sts": "statefulset",
    "claim": "resourceclaim",
    "class": "deviceclass",
    "slice": "resourceslice",
}
"""The short names of resources, as API servers state them, and the last words of kinds, as people say them."""


def named(among: Iterable[Kind], name: str) -> list[Kind]:
    """Find a kind in all its versions, the newest first; its name may be short, and in the plural."""
    singulars = [name.casefold().removesuffix(end) for end in ("", "s", "es")]
    wanted = {_OTHER_NAMES.get(each, each) for each in singulars}
    found = [kind for kind in among if kind.name.lower() in wanted]
    return sorted(found, key=lambda kind: (kind.served.until, kind.served.since), reverse=True)


def addressed(among: Iterable[Kind], steps: Sequence[str]) -> tuple[list[Kind], Sequence[str]]:
    """Find the kind that a query begins with, such as ``resourceclaims.v1beta1.resource.k8s.io.spec``.

    Args:
        among: The kinds to look among.
        steps: The parts of the query.

    Returns:
        The kind in each version that matches, empty for an unknown kind; and the path of the field.
    """
    found, path = named(among, steps[0]), steps[1:]
    for kind in found:
        group = kind.group.split(".")
        if kind.group and path[: len(group)] == group:
            return [each for each in found if each.group == kind.group], path[len(group) :]
        if kind.group and path[: len(group) + 1] == [kind.version, *group]:
            return [kind], path[len(group) + 1 :]
    return found, path
