"""How results of a simulation are shown: as text, and as a page with a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Final

from webhook.allocation.explain import STEPS
from webhook.deviceselectors.fleet import shortened
from webhook.grouping import by_key
from webhook.inventory import Inventory
from webhook.inventory.claims import device_of
from webhook.objects import JSONObject, items
from webhook.report.text import colored, counted
from webhook.simulation import Settings
from webhook.simulation.answers import Answers, Overlay
from webhook.simulation.binding import Waiting
from webhook.simulation.rejections import combined, key_of, shortfall_of, stages_of, unmet, used_by, wanted_of
from webhook.simulation.scheduler import SCHEDULER_ERROR, Fit, Placement
from webhook.spelling import some_of

if TYPE_CHECKING:
    from webhook.report.picture import Picture


_GROUPS_MAX: Final = 6
_HELP_MAX: Final = 5
_HOLDERS_MAX: Final = 3


class PodReport:
    """Writes the outcome of pods as text.

    Args:
        once: Notes to write once, after the pods, as they are the same for all that they concern.
    """

    def __init__(self, once: Iterable[str] = ()) -> None:
        self._once = dict.fromkeys(once, False)

    def answers(self, answers: Iterable[JSONObject]) -> Iterator[str]:
        """Report each pod; group those that are pending for the same reason."""
        for likeness, several in groupby(answers, _likeness):
            if likeness:
                yield from self._pending([*several])
            else:
                yield from chain.from_iterable(map(self._placed, several))
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
        counts = [f"{number} {what}" for what, number in parts.items() if number]
        return f"{counted(len(answers), 'pod')}: {', '.join(counts)}"

    def fit(self, pod: str, found: Fit, last: JSONObject | None) -> Iterator[str]:
        """Report how many pods fit beside those of the cluster, and what runs out first."""
        if not found.pods and last is not None:
            yield f"{colored('error', 'no pod')} like {pod} fits{_because_of(last)}"
            yield from self._why(last)
            yield from self._of_run()
            return
        state = colored("good", f"{'' if last else 'at least '}{counted(found.pods, 'pod')}")
        yield f"{state} like {pod} fit{'s' if found.pods == 1 else ''}"
        for pods, nodes in sorted(by_key((pods, node) for node, pods in found.nodes.items()).items(), reverse=True):
            yield f"  {shortened(nodes)}: {pods}{' each' if len(nodes) > 1 else ''}"
        if last is not None:
            yield f"then no node takes another{_because_of(last)}"
            yield from self._why(last)
        yield from self._of_run()

    def _placed(self, answer: JSONObject) -> Iterator[str]:
        before = "already scheduled on " if _ran_before(answer) else ""
        others = answer["candidateCount"] - 1
        several = f"one of {others} other nodes that suit" if others > 1 else "1 other node that suits"
        alike = f" (or {several} it as well)" if others > 0 else ""
        yield f"{_name(answer)}: {before}{colored('good', answer['node'])}{alike}"
        yield from _devices(answer)
        yield from self._notes(answer)

    def _pending(self, answers: Sequence[JSONObject]) -> Iterator[str]:
        first = answers[0]
        names = _name(first)
        if len(answers) > 1:
            names = f"{names} … {answers[-1]['name']} ({len(answers)} pods)"
        state, reason = Waiting.VERB if waits(first) else "pending", _because_of(first)
        if isinstance(waiting := first["why"]["reason"], Waiting):
            reason = f" {waiting.what}"
        yield f"{names}: {colored('error', state)}{reason}"
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
            yield f"  {colored('help', 'what would help:')}"
            helping = why["help"]
            for each in helping[:_HELP_MAX]:
                least = "at least " if each["atLeast"] else ""
                yield f"    {each['change']}: {least}{counted(each['nodes'], 'node')}"
            if len(helping) > _HELP_MAX:
                yield f"    and {counted(len(helping) - _HELP_MAX, 'other change')} (--output json has all)"
        elif why["tried"]:
            yield f"  {colored('help', 'nothing that was tried would help')} ({counted(why['tried'], 'change')})"
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


def _likeness(answer: JSONObject) -> Sequence[str]:
    """Return what pods have in common that are pending for the same reason; nothing for a pod with a node."""
    if answer["node"] is not None:
        return ()
    said = repr([answer["condition"], answer["why"]]).replace(str(answer["name"]), "")
    return answer["namespace"], said, *answer["candidates"]


def _devices(answer: JSONObject) -> Iterator[str]:
    for claim, allocation in answer["claims"].items():
        names = ["/".join(device_of(each)) for each in items(allocation, "devices", "results")]
        yield f"  {claim}: {', '.join(some_of(names, 8, 'and {} more')) or 'no devices'}"


def _groups(groups: Iterable[JSONObject]) -> Iterator[str]:
    """Report why nodes refuse a pod; those with the same text together."""
    alike = by_key((tuple(_group(group)), group) for group in groups)
    counts = [sum(each["count"] for each in several) for several in alike.values()]
    for number, (lines, several) in zip(counts[:_GROUPS_MAX], alike.items(), strict=False):
        nodes = shortened([name for each in several for name in each["nodes"]], number)
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
        unused = ""
        if pools := request["unused"]:
            first, *rest = pools
            more = counted(sum(each["devices"] for each in rest), "device")
            others = f", and {more} of {counted(len(rest), 'other pool')}" if rest else ""
            devices = counted(first["devices"], "device")
            unused = f"; not used: {devices} of pool {first['pool']}, which is {first['why']}{others}"
        yield f", {also}{request['for']}{claim}: {text}{unused}"
    if requests and not shown:
        yield f": each request alone can be met, but not all of them together{details}"


def _funnel(request: JSONObject) -> str:
    """Describe the remaining devices of a node after each step, up to the one that leaves too few."""
    wanted, short = wanted_of(request), shortfall_of(request)
    last = short.step if short else len(STEPS)
    parts: list[str] = []
    before = None
    for key, label in islice(stages_of(request), last + 1):
        number = request[key]
        if number != before or key in {"seen", "ofClass"} or (key == "selected" and request["selecting"]):
            parts.append(f"{number} {label}" if label else counted(number, "device"))
        before = number
    because = ""
    if short:
        step = STEPS[short.step]
        if step in {"constrained", "together"}:
            together = f"with {request['constraint']}" if step == "constrained" else "together"
            parts.append(f"{short.left} {together}")
        because = _because(request, step)
    return f"{', '.join(parts)}{because}{f'; {wanted} are wanted' if wanted > 1 else ''}"


def _because(request: JSONObject, key: str) -> str:
    if key == "seen" and request["unused"]:
        return ""
    held = ""
    if holders := request["heldBy"] if key in {"free", "enough", "together"} else ():
        named = []
        for each in holders[:_HOLDERS_MAX]:
            where = f" on {shortened(each['nodes'])}" if each["nodes"] else ""
            named.append(f"claim {each['claim']}{where}{used_by(each)}")
        if others := holders[_HOLDERS_MAX:]:
            least = "" if request["allExamined"] else "at least "
            named.append(f"and {least}{counted(len(others), 'other claim')}")
        held = f"held by {', '.join(named)}"
    because = "" if held and key == "free" else request["because"]
    reasons = ", ".join(filter(None, (because, held)))
    return f": {reasons}" if reasons or key == "seen" else ""


class Page:
    """A page with a picture of the devices, as they were before, and what pods get of them.

    Args:
        inventory: The objects, before pods are scheduled.
    """

    def __init__(self, inventory: Inventory, settings: Settings) -> None:
        from webhook.devices import Table  # few results are pages
        from webhook.report.picture import DRAWN
        from webhook.scan.stored import Stored

        self._cluster = Stored(inventory=inventory, settings=settings)
        self._rows = list(Table(self._cluster).rows())
        self.pending: dict[Sequence[str], tuple[JSONObject, Overlay | None, list[str]]] = {}
        """The first of the pods that are pending for the same reason, and the names of all."""
        self._drawable = len(DRAWN)
        """The requests of which the picture can still draw how far they come."""

    def add(self, answer: JSONObject, placement: Placement, tell: Answers) -> None:
        """Note what the picture shows of a pod, once for those that are pending for the same reason."""
        if not (likeness := _likeness(answer)):
            return
        if likeness not in self.pending:
            overlay = tell.overlay(placement) if self._drawable > 0 else None
            self._drawable -= max(1, len(overlay.depths)) if overlay else 0
            self.pending[likeness] = answer, overlay, []
        self.pending[likeness][2].append(answer["name"])

    def picture(self, answers: Sequence[JSONObject]) -> Picture:
        """Return the picture, with the pods that have answers."""
        from webhook.report.picture import Picture, Story

        stories, placed = [], [each for each in answers if each["node"] is not None and not _ran_before(each)]
        for first, overlay, names in self.pending.values():
            several = f" … {names[-1]} ({counted(len(names), 'pod')})" if len(names) > 1 else ""
            stories.append(Story.of(f"{_name(first)}{several}", first, overlay))
        stories += [Story.of(_name(each), each, None) for each in placed]
        allocated = ((each, claim) for each in placed for claim in each["claims"].values())
        results = ((each, result) for each, claim in allocated for result in items(claim, "devices", "results"))
        given = by_key((device_of(result), _name(each)) for each, result in results)
        names_given = {key: ", ".join(dict.fromkeys(names)) for key, names in given.items()}
        return Picture(self._rows, self._cluster, stories=stories, given=names_given)

    def lines(self, answers: Sequence[JSONObject], summary: str, told: str) -> Iterator[str]:
        """Return the lines of a page."""
        from webhook.report.html import pictured

        return pictured(self.picture(answers), summary, level_of(answers), [told])


def level_of(answers: Iterable[JSONObject]) -> str:
    """Return how bad answers are, as pages name it."""
    return "fine" if all(map(gets_devices, answers)) else "error"
