"""Formats explanations, laid out like ``kubectl explain``."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cache
from importlib import resources
from itertools import groupby, islice
from operator import itemgetter
from types import CodeType, FunctionType
from typing import Final, NamedTuple

from webhook.api.gates import GATES
from webhook.api.versions import Served, target
from webhook.explain.names import page
from webhook.explain.places import (
    ExplainedKind,
    ExplainedRule,
    FieldPlace,
    StatedRule,
    children,
    declared_at,
    doc_of,
    kinds,
    rules_at,
    unjudged,
    within,
)
from webhook.grouping import by_key
from webhook.problem import Path
from webhook.release import Release, releases, span
from webhook.schema.declarations import IMMUTABLE, Declared, Field
from webhook.schema.fields import Many, Map, Scalar, compile_struct
from webhook.schema.suggest import suggestion
from webhook.schema.target import CREATE, UPDATE, UPDATE_STATUS, Target


def counterpart(place: FieldPlace, kind: ExplainedKind, release: Release | None) -> FieldPlace | None:
    """Find the place in another version of its kind; None if it has no such field.

    An inlined struct is at the place of its fields.
    """
    left = [kind.place]
    while left:
        other = left.pop()
        is_inlined = other.type and other.type.inlining and (*other.home, other.type.unboxed) == place.home
        if is_inlined or other.home == place.home:
            boxes = (part for part in children(other, release) if part.is_box and place.is_box)
            return next(boxes, other)
        left += (part for part in children(other, release) if place.home[: len(part.home)] == part.home)
    return None


def limits(place: FieldPlace, release: Release | None) -> list[str]:
    """Describe the limits of a field, in one release or in all that have it.

    Where releases differ, each limit names its releases.
    """
    found = _over_releases(place, release, lambda at: _limits(place.field, at, _instead(place, at)))
    return [f"{limit} {when}".rstrip() for limit, when in found]


def gates_of(place: FieldPlace, release: Release | None) -> list[tuple[str, str]]:
    """Return the feature gates that a field or kind itself needs, with their releases, if not all."""
    if place.path:
        return _over_releases(place, release, place.field.gates)
    gate = place.kind.served.gate
    return _over_releases(place, release, lambda at: filter(None, (at.pick(gate),)))


def gated(among: Iterable[ExplainedKind], gate: str, release: Release | None) -> Iterator[tuple[FieldPlace, str]]:
    """Find the kinds and fields that need a feature gate themselves, with their releases, if not all."""
    for place in within((kind.place for kind in among), release):
        yield from ((place, when) for name, when in gates_of(place, release) if name == gate)


def _over_releases(
    place: FieldPlace, release: Release | None, facts_of: Callable[[Target], Iterable[str]]
) -> list[tuple[str, str]]:
    """Collect facts, each with the releases that have it, or none if all do."""
    since, until = (release, release) if release is not None else place.releases
    targets = ((each, target(place.kind.api_version, each, CREATE)) for each in releases(since, until))
    found = by_key((fact, each) for each, at in targets for fact in facts_of(at))
    return [(fact, _in_releases(held[0], held[-1], since, until)) for fact, held in found.items()]


def _in_releases(first: int, last: int, since: int, until: int) -> str:
    if last < until:
        return f"until 1.{last}" if first == since < last else f"in {span(first, last)}"
    return "" if first == since else f"since 1.{first}"


def _instead(place: FieldPlace, at: Target) -> str:
    """Name the field that a struct may have in place of inlined ones; empty if this is none of them."""
    around = place.above.type if place.above else None
    inlining = around.inlining if around else None
    if not (around and inlining) or place.path[-1] not in inlining.of.fields or inlining.present({}, at.release):
        return ""
    return next((name for name in vars(around) if name in around.fields), "")


def _limits(field: Field, at: Target, instead: str = "") -> Iterator[str]:
    """Describe the limits of a field and its items in a release.

    Args:
        instead: Another field: this one is required only without it. Empty if there is none.
    """
    # Facts that changed with releases are reduced to those of one release.
    known = copy(field)
    for name, value in vars(field).items():
        if isinstance(value, Mapping):
            setattr(known, name, at.pick(value))
    if instead and known.required:
        known.required = False
        yield f"required without {instead}"
    yield from known.limits().values()
    if isinstance(field, Map) and field.key:
        yield from (f"each key: {limit}" for limit in _limits(field.key, at))
    if isinstance(field, Many):
        yield from (f"each item: {limit}" for limit in _limits(field.item, at))


def _joined(rules: Iterable[tuple[StatedRule, FieldPlace]]) -> list[tuple[StatedRule, FieldPlace]]:
    """Join what a place states several times of one rule, such as once for each way in which releases apply it."""
    found: dict[tuple[object, ...], tuple[StatedRule, FieldPlace]] = {}
    for stated, place in rules:
        rule = stated.declared
        key = stated.name, place.kind.api_version, str(place), rule and rule.on
        joined = stated
        if rule and key in found and (other := found[key][0].declared):
            until = None if rule.until is None or other.until is None else max(rule.until, other.until)
            joined = stated._replace(declared=rule._replace(since=min(rule.since, other.since), until=until))
        found[key] = joined, place
    return list(found.values())


_TYPES: Final = "webhook.api."


def readers(place: FieldPlace, release: Release | None) -> Iterator[tuple[StatedRule, FieldPlace]]:
    """List the rules that a place states, then those of the places around it that read it, the nearest first.

    Returns:
        The rule, and the place that states it.
    """
    for stated in rules_at(place, release):
        yield stated, place
    for around in place.lineage:
        if around is place:
            continue
        if around.field.immutable:
            yield from ((each, around) for each in rules_at(around, release) if each.name == IMMUTABLE)
        steps = set(place.home[len(around.home) :])
        if around.type and around.type.inlining:
            steps.discard(around.type.unboxed)
        for stated in declared_at(around, release):
            rule = stated.declared  # it reads some of these names, at any depth below its struct
            if rule and steps <= rule.given | rule.members | _names(rule.rule):
                yield stated, around


@cache
def _names(rule: object) -> frozenset[str]:
    """Collect the names and texts in the code of a rule."""
    functions = _functions(rule, (_TYPES,))
    return frozenset(name for _, code in functions for name in code.co_names) | texts(rule)


@cache
def texts(rule: object, packages: tuple[str, ...] = (_TYPES,)) -> frozenset[str]:
    """Collect the texts in the code of a rule.

    Args:
        rule: The function.
        packages: Beginnings of the names of modules whose functions belong to it if it calls them.
    """
    return frozenset(
        constant
        for function, code in _functions(rule, packages)
        for each in (*code.co_consts, *map(function.__globals__.get, code.co_names))
        for constant in (each if isinstance(each, tuple | frozenset) else [each])
        if isinstance(constant, str) and constant != function.__doc__
    )


def _functions(rule: object, packages: tuple[str, ...]) -> list[tuple[FunctionType, CodeType]]:
    """List the code of a rule, of functions inside it, and of those that it calls, each with the function around it."""
    functions, found = [inspect.unwrap(rule) if isinstance(rule, FunctionType) else rule], []
    for each in functions:
        if not isinstance(each, FunctionType):
            continue
        codes = [each.__code__]
        for code in codes:
            codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
            named = (one for one in map(each.__globals__.get, code.co_names) if isinstance(one, FunctionType))
            functions += (one for one in named if one.__module__.startswith(packages) and one not in functions)
        found += [(each, code) for code in codes]
    return found


_HEADING: Final = re.compile(r"^# (fails|passes|before|policies)\n", re.MULTILINE)
_FINDING: Final = re.compile(r"#!\s+(?:\[([\w-]+)\]\s+)?(.*?)\s*(?=#!|$)", re.MULTILINE)


class Example(NamedTuple):
    """A rule, shown by manifests.

    Args:
        run: The command that checks them, with its options, such as ``validate --kubernetes-version 1.30``.
        fails: Manifests that break the rule; the findings are after ``#!``.
        before: The objects as they are stored, for rules about updates.
        policies: The policies to evaluate.
    """

    run: str
    fails: str
    passes: str
    before: str = ""
    policies: str = ""

    def sections(self) -> Iterator[tuple[str, str]]:
        """Return the manifests, each with a heading."""
        checked = f" (draguard {self.run})" if self.run != "validate" else ""
        if self.policies:
            yield "POLICIES", self.policies
        if self.before:
            yield "STORED", self.before
        yield f"FAILS{checked}", self.fails
        yield "PASSES", self.passes

    def messages(self) -> Iterator[tuple[str, str]]:
        """Return the messages of its findings, or how they begin, each with its rule; empty for the rule itself."""
        yield from ((found[1] or "", found[2].partition("…")[0]) for found in _FINDING.finditer(self.fails))


def example(rule: str) -> Example | None:
    """Return the example of a rule; None if there is none."""
    file = resources.files("webhook.explain") / "examples" / f"{rule}.yaml"
    if not file.is_file():
        return None
    head, *parts = _HEADING.split(file.read_text(encoding="utf-8"))
    run = head.removeprefix("# run: ").strip() or "validate"
    return Example(run, **dict(zip(parts[::2], parts[1::2], strict=True)))


_WIDTH = 100

_OPERATIONS = {CREATE: "create", UPDATE: "update", UPDATE_STATUS: "update of the status"}


def overview(among: Iterable[ExplainedKind], known: Mapping[str, ExplainedRule]) -> str:
    """List kinds by API version, and rules, on a line each."""
    lines = ["KINDS:"]
    for api_version, members in by_key((kind.api_version, kind) for kind in among).items():
        lines.append(f"  {api_version}")
        width = max(len(kind.name) for kind in members)
        lines += [
            f"    {kind.name:{width}}  {served_in(kind.served):12}  {_first_line(doc_of(kind.served.type))}"
            for kind in members
        ]
    end = "`draguard explain NAME` describes a rule, a kind, a field such as Pod.spec, or a feature gate."
    return "\n".join([*lines, "", list_of_rules(known), "", end])


def list_of_rules(known: Mapping[str, ExplainedRule]) -> str:
    """List rules, on a line each."""
    width = max(map(len, known))
    return "\n".join(["RULES:", *(f"  {name:{width}}  {_first_line(rule.doc)}" for name, rule in known.items())])


_BRIEF: Final = 3
"""How many sections are about the field alone."""


def of_place(place: FieldPlace, release: Release | None, *, recursive: bool = False, is_brief: bool = False) -> str:
    """Describe a kind or a field.

    Args:
        place: The kind or field.
        release: The release to describe; None for all.
        recursive: Whether to list the fields at all depths, in place of descriptions and rules.
        is_brief: Whether to leave out what is below the field, around it, and in other versions.
    """
    field, struct = place.field, place.type
    lines = [f"GROUP:       {place.kind.group}"] if place.kind.group else []
    lines += [f"KIND:        {place.kind.name}", f"VERSION:     {place.kind.version}"]
    if place.path:
        lines.append(f"FIELD:       {'.'.join(place.path)}  <{type_name(field)}>")
    lines += [f"KUBERNETES:  {span(*place.releases)}"]
    if place.above and (newest := place.above.releases[1]) > place.releases[1]:
        root = compile_struct(place.kind.served.type, target(place.kind.api_version, Release(newest), CREATE))
        lines += _labelled("LATER", suggestion(root, Path(place.path), {}).hint)
    if recursive:
        return "\n".join([*lines, "", "FIELDS:", *_tree(place, release)])
    sections = {
        "DESCRIPTION": [
            line for doc in dict.fromkeys((field.doc, doc_of(struct) if struct else "")) for line in _wrapped(doc)
        ],
        "LIMITS": [f"    {limit}" for limit in limits(place, release)],
        "FEATURE GATES": list(_gates(place, release)),
        "OTHER VERSIONS": list(_elsewhere(place, release)),
        "FIELDS": [line for part in children(place, release) for line in _of_part(part, release)],
        "NOT JUDGED HERE": _wrapped(", ".join(unjudged(place, release))),
        "RULES": [line for stated, at in _joined(readers(place, release)) for line in _of_reader(stated, at, place)],
    }
    for title, content in islice(sections.items(), _BRIEF if is_brief else None):
        if content:
            lines += ["", f"{title}:", *content]
    lines += ["", f"`draguard explain {place}` shows more"] if is_brief else []
    return "\n".join(lines)


def of_rule(name: str, rule: ExplainedRule, *, is_brief: bool = False) -> str:
    """Describe a rule and, unless it is to be brief, where it applies."""
    lines = [f"RULE:        {name}", f"PAGE:        {page(name)}", "", "DESCRIPTION:"]
    for paragraph in rule.doc.split("\n\n"):
        lines += _wrapped(paragraph)
    stated_at = _joined((stated, place) for place, stated in rule.places)
    places = ((place.kind, f"    {place}{_when(stated, place)}") for stated, place in stated_at)
    lines += [] if is_brief else _listed("APPLIES TO", places)
    shown = example(name)
    for title, manifest in shown.sections() if shown else ():
        lines += ["", f"{title}:", *(f"    {line}".rstrip() for line in manifest.splitlines())]
    return "\n".join(lines)


def of_gate(name: str, needing: Iterable[tuple[FieldPlace, str]]) -> str:
    """Describe the stages of a feature gate, and the fields and kinds that need it."""
    lines = [f"FEATURE GATE:  {name}", "", "STAGES:", *(f"    {stage}" for stage in _history(name).split("; "))]
    pairs = ((place.kind, f"    {place} {when}".rstrip()) for place, when in needing)
    return "\n".join([*lines, *_listed("NEEDED BY", pairs)])


def _listed(title: str, pairs: Iterable[tuple[ExplainedKind, str]]) -> list[str]:
    """List lines about kinds by API version, below a title; nothing if there are none."""
    by_version = by_key((kind.api_version, line) for kind, line in pairs).items()
    lines = [line for api_version, members in by_version for line in (f"  {api_version}", *members)]
    return ["", f"{title}:", *lines] if lines else []


def of_component(name: str, said: Iterable[tuple[str, str]]) -> str:
    """Describe what a component says.

    Args:
        said: Why it says so, and what to do, for each of its texts.
    """
    parts = [
        [*(line for meaning, _ in several for line in _labelled("MEANING", meaning)), *_labelled("TRY", cure)]
        for cure, several in groupby(said, itemgetter(1))
    ]
    return "\n\n".join("\n".join(part) for part in [[*_labelled("SAID BY", name), *parts[0]], *parts[1:]])


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=f"{label + ':':13}", subsequent_indent=" " * 13, break_on_hyphens=False
    )


def served_in(served: Served) -> str:
    """Name the first and the last release that serves a kind."""
    return span(served.since, served.until)


def _tree(place: FieldPlace, release: Release | None) -> Iterator[str]:
    """List the fields of a place at all depths."""
    for part in within(children(place, release), release):
        field, indent = part.field, "  " * (len(part.path) - len(place.path))
        # Kubernetes' types require the scalars that they write even if empty.
        is_written = field.written and isinstance(field, Scalar) and not field.pointer
        required = "  -required-" if is_written or "required" in limits(part, release) else ""
        yield f"{indent}{part.path[-1]}  <{type_name(field)}>{required}"


def _of_part(place: FieldPlace, release: Release | None) -> Iterator[str]:
    dropped = [f"dropped without feature gate {gate} {when}".rstrip() for gate, when in gates_of(place, release)]
    facts = [*limits(place, release), *_window(place.field, place.kind.served), *dropped]
    yield f"  {place.path[-1]}  <{type_name(place.field)}>" + (f"  {', '.join(facts)}" if facts else "")
    yield from _wrapped(place.field.doc)


def _of_reader(stated: StatedRule, around: FieldPlace, place: FieldPlace) -> Iterator[str]:
    where = f"  at {'.'.join(around.path) or around}" if around != place else ""
    yield f"  {stated.name}{_when(stated, place)}{where}"
    yield from _wrapped(_first_line(stated.doc))


def _gates(place: FieldPlace, release: Release | None) -> Iterator[str]:
    """Describe the feature gates that a place and those around it need, with their stages."""
    for around in place.lineage:
        field = ".".join(around.path)
        then = f"the API server drops {field}" if field else f"{around} is not served in {around.kind.api_version}"
        for gate, when in gates_of(around, release):
            yield f"  {gate}  {_history(gate)}"
            yield f"    Without it, {then} {when}".rstrip() + "."


def _history(gate: str) -> str:
    """Describe the stages of a feature gate by release."""
    stages = (
        f"{stage.maturity}, {'on' if stage.on else 'off'} from 1.{since}" if stage else f"gone from 1.{since}"
        for since, stage in GATES[gate].items()
    )
    return "; ".join(stages)


def _elsewhere(place: FieldPlace, release: Release | None) -> Iterator[str]:
    """Describe the place of the same field in other API versions, and the differences of its type and limits."""
    own = place.kind
    others = [each for each in kinds(release) if (each.group, each.name) == (own.group, own.name) and each != own]
    width = max((len(kind.version) for kind in others), default=0)
    for kind in others:
        where, other = f"  {kind.version:{width}}  {served_in(kind.served):12}", counterpart(place, kind, release)
        if other is None:
            yield f"{where}  not there"
        elif other.home != place.home or place.is_box > other.is_box:
            yield f"{where}  its fields sit on {'.'.join(other.path)} itself"
        else:
            type_, theirs = type_name(other.field), limits(other, release)
            facts = f"  <{type_}>" if type_ != type_name(place.field) else ""
            facts += f"  {', '.join(theirs) or 'no limits'}" if theirs != limits(place, release) else ""
            yield f"  {kind.version:{width}}  {span(*other.releases):12}  {'.'.join(other.path) or other}{facts}"


def _when(stated: StatedRule, place: FieldPlace) -> str:
    """Describe the releases and operations to which a rule applies, if not all."""
    rule, served = stated.declared, place.kind.served
    facts = [*_window(rule, served), *(_OPERATIONS[each] for each in sorted(rule.on))] if rule else []
    return f"  ({', '.join(facts)})" if facts else ""


def _window(what: Field | Declared, served: Served) -> list[str]:
    """Describe when something was added and removed, unless together with its kind."""
    until = served.until if what.until is None else what.until
    window = _in_releases(max(what.since, served.since), until, served.since, served.until)
    return [window] if window else []


def type_name(field: Field) -> str:
    """Name a field's type as Kubernetes' own ``explain`` does, without Go packages."""
    return re.sub(r"\b\w+\.", "", field.type_name("api"))


def _first_line(doc: str) -> str:
    return _unmarked(doc.partition("\n\n")[0].replace("\n", " "))


def _wrapped(text: str) -> list[str]:
    space = " " * 4
    return textwrap.wrap(_unmarked(text), _WIDTH, initial_indent=space, subsequent_indent=space, break_on_hyphens=False)


def _unmarked(doc: str) -> str:
    return doc.replace("``", "`")
