"""Finds which component an answer of Kubernetes comes from, as kubectl and events print it, and what it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from typing import Final

from webhook.api.runtimeconfig import is_served
from webhook.api.versions import GROUP, KINDS, VERSIONS, find, release_of
from webhook.explain.components import API_SERVER, COMPONENTS, Component
from webhook.explain.places import Rule, kinds, rules
from webhook.explain.query import UnknownNameError, explain, only_kind_with
from webhook.explain.text import example, list_of_rules, of_component, of_rule, texts
from webhook.problem import cut
from webhook.references import every_rule
from webhook.release import span

_INVALID: Final = re.compile(r'\b(\w+)(?:\.[\w.-]+)? "[^"]*" is invalid:\s')
_FIELD: Final = re.compile(r"(?:\[|, |: |\* |\A)((?:metadata|spec|status|webhooks)[^\s:,]*): ")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A value, which may look like a field."""
_NOT_DECODED: Final = re.compile(r'\b(\w+) in version "([\w./-]+)" cannot be handled as a ')
_IN_GO: Final = re.compile(r'unknown field "([^"]+)"|Go struct field \w+\.([\w.]+) of type ')
_NO_MATCH: Final = re.compile(r'no matches for kind "(\w+)" in version "([^"]*)"')
_EVENT: Final = re.compile(r"\n(?=\s*(?:\S+\s+)?(?:Warning|Normal)\s)")
"""Ends an event in the output of kubectl."""
_EVENTS: Final = "\nEvents:"
"""Comes before the events in the output of ``kubectl describe``."""
_MOST: Final = 5
"""The most fields of an answer, or of an event, that are described."""
_LONGEST: Final = 4096
"""The characters of an answer that are read: it may quote a whole object."""
_OURS: Final = re.compile(r"\b(?:error|warning|note) ([a-z0-9-]+): ")
"""A finding as draguard prints it."""
_REASON: Final = re.compile(
    r"(?:\A|: )(?:(Forbidden|Required value|Internal error)|"
    r"(Invalid value|Unsupported value|Duplicate value|Not found|Too many|Too long))(?:: |\Z)"
)
_VALUE: Final = re.compile(r'(?:(?:"(?:[^"\\]|\\.)*"|\b\d[\w.]*)(?:, )?)+')
_WORD: Final = re.compile(r"[a-z][\w'-]*|\*")
_ENOUGH: Final = 4
"""How many words in a row tell that an answer is what a rule says."""
_CODE: Final = ("webhook.api.", "webhook.references.", "webhook.formats.")
_END: Final = "`draguard validate` shows where a manifest is wrong, and what was probably meant"


def explain_answer(answer: str, *, kubernetes: str | None = None) -> str:
    """Describe which component an answer of Kubernetes comes from, why, what to do, and the fields that it is about.

    Args:
        answer: The answer, such as ``The ResourceClaim "gpu" is invalid: spec.devices.requests: Required value``.
        kubernetes: The release whose fields and rules are shown; None for all releases.

    Raises:
        UnknownNameError: It is not a text of a known component, and names neither a field nor a kind.
        ValueError: ``kubernetes`` is not a known version.
    """
    answer = _unquoted(answer.rpartition(_EVENTS)[2][:_LONGEST].strip())
    if (ours := _OURS.search(answer)) and ours[1] in (known := _rules(None)):
        return of_rule(ours[1], known[ours[1]])
    parts = list(dict.fromkeys(part for event in _EVENT.split(answer) for part in _explained(event, kubernetes)))
    try:
        parts = parts or _described(_without_kind(answer, kubernetes), kubernetes)
    except UnknownNameError:
        parts = _of_rules(answer, kubernetes)
        if not parts:
            raise
    parts = parts or _of_rules(answer, kubernetes)
    if not parts:
        what = "neither a name nor an answer of a component that is known, and names no field of a kind"
        raise UnknownNameError(f"{cut(answer, 80)} is {what}: {_END}")
    return "\n\n".join(parts)


def explain_reason(reason: str) -> str:
    """Describe which component gives a reason in events or conditions, and why; empty if none is known.

    Args:
        reason: The reason, such as ``UnexpectedAdmissionError``.
    """
    return "\n\n".join(_explained(reason[:_LONGEST], None))


def _unquoted(answer: str) -> str:
    """Take an answer out of the quotes around it, such as those of a log in JSON."""
    if len(answer) < 2 or answer[0] != answer[-1] or answer[0] not in "\"'`":  # noqa: PLR2004 -- a pair of quotes
        return answer
    try:
        return str(json.loads(answer))
    except ValueError:
        return answer[1:-1]


def _of_rules(answer: str, kubernetes: str | None) -> list[str]:
    """Describe the rule that says an answer, or list those that do."""
    known = _rules(kubernetes)
    matcher = SequenceMatcher(None, b=_words(_detail(answer)), autojunk=False)
    shared: dict[str, int] = {}
    for name, texts_of_rule in _texts_of_rules().items():
        for said in texts_of_rule if name in known else ():
            matcher.set_seq1(said)
            if (length := matcher.find_longest_match().size) >= min(_ENOUGH, len(said)):
                shared[name] = max(length, shared.get(name, 0))
    found = [name for name, length in shared.items() if length == max(shared.values())]
    if len(found) == 1:
        return [of_rule(found[0], known[found[0]])]
    return [list_of_rules({name: known[name] for name in found}), _END] if found else []


@cache
def _rules(kubernetes: str | None) -> dict[str, Rule]:
    release = release_of(kubernetes) if kubernetes else None
    return rules(kinds(release), release)


@cache
def _texts_of_rules() -> dict[str, list[list[str]]]:
    """Return the words of what each rule says: the messages of its example, and the texts in its code."""
    said: dict[str, list[list[str]]] = {}
    for name, rule in _rules(None).items():
        shown, of_objects = example(name), every_rule().get(name)
        for of, message in shown.messages() if shown else ():
            said.setdefault(of or name, []).append(_words(_detail(message)))
        functions = {stated.function for _, stated in rule.places} | {of_objects and of_objects.check}
        constants = {constant for each in functions for constant in texts(each, _CODE)}
        said.setdefault(name, []).extend(words for each in constants if len(words := _words(each)) >= _ENOUGH)
    return said


def _detail(message: str) -> str:
    """Return what a message says after the reason and the value; the reason if that is all it says."""
    found = _REASON.search(message)
    if not found:
        return message
    rest = message[found.end() :]
    if found[1]:
        return rest or found[1]
    try:
        end = json.JSONDecoder().raw_decode(rest)[1]
    except ValueError:
        end = len(rest.partition(": ")[0])
    return rest[end:].removeprefix(": ") or found[2]


def _words(message: str) -> list[str]:
    """Split a message into words; values are all the same."""
    return _WORD.findall(_VALUE.sub(" * ", message.casefold()))


def _explained(answer: str, kubernetes: str | None) -> Iterator[str]:
    """Yield what the component says from which an answer comes, then the same for the answer that it quotes."""
    component = _speaker(answer)
    if component is None:
        return
    said, quoted = _said(component, answer)
    if component is API_SERVER and (unserved := _unserved(answer, kubernetes)):
        yield of_component(component.name, [unserved])
        return
    if said:
        yield of_component(component.name, said)
    if quoted:
        yield from _explained(quoted, kubernetes)
    elif component is API_SERVER:
        yield from _described(_subjects(answer), kubernetes)


def _speaker(answer: str) -> Component | None:
    """Return the component whose text comes first; all others are quoted."""
    firsts = [
        (found.start(), place)
        for place, each in enumerate(COMPONENTS)
        for pattern in (each.head, *(saying.pattern for saying in each.sayings))
        if (found := pattern.search(answer))
    ]
    return COMPONENTS[min(firsts)[1]] if firsts else None


def _said(component: Component, answer: str) -> tuple[list[tuple[str, str]], str]:
    """Return meaning and cure of each text of a component that an answer has, and the answer that it quotes."""
    text = " ".join(answer.split())
    matches = [
        (found.start(), place, found)
        for place, each in enumerate(component.sayings)
        if (found := each.pattern.search(text))
    ]
    end, said, quoted = 0, [], ""
    for start, place, found in sorted(matches, key=lambda each: each[:2]):
        if start >= end:
            saying = component.sayings[place]
            said.append((found.expand(saying.meaning), found.expand(saying.cure)))
            quoted = found.groupdict().get("answer") or quoted
            end = found.end()
    return said or list(component.general), quoted


def _unserved(answer: str, kubernetes: str | None) -> tuple[str, str] | None:
    """Tell which versions of a kind there are, if an answer says that a cluster does not serve one of them."""
    found = _NO_MATCH.search(answer)
    if not found or found[1] not in KINDS:
        return None
    kind, stated = found.groups()
    known = find(stated, kind)
    meaning = f"the cluster does not serve {kind} in {stated}"
    if known is None:
        meaning += ", and no release of Kubernetes does"
    else:
        meaning += f"; Kubernetes {span(known.since, known.until)} does"
        if not is_served(stated, release=known.until, stated={}):
            meaning += f", if it runs with --runtime-config={stated}=true"
    release = release_of(kubernetes) if kubernetes else None
    others = {
        name: other
        for name, version in VERSIONS.items()
        if (other := version.kinds.get(kind)) and name != stated
        if release is None or other.since <= release <= other.until
    }
    if not others:
        return meaning, "`draguard validate MANIFESTS` says what has taken its place"
    listed = ", ".join(f"{name} ({span(other.since, other.until)})" for name, other in others.items())
    show = f"`kubectl api-resources --api-group={GROUP}` shows which your cluster serves"
    write = "`draguard convert --write --kubernetes-version RELEASE MANIFESTS` writes it"
    return meaning, f"other versions are {listed}; {show}, and {write}"


def _described(subjects: Iterable[tuple[str, str | None]], kubernetes: str | None) -> list[str]:
    """Describe fields or kinds, each with its API version, if that is stated."""
    parts = []
    for name, api_version in list(dict.fromkeys(subjects))[:_MOST]:
        try:
            parts.append(explain(name, api_version=api_version, kubernetes=kubernetes))
        except UnknownNameError as error:
            parts.append(str(error))
    return [*parts, _END] if parts else []


def _without_kind(answer: str, kubernetes: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield the fields of a part of an answer that does not name their kind, of the only kind that can be meant.

    Raises:
        UnknownNameError: Several kinds can be meant, or none.
    """
    unknown = [name or wrong for name, wrong in _IN_GO.findall(answer)]
    paths = dict.fromkeys(unknown or _FIELD.findall(_QUOTED.sub("", answer)))
    meant = {kind for path in paths if (kind := only_kind_with(path, kubernetes=kubernetes))}
    if paths and len(meant) != 1:
        path = next(iter(paths))
        raise UnknownNameError(f"{path} has no kind before it: write KIND.{path}, such as Pod.spec")
    for path in paths:
        for name, newest in meant:
            yield f"{name}.{path}", newest if unknown else None


def _subjects(answer: str) -> Iterator[tuple[str, str | None]]:
    """Yield the fields or the kind that an answer is about, each with its API version, if that is stated."""
    if refused := list(_INVALID.finditer(answer)):
        ends = [*(each.start() for each in refused[1:]), len(answer)]
        for each, end in zip(refused, ends, strict=True):
            for path in _FIELD.findall(_QUOTED.sub("", answer[each.end() : end])):
                yield f"{each[1]}.{path}", None
    elif found := _NOT_DECODED.search(answer):
        for unknown, wrong in _IN_GO.findall(answer):
            yield f"{found[1]}.{unknown or wrong}", found[2]
    elif found := _NO_MATCH.search(answer):
        yield found[1], None
