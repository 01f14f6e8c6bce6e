"""Rules that check claims and classes against the devices of a cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from webhook.cel.types.values import type_of
from webhook.deviceselectors.parts import Blame, Parts, Read, start_of
from webhook.deviceselectors.reads import guarded, reads
from webhook.hints.names import ask_first, in_expression, instead, listed
from webhook.inventory import CLAIMS
from webhook.objects import JSONObject, items, text
from webhook.problem import Advice, Fix, Problem
from webhook.references.rules import Context, Steps, contents_of_class, finding, rule
from webhook.references.selecting import (
    A_VERSION,
    OTHER_HOLDER,
    SELECTING,
    failures,
    reads_of,
    selectors_of,
    text_comparisons,
    wrong_holder_hint,
)
from webhook.spelling import nearest

if TYPE_CHECKING:
    from webhook.allocation.devices import Content
    from webhook.deviceselectors.fleet import Fleet


@rule("not-published", *SELECTING, beside_devices=True)
def not_published(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads a domain, attribute or capacity that no device of the class has.

    Drivers rename attributes from release to release. Without a guard the read is a run-time error, which ends the
    scheduling of the pod for all nodes. `draguard match` shows the attributes of devices.
    """
    fleet = context.fleet
    if fleet is None:
        return
    for each in selectors_of(obj, context):
        domains: set[tuple[str, str]] = set()
        for read in {read[:3]: read for read in reads_of(each.parts)}.values():
            known = fleet.published(each.around, read.holder)
            if (read.holder, read.domain) in domains or (read.domain, read.name) in known:
                continue
            if not known and not fleet.of_class(each.around):
                continue
            which = "no device of the class" if each.around else "no known device"
            message, advice = _unpublished(read, known, which, each.expression)
            if (read.domain, read.name) in fleet.published(each.around, OTHER_HOLDER[read.holder]):
                advice = Advice(wrong_holder_hint(read, each.parts))
            is_domain = all(read.domain != domain for domain, _ in known)
            if is_domain:  # one finding covers all reads from it
                domains.add((read.holder, read.domain))
            yield finding(each.path, message, advice, character=read.domain_offset if is_domain else read.offset)


def _unpublished(
    read: Read, known: Mapping[tuple[str, str], set[str]], which: str, expression: str
) -> tuple[str, Advice]:
    kind = read.holder.removesuffix("s")
    domains = sorted({domain for domain, _ in known})
    if read.domain not in domains:
        advice = in_expression(expression, read.domain, domains, "domains")
        elsewhere = [domain for domain, name in known if name == read.name]
        if elsewhere and advice.fix is None:
            advice = Advice(f'"{read.name}" is in domain {listed(elsewhere)}')
        return f'{which} has the domain "{read.domain}" in its {read.holder}', advice
    names = sorted(name for domain, name in known if domain == read.domain)
    advice = in_expression(expression, read.name, names, "it has")
    return f'{which} has the {kind} "{read.domain}/{read.name}"', advice


@rule("selector-fails", *SELECTING, beside_devices=True)
def selector_fails(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector fails on some device of the class: that ends the scheduling of the pod for all nodes.

    A read of an attribute that a device lacks is a run-time error, and so is a comparison of values of different
    types. The scheduler then rejects the pod, even if another device or node would do; whether it tries that device
    depends on which devices are free. Check first: ``has(device.attributes["d"].x) && …``, or ``.?x.orValue(…)``;
    ``!has(…) || …`` before ``!=`` keeps the devices without the attribute.
    """
    from webhook.deviceselectors.fleet import lacking  # only with slices at hand

    fleet = context.fleet
    if fleet is None:
        return
    for each in selectors_of(obj, context):
        failing = failures(each, fleet)
        if not failing:
            continue
        (first, fault), contents = failing[0], [group.content for group, _ in failing]
        count = sum(group.devices for group, _ in failing)
        all_ = sum(group.devices for group in fleet.sorted_out(each.around, ()).taken)
        message = f"an error on {count} of {all_} devices ends scheduling for all nodes: {fault.detail}"
        advice = Advice()
        missing = fault.detail.missing
        if missing in _TYPED:
            advice = Advice(f"an attribute is read without its type: leave out .{missing}")
        elif missing:
            safe = guarded(each.expression, lacking(reads_of(each.parts), contents), context.release, context.gates)
            advice = ask_first(safe)
        elif not fault.detail.has_overload:
            advice = Advice(_of_types(fleet, first.content, each.parts))
        part = fleet.first_false_part(each.own[each.place], first.content)
        lacking_read = part and next((one for one in reads(part) if one.name == missing), None)
        character = lacking_read.offset if lacking_read else start_of(part) if part else None
        yield finding(each.path, message, advice, "Fails", character)


def _of_types(fleet: Fleet, content: Content, parts: Parts) -> str:
    """Name the types of attributes that a selector misuses; of a version, how it is compared, as it is written."""
    bindings = fleet.bindings(content)
    if bindings is None:
        return ""
    known = bindings["device"]["attributes"]
    of_versions = {each.read.offset: each.of_versions for each in reversed(text_comparisons(parts))}
    found = []
    for read in reads_of(parts):
        if read.holder == "attributes" and read.name in known[read.domain]:
            type_ = type_of(known[read.domain][read.name]).name
            if type_ == "kubernetes.Semver":
                type_ = f"version: compare it as in {of_versions.get(read.offset, A_VERSION)}"
            found.append(f"{read.name} is of type {type_}")
    return listed(found)


_TYPED: Final = frozenset({"string", "int", "bool", "version", "value"})
"""Fields below an attribute or capacity in manifests, which selectors do not use."""


@rule("selects-nothing", *SELECTING, beside_devices=True)
def selects_nothing(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """No device of the cluster meets the selectors of a request, or of a class.

    Pods with such a claim stay pending. The reason shown is that of most devices; `draguard match` shows all. There is
    no finding if it depends on values that were taken out of the slices, and replaced by `redacted` or the like.
    """
    fleet = context.fleet
    if fleet is None or not fleet.contents:
        return
    if obj.get("kind") == "DeviceClass":
        own = items(obj, "spec", "selectors")
        if own:
            yield from _nothing(fleet, (), own, ("spec", "selectors"), "the class")
        return
    for request in context.requests(obj):
        if request.device_class is not None and request.own:
            path, who = (*request.path, "selectors"), f'request "{request.name}"'
            yield from _nothing(fleet, request.of_class, request.own, path, who)


def _nothing(
    fleet: Fleet, around: Sequence[JSONObject], own: Sequence[JSONObject], path: Steps, who: str
) -> Iterator[Problem]:
    answer = fleet.sorted_out(around, own)
    if answer.taken or answer.failing:
        return
    reasons: Counter[tuple[int, Blame]] = Counter()
    examples: dict[tuple[int, Blame], Content] = {}
    for group in answer.refused[:_BLAMED_MOST]:
        choice = fleet.choose(around, own, group.content)
        if not choice.of_class:
            reasons[choice.place, choice.blame] += group.devices
            examples.setdefault((choice.place, choice.blame), group.content)
    if any(_TAKEN_OUT.fullmatch(each.met) for _, blame in reasons for each in blame.each):
        return
    ((index, blame), count) = max(reasons.items(), key=lambda pair: pair[1], default=((0, Blame("")), 0))
    reason, first = blame.text, blame.each[0]
    met = (each.met for place, why in reasons if place == index for each in why.each[:1] if each.name == first.name)
    message = f"no device meets the selectors of {who}"
    if count and reason:
        all_ = sum(reasons.values())
        some = f"all {all_} devices" if count == all_ else f"{count} of {all_} devices"
        message += f": {reason} ({'the only device' if all_ == 1 else some})"
    part = fleet.first_false_part(own[index], examples[index, blame]) if examples else None
    character = None if part is None else start_of(part)
    advice = _mistyped(first, list(dict.fromkeys(met)), text(own[index], "cel", "expression"))
    yield finding((*path, index, "cel", "expression"), message, advice, "SelectsNothing", character)


_BLAMED_MOST: Final = 200
"""For how many different devices, the most frequent first, the reason of their rejection is determined."""
_TAKEN_OUT: Final = re.compile(
    r'"[\[<({]?(?:redacted|removed|masked|anonymi[sz]ed|hidden|x{3,}|\*{3,})[\])>}]?"', re.IGNORECASE
)
"""A placeholder for a value that was removed from a slice before it was shared: ``<redacted>``."""
_WANTED: Final = re.compile(r"""(?:[=!<>]+ |(?:one|none) of \[)?(?:"(?P<text>[^"]*)|(?P<other>[^"\s]+))""")
"""The first value that is wanted, after an operator."""
_NO_LETTER: Final = re.compile(r"[\W_]")


def _mistyped(blame: Blame, values: Sequence[str], expression: str) -> Advice:
    """Explain that a value is compared with one of another type or spelling; otherwise list the existing values.

    Args:
        blame: Why the selector is false.
        values: The devices' values of what it compares.
    """
    name, is_text, wanted = blame.name, blame.met.startswith('"'), _WANTED.match(blame.wanted)
    if wanted and is_text and wanted["other"]:
        meant = f'"{wanted["other"]}"'
        hint = f"{name} is a string: put what it is compared with in quotes"
        return Advice(hint, _replaced(expression, wanted["other"], meant) if meant in values else None)
    if wanted and blame.met and not is_text and wanted["text"] is not None and " " not in blame.met:
        meant = wanted["text"]
        hint = f"{name} is not a string: compare it with a value without quotes"
        return Advice(hint, _replaced(expression, f'"{meant}"', meant) if meant in values else None)
    if is_text and blame.wanted.startswith('"'):
        written = blame.wanted[1:-1]
        if name == "driver" and (near := nearest(written, (each[1:-1] for each in values))):
            hint = f'one of the two is misspelt: the devices have driver "{near}"'
            return Advice(hint, _replaced(expression, f'"{written}"', f'"{near}"'))
        alike = [each[1:-1] for each in values if _letters(each) == _letters(written)]
        if alike:
            return Advice(f'did you mean "{alike[0]}"?', _replaced(expression, f'"{written}"', f'"{alike[0]}"'))
    return Advice(f"{name} of the devices: {listed(values)}" if values[1:] else "")


def _replaced(expression: str, written: str, meant: str) -> Fix | None:
    """Return the fix that writes another constant in an expression; None if it does not occur exactly once."""
    pattern = rf"""(?<![\w."']){re.escape(written)}(?![\w."'])"""
    if written.startswith('"'):
        pattern = rf"""(["']){re.escape(written[1:-1])}\1"""

    def in_its_quotes(found: re.Match[str]) -> str:
        inner, quote = meant[1:-1], found[0][0]
        is_simple = quote in "\"'" and meant.startswith('"') and not {*inner} & {"'", '"', "\\"}
        return f"{quote}{inner}{quote}" if is_simple else meant

    corrected, count = re.subn(pattern, in_its_quotes, expression)
    return Fix("replace", corrected, safe=False) if count == 1 else None


def _letters(value: str) -> str:
    return _NO_LETTER.sub("", value).lower()


@rule("capacity-not-published", *CLAIMS, beside_devices=True)
def capacity_not_published(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a capacity that no device of the class has under that name.

    The name must be the device's: with the same domain, or without one if the device's has none (up to Kubernetes
    1.37). A device without it is skipped, so the pod stays pending.
    """
    for request in context.requests(claim):
        contents = contents_of_class(request, context) if request.capacity else ()
        known = sorted({name for each in contents for name in each.capacity})
        for name in request.capacity if contents else ():
            if name not in known:
                message = f'no device of the class has the capacity "{name}"'
                bare = name.rpartition("/")[2]
                hint = f'did you mean "{bare}"?' if bare in known else instead(name, known, "capacities")
                yield finding((*request.path, "capacity", "requests", name), message, hint)
