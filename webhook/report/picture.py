"""A picture of a cluster's devices, for a page: nodes are boxes, and devices are cells in them.

It needs no script. Radio buttons, of which one is on, choose a look: the stylesheet then fades the cells that a
namespace does not hold, that a pending pod has passed by up to some stage, or the nodes that a change does not open;
for a change, it draws the devices as they would be: those that the pod gets, and those that are released.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.allocation.devices import TaintRule, decode_amount, written
from webhook.allocation.features import tainting
from webhook.devices import HELD, NONE, STRANDED, Row, columns, grouped, holders, left_of, listed, summed
from webhook.deviceselectors.fleet import EVERYWHERE, padded
from webhook.findings import Finding
from webhook.grouping import by_key
from webhook.inventory.claims import DeviceID
from webhook.later import cached_property
from webhook.objects import JSONObject, name_of, text
from webhook.report.text import counted, escaped
from webhook.scan.drivers import plugins, silent
from webhook.simulation.rejections import stages_of
from webhook.spelling import beginning

if TYPE_CHECKING:
    from webhook.scan.stored import Stored
    from webhook.simulation.answers import Overlay

DETAILED_MAX: Final = 5_000
"""The most devices of which the page tells all; of more, it tells the names and the claims, as it would be too long."""
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Stand for the namespaces that hold most devices; the last one stands for all others."""
_HUES: Final = 8
_BARS: Final = 8
"""The lengths that a bar can have: a page without inline styles needs a class for each."""
_TOGETHER: Final = 120
"""The nodes that a browser lays out together, once they come near the screen; most lengths of rows divide it."""
_ZONE: Final = "topology.kubernetes.io/zone"
_WIDEST: Final = 24
"""The most cells in a row of a node."""
_GROUPS_MAX: Final = 40
DRAWN: Final = "pqrvxy"
"""Begin the classes of cells that tell how far requests come: of a few requests, as each costs bytes in each cell."""
_OF_REQUEST: Final = 3
"""The last stage that is always shown: what a request selects."""
_WELL: Final = frozenset({"", "healthy", "ok", "unknown"})
_MANY: Final = 12
"""A longer list is folded, or cut."""
_STORIES_MAX: Final = 200
"""The stories of pods with nodes, and of pods without, that are listed."""
_LISTED_MAX: Final = 50
"""The objects that are listed, of those that findings are about, other than devices and nodes."""
_CHANGED: Final = (
    "{0} :is(b,i).z{1}{{outline:2px solid var(--link);border-radius:50%}}"
    "{0} b.j{1}{{background:var(--glow);border:1.5px solid var(--line-free);color:var(--text);font-size:0}}"
)
"""How cells look with a change: those that a pod gets then, and those that are released."""

_Box = tuple[str, ...]
"""A box of cells: a node, or a pool that several nodes can use, with its driver."""


class Help(NamedTuple):
    """A change that would help a pod.

    Args:
        label: The change, and how many nodes it opens.
        nodes: The nodes that it opens, as far as they are known.
        node: The one of them that the pod gets.
        devices: The devices that the pod gets there.
        released: The claims that are released, by full name.
        sent: The field and the value by which a form makes it; empty if it cannot be made there.
    """

    label: str
    nodes: Collection[str] = ()
    node: str = ""
    devices: Sequence[DeviceID] = ()
    released: Collection[str] = ()
    sent: tuple[str, ...] = ()


class Story(NamedTuple):
    """A pod, or several alike, that the picture is about.

    Args:
        title: Its name.
        said: The cause in a sentence, or where it goes.
        node: The node that it gets; empty if it is pending.
        requests: Its requests, as groups of an answer have them, if nodes refuse it for lack of devices.
        depths: How many stages devices pass, by claim and request.
        helps: The changes that would help.
        notes: Further notes on it.
    """

    title: str
    said: str
    node: str = ""
    requests: Sequence[JSONObject] = ()
    depths: Mapping[tuple[str, str], Mapping[DeviceID, int]] = {}
    helps: Sequence[Help] = ()
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, title: str, answer: JSONObject, overlay: Overlay | None) -> Story:
        """Make a story of an answer of the simulation."""
        why = answer["why"]
        requests = {(each["claim"], each["request"]): each for group in why["nodes"] for each in group["requests"]}
        depths = overlay.depths if overlay else {}
        helps = [
            Help(f"{each['change']} ({'at least ' * each['atLeast']}{counted(each['nodes'], 'node')})")
            for each in why["help"]
        ]
        if overlay:
            name = f"{answer['namespace']}/{answer['name']}"
            ways = (f"{name}: {each['change']}" for each in why["help"])
            for at, (way, (nodes, made)) in enumerate(zip(ways, overlay.helps, strict=True)):
                if made is not None and nodes:
                    sent = ("release", made.released[0]) if made.is_release else ("make", way) * made.is_manifest
                    helps[at] = Help(helps[at].label, frozenset(nodes), nodes[0], made.devices, made.released, sent)
        asked = [each for key, each in requests.items() if key in depths]
        notes = [*why["withoutDevices"], *why["notes"]]
        return cls(title, why["reason"], answer["node"] or "", asked, depths, helps, notes)


class Picture:
    """A picture of the devices of a cluster.

    Args:
        rows: The devices to show.
        stories: The pods that it is about.
        given: The devices that pods get in the simulation, with the pods' names.
        findings: The findings to mark at the devices and nodes that they are about; a page numbers them from 1.
        refs: The objects to mark: kind, namespace and name.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        cluster: Stored,
        *,
        stories: Sequence[Story] = (),
        given: Mapping[DeviceID, str] | None = None,
        findings: Sequence[Finding] = (),
        refs: Iterable[tuple[str, str, str]] = (),
    ) -> None:
        self.rows, self._stories, self._given, self._cluster = rows, stories, given or {}, cluster
        self.numbers: Mapping[DeviceID, int] = {}
        """Numbers of devices, for scripts."""
        self._zones = {name_of(each): text(each, "metadata", "labels", _ZONE) for each in cluster.all("Node")}
        self._slices = {each.name: each for several in cluster.catalog.current.values() for each in several}
        self._is_detailed = len(rows) <= DETAILED_MAX
        self._looks: list[tuple[Sequence[str], int | None]] = []
        """The selectors of what does not fade with each radio button, and the change that it shows."""
        self._spaces = grouped(rows, "namespace")
        by_held = sorted(self._spaces.keys() - {NONE}, key=lambda name: (-self._spaces[name].held, name))
        self._letters = {name: _LETTERS[min(place, len(_LETTERS) - 1)] for place, name in enumerate(by_held)}
        by_node = sorted(rows, key=lambda row: padded(row.node))
        self._boxes: dict[_Box, list[Row]] = by_key(
            ((row.node,) if row.node != EVERYWHERE else ("", row.driver, row.pool), row) for row in by_node
        )
        names = [box[0] for box in self._boxes if box[0]]
        start, end = beginning(names), beginning([name[::-1] for name in names])[::-1]
        self._alike = (start.rpartition("-")[0], "".join(end.partition(".")[1:])) if len(names) > 1 else ("", "")
        """How the names of all nodes begin and end."""
        self._anchors = {box: f"n{number}" for number, box in enumerate(self._boxes)}
        drawn = [(each, story.depths[each["claim"], each["request"]]) for story in stories for each in story.requests]
        self._drawn = dict(zip(DRAWN, drawn, strict=False))
        self._opening = [each for story in stories for each in story.helps if each.nodes]
        self._levels = [each.problem.level for each in findings]
        self._marks: dict[DeviceID | str, list[int]] = defaultdict(list)
        """The findings, by device or node."""
        others: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for number, each in enumerate(findings, 1):
            found = [*self._places(*(about := each.identity[1:]), [*each.problem.path])]
            for place in found:
                self._marks[place].append(number)
            if not found:
                others[about].append(number)
        self._elsewhere = [
            (" ".join(filter(None, (kind, "/".join(filter(None, names))))), numbers, self._of(kind, names[-1]))
            for (kind, *names), numbers in others.items()
        ]
        """Findings without a place: titles, the findings about them, and their devices."""
        self._tags_of = self._otherwise()
        self._meant = {place for ref in refs for place in self._places(*ref, ())}
        for name in sorted(self._zones.keys() & (self._marks.keys() | self._meant) - {box[0] for box in self._boxes}):
            self._anchors[name,] = f"n{len(self._boxes)}"
            self._boxes[name,] = []  # a node without devices

    # -- what is about what

    def _places(self, kind: str, namespace: str, name: str, path: Sequence[str | int]) -> Iterable[DeviceID | str]:
        """Return the devices and nodes that a part of an object is about."""
        if kind == "Node":
            return [name]
        if kind == "DaemonSet":
            return sorted({node for driver, node in silent(self._cluster) if driver in self._drivers(name)})
        if kind == "ResourceSlice" and (of := self._slices.get(name)):
            place = path[2] if len(path) > len(_DEVICES) and tuple(path[:2]) == _DEVICES else None
            return [(*of.id, each.name) for number, each in enumerate(of.devices) if place in {None, number}]
        return self._used.get((kind, f"{namespace}/{name}"), ())

    def _of(self, kind: str, name: str) -> Sequence[DeviceID]:
        """Return the devices of a class or of a driver's DaemonSet, or those that a rule taints."""
        if kind == "DeviceClass":
            return [_id(row) for row in self.rows if name in row.classes]
        if kind == "DaemonSet":
            return [_id(row) for row in self.rows if row.driver in self._drivers(name)]
        rule = self._cluster.inventory.find(kind, name) if kind == "DeviceTaintRule" else None
        rules = [TaintRule.of(each) for each in tainting([rule] if rule else (), self._cluster.settings.release)]
        return [key for key in map(_id, self.rows) if any(each.taints(*key) for each in rules)]

    def _drivers(self, name: str) -> set[str]:
        """Return the drivers that DaemonSets of a name run."""
        return {driver for each in plugins(self._cluster) if name_of(each.workload) == name for driver in each.drivers}

    def _otherwise(self) -> Mapping[DeviceID, Sequence[str]]:
        """Return the classes of cells that look otherwise with a change, or that findings elsewhere touch."""
        opening = [*enumerate(self._opening)]
        releasing = [(place, {*each.released}) for place, each in opening if each.released]
        held = (row for row in self.rows if row.claims)
        return by_key(
            chain(
                ((key, f"z{place}") for place, each in opening for key in dict.fromkeys(each.devices)),
                ((key, f"c{place}") for place, (_, _, devices) in enumerate(self._elsewhere) for key in devices),
                ((_id(row), f"j{place}") for row in held for place, gone in releasing if gone.issuperset(row.claims)),
            )
        )

    @cached_property
    def _used(self) -> Mapping[tuple[str, str], Sequence[DeviceID]]:
        """The devices of claims and pods."""
        users = (
            (row, kind, name)
            for row in self.rows
            for kind, names in (("ResourceClaim", row.claims), ("Pod", row.pods))
            for name in names
        )
        return by_key(((kind, name), _id(row)) for row, kind, name in users)

    @cached_property
    def _marked(self) -> Mapping[int, Sequence[_Box]]:
        """The nodes, and pools for several, that each finding is about."""
        found: dict[int, list[_Box]] = defaultdict(list)
        touching: dict[DeviceID | str, list[int]] = by_key(
            (key, number) for _, numbers, devices in self._elsewhere for key in devices for number in numbers
        )
        for box, rows in self._boxes.items():
            places: list[DeviceID | str] = [box[0], *map(_id, rows)]
            for number in {each for place in places for of in (self._marks, touching) for each in of.get(place, ())}:
                found[number].append(box)
        return found

    def links(self, number: int) -> Iterator[str]:
        """Link to the nodes that a finding is about."""
        if self._is_detailed and (found := self._marked.get(number)):
            links = ", ".join(map(self._linked, found[:_MANY]))
            yield f'<p class="quiet">in the picture: {links}{" …" * (len(found) > _MANY)}</p>'

    def _linked(self, box: _Box) -> str:
        name = escaped(box[-1])
        return f'<a href="#{self._anchors[box]}">{name}</a>' if box in self._anchors and self._is_detailed else name

    # -- the page

    def lines(self, form: Iterable[str] = ()) -> Iterator[str]:
        """Return the lines of the picture.

        Args:
            form: Fields to show above the legend.
        """
        form = [*form]
        yield '<div class="picture" id="picture"><form class="key" method="post">'
        yield "<button hidden></button>" * bool(form)  # the one that Enter presses
        pending = [story for story in self._stories if not story.node]
        for story in pending[:_STORIES_MAX]:
            yield from self._story(story, has_form=bool(form))
        if (more := len(pending) - _STORIES_MAX) > 0:
            yield f'<p class="quiet">… and {more} more that are pending for other reasons</p>'
        if placed := self._stories[len(pending) :]:
            yield f'<article class="fine"><details{" open" * (len(placed) <= _MANY)}><summary>'
            yield f"{counted(len(placed), 'pod')} scheduled</summary><ul>"
            for story in placed[:_STORIES_MAX]:
                notes = "".join(f'<br><span class="quiet">{escaped(note)}</span>' for note in story.notes)
                yield f"<li>{escaped(story.title)} → {self._linked((story.node,))}{notes}"
            yield f"<li>… and {len(placed) - _STORIES_MAX} more" * (len(placed) > _STORIES_MAX)
            yield "</ul></details></article>"
        yield from form
        yield from self._legend()
        yield '</form><main class="map">'
        yield from self._map()
        yield "</main></div>"

    @property
    def style(self) -> str:
        """The stylesheet of what :meth:`lines` has returned."""
        looks = []
        for number, (lit, change) in enumerate(self._looks):
            is_on = f":has(#l{number}:checked)"
            # Nodes have the classes of their cells, and fade only for changes.
            cells = ",".join(f"body{is_on} .map {each}{'' if each[:2] == '.o' else ':not(.n)'}" for each in lit)
            nodes = ",".join(f"body:has(#only:checked){is_on} .n.{each.removeprefix('.')}" for each in lit)
            looks.append(f"{cells}{{--pale:initial;--lit:var(--glow)}}{nodes}{{display:block}}" if lit else "")
            looks.append("" if change is None else _CHANGED.format(f"body{is_on} .map", change))
        hues = (f".{letter}{{--c:var(--h{place % _HUES})}}" for place, letter in enumerate(_LETTERS))
        bars = (f".l{each}{{--left:{each * 100 / _BARS:g}%}}" for each in range(_BARS + 1))
        widths = (f".w{each} .n{{--cells:{each}}}" for each in range(6, _WIDEST + 1))
        return "\n".join((Path(__file__).with_suffix(".css").read_text("utf-8"), *hues, *bars, *widths, *looks, ""))

    def _look(self, label: str, *lit: str, sample: str = "", change: int | None = None) -> str:
        """Return a radio button.

        Args:
            lit: The selectors of what does not fade; without any, nothing does.
            change: The place of the change that it shows.
        """
        self._looks.append((lit, change))
        name = f'<input type="radio" name="look" id="l{len(self._looks) - 1}"{"" if lit else " class=none checked"}>'
        return f"<label>{name} {sample} <span>{label}</span></label>"

    def _legend(self) -> Iterator[str]:
        sums = summed(self.rows)
        before = ", before this simulation allocates some" * bool(self._given)
        yield f"<fieldset><legend>Devices{before}</legend>{self._look(f'all {sums.total:,}')}"
        yield self._look(f"{sums.held:,} held", "b", sample="<b></b>")
        yield self._look(f"{sums.free:,} free", "i", sample="<i></i>")
        if sums.stranded:
            said = f"{sums.stranded:,} of the free stranded: no claim can get them"
            yield self._look(said, ".s", sample='<i class="s"></i>')
        marks = {
            "t": ("tainted", sum(bool(row.taints) for row in self.rows)),
            "u": ("unhealthy", sum(map(_is_ill, self.rows))),
            "g": ("allocated in this simulation", sum(_id(row) in self._given for row in self.rows)),
            "f": ("with findings", sum(_id(row) in self._marks for row in self.rows)),
            "m": ("that the answer is about", sum(_id(row) in self._meant for row in self.rows)),
        }
        for mark, (what, number) in marks.items():
            if number:
                yield self._look(
                    f"{number:,} {what}", f".{mark}", sample=f'<i class="{mark}">{"!" * (mark == "u")}</i>'
                )
        if shared := sum(any(_bar(row)) for row in self.rows):
            bars = [f".l{each}" for each in range(_BARS + 1)]
            yield self._look(f"{shared:,} shared: the bar is what is left", *bars, sample='<b class="l4"></b>')
        only = '<input type="checkbox" id="only"> <span>only nodes with some of these</span>'
        yield f'<label class="only">{only}</label></fieldset>'
        if self._letters:
            several = " (+ if several)" * (sum(self._spaces[name].held for name in self._letters) > sums.held)
            yield f"<fieldset><legend>Held, by namespace{several}</legend>"
            for letter, names in by_key((letter, name) for name, letter in self._letters.items()).items():
                held = sum(self._spaces[name].held for name in names)
                said = escaped(names[0]) if len(names) == 1 else f"in {len(names)} other namespaces"
                sample = f'<b class="{letter}">{letter}</b>'
                yield self._look(f"{held:,} {said}", f".{letter}", sample=sample)
            yield "</fieldset>"
        yield from self._others()
        yield "<details><summary>By class</summary><table><tr><th>Class<th>total<th>held<th>free<th>stranded"
        for name, each in grouped(self.rows, "class").items():
            yield f"<tr><td>{escaped(name or '<none>')}{''.join(f'<td>{number:,}' for number in each)}"
        yield "</table></details>"

    def _others(self) -> Iterator[str]:
        """List the findings that are about no node and no device here."""
        if self._elsewhere:
            yield "<fieldset><legend>Findings about other objects</legend>"
            for place, (title, numbers, devices) in enumerate(self._elsewhere[:_LISTED_MAX]):
                said = f"{escaped(title)} {self._linked_to(numbers)}"
                lit = f"{said}, {counted(len(devices), 'device')}"
                yield self._look(lit, f".c{place}") if devices else f"<p>{said}</p>"
            if (more := len(self._elsewhere) - _LISTED_MAX) > 0:
                yield f'<p class="quiet">… and {counted(more, "more object")}</p>'
            yield "</fieldset>"

    # -- pods

    def _story(self, story: Story, *, has_form: bool) -> Iterator[str]:
        yield f'<article class="error"><h3>{escaped(story.title)}</h3>'
        yield f"<p>{escaped(story.said)}</p>"
        for begin, (request, _) in self._drawn.items():
            if any(request is each for each in story.requests):
                yield from self._funnel(begin, request)
        if story.helps:
            yield "<fieldset><legend>What would help</legend>"
            for help_ in story.helps:
                place = next((at for at, each in enumerate(self._opening) if each is help_), None)
                if place is None:
                    yield f"<p>{escaped(help_.label)}</p>"
                    continue
                yield self._look(escaped(help_.label), f".o{place}", f".z{place}", f".j{place}", change=place)
                names = f": {escaped(listed([name for _, _, name in help_.devices]))}" * bool(help_.devices)
                button = ""
                if has_form and help_.sent:
                    button = ' <button name="{}" value="{}">make this change</button>'.format(*map(escaped, help_.sent))
                yield f'<p class="then">then → {self._linked((help_.node,))}{names}{button}</p>'
            yield "</fieldset>"
        yield from (f'<p class="quiet">{escaped(note)}</p>' for note in story.notes)
        yield "</article>"

    def _funnel(self, begin: str, request: JSONObject) -> Iterator[str]:
        """Draw how many devices are left after each stage."""
        depths = self._drawn[begin][1]
        wanted = "all" if request["wanted"] is None else request["wanted"]
        yield f'<fieldset class="funnel"><legend>{escaped(request["for"])}: {wanted} wanted on a node</legend>'
        stages = [*stages_of(request)]
        reached = [depths.get(_id(row), 0) for row in self.rows]
        before = whole = 0
        for stage, (_, label) in enumerate(stages, 1):
            number = sum(depth >= stage for depth in reached)
            whole = whole or number
            if stage <= _OF_REQUEST or number != before:  # others rule out nothing
                passing = [f".{begin}{each}" for each in range(stage, len(stages) + 1)]
                bar = f'<u class="l{round(_BARS * number / whole) if whole else 0}"></u>'
                said = escaped(label or "on nodes that fit the pod, devices aside")
                yield self._look(f"{number:,} {said}", *passing, sample=bar)
            before = number
        for key, what in (("constrained", request["constraint"]), ("together", "the counters that they share")):
            if request[key] is not None:
                yield f"<p>{request[key]} of them together on a node, with {escaped(what)}</p>"
        yield "</fieldset>"

    # -- nodes and devices

    def _map(self) -> Iterator[str]:
        placed = [(box, self._zones.get(box[0], ""), rows) for box, rows in self._boxes.items()]
        groups = by_key(((zone, _made_of(rows) if box[0] else ""), box) for box, zone, rows in placed)
        if len(groups) > _GROUPS_MAX:  # nodes differ too much: zones alone
            groups = by_key(((zone, "" if box[0] else " "), box) for box, zone, _ in placed)
        if any(self._alike):
            yield f'<p class="quiet">all nodes are named {escaped("-*".join(self._alike))}</p>'
        for (zone, kind), boxes in sorted(groups.items(), key=lambda each: (each[0][0], -len(each[1]), each[0][1])):
            what = counted(len(boxes), "node") if boxes[0][0] else f"{counted(len(boxes), 'pool')} for several nodes"
            sums = summed(row for box in boxes for row in self._boxes[box])
            if kind.strip():
                what += f" × {f'({kind})' if ', ' in kind else kind}"  # noqa: RUF001 - it multiplies
            stranded = f", {sums.stranded:,} of them stranded" * bool(sums.stranded)
            yield f'<details open class="group"><summary><h2>{escaped(" · ".join(filter(None, (zone, what))))}'
            devices = f"{sums.total:,} device{'s' * (sums.total != 1)}"
            yield f"</h2> {devices}: {sums.held:,} held, {sums.free:,} free{stranded}</summary>"
            cells = max(len(self._boxes[box]) for box in boxes)
            for start in range(0, len(boxes), _TOGETHER):
                yield f'<div class="w{min(_WIDEST, max(6, cells))}">'
                yield from map(self._node, boxes[start : start + _TOGETHER])
                yield "</div>"
            yield "</details>"
        if empty := len(self._zones.keys() - {box[0] for box in self._boxes}):
            yield f'<p class="quiet">{counted(empty, "node")} without devices</p>'
        if not self._is_detailed:
            yield '<p class="quiet">for attributes, pods and more: draguard devices --node NAME --output html</p>'

    def _node(self, box: _Box) -> str:
        start, end = self._alike  # what the names of all nodes have in common is left out
        rows, name = self._boxes[box], escaped(box[-1])
        brief = escaped(box[-1].removeprefix(f"{start}-").removesuffix(end) or box[-1])
        tags = ["n", *(f"o{place}" for place, each in enumerate(self._opening) if box[0] in each.nodes)]
        tags += ["marked"] * (box[0] in self._marks or box[0] in self._meant)
        # What its cells have: `:has()` would look through all cells of all nodes.
        tags += dict.fromkeys(tag for row in rows for tag in (_element(row), *self._tags(row)))
        cells = "".join(self._cells(rows))
        if not self._is_detailed:
            return f"<div{_classes(tags)}><p>{brief}</p>{cells}</div>"
        shown = f'<summary><p title="{name}"><bdi>{brief}</bdi></p>{cells}</summary>{self._found(box[0])}'
        return f"<details{_classes(tags)} id={self._anchors[box]}>{shown}{self._table(rows)}</details>"

    def _found(self, place: DeviceID | str) -> str:
        """Link to the findings of a device or node."""
        return self._linked_to(self._marks.get(place, ()))

    def _linked_to(self, numbers: Iterable[int]) -> str:
        levels = ((number, self._levels[number - 1]) for number in numbers)
        return " ".join(f'<a class="{level}" href="#finding-{number}">{level}</a>' for number, level in levels)

    def _cells(self, rows: Sequence[Row]) -> Iterator[str]:
        """Return the cells of a node; devices that draw on the same counters are in a frame."""
        for whole, group in groupby(rows, _whole):
            alike = [*group]
            cells = "".join(map(self._cell, alike))
            if whole:
                left = ", ".join(f"{name} {amount}" for name, amount in alike[0].counters[whole[2]].items())
                cells = f'<span title="{escaped(f"{whole[2]}: {left} left")}">{cells}</span>'
            yield cells

    def _cell(self, row: Row) -> str:
        letters, key, tag = self._letters_of(row), _id(row), _element(row)
        sign = f"{'+' if len(letters) > 1 else ''.join(letters)}{'!' * _is_ill(row)}"
        number = f" data-i={self.numbers[key]}" if key in self.numbers else ""
        return f'<{tag}{_classes(self._tags(row))}{number} title="{escaped(self._said(row))}">{sign}</{tag}>'

    def _letters_of(self, row: Row) -> Sequence[str]:
        return list(dict.fromkeys(self._letters[each.partition("/")[0]] for each in row.claims))

    def _tags(self, row: Row) -> Sequence[str]:
        """Return the classes of a device's cell."""
        key = _id(row)
        return [
            *self._letters_of(row),
            *("s" * (row.state == STRANDED)),
            *("t" * bool(row.taints)),
            *("u" * _is_ill(row)),
            *("g" * (key in self._given)),
            *("f" * (key in self._marks)),
            *("m" * (key in self._meant)),
            *_bar(row),
            *self._tags_of.get(key, ()),
            *(f"{begin}{depths[key]}" for begin, (_, depths) in self._drawn.items() if depths.get(key)),
        ]

    def _said(self, row: Row) -> str:
        """Say in short what a device is, and who has it."""
        if not self._is_detailed:
            return " ".join((row.device, *row.claims, row.why)).rstrip()
        given = self._given.get(_id(row))
        parts = (
            f"held by {holders(row)}" if row.claims else row.state,
            row.why,
            f"allocated to {given} in this simulation" if given else "",
            left_of(row),
            *(f"taint {each}" for each in row.taints if row.reason != "taint"),
            row.health,
        )
        return f"{row.device}: {'; '.join(filter(None, parts))}"

    def _table(self, rows: Sequence[Row]) -> str:
        """Return a table of all that is known of a node's devices."""
        if not rows:
            return ""
        titles, lines = columns(rows, is_wide=False)
        cells = [{title: escaped(cell) for title, cell in zip(titles[1:], line[1:], strict=True)} for line in lines]
        for row, known in zip(rows, cells, strict=True):
            key = _id(row)
            known["capacity"] = escaped(
                ", ".join(f"{_bare(name)} {total}" for name, (_, total) in row.capacity.items())
            )
            known["attributes"] = escaped(
                ", ".join(f"{_bare(name)} {written(each)}" for name, each in row.attributes.items())
            )
            for request, depths in self._drawn.values():
                labels = [*(label for _, label in stages_of(request)), ""]
                lacking = labels[depth] if (depth := depths.get(key, 0)) else "on a node that takes the pod"
                known[escaped(request["for"])] = f"not {escaped(lacking)}" if lacking else "fits"
            known["findings"] = self._found(key)
        used = [title for title in cells[0] if any(known[title] for known in cells)]
        body = "".join(f"<tr><td>{'<td>'.join(known[title] for title in used)}" for known in cells)
        return f"<table><tr><th>{'<th>'.join(used)}{body}</table>"


_DEVICES: Final = ("spec", "devices")


def _id(row: Row) -> DeviceID:
    return row.driver, row.pool, row.device


def _whole(row: Row) -> tuple[str, ...]:
    """Return what identifies the counters on which a device draws; nothing if it draws on none."""
    return (row.driver, row.pool, *row.counters)[:3] if row.counters else ()


def _element(row: Row) -> str:
    return "b" if row.state == HELD else "i"


def _is_ill(row: Row) -> bool:
    return row.health.casefold() not in _WELL


def _bare(name: str) -> str:
    return name.rpartition("/")[2]


def _bar(row: Row) -> Iterator[str]:
    """Yield the class of the bar that shows how much is left of a shared device."""
    amounts = [(decode_amount(left), decode_amount(total)) for left, total in row.capacity.values() if left != total]
    parts = [left / total for left, total in amounts if total > 0]
    if row.shares and parts:
        yield f"l{max(0, int(_BARS * min(parts)))}"


def _made_of(rows: Sequence[Row]) -> str:
    """Say what devices a node has; those that draw on the same counters count once."""
    wholes = {_whole(row) or _id(row): row for row in rows}
    models = Counter(f"{row.model}{' in parts' * bool(row.counters)}" for row in wholes.values())
    return ", ".join(f"{number} {model}" for model, number in models.most_common())


def _classes(tags: Sequence[str]) -> str:
    if len(tags) > 1:
        return f' class="{" ".join(tags)}"'
    return f" class={tags[0]}" if tags else ""
