"""The text report of a simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from webhook.cli.console.lines import colored
from webhook.deviceselectors.fleet import shortened
from webhook.objects import JSONObject
from webhook.report.summary import counted
from webhook.simulation.causes import combined, key_of, unmet, wanted_of
from webhook.simulation.conditions import SCHEDULER_ERROR
from webhook.simulation.holders import used_by
from webhook.simulation.replicas import Fit

_COLORS: Final = {"good": "1;32", "bad": "1;31", "help": "1;36"}
_DEVICES_MAX: Final = 8
_GROUPS_MAX: Final = 6
_HELP_MAX: Final = 5
_HOLDERS_MAX: Final = 3


class Text:
    """Writes the outcome of pods as text.

    Args:
        color: Whether to use colours.
        once: Notes to write once, after the pods, as they are the same for all that they concern.
    """

    def __init__(self, *, color: bool, once: Iterable[str] = ()) -> None:
        self._color = color
        self._once = dict.fromkeys(once, False)

    def answers(self, answers: Iterable[JSONObject]) -> Iterator[str]:
        """Report each pod; group those that are pending for the same reason."""
        left: list[JSONObject] = []
        for answer in answers:
            if left and not _alike(left[0], answer):
                yield from self._pending(left)
                left = []
            if answer["node"] is None:
                left.append(answer)
            else:
                yield from self._placed(answer)
        if left:
            yield from self._pending(left)
        yield from self._of_run()

    def summary(self, answers: Sequence[JSONObject], namespace: str | None) -> str:
        """Return the number of scheduled pods as text; without a namespace, pods of all were looked for."""
        if not answers:
            return f"no pod of namespace {namespace} is pending" if namespace else "no pod is pending"
        placed = sum(each["node"] is not None for each in answers)
        before = sum(_ran_before(each) and not each["why"]["withoutDevices"] for each in answers)
        waiting = sum(map(waits, answers))
        pending = len(answers) - placed - waiting
        without = sum(bool(each["why"]["withoutDevices"]) for each in answers)
        parts = {
            "already scheduled": before,
            "scheduled": placed - before - without,
            "scheduled, but without devices": without,
            "pending": pending,
            "waiting for devices": waiting,
        }
        counts = [f"{count} {what}" for what, count in parts.items() if count]
        return f"{counted(len(answers), 'pod')}: {', '.join(counts)}"

    def fit(self, pod: str, found: Fit, last: JSONObject | None) -> Iterator[str]:
        """Report how many pods fit beside those of the cluster, and what runs out first."""
        if not found.pods and last is not None:
            yield f"{self._in('bad', 'no pod')} like {pod} fits{_because_of(last)}"
            yield from self._why(last)
            yield from self._of_run()
            return
        state = self._in("good", f"{'' if last else 'at least '}{counted(found.pods, 'pod')}")
        yield f"{state} like {pod} fit{'s' if found.pods == 1 else ''}"
        by_count: dict[int, list[str]] = {}
        for node, count in found.nodes.items():
            by_count.setdefault(count, []).append(node)
        for count, nodes in sorted(by_count.items(), reverse=True):
            yield f"  {shortened(nodes)}: {count}{' each' if len(nodes) > 1 else ''}"
        if last is not None:
            yield f"then no node takes another{_because_of(last)}"
            yield from self._why(last)
        yield from self._of_run()

    def _placed(self, answer: JSONObject) -> Iterator[str]:
        before = "already scheduled on " if _ran_before(answer) else ""
        others = answer["candidateCount"] - 1
        alike = "" if others < 1 else " (or 1 other node that suits it as well)"
        if others > 1:
            alike = f" (or one of {others} other nodes that suit it as well)"
        yield f"{_name(answer)}: {before}{self._in('good', answer['node'])}{alike}"
        yield from _devices(answer)
        yield from self._notes(answer)

    def _pending(self, answers: Sequence[JSONObject]) -> Iterator[str]:
        first = answers[0]
        names = _name(first)
        if len(answers) > 1:
            names = f"{names} … {answers[-1]['name']} ({len(answers)} pods)"
        state, reason = "waits" if waits(first) else "pending", _because_of(first)
        yield f"{names}: {self._in('bad', state)}{reason.removeprefix(f': {state}')}"
        yield from _devices(first)
        yield from self._why(first)

    def _why(self, answer: JSONObject) -> Iterator[str]:
        """Explain a pending pod: what would help, what is left on which nodes, the scheduler's own words."""
        yield from self._help(answer["why"])
        yield from _groups(answer["why"]["nodes"])
        message = (answer["condition"] or {}).get("message", "")
        if message and message != answer["why"]["reason"]:
            yield f"  kube-scheduler: {message}"
        yield from self._notes(answer)

    def _help(self, why: JSONObject) -> Iterator[str]:
        if why["help"]:
            yield f"  {self._in('help', 'what would help:')}"
            helping = why["help"]
            for each in helping[:_HELP_MAX]:
                least = "at least " if each["atLeast"] else ""
                yield f"    {each['change']}: {least}{counted(each['nodes'], 'node')}"
            if len(helping) > _HELP_MAX:
                yield f"    and {counted(len(helping) - _HELP_MAX, 'other change')} (--output json has all)"
        elif why["tried"]:
            yield f"  {self._in('help', 'nothing that was tried would help')} ({counted(why['tried'], 'change')})"
        if not why["allTried"]:
            yield "  there was no time to try all changes: others may help, too"

    def _notes(self, answer: JSONObject) -> Iterator[str]:
        for note in answer["why"]["notes"]:
            if note in self._once:
                self._once[note] = True
            else:
                yield f"  note: {note}"

    def _of_run(self) -> Iterator[str]:
        """Write the notes that concern the whole run, if they concern one of its pods."""
        yield from (f"note: {note}" for note, is_noted in self._once.items() if is_noted)

    def _in(self, color: str, text: str) -> str:
        return colored(text, _COLORS[color]) if self._color else text


def waits(answer: JSONObject) -> bool:
    """Tell whether a pod has devices and waits until they are ready."""
    condition = answer["condition"] or {}
    return answer["node"] is None and bool(answer["candidates"]) and condition.get("reason") != SCHEDULER_ERROR


def gets_devices(answer: JSONObject) -> bool:
    """Tell whether a pod has a node, or waits on it, and its containers see the devices that they ask for."""
    return (answer["node"] is not None or waits(answer)) and not answer["why"]["withoutDevices"]


def _ran_before(answer: JSONObject) -> bool:
    return answer["node"] is not None and bool(answer["why"]["reason"])


def _because_of(answer: JSONObject) -> str:
    reason = answer["why"]["reason"]
    return f": {reason}" if reason else ""


def _name(answer: JSONObject) -> str:
    return f"{answer['namespace']}/{answer['name']}"


def _alike(one: JSONObject, other: JSONObject) -> bool:
    same = all(one[key] == other[key] for key in ("namespace", "node", "candidates"))
    return same and _without_names(one) == _without_names(other)


def _without_names(answer: JSONObject) -> str:
    return repr([answer["condition"], answer["why"]]).replace(str(answer["name"]), "")


def _devices(answer: JSONObject) -> Iterator[str]:
    for claim, allocation in answer["claims"].items():
        results = allocation["devices"]["results"] if allocation.get("devices") else []
        names = [f"{each['driver']}/{each['pool']}/{each['device']}" for each in results or ()]
        more = f", and {len(names) - _DEVICES_MAX} more" if len(names) > _DEVICES_MAX else ""
        yield f"  {claim}: {', '.join(names[:_DEVICES_MAX]) or 'no devices'}{more}"


def _groups(groups: Iterable[JSONObject]) -> Iterator[str]:
    """Report why nodes refuse a pod; those with the same text together."""
    alike: dict[tuple[str, ...], list[JSONObject]] = {}
    for group in groups:
        alike.setdefault(tuple(_group(group)), []).append(group)
    counts = [sum(each["count"] for each in several) for several in alike.values()]
    for count, (lines, several) in zip(counts[:_GROUPS_MAX], alike.items(), strict=False):
        nodes = shortened([name for each in several for name in each["nodes"]], count)
        yield from (f"  {nodes}{line}" for line in lines)
    if rest := sum(counts[_GROUPS_MAX:]):
        yield f"  and {counted(rest, 'node')} more, for other reasons (--output json has all)"


def _group(group: JSONObject) -> Iterator[str]:
    """Describe what keeps nodes from a pod, without their names."""
    requests = group["requests"]
    details = f": {'; '.join(group['details'])}" if group["details"] else ""
    also = "" if group["byDevices"] else "also "
    if also:
        yield f": {', '.join(group['reasons'])}{details}"
    lacks, alone = unmet(requests), combined(requests) if requests else ""
    names = Counter(each["request"] for each in requests)
    shown = [each for each in requests if key_of(each) in lacks or (alone and not lacks)]
    for request in shown:
        claim = f" of claim {request['claim']}" if names[request["request"]] > 1 else ""
        text = f"{_funnel(request)}{'' if lacks else f'; {alone}'}"
        yield f", {also}{request['for']}{claim}: {text}{_unused(request['unused'])}"
    if requests and not shown:
        yield f": each request alone can be met, but not all of them together{details}"


def _funnel(request: JSONObject) -> str:
    """Describe the remaining devices of a node after each step, up to the one that leaves too few."""
    wanted = wanted_of(request)
    selecting = f"with {request['selecting']}" if request["selecting"] else "selected"
    steps = (
        ("seen", ""),
        ("ofClass", "of the class"),
        ("selected", selecting),
        ("free", "free"),
        ("tolerated", "tolerated"),
        ("enough", f"with enough {request['short']}"),
    )
    parts: list[str] = []
    before = None
    for key, label in steps:
        count = request[key]
        if count != before or key in {"seen", "ofClass"} or (key == "selected" and request["selecting"]):
            parts.append(f"{count} {label}" if label else counted(count, "device"))
        before = count
        if count < wanted and (key != "seen" or not count):
            return f"{', '.join(parts)}{_because(request, key)}{_wanted(wanted)}"
    constrained = request["constrained"]
    if constrained is not None and constrained < wanted:
        because = f": {request['because']}" if request["because"] else ""
        return f"{', '.join(parts)}, {constrained} with {request['constraint']}{because}{_wanted(wanted)}"
    if request["together"] is not None:
        together = f"{request['together']} together{_because(request, 'together')}"
        return f"{', '.join(parts)}, {together}{_wanted(wanted)}"
    return f"{', '.join(parts)}{_wanted(wanted)}"


def _unused(pools: Sequence[JSONObject]) -> str:
    """Name an unused pool, and count the others."""
    if not pools:
        return ""
    first, *rest = pools
    more = counted(sum(each["devices"] for each in rest), "device")
    others = f", and {more} of {counted(len(rest), 'other pool')}" if rest else ""
    devices = counted(first["devices"], "device")
    return f"; not used: {devices} of pool {first['pool']}, which is {first['why']}{others}"


def _wanted(wanted: int) -> str:
    return f"; {wanted} are wanted" if wanted > 1 else ""


def _because(request: JSONObject, key: str) -> str:
    if key == "seen":
        return "" if request["unused"] else f": {request['because']}"
    held = _held(request) if key in {"free", "enough", "together"} else ""
    because = "" if held and key == "free" else request["because"]
    reasons = ", ".join(filter(None, (because, held)))
    return f": {reasons}" if reasons else ""


def _held(request: JSONObject) -> str:
    holders = request["heldBy"]
    if not holders:
        return ""
    named = [_holder(each) for each in holders[:_HOLDERS_MAX]]
    if others := holders[_HOLDERS_MAX:]:
        least = "" if request["allExamined"] else "at least "
        named.append(f"and {least}{counted(len(others), 'other claim')}")
    return f"held by {', '.join(named)}"


def _holder(holder: JSONObject) -> str:
    where = f" on {shortened(holder['nodes'])}" if holder["nodes"] else ""
    return f"claim {holder['claim']}{where}{used_by(holder)}"
