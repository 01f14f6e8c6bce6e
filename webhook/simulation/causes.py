"""States in one sentence why a pod stays pending, from the reasons of the nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from webhook.allocation.explain import STEPS
from webhook.objects import JSONObject
from webhook.records import NamedTuple
from webhook.simulation.nodes import Taint
from webhook.simulation.verdicts import UNAVAILABLE

RequestKey = tuple[str, str]
"""A claim, and one of its requests or alternatives."""

_PHRASES_MAX: Final = 3
_INSUFFICIENT: Final = re.compile(r"^Insufficient (.+)$")
_NODES: Final = "node(s)"
_TOO_MANY: Final = "each device is available, but not so many together"
_UNEXPLAINED: Final = "the scheduler refuses the devices left for a reason that is not known here"
_ERROR: Final = "an error ends the scheduling of the pod on all nodes: "


class Shortfall(NamedTuple):
    """A step that leaves too few devices for a request."""

    step: int
    left: int
    wanted: int


def wanted_of(request: JSONObject) -> int:
    """Return the number of devices that a request wants; in mode All, how many it selects, and at least one."""
    return int(max(1, request["selected"]) if request["wanted"] is None else request["wanted"])


def shortfall_of(request: JSONObject) -> Shortfall | None:
    """Return the first step that leaves too few devices; None if the request by itself can be met."""
    wanted = wanted_of(request)
    for step, name in enumerate(STEPS):
        left = request[name]
        if name == "together" and left is not None:  # stated only where it is too few
            return Shortfall(step, left, wanted)
        if left is not None and left < wanted and (name != "seen" or not left):
            return Shortfall(step, left, wanted)
    return None


def unmet(requests: Iterable[JSONObject]) -> dict[RequestKey, Shortfall]:
    """Return the shortfall of each request; none for one that can be met by itself, as can one of its alternatives."""
    found = {key_of(each): shortfall_of(each) for each in requests}
    met = {whole(key) for key, short in found.items() if short is None}
    return {key: short for key, short in found.items() if short is not None and whole(key) not in met}


def combined(requests: Sequence[JSONObject]) -> str:
    """State why the only request cannot be met although each device fits by itself; empty for several requests."""
    if len({whole(key_of(each)) for each in requests}) > 1:
        return ""
    return _TOO_MANY if min(map(wanted_of, requests)) > 1 else _UNEXPLAINED


def taints_of(requests: Iterable[JSONObject]) -> Counter[frozenset[Taint]]:
    """Count the devices that sets of taints keep from requests."""
    found: Counter[frozenset[Taint]] = Counter()
    for each in (one for request in requests for one in request["taints"]):
        found[frozenset(Taint(**taint) for taint in each["taints"])] += each["devices"]
    return found


def cause(groups: Sequence[JSONObject], error: str) -> str:
    """State why no node takes a pod.

    Args:
        groups: The nodes that refuse it, those with the same reasons together, the closest first.
    """
    if error:
        return _ERROR + error
    by_devices = [each for each in groups if each["byDevices"]]
    merged = _merged([each for each in groups if not each["byDevices"]])
    others = [_of_nodes(each, is_all=len(merged) == 1 and not by_devices) for each in merged]
    phrases = [*_of_devices(by_devices, is_all=not others), *others]
    left = len(phrases) - _PHRASES_MAX
    return "; ".join([*phrases[:_PHRASES_MAX], *(["other nodes have other reasons"] if left > 0 else [])])


def _merged(groups: Sequence[JSONObject]) -> list[JSONObject]:
    """Merge groups with the same reasons and details, whatever devices they lack besides."""
    found: dict[tuple[object, ...], JSONObject] = {}
    for each in groups:
        key = (*each["reasons"], "", *each["details"], bool(each["requests"]))
        before = found[key]["count"] if key in found else 0
        found[key] = {**each, "count": before + each["count"]}
    return list(found.values())


def _of_devices(groups: Sequence[JSONObject], *, is_all: bool) -> list[str]:
    """State the devices that nodes lack: for a request that no node can meet, otherwise for each group of nodes."""
    if not groups:
        return []
    lacks = [unmet(group["requests"]) for group in groups]
    common = set.intersection(*map(set, lacks))
    if common:
        keys = [key for each in groups[0]["requests"] if (key := key_of(each)) in common]
        alternatives = [key for key in keys if whole(key) == whole(keys[0])][:_PHRASES_MAX]
        texts = [_of_request(key, groups, lacks) for key in alternatives]
        if is_all:
            return [f"no node has {', nor '.join(texts)}"]
        return [f"{_which_lack(sum(each['count'] for each in groups))} {', and '.join(texts)}"]
    counts: Counter[tuple[Callable[[int], str], str]] = Counter()
    for group, short in zip(groups, lacks, strict=True):
        counts[_of_group(group, short)] += group["count"]
    return [f"{who(count)} {what}" for (who, what), count in counts.items()]


def _of_request(key: RequestKey, groups: Sequence[JSONObject], lacks: Sequence[Mapping[RequestKey, Shortfall]]) -> str:
    """State what the nodes that come closest lack for a request, and how many of all nodes lack the same."""
    asked = [next(each for each in group["requests"] if key_of(each) == key) for group in groups]
    furthest = max(range(len(groups)), key=lambda index: (*lacks[index][key][:2], bool(asked[index]["lacking"])))
    counts = [group["count"] for group in groups]
    because = asked[furthest]["because"]
    alike = sum(count for count, each in zip(counts, asked, strict=True) if each["because"] == because)
    where = f" on {alike} of {_counted(sum(counts))}" if alike < sum(counts) else ""
    return _lacking(asked[furthest], lacks[furthest][key], where)


def _of_group(group: JSONObject, lacks: Mapping[RequestKey, Shortfall]) -> tuple[Callable[[int], str], str]:
    """Return how a sentence about a group begins, and what its nodes lack for the first request that is not met."""
    for request in group["requests"]:
        if short := lacks.get(key_of(request)):
            return _which_lack, _lacking(request, short)
    brief = [each.partition(": ")[0] for each in group["details"]]  # without the devices of each request
    alone = combined(group["requests"])
    what = f"{group['requests'][0]['for']}: {alone}" if alone else "all requests together"
    return _which_cannot, ": ".join([f"meet {what}", *brief[:1]])


def key_of(request: JSONObject) -> RequestKey:
    """Return what identifies a request of a group of nodes."""
    return request["claim"], request["request"]


def whole(key: RequestKey) -> RequestKey:
    """Return the key of the request that an alternative belongs to."""
    return key[0], key[1].partition("/")[0]


def _lacking(request: JSONObject, short: Shortfall, where: str = "") -> str:
    """Describe the devices that a request lacks, and those that there are.

    Args:
        where: The nodes for which the cause holds, unless it names a claim or a pool; empty if it holds for all.
    """
    step, noun = STEPS[short.step], "device" if short.wanted == 1 else "devices"
    article = ("an " if step == "tolerated" else "a ") if short.wanted == 1 else f"{short.wanted} "
    with_ = f" with {request['selecting']}" if request["selecting"] else ""
    what = {
        "seen": noun,
        "ofClass": f"{noun} of the class",
        "selected": f"{noun}{with_}" if with_ else f"suitable {noun}",
        "free": f"free {noun}{with_}",
        "tolerated": f"untainted {noun}{with_}",
        "enough": f"{noun}{with_} with enough {request['short']} left",
        "constrained": f"{noun}{with_} with {request['constraint']}",
        "together": f"{noun}{with_} that are available together",
    }[step]
    held = [f"claim {each['claim']}" for each in request["heldBy"]]
    why = request["because"] and request["because"] + where
    if held and step == "free":
        least = "" if request["allExamined"] else "at least "
        others = "the others " * bool(short.left)
        why = f"{others}held by {held[0]}" + (f" and {least}{len(held) - 1} more" if held[1:] else "")
    if step in {"seen", "ofClass"} and request["unused"]:  # these pools have devices of the class
        why = "pool {pool} is {why}".format(**request["unused"][0])
    most = f"at most {short.left}" if short.left else ""
    details = ", ".join(filter(None, (most, why)))
    return f"{article}{what} for {request['for']}" + (f": {details}" if details else "")


def _of_nodes(group: JSONObject, *, is_all: bool) -> str:
    """State why nodes refuse a pod, its devices aside."""
    count = group["count"]
    nodes = f"all {_counted(count)}" if is_all and count > 1 else _counted(count)
    if group["reasons"] == [UNAVAILABLE] and group["details"]:
        return "; ".join(group["details"])
    texts = [_of_reason(each, nodes) for each in group["reasons"]]
    details = f": {'; '.join(group['details'])}" if group["details"] else ""
    return f"{', '.join(texts)}{details}{', and too few devices' if group['requests'] else ''}"


def _of_reason(reason: str, nodes: str) -> str:
    if short := _INSUFFICIENT.match(reason):
        return f"{nodes} {'has' if nodes.startswith('1 ') else 'have'} too little {short[1]}"
    if nodes.startswith("1 "):
        reason = reason.replace(f"{_NODES} were ", f"{_NODES} was ")
    return reason.replace(_NODES, nodes, 1) if _NODES in reason else f"{nodes}: {reason}"


def _which_lack(count: int) -> str:
    return f"{_counted(count)} {'lacks' if count == 1 else 'lack'}"


def _which_cannot(count: int) -> str:
    return f"{_counted(count)} cannot"


def _counted(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"
