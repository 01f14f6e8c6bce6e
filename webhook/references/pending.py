"""What is wrong with pods and their claims, beside the scheduler's own words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from webhook.engine.manifests import review
from webhook.hints.fields import hint_of
from webhook.inventory import CLAIMS
from webhook.inventory.claims import allocation_of, classes_of, source
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, Problem, value_at
from webhook.references.allocation import without_sharing
from webhook.references.lookup import every_rule
from webhook.references.pods import WITHOUT_DEVICES
from webhook.references.rules import Context
from webhook.simulation import Cluster
from webhook.simulation.scheduler import Placement

_ABSENT: Final = "claim-not-found"
_CAUSES: Final = (
    _ABSENT,
    "template-not-found",
    "class-not-found",
    "extended-resource-unknown",
    "not-published",
)
"""The rules about causes of pending pods for which the scheduler has no hint."""
_OF_CLASS: Final = "selects-nothing"
"""The rule about classes without devices."""
_UNSEEN: Final = "request-not-found"
"""The rule about containers that see no devices."""
_UNUSED: Final = "claim-not-used"
"""The rule about devices that no container sees."""
_SOURCES: Final = {kind: f"{kind[0].lower()}{kind[1:]}Name" for kind in CLAIMS}
"""The fields of a pod's claims that name an object, by its kind."""
_OF_NAMESPACES: Final = "admin-access"
"""The start of the names of rules that depend on the labels of a namespace."""
_REFUSALS_MAX: Final = 10
"""The maximum number of refusals of an object that are shown."""


class References:
    """Adds to answers which name was probably meant, and which containers get no devices.

    Args:
        cluster: The cluster that pods are scheduled into.
    """

    def __init__(self, cluster: Cluster) -> None:
        settings = cluster.settings
        catalog = cluster.allocator.catalog
        shared = None if catalog.has_rules else catalog
        self._refused = cluster.refused
        self._context = Context(cluster.inventory, settings.release, settings.gates, catalog=shared)

    def annotate(self, answer: JSONObject, placement: Placement) -> None:
        """Report references to objects that do not exist, and to requests that a scheduled pod's claims do not have.

        Args:
            answer: The answer for a pod; notes are added.
            placement: The pod, with its claims.
        """
        why, is_scheduled = answer["why"], placement.node is not None
        found = every_rule()[_UNSEEN].check(placement.pod, self._context)
        unseen = {text(value_at(placement.pod, problem.path[:3]), "name"): _text(problem) for problem in found}
        when = "scheduled, but" if is_scheduled else "once scheduled,"
        why["notes"] += [
            f"{when} container {name} gets no devices: {said.replace(WITHOUT_DEVICES, '')}"
            for name, said in unseen.items()
        ]
        why["withoutDevices"] += unseen if is_scheduled else ()
        if not is_scheduled:
            counts = [each["ofClass"] for group in why["nodes"] for each in group["requests"]]
            classes = self._classes(placement) if counts and not any(counts) else []
            why["notes"] += dict.fromkeys(self._notes(placement, classes))
            why["notes"] += self._of_sharing(placement, why["nodes"])
            return
        why["notes"] += map(_text, every_rule()[_UNUSED].check(placement.pod, self._context))

    def _of_sharing(self, placement: Placement, groups: Sequence[JSONObject]) -> Iterator[str]:
        """Name the requests for a part of a device that find all devices in use, as none can be shared."""
        asked = [each for group in groups for each in group["requests"]]
        busy = {(each["claim"], each["request"]) for each in asked if each["free"] < each["selected"]}
        for claim in placement.claims if busy else ():
            if not allocation_of(claim):
                name = full_name_of(claim)
                found = without_sharing(claim, self._context)
                yield from (message for request, message in found if (name, request.name) in busy)

    def _classes(self, placement: Placement) -> list[JSONObject]:
        """Return the classes of a pod's claims."""
        names = {name: None for claim in placement.claims for _, name in classes_of(claim)}
        return [found for name in names if (found := self._context.inventory.find("DeviceClass", name))]

    def _notes(self, placement: Placement, classes: Sequence[JSONObject]) -> Iterator[str]:
        for device_class in classes:
            for problem in every_rule()[_OF_CLASS].check(device_class, self._context):
                yield f"DeviceClass {name_of(device_class)}: {_text(problem)}"
        claims = [("ResourceClaim", claim) for claim in placement.claims if not allocation_of(claim)]
        for kind, obj in (("Pod", placement.pod), *claims):
            for rule in map(every_rule().__getitem__, _CAUSES):
                if kind in rule.kinds:
                    for problem in rule.check(obj, self._context):
                        named = namespace_of(obj), str(value_at(obj, problem.path))
                        if rule.name != _ABSENT or named not in self._refused:  # a note says why that is not there
                            yield _text(problem)


def _text(problem: Problem) -> str:
    return ": ".join(filter(None, (problem.message, problem.hint)))


def annotator(
    cluster: Cluster, objects: Iterable[JSONObject], feature_gates: Mapping[str, bool] | None
) -> Callable[[JSONObject, Placement, JSONObject], None]:
    """Return a function that adds to an answer the notes about a pod and its claims.

    The API server refuses some of them, so that they can never be in a cluster: that is told in its words.

    Args:
        cluster: The cluster that pods are scheduled into.
        objects: The cluster's objects, as they were given; only claims and templates matter.
        feature_gates: The gates that differ from the release's defaults.
    """
    references, refusals = References(cluster), dict[int, list[str]]()
    claims = {(text(each, "kind"), namespace_of(each), name_of(each)): each for each in objects}

    def annotate(answer: JSONObject, placement: Placement, submitted: JSONObject) -> None:
        named = (
            claims.get((kind, namespace_of(placement.pod), source(entry, field)))
            for entry in items(placement.pod, "spec", "resourceClaims")
            for kind, field in _SOURCES.items()
        )
        for each in (submitted, *filter(None, named)):
            if id(each) not in refusals:
                refusals[id(each)] = list(islice(_refusals(each, cluster, feature_gates), _REFUSALS_MAX))
            answer["why"]["notes"] += refusals[id(each)]
        references.annotate(answer, placement)

    return annotate


def _refusals(obj: JSONObject, cluster: Cluster, gates: Mapping[str, bool] | None) -> Iterator[str]:
    """Yield why the API server refuses an object, unless it is not what a client submits: it has a status."""
    if not text(obj, "apiVersion") or mapping(obj, "status"):
        return
    namespace = cluster.inventory.find("Namespace", namespace_of(obj))
    labels = None if namespace is None else mapping(namespace, "metadata", "labels")
    release = str(cluster.settings)
    for problem in review(obj, kubernetes=release, feature_gates=gates, namespace_labels=labels).problems:
        if problem.level == ERROR and (namespace or not problem.rule.startswith(_OF_NAMESPACES)):
            hint = problem.hint or hint_of(problem, obj).hint
            what = f"the API server refuses {text(obj, 'kind')} {name_of(obj)}: {problem}"
            yield f"{what} ({hint})" if hint else what
