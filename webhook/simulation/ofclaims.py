"""Changes to claims that let their devices be found: fewer, smaller, others, with taints, or those of other claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.deviceselectors.guarding import guarded
from webhook.deviceselectors.parts import parts_of
from webhook.deviceselectors.reads import reads
from webhook.deviceselectors.thresholds import amount, lowered
from webhook.inventory.claims import allocation_of
from webhook.objects import items, mapping, name_of, namespace_of, text
from webhook.simulation.change import Change, in_claim
from webhook.simulation.rejections import requests
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from webhook.deviceselectors.parts import Read
    from webhook.objects import JSONObject
    from webhook.simulation.cluster import Cluster
    from webhook.simulation.rejections import Group

_COUNTS_MAX: Final = 5
"""How many smaller counts are tried."""
_AMOUNTS_MAX: Final = 4
"""How many smaller amounts of a capacity are tried."""
_RELEASED_MAX: Final = 6
"""How many claims that hold devices are released, each alone."""


def changes(cluster: Cluster, claims: Sequence[JSONObject], groups: Sequence[Group], error: str) -> Iterator[Change]:
    """Return the changes to what a pod's claims ask for.

    Args:
        cluster: The cluster.
        claims: The claims; those that have devices are left alone.
        groups: How nodes refuse the pod.
        error: What made the scheduler give the pod up; empty if nothing did.
    """
    for index, claim in enumerate(claims):
        if not allocation_of(claim):
            for constraint in items(claim, "spec", "devices", "constraints"):
                field = "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"
                what = f"without the constraint {field}: {text(constraint, field)}"
                yield Change(what, 2, f"{index} {what}", in_claim(index, _without_constraint(constraint)))
            for name, asks in requests(claim):
                lacking = _lacking(groups, f"{namespace_of(claim)}/{name_of(claim)}", name)
                yield from _Request(cluster, index, name, asks, lacking).changes(error)


def releases(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Change]:
    """Return what gives the devices of other claims back.

    Args:
        cluster: The cluster.
        groups: How nodes refuse the pod.
    """
    names = dict.fromkeys(held["claim"] for g in groups for request in g.requests for held in request["heldBy"])
    for name in list(names)[:_RELEASED_MAX]:
        namespace, _, claim_name = name.partition("/")
        claim = cluster.claim(claim_name, namespace)
        if claim is not None and allocation_of(claim):
            pods = [text(each, "name") for each in items(claim, "status", "reservedFor")]
            who = f" (pod {', '.join(pods[:3])})" if pods else ""
            yield Change(f"once claim {name} is released{who}", 4, f"claim {name}", released=claim)


def _lacking(groups: Sequence[Group], claim: str, request: str) -> dict[str, list[str]]:
    """Return the values of devices that were not enough for a request, by the name of what has them."""
    found: dict[str, dict[str, None]] = {}
    for each in (each for group in groups for each in group.requests):
        if (each["claim"], each["request"]) == (claim, request) and (lacking := each["lacking"]):
            found.setdefault(lacking["name"], {}).update(dict.fromkeys(lacking["values"]))
    return {name: list(values) for name, values in found.items()}


class _Request:
    """A request, or an alternative of one, that may ask for something else.

    Args:
        cluster: The cluster.
        index: The place of its claim.
        name: Its full name.
        asks: What it asks for.
        lacking: The values of devices that were not enough for it, by the name of what has them.
    """

    def __init__(
        self, cluster: Cluster, index: int, name: str, asks: JSONObject, lacking: Mapping[str, Sequence[str]]
    ) -> None:
        self._cluster = cluster
        self._index = index
        self._name = name
        self._asks = asks
        self._lacking = lacking

    def changes(self, error: str) -> Iterator[Change]:
        """Return the changes to the request.

        Args:
            error: What made the scheduler give the pod up; empty if nothing did.
        """
        name, asks = self._name, self._asks
        for selector in items(asks, "selectors"):
            yield from self._of_selector(selector, error)
        if text(asks, "allocationMode") == "All":
            what = f"with allocationMode ExactCount in place of All in request {name}"
            yield self._change(what, 3, "count", _setting(allocationMode="ExactCount", count=1))
        yield from self._of_count()
        yield from self._of_capacity()
        what = f"if request {name} tolerates the taints of devices"
        yield self._change(what, 3, "taints", _setting(tolerations=[{"operator": "Exists"}]))

    def _change(self, what: str, size: int, about: str, edit: Callable[[JSONObject], object]) -> Change:
        def change(claim: JSONObject) -> None:
            edit(next(asks for request, asks in requests(claim) if request == self._name))

        return Change(what, size, f"{self._index} {self._name} {about}", in_claim(self._index, change))

    def _of_selector(self, selector: JSONObject, error: str) -> Iterator[Change]:
        settings, expression = self._cluster.settings, text(selector, "cel", "expression")
        parts = parts_of(expression, settings.release, settings.gates)
        if parts is None:
            return
        unguarded = [read for read in reads(parts.root) if not read.is_guarded] if "no such key" in error else ()
        for read in unguarded:
            meant = nearest(read.name, _published(self._cluster, read))
            if meant and meant != read.name and (better := _renamed(expression, read, meant)):
                what = f"with {meant} in place of {read.name} in the selector of request {self._name}"
                yield self._change(what, 0, expression, _with_selector(selector, better))
        missing = {read[:3] for read in unguarded}
        if missing:
            better = guarded(expression, missing, settings.release, settings.gates)
            what = f"with the selector of request {self._name} guarded: {better}"
            yield self._change(what, 0, expression, _with_selector(selector, better))
        what = f"without the selector {parts.wanted()} of request {self._name}"
        less = [
            self._change(
                f"with {each.text} in request {self._name}", 1, expression, _with_selector(selector, each.expression)
            )
            for name, values in self._lacking.items()
            for each in lowered(parts, name, values)
        ]
        without = self._change(what, 2, expression, _without_selector(selector))
        yield without._replace(closer=lambda _: less)

    def _of_capacity(self) -> Iterator[Change]:
        """Ask for less of a capacity, as much as is left of a device; and for none."""
        asked = mapping(self._asks, "capacity", "requests")
        for name, wanted in asked.items():
            most = amount(str(wanted))
            left = [each for value in self._lacking.get(name, ()) if (each := amount(value)) and most and each < most]
            for each in sorted(left, reverse=True)[:_AMOUNTS_MAX]:
                smaller = {**asked, name: str(each)}
                what = f"with {name} {each} in place of {wanted} in request {self._name}"
                yield self._change(what, 2, "capacity", _setting(capacity={"requests": smaller}))
        if asked:
            what = f"without the capacity that request {self._name} asks for"
            yield self._change(what, 3, "capacity", _setting(capacity={}))

    def _of_count(self) -> Iterator[Change]:
        """Try smaller counts, the greatest first; beyond some, halves."""
        wanted: Any = self._asks.get("count") or 1
        counts: list[int] = []
        count = wanted - 1
        while count > 0 and len(counts) < _COUNTS_MAX:
            counts.append(count)
            count = count - 1 if len(counts) < _COUNTS_MAX - 2 else count // 2
        for each in counts:
            what = f"with count {each} in request {self._name}"
            yield self._change(what, 1 + (wanted - each), "count", _setting(count=each))


def _published(cluster: Cluster, read: Read) -> set[str]:
    """Return the names that devices publish where a selector reads one."""
    found: set[str] = set()
    for each in cluster.inventory.all("ResourceSlice"):
        driver = text(each, "spec", "driver")
        for device in items(each, "spec", "devices"):
            for name in mapping(device, read.holder):
                domain, given, rest = name.partition("/")
                if (domain if given else driver) == read.domain:
                    found.add(rest if given else name)
    return found


def _renamed(expression: str, read: Read, name: str) -> str:
    """Write another name where a selector reads one; empty if it is spelled otherwise there."""
    start = read.offset + (expression[read.offset : read.offset + 1] in {'"', "'"})
    end = start + len(read.name)
    return f"{expression[:start]}{name}{expression[end:]}" if expression[start:end] == read.name else ""


def _setting(**fields: Any) -> Callable[[JSONObject], object]:
    return lambda asks: asks.update(fields)


def _without_selector(selector: JSONObject) -> Callable[[JSONObject], object]:
    return lambda asks: asks.update(selectors=[each for each in items(asks, "selectors") if each != selector])


def _with_selector(selector: JSONObject, expression: str) -> Callable[[JSONObject], object]:
    better = {"cel": {"expression": expression}}
    return lambda asks: asks.update(
        selectors=[better if each == selector else each for each in items(asks, "selectors")]
    )


def _without_constraint(constraint: JSONObject) -> Callable[[JSONObject], object]:
    def change(claim: JSONObject) -> None:
        devices = claim["spec"]["devices"]
        devices["constraints"] = [each for each in items(devices, "constraints") if each != constraint]

    return change
