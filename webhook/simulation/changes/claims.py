"""Changes to claims that let them get devices: fewer, smaller, other or tainted ones; and releases of other claims."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from webhook.allocation.devices import amount, quantity_text
from webhook.allocation.selecting import Fault
from webhook.cel.errors import EvaluationError, Issues
from webhook.cel.kubernetes import semver
from webhook.cel.syntax.ast import Call, Literal
from webhook.cel.syntax.lexer import tokenize
from webhook.deviceselectors.parts import Parts, Read, guarded, label, ordering, parts_of, read_of, reads
from webhook.formats import Quantity, readable_quantity
from webhook.inventory.claims import allocation_of, requests_of, results_of
from webhook.objects import JSONObject, at, full_name_of, items, mapping, namespace_of, text, texts
from webhook.simulation.binding import CONSUMERS_MAX
from webhook.simulation.changes import Change, in_claim, same, these
from webhook.simulation.cluster import Cluster, Taint
from webhook.simulation.rejections import COPY, Group, holder, taints_of, used_by, wanted_of
from webhook.simulation.scheduler import Needs
from webhook.simulation.workloads import owners_of
from webhook.spelling import nearest

_FEWER: Final = 3
"""The largest cost of getting fewer devices: still less than taking them from other claims."""
_COUNTS_MAX: Final = 9
"""The largest count below which each is tried."""
_SCALARS: Final = {"string", "int", "bool", "version"}
_AMOUNTS_MAX: Final = 4
"""How many smaller amounts of a capacity are tried."""
_TAINTS_MAX: Final = 4
"""The number of sets of taints that are tolerated, each alone."""


def changes(cluster: Cluster, claims: Sequence[JSONObject], groups: Sequence[Group], error: Fault) -> Iterator[Change]:
    """Return the changes to the requests of a pod's claims.

    Args:
        claims: The claims; those that have devices are left alone.
    """
    pending = {index: claim for index, claim in enumerate(claims) if not allocation_of(claim)}
    named = Counter(name for claim in pending.values() for name in {each.name for each in requests_of(claim)})
    compared = Counter(_compared(each) for claim in pending.values() for each in _constraints(claim))
    for index, claim in pending.items():
        full_name = full_name_of(claim)
        of_claim = f" of claim {full_name}"
        for constraint in _constraints(claim):
            what = f"without the constraint {_compared(constraint)}"
            if compared[_compared(constraint)] > 1:
                concerned = ", ".join(texts(constraint, "requests")) or "all requests"
                what += f" for {concerned}{of_claim if len(pending) > 1 else ''}"
            yield Change(what, 2, f"{index} {what}", in_claim(index, partial(_unconstrained, constraint)))
        for name, _, asks, _ in requests_of(claim):
            alike = [
                each
                for group in groups
                for each in group.requests
                if (each["claim"], each["request"]) == (full_name, name)
            ]
            title = f"request {name}{of_claim if named[name] > 1 else ''}"
            is_found = any(group.taken for group in groups)
            request = _Request(cluster, asks, alike, place=(index, name), title=title, is_found=is_found)
            yield from request.changes(error)


def _constraints(claim: JSONObject) -> list[JSONObject]:
    return items(claim, "spec", "devices", "constraints")


def _compared(constraint: JSONObject) -> str:
    """Write what a constraint compares, such as ``matchAttribute: example.com/numa``."""
    field = "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"
    return f"{field}: {text(constraint, field)}"


def _lacking(answers: Sequence[JSONObject]) -> dict[str, list[str]]:
    """Return the values of devices that were too small for a request, by the name of the attribute or capacity."""
    found: dict[str, dict[str, None]] = {}
    for each in answers:
        if lacking := each["lacking"]:
            found.setdefault(lacking["name"], {}).update(dict.fromkeys(lacking["values"]))
    return {name: list(values) for name, values in found.items()}


class _Request:
    """A request, or an alternative, that may be changed.

    Args:
        answers: The devices that nodes have left for it.
        place: The place of its claim, and its full name.
        is_found: Whether some node has devices for all requests, but too little of what these take of the node.
    """

    def __init__(
        self,
        cluster: Cluster,
        asks: JSONObject,
        answers: Sequence[JSONObject],
        *,
        place: tuple[int, str],
        title: str,
        is_found: bool,
    ) -> None:
        self._cluster = cluster
        self._index, self._name = place
        self._asks, self._title = asks, title
        self._taints = _taints(answers, items(asks, "tolerations"))
        self._lacking: Mapping[str, Sequence[str]] = _lacking(answers)
        self._lacking_capacity: Mapping[str, Sequence[str]] = _lacking(
            [
                each
                for each in answers
                if each["enough"] < wanted_of(each) and (each["wanted"] is None or wanted_of(each) <= each["tolerated"])
            ]
        )
        self._is_met = is_found or any(wanted_of(each) <= each["enough"] for each in answers)
        """Whether some node has enough devices for it alone, constraints aside."""
        self._had = {
            min(filter(None, (each["enough"], each["constrained"], each["together"])), default=0) for each in answers
        }
        """How many devices nodes could give, each alone."""
        self._most = max(map(wanted_of, answers), default=1)
        """How many devices it needs of some node."""

    def changes(self, error: Fault) -> Iterator[Change]:
        """Return the changes to the request."""
        asks = self._asks
        for selector in items(asks, "selectors"):
            yield from self._of_selector(selector, error)
        yield from self._of_count()
        yield from self._of_capacity()
        for taints in self._taints:
            tolerations = [*items(asks, "tolerations"), *(each.toleration for each in taints)]
            what = f"if {self._title} tolerates {' and '.join(map(str, taints))}"
            size = 3 if len(self._taints) == 1 or taints != self._taints[-1] else 4
            change = self._change(what, size, "taints", _setting(tolerations=tolerations))
            yield change._replace(parts=frozenset(taints))

    def _change(self, what: str, size: int, about: str, edit: Callable[[JSONObject], object]) -> Change:
        def change(claim: JSONObject) -> None:
            edit(next(each.content for each in requests_of(claim) if each.name == self._name))

        return Change(what, size, f"{self._index} {self._name} {about}", in_claim(self._index, change))

    def _of_selector(self, selector: JSONObject, error: Fault) -> Iterator[Change]:
        settings, expression = self._cluster.settings, text(selector, "cel", "expression")
        parts = parts_of(expression, settings.release, settings.gates)
        if parts is None:
            return
        unguarded = [read for read in reads(parts.root) if not read.is_guarded] if error.missing else ()
        for read in unguarded:
            known = _published(self._cluster, read.holder)
            domains = {domain for domain, _ in known}
            names = {name for domain, name in known if domain == read.domain}
            if names:
                yield from self._respelt(selector, read.name, nearest(read.name, names), read.offset)
                continue
            having = [domain for domain, name in known if name == read.name]
            meant = nearest(read.domain, domains) or (having[0] if len(having) == 1 else "")
            yield from self._respelt(selector, read.domain, meant, read.domain_offset)
        missing = {read[:3] for read in unguarded}
        if missing:
            better = guarded(expression, missing, settings.release, settings.gates)
            yield self._reselect(f"with the selector of {self._title} guarded: {better}", 0, selector, better)
        for what, better in respelt(parts, self._values):
            yield self._reselect(f"with {what} in the selector of {self._title}", 0, selector, better)
        lower = (each for name, values in self._lacking.items() for each in lowered(parts, name, values))
        less = [
            self._reselect(f"with {what} in {self._title}", 1, selector, better)
            for what, better in (*lower, *others(parts, self._values))
        ]
        kept = [each for each in items(self._asks, "selectors") if each != selector]
        what = f"without the selector {parts.wanted()} of {self._title}"
        without = self._change(what, 2, expression, _setting(selectors=kept))
        yield without._replace(closer=these(less), selects_less=True)

    def _reselect(self, what: str, size: int, selector: JSONObject, better: str) -> Change:
        """Change the expression of a selector."""

        def edit(asks: JSONObject) -> None:
            changed = {"cel": {"expression": better}}
            asks["selectors"] = [changed if each == selector else each for each in items(asks, "selectors")]

        return self._change(what, size, text(selector, "cel", "expression"), edit)

    def _respelt(self, selector: JSONObject, written: str, meant: str, offset: int) -> Iterator[Change]:
        """Correct a name that a selector reads, but no device publishes."""
        expression = text(selector, "cel", "expression")
        start = offset + (expression[offset : offset + 1] in {'"', "'"})
        end = start + len(written)
        if meant and meant != written == expression[start:end]:  # it may be spelled otherwise there
            better = f"{expression[:start]}{meant}{expression[end:]}"
            what = f"with {meant} in place of {written} in the selector of {self._title}"
            yield self._reselect(what, 0, selector, better)

    def _values(self, read: Read) -> set[object]:
        """Return the values that devices have of an attribute."""
        full_name, found = f"{read.domain}/{read.name}", set[object]()
        for each in self._cluster.allocator.catalog.slices:
            spellings = (full_name, read.name) if each.driver == read.domain else (full_name,)
            for device in each.devices:
                published = getattr(device.content, read.holder)
                for value in filter(None, map(published.get, spellings)):
                    if len(value) == 1 and value.keys() <= _SCALARS:
                        found |= set(value.values())
        return found

    def _of_capacity(self) -> Iterator[Change]:
        """Lower a requested capacity to the amounts that devices have left, or correct its name; or drop it."""
        asked = mapping(self._asks, "capacity", "requests")
        for name, values in self._lacking_capacity.items():
            for each in _largest(values) if name not in asked else ():  # the whole, or the default, is too much
                what = f"with capacity.requests {name}: {each} in {self._title}"
                yield self._change(what, 1, "capacity", _setting(capacity={"requests": {**asked, name: each}}))
        devices = (device for each in self._cluster.allocator.catalog.slices if asked for device in each.devices)
        known = {name for device in devices for name in device.content.capacity}
        for name, wanted in asked.items():
            alike = [each for each in sorted(known) if each.rpartition("/")[2] == name.rpartition("/")[2]]
            alike = [each for each in alike if each not in asked]  # they differ in the domain
            meant = alike[0] if alike else nearest(name, known - set(asked))
            if name not in known and meant:
                better = {meant if each == name else each: value for each, value in asked.items()}
                what = f"with {meant} in place of {name} in {self._title}"
                yield self._change(what, 0, "capacity", _setting(capacity={"requests": better}))
            most = readable_quantity(str(wanted))
            if not most:
                continue
            for each in _largest(self._lacking.get(name, ()), most):
                yield self._with_amount(asked, name, each)
            if self._is_met:  # by itself, but others take of the same devices
                # To a fraction, to half of it at most.
                halves = [quantity_text(amount(most) >> bits) for bits in range(1, _AMOUNTS_MAX + 1)]
                *larger, least = (self._with_amount(asked, name, each) for each in halves)
                yield least._replace(closer=these(larger))
        if asked:
            what = f"without the capacity that {self._title} asks for"
            yield self._change(what, 3, "capacity", _setting(capacity={}))

    def _with_amount(self, asked: JSONObject, name: str, amount: str) -> Change:
        what = f"with {name} {amount} in place of {asked[name]} in {self._title}"
        return self._change(what, 2, "capacity", _setting(capacity={"requests": {**asked, name: amount}}))

    def _of_count(self) -> Iterator[Change]:
        """Lower the count to one, or as little as possible; if it is large, to what nodes have left, or by halves."""
        wanted: Any = self._asks.get("count") or 1
        if text(self._asks, "allocationMode") == "All":
            instead = " in place of allocationMode All"
            fewer = [
                self._with_count(self._most, each, instead) for each in sorted(self._had, reverse=True) if each > 1
            ]
            yield self._with_count(self._most, 1, instead)._replace(closer=these(fewer))
        if wanted > 1:
            halves = {1 << bits for bits in range(wanted.bit_length())}
            counts = range(wanted) if wanted <= _COUNTS_MAX else {*self._had, wanted - 1, *halves}
            less = [self._with_count(wanted, each) for each in sorted(counts, reverse=True) if 1 < each < wanted]
            yield self._with_count(wanted, 1)._replace(closer=these(less))

    def _with_count(self, wanted: int, count: int, instead: str = "") -> Change:
        what = f"with count {count}{instead} in {self._title}"
        edit = _setting(allocationMode="ExactCount", count=count)
        return self._change(what, min(wanted - count, _FEWER) + 1, "count", edit)


def _taints(answers: Sequence[JSONObject], tolerations: Sequence[JSONObject]) -> list[list[Taint]]:
    """Return the sets of taints that keep devices out; and all of them together.

    The smallest first: those whose keys are tolerated already, but not so; those that evict no pods; the most common.
    """
    found = taints_of(answers)
    keys = {text(each, "key") for each in tolerations}

    def cost(taints: frozenset[Taint]) -> tuple[int, int, int, int, list[Taint]]:
        new = sum(each.key not in keys for each in taints)
        return len(taints), new, sum(each.effect == "NoExecute" for each in taints), -found[taints], sorted(taints)

    several = sorted(found, key=cost)[:_TAINTS_MAX]
    every = frozenset[Taint]().union(*found)
    return [sorted(each) for each in dict.fromkeys([*several, *([every] if every else [])])]


def _largest(values: Iterable[str], below: Quantity | None = None) -> list[str]:
    """Return the largest of some amounts, or of those below another one."""
    known = {each for value in values if (each := readable_quantity(value)) and (below is None or each < below)}
    return [str(each) for each in sorted(known, reverse=True)[:_AMOUNTS_MAX]]


def _published(cluster: Cluster, holder: str) -> dict[tuple[str, str], None]:
    """Return the domains and names of the attributes or capacity that devices publish, in their order."""
    found: dict[tuple[str, str], None] = {}
    for driver, full_name in dict.fromkeys(
        (each.driver, name)
        for each in cluster.allocator.catalog.slices
        for device in each.devices
        for name in getattr(device.content, holder)
    ):
        domain, given, name = full_name.rpartition("/")
        found[domain if given else driver, name] = None
    return found


def _setting(**fields: Any) -> Callable[[JSONObject], object]:
    return lambda asks: asks.update(fields)


def _unconstrained(constraint: JSONObject, claim: JSONObject) -> None:
    claim["spec"]["devices"]["constraints"] = [each for each in _constraints(claim) if each != constraint]


_AT_LEAST: Final = frozenset({">", ">="})
_AT_MOST: Final = frozenset({"<", "<="})


Other = tuple[str, str]
"""What differs in another selector, and its expression."""


def lowered(parts: Parts, name: str, values: Iterable[str]) -> Iterator[Other]:
    """Return a selector with lower thresholds, or higher ones where it sets an upper limit; the nearest first.

    Args:
        name: The attribute or capacity, as :class:`~webhook.deviceselectors.parts.Blame` names it.
        values: The values that devices have of it: whole numbers, quantities or versions.
    """
    for part in parts.all:
        found = ordering(part)
        if found is None or label(found.subject) != name or found.operator not in _AT_LEAST | _AT_MOST:
            continue
        call = found.wanted if isinstance(found.wanted, Call) else None
        literal = call.arguments[0] if call else found.wanted
        read = _version if call and call.function == "semver" else readable_quantity
        if not isinstance(literal, Literal) or (wanted := read(str(literal.value))) is None:
            continue
        at_least = found.operator in _AT_LEAST
        known: dict[str, Any] = {value: number for value in values if (number := read(value)) is not None}
        fine = [each for each in known if (known[each] < wanted if at_least else wanted < known[each])]
        for value in sorted(fine, key=known.__getitem__, reverse=at_least):
            written = json.dumps(value) if call else value
            yield f"{name} {found.operator} {value}", _replaced(parts.text, literal.offset, written)


def _version(text: str) -> semver.Semver | None:
    """Read a version, None if the text is malformed."""
    try:
        return semver.parse(text)
    except EvaluationError:
        return None


def respelt(parts: Parts, values: Callable[[Read], Collection[object]]) -> Iterator[Other]:
    """Return a selector with a value that devices have, in place of one that is spelled otherwise.

    Args:
        values: Returns the values that devices have of an attribute.
    """
    for read, constant in _equalities(parts):
        known = values(read)
        if not any(constant.value == value and type(constant.value) is type(value) for value in known):
            spelled = {str(json.loads(json.dumps(value))).lower(): value for value in known}
            meant = spelled.get(nearest(str(constant.value).lower(), spelled))
            if meant is not None:
                yield _with_value(parts, read, constant, meant)


def others(parts: Parts, values: Callable[[Read], Collection[object]]) -> Iterator[Other]:
    """Return a selector with each other value that devices have, in place of one that it wants."""
    for read, constant in _equalities(parts):
        known = values(read)
        if constant.value in known:
            for each in sorted((each for each in known if each != constant.value), key=str):
                yield _with_value(parts, read, constant, each)


def _equalities(parts: Parts) -> Iterator[tuple[Read, Literal]]:
    """Return the attributes that a selector compares with a constant by ``==``."""
    for part in parts.all:
        if isinstance(part, Call) and part.function == "_==_":
            for subject, constant in (part.arguments, reversed(part.arguments)):
                read = read_of(subject)
                if read is not None and isinstance(constant, Literal):
                    yield read, constant


def _with_value(parts: Parts, read: Read, constant: Literal, value: object) -> Other:
    written = json.dumps(value)
    return f"{read.name} = {written}", _replaced(parts.text, constant.offset, written)


def _replaced(expression: str, offset: int, written: str) -> str:
    """Write another constant in place of the one that starts at an offset."""
    tokens = tokenize(expression, Issues(expression))
    old = dict(zip(tokens.offsets, tokens.texts, strict=True))[offset]
    return f"{expression[:offset]}{written}{expression[offset + len(old) :]}"


# -- releases of claims that have devices

_RELEASED_MAX: Final = 6
"""The number of claims whose release is tried, each alone."""
_LEFT: Final = frozenset({"consumer"})
_RELEASED: Final = _LEFT | {"devices"}
"""What releases do to a claim: the release for all pods does more than that for one."""


def releases(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
    """Return the changes that release claims, with the pods that use them.

    Args:
        needs: The needs of the pod; its own claims may be in use by others, on other nodes.
    """
    own = {
        full_name_of(claim): index
        for index, (claim, consumer) in enumerate(zip(needs.claims, needs.consumers, strict=False))
        if allocation_of(claim) and len(items(claim, "status", "reservedFor")) > consumer.has(claim)
    }
    for name, index in own.items():
        if len(items(needs.claims[index], "status", "reservedFor")) >= CONSUMERS_MAX:
            what = f"once one of the {CONSUMERS_MAX} pods of claim {name} is gone"
            yield Change(
                what,
                3,
                f"claim {name}",
                in_claim(index, lambda claim: claim["status"]["reservedFor"].pop(0)),
                parts=_LEFT,
            )
    held = {one["claim"]: one["devices"] for g in groups for request in g.requests for one in request["heldBy"]}
    nodes = {node for g in groups if g.resolvable for node in g.nodes}
    claims = cluster.inventory.all("ResourceClaim") if nodes else ()
    on = [full_name_of(each) for each in claims if not cluster.nodes_of(each).isdisjoint(nodes)]
    yield from islice(_released(cluster, needs.pod, own, {**own, **held}, on), _RELEASED_MAX)


def _released(
    cluster: Cluster, pod: JSONObject, own: Mapping[str, int], wanted: Collection[str], on: Iterable[str]
) -> Iterator[Change]:
    """Release claims with devices, but for those of copies of a pod, and of pods that are scheduled together with it.

    Args:
        own: The places of the pod's own claims.
        wanted: The claims whose devices the pod wants; other pods of its workload would take them in its place.
        on: The claims of pods on nodes that lack room for it.
    """
    owners, group = set(owners_of(pod)), at(pod, "spec", "schedulingGroup")
    for name in dict.fromkeys((*wanted, *on)):
        claim, using = cluster.claim(name), holder(cluster, name, 0)
        if claim is None or not allocation_of(claim) or using["state"] == COPY:
            continue
        namespace = namespace_of(claim)
        pods = [cluster.inventory.find("Pod", each, namespace) or {} for each in using["pods"]]
        is_same = any(not owners.isdisjoint(owners_of(each)) for each in pods)
        is_of_gang = bool(group) and any(at(each, "spec", "schedulingGroup") == group for each in pods)
        if (is_same and name in wanted) or (is_of_gang and namespace == namespace_of(pod)):
            continue
        count = len(results_of(claim))
        size = f" with {count} devices" if count > 1 else ""
        by = ", by fewer replicas" if is_same else ""
        what = f"once claim {name}{size} is released{used_by(using)}{by}"
        edit = in_claim(own[name], lambda claim: claim.update(status={})) if name in own else same
        yield Change(what, 5 if is_same else 4, f"claim {name}", edit, released=claim, parts=_RELEASED)
