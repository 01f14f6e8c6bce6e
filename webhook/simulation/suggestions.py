"""Suggests changes that would make a pending pod fit, the smallest first."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.versions import NEWEST
from webhook.deviceselectors.guarding import guarded
from webhook.deviceselectors.parts import parts_of
from webhook.deviceselectors.reads import reads
from webhook.inventory.claims import allocation_of
from webhook.objects import items, mapping, text
from webhook.simulation.affinity import BLOCKING
from webhook.simulation.cluster import Cluster, Settings
from webhook.simulation.rejections import requests
from webhook.simulation.verdicts import Round, Verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webhook.objects import JSONObject
    from webhook.simulation.rejections import Group
    from webhook.simulation.verdicts import Needs

_TRIED_MAX: Final = 24
"""How many single changes are tried."""
_PAIRED_MAX: Final = 8
"""Of how many changes two at a time are tried, if none helps alone."""
_RELEASED_MAX: Final = 6
"""How many claims that hold devices are released, each alone."""
_COUNTS_MAX: Final = 5
"""How many smaller counts are tried."""
_NODES_MAX: Final = 2000
"""On how many nodes a change is tried."""


class Change(NamedTuple):
    """A change that may help.

    Args:
        text: What it is, such as ``without the selector memory >= 80Gi of request gpu``.
        size: How much it takes: a correction is smaller than to do without, and that than to take from others.
        edit: Makes the change to what a pod asks for.
        released: The claim that gives its devices back; None if none does.
    """

    text: str
    size: int
    edit: Callable[[Needs], Needs]
    released: JSONObject | None = None


class Suggestion(NamedTuple):
    """A change that lets a pending pod fit.

    Args:
        change: What it is.
        nodes: To how many nodes it leads.
    """

    change: str
    nodes: int

    def as_json(self) -> JSONObject:
        """Return it as JSON."""
        return {"change": self.change, "nodes": self.nodes}


class Suggestions:
    """Suggests changes that let pending pods fit, by trying them.

    Args:
        cluster: The cluster, as it was when the pod was refused; it is left as it is.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def of(self, needs: Needs, groups: Sequence[Group], error: str) -> list[Suggestion]:
        """List the changes that would let a pod fit.

        Args:
            needs: What the pod needs.
            groups: How nodes refuse it.
            error: What made the scheduler give it up; empty if nothing did.
        """
        changes = sorted(self._changes(needs, groups, error), key=lambda each: each.size)[:_TRIED_MAX]
        found = [(change, nodes) for change in changes if (nodes := self._nodes(needs, (change,)))]
        if not found:
            for pair in combinations(changes[:_PAIRED_MAX], 2):
                if nodes := self._nodes(needs, pair):
                    both = Change(" and ".join(each.text for each in pair), sum(each.size for each in pair), _same)
                    found.append((both, nodes))
        if nodes := self._on_newer_release(needs):
            found.append((Change(f"on Kubernetes 1.{self._cluster.settings.release + 1}", 5, _same), nodes))
        best = sorted(found, key=lambda pair: (pair[0].size, -pair[1]))
        return [Suggestion(change.text, nodes) for change, nodes in best]

    def _on_newer_release(self, needs: Needs) -> int:
        """Count the nodes that would take the pod with the next release's scheduler, if that is known."""
        cluster = self._cluster
        release = cluster.settings.release + 1
        if release > NEWEST or len(cluster.nodes) > _NODES_MAX:
            return 0
        try:
            newer = Cluster(cluster.inventory, Settings.of(f"1.{release}"))
        except ValueError:
            return 0
        newer.nodes = cluster.nodes
        verdicts = Verdicts(newer)
        verdicts.update(Round(newer, needs))
        return 0 if verdicts.errors else len(verdicts.fitting)

    def _nodes(self, needs: Needs, changes: Sequence[Change]) -> int:
        """Count the nodes that would take the pod."""
        for change in changes:
            needs = change.edit(needs)
        released = [change.released for change in changes if change.released is not None]
        return self._fitting(needs, released)

    def _fitting(self, needs: Needs, released: Sequence[JSONObject]) -> int:
        if released:
            with self._cluster.without(released[0]):
                return self._fitting(needs, released[1:])
        verdicts = Verdicts(self._cluster)
        verdicts.update(Round(self._cluster, needs), at_most=_NODES_MAX)
        return 0 if verdicts.errors else len(verdicts.fitting)

    # -- changes

    def _changes(self, needs: Needs, groups: Sequence[Group], error: str) -> Iterator[Change]:
        for index, claim in enumerate(needs.claims):
            if not allocation_of(claim):
                yield from self._of_claim(index, claim, error)
        yield from self._of_pod(needs, groups)
        yield from self._releases(groups)

    def _of_claim(self, index: int, claim: JSONObject, error: str) -> Iterator[Change]:
        for constraint in items(claim, "spec", "devices", "constraints"):
            field = "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"
            what = f"without the constraint {field}: {text(constraint, field)}"
            yield Change(what, 2, _edited(index, _without_constraint(constraint)))
        for name, asks in requests(claim):
            yield from self._of_request(index, name, asks, error)

    def _of_request(self, index: int, name: str, asks: JSONObject, error: str) -> Iterator[Change]:
        settings = self._cluster.settings
        for selector in items(asks, "selectors"):
            expression = text(selector, "cel", "expression")
            parts = parts_of(expression, settings.release, settings.gates)
            if parts is None:
                continue
            missing = {read[:3] for read in reads(parts.root) if not read.is_guarded}
            if "no such key" in error and missing:
                better = guarded(expression, missing, settings.release, settings.gates)
                what = f"with the selector of request {name} guarded: {better}"
                yield Change(what, 0, _edited(index, _with_selector(name, selector, better)))
            what = f"without the selector {parts.wanted()} of request {name}"
            yield Change(what, 2, _edited(index, _without_selector(name, selector)))
        if text(asks, "allocationMode") == "All":
            what = f"with allocationMode ExactCount in place of All in request {name}"
            yield Change(what, 3, _edited(index, _setting(name, allocationMode="ExactCount", count=1)))
        yield from self._of_count(index, name, asks)
        if mapping(asks, "capacity", "requests"):
            what = f"without the capacity that request {name} asks for"
            yield Change(what, 3, _edited(index, _setting(name, capacity={})))
        what = f"if request {name} tolerates the taints of devices"
        yield Change(what, 3, _edited(index, _setting(name, tolerations=[{"operator": "Exists"}])))

    def _of_count(self, index: int, name: str, asks: JSONObject) -> Iterator[Change]:
        """Try smaller counts, the greatest first; beyond some, halves."""
        wanted: Any = asks.get("count") or 1
        counts: list[int] = []
        count = wanted - 1
        while count > 0 and len(counts) < _COUNTS_MAX:
            counts.append(count)
            count = count - 1 if len(counts) < _COUNTS_MAX - 2 else count // 2
        for each in counts:
            what = f"with count {each} in request {name}"
            yield Change(what, 1 + (wanted - each), _edited(index, _setting(name, count=each)))

    def _of_pod(self, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
        reasons = {reason for group in groups for reason in group.reasons}
        spec = needs.demand.spec
        if any("affinity/selector" in each for each in reasons):
            for field in ("nodeSelector", "affinity"):
                if field in spec:
                    what = f"without the pod's {'node affinity' if field == 'affinity' else field}"
                    yield Change(what, 2, _demanding(spec={k: v for k, v in spec.items() if k != field}))
        if any("untolerated taint" in each for each in reasons):
            nodes = self._cluster.nodes
            taints = {_shown(each) for node in nodes for each in items(node.node, "spec", "taints") if _blocks(each)}
            what = f"if the pod tolerates {', '.join(sorted(taints)[:3])}"
            yield Change(what, 2, _demanding(tolerations=[{"operator": "Exists"}]))
        for reason in sorted(reasons):
            if reason.startswith("Insufficient "):
                name = reason.removeprefix("Insufficient ")
                if not any(name in each.allocatable for each in self._cluster.nodes):
                    continue  # less of what no node has at all would be none
                left = {key: value for key, value in needs.demand.requests.items() if key != name}
                yield Change(f"with less {name}", 3, _demanding(requests=left))

    def _releases(self, groups: Sequence[Group]) -> Iterator[Change]:
        names = dict.fromkeys(held["claim"] for g in groups for request in g.requests for held in request["heldBy"])
        for name in list(names)[:_RELEASED_MAX]:
            namespace, _, claim_name = name.partition("/")
            claim = self._cluster.claim(claim_name, namespace)
            if claim is not None and allocation_of(claim):
                pods = [text(each, "name") for each in items(claim, "status", "reservedFor")]
                who = f" (pod {', '.join(pods[:3])})" if pods else ""
                yield Change(f"once claim {name} is released{who}", 4, _same, claim)


def _same(needs: Needs) -> Needs:
    return needs


def _edited(index: int, change: Callable[[JSONObject], object]) -> Callable[[Needs], Needs]:
    """Change one of the claims."""

    def edit(needs: Needs) -> Needs:
        claims = list(needs.claims)
        claims[index] = deepcopy(claims[index])
        change(claims[index])
        return needs._replace(claims=tuple(claims))

    return edit


def _request(claim: JSONObject, name: str) -> JSONObject:
    return next(asks for request, asks in requests(claim) if request == name)


def _without_selector(name: str, selector: JSONObject) -> Callable[[JSONObject], object]:
    def change(claim: JSONObject) -> None:
        asks = _request(claim, name)
        asks["selectors"] = [each for each in items(asks, "selectors") if each != selector]

    return change


def _without_constraint(constraint: JSONObject) -> Callable[[JSONObject], object]:
    def change(claim: JSONObject) -> None:
        devices = claim["spec"]["devices"]
        devices["constraints"] = [each for each in items(devices, "constraints") if each != constraint]

    return change


def _setting(name: str, **fields: Any) -> Callable[[JSONObject], object]:
    return lambda claim: _request(claim, name).update(fields)


def _with_selector(name: str, selector: JSONObject, expression: str) -> Callable[[JSONObject], object]:
    def change(claim: JSONObject) -> None:
        asks = _request(claim, name)
        better = {"cel": {"expression": expression}}
        asks["selectors"] = [better if each == selector else each for each in items(asks, "selectors")]

    return change


def _demanding(**fields: Any) -> Callable[[Needs], Needs]:
    return lambda needs: needs._replace(demand=needs.demand._replace(**fields))


def _blocks(taint: JSONObject) -> bool:
    return text(taint, "effect") in BLOCKING


def _shown(taint: JSONObject) -> str:
    value = f"={text(taint, 'value')}" if text(taint, "value") else ""
    return f"{text(taint, 'key')}{value}:{text(taint, 'effect')}"
