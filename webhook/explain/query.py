"""Answers ``draguard explain``: a rule, a kind, a field or a feature gate."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from typing import Final

from webhook.api.gates import GATES
from webhook.api.runtimeconfig import is_served
from webhook.api.unserved import no_match
from webhook.api.versions import GROUP, KINDS, VERSIONS, find, release_of
from webhook.drivers import built_in, text_of
from webhook.explain import text
from webhook.explain.components import API_SERVER, CLIENT, LONGEST, answers_in
from webhook.explain.places import ExplainedKind, ExplainedRule, FieldPlace, children, kinds, rules, unjudged, within
from webhook.explain.text import counterpart, example, gated, list_of_rules, of_component, of_rule, texts
from webhook.problem import cut
from webhook.references.lookup import every_rule
from webhook.release import Release, span
from webhook.spelling import either, nearest, some_of

_OTHER_NAMES: Final = {
    "cj": "cronjob",
    "deploy": "deployment",
    "ds": "daemonset",
    "po": "pod",
    "rc": "replicationcontroller",
    "rs": "replicaset",
    "sts": "statefulset",
    "claim": "resourceclaim",
    "class": "deviceclass",
    "slice": "resourceslice",
}
"""The short names of resources, as API servers state them, and the last words of kinds, as people say them."""


def _named(among: Iterable[ExplainedKind], name: str) -> list[ExplainedKind]:
    """Find a kind in all its versions, the newest first; its name may be short, and in the plural."""
    singulars = [name.casefold().removesuffix(end) for end in ("", "s", "es")]
    wanted = {_OTHER_NAMES.get(each, each) for each in singulars}
    found = [kind for kind in among if kind.name.lower() in wanted]
    return sorted(found, key=lambda kind: (kind.served.until, kind.served.since), reverse=True)


def _addressed(among: Iterable[ExplainedKind], steps: Sequence[str]) -> tuple[list[ExplainedKind], Sequence[str]]:
    """Find the kind that a query begins with, such as ``resourceclaims.v1beta1.resource.k8s.io.spec``.

    Args:
        among: The kinds to look among.
        steps: The parts of the query.

    Returns:
        The kind in each version that matches, empty for an unknown kind; and the path of the field.
    """
    found, path = _named(among, steps[0]), steps[1:]
    for kind in found:
        group = kind.group.split(".")
        if kind.group and path[: len(group)] == group:
            return [each for each in found if each.group == kind.group], path[len(group) :]
        if kind.group and path[: len(group) + 1] == [kind.version, *group]:
            return [kind], path[len(group) + 1 :]
    return found, path


class UnknownNameError(LookupError):
    """A rule, kind or field does not exist; the message suggests the intended one."""


def explain(
    query: str = "",
    *,
    api_version: str | None = None,
    kubernetes: str | None = None,
    recursive: bool = False,
    is_brief: bool = False,
) -> str:
    """Describe a rule, a kind, a field or a feature gate.

    Args:
        query: A rule such as ``dns-label``, a kind or a field such as ``ResourceClaim.spec``, an API version such as
            ``v1beta1``, both as in ``v1beta1.ResourceClaim``, a feature gate such as ``DRADeviceTaints``, a driver such
            as ``gpu.nvidia.com``; empty for an overview.
        api_version: The API version to look into, with its group or without; None for the newest that has the kind.
        kubernetes: The release whose fields and rules are shown, such as ``"1.30"``; None for all releases.
        recursive: Whether to list the fields of a kind or a field at all depths, in place of their descriptions.
        is_brief: Whether to describe a kind or a field alone, without its fields, rules and other versions.

    Raises:
        UnknownNameError: No rule, kind, field or feature gate has this name.
        ValueError: ``kubernetes`` is not a known version.
    """
    release = release_of(kubernetes) if kubernetes else None
    query, api_version = _version_in(query, api_version)
    among = [kind for kind in kinds(release) if api_version is None or api_version in _spellings(kind.api_version)]
    if not query:
        return text.overview(among, rules(among, release))
    if query in built_in():
        return text_of(query)
    steps = _steps(query)
    meant, path = _addressed(among, steps)
    if meant:
        return text.of_place(_find(meant, path, release), release, recursive=recursive, is_brief=is_brief)
    known = rules(among, release)
    if rule := _spelled(query, known):
        return text.of_rule(rule, known[rule])
    if gate := _spelled(query, GATES):
        return text.of_gate(gate, gated(among, gate, release))
    if elsewhere := _named(kinds(), steps[0]):
        where = api_version or f"Kubernetes 1.{release}"
        there = f"{elsewhere[0].api_version}, Kubernetes {text.served_in(elsewhere[0].served)}"
        raise UnknownNameError(f"{where} has no {elsewhere[0].name}: it is in {there}")
    if places := _ending(among, steps, release):
        if place := _only(places, steps):
            return text.of_place(place, release, recursive=recursive, is_brief=is_brief)
        raise UnknownNameError(f"{query} is not a rule or kind; a field is spelled with its kind: {_first(places)}")
    places = [each for each in _places(among, release) if each.path]
    if of_fields := _of_fields(query, places):
        raise UnknownNameError(of_fields)
    raise UnknownNameError(f"unknown rule or kind {query}: {_instead(among, steps, [*known, *GATES], places, release)}")


def _of_fields(name: str, places: Iterable[FieldPlace]) -> str:
    """Tell which fields have a type of this name, or a value of which their descriptions tell; empty if none has."""
    wanted, value = name.casefold(), re.compile(rf"\b{re.escape(name)}\b")
    if named := [each for each in places if text.type_name(each.field).rpartition("]")[2].casefold() == wanted]:
        return f"{name} is the type of a field: {_first(named)}"
    told = ((each, f"{each.field.doc} {getattr(each.field, 'one_of', '')}") for each in places)
    if name[:1].isupper() and (named := [each for each, said in told if value.search(said)]):
        return f"{name} is not a rule or kind; fields that mention it: {_first(named)}"
    return ""


def _instead(
    among: Sequence[ExplainedKind],
    steps: Sequence[str],
    known: Iterable[str],
    places: Iterable[FieldPlace],
    release: Release | None,
) -> str:
    """Advise what to ask for in place of an unknown name; what it suggests can be explained."""
    from webhook.policy.manifest.kinds import guess_resource  # needed only here, as are the kinds
    from webhook.policy.manifest.policies import KINDS as POLICY_KINDS

    if steps[0].casefold() in {name.casefold() for kind in POLICY_KINDS for name in (kind, guess_resource(kind))}:
        return "its fields are not explained here; see `draguard policy check`"
    alike = dict.fromkeys(kind.name for kind in among if steps[0].casefold() in kind.name.casefold())
    near = either([*alike][:_SHOWN]) or nearest(steps[0], [*(kind.name for kind in among), *known])
    if not near and steps[0][:1].islower():  # a field, not a kind
        field = nearest(steps[-1], (place.path[-1] for place in places))
        near = str(_ending(among, [field], release)[0]) if field else ""
    return f"did you mean {near}?" if near else "`draguard explain` lists them"


def _spelled(name: str, known: Iterable[str]) -> str:
    """Find a name that is written with regard to case or without, or the only one that has these words; or nothing."""
    exact = [each for each in known if each.casefold() == name.casefold()]
    found = exact or [each for each in known if f"-{name}-" in f"-{each}-"]
    return found[0] if len(found) == 1 else ""


def _only_kind_with(path: str, release: Release | None) -> tuple[str, str] | None:
    """Find the only kind with a field or, as the field may be unknown, with the field around it.

    Args:
        path: The path in the kind, such as ``spec.devices.requests[0].name``.
        release: The release whose kinds are meant; None for all releases.

    Returns:
        The kind and its newest API version; None if there are several kinds, or none.
    """
    among, steps = kinds(release), _steps(path)
    for place in (steps, steps[:-1]):
        names = {kind.name for kind in among if not isinstance(_walk(kind, place, release), str)}
        if names:
            newest = _named(among, min(names))[0]
            return (newest.name, newest.api_version) if len(names) == 1 else None
    return None


def _steps(path: str) -> list[str]:
    """Split a path, which may be spelled as in findings: ``spec.devices.requests[0].name``."""
    return re.sub(r"\[[^][]*\]", "", path).split(".")


_SHOWN = 3
"""How many fields of one name are listed, and kinds with similar names."""


def _first(fields: Iterable[FieldPlace]) -> str:
    return ", ".join(some_of([*map(str, fields)], _SHOWN, "…"))


def _ending(among: Iterable[ExplainedKind], path: Sequence[str], release: Release | None) -> list[FieldPlace]:
    """List the fields of all kinds, in their newest versions, whose paths end with a name.

    A step may name the item of a list, such as ``Device`` for ``devices``; the last one only if another field has that
    very name. What newer releases serve comes first.
    """
    steps = [step.casefold() for step in path]

    def is_other(place: FieldPlace) -> bool:
        return place.path[-1].casefold() != steps[-1]

    found = []
    for place in _places(among, release):
        last = [step.casefold() for step in place.path[-len(steps) :]]
        if len(last) == len(steps) and all(one in {step, f"{step}s"} for one, step in zip(last, steps, strict=True)):
            found.append(place)
    found.sort(key=lambda place: (-place.kind.served.until, is_other(place)))
    return [] if all(map(is_other, found)) else found


def _only(places: Sequence[FieldPlace], steps: Sequence[str]) -> FieldPlace | None:
    """Return the field that a path without a kind means: the one at just this path, or a field of one type only.

    Of several places of one type, the oldest is meant: ``resources.claims`` are those of containers, not of whole pods.
    """
    exact = [place for place in places if len(place.path) == len(steps)]
    for among in (exact, places):
        if len({(place.above and place.above.type, place.path[-1]) for place in among}) == 1:
            return min(among, key=lambda place: place.releases[0])
    return None


def _places(among: Iterable[ExplainedKind], release: Release | None) -> list[FieldPlace]:
    """Return the fields of all kinds, in their newest versions, those that are less deep first."""
    newest: dict[str, ExplainedKind] = {}
    for kind in among:
        newest.setdefault(kind.name, kind)
    return sorted(within((kind.place for kind in newest.values()), release), key=lambda place: len(place.path))


def _version_in(query: str, api_version: str | None) -> tuple[str, str | None]:
    """Return the query and the API version to look into, which may be the query itself.

    Raises:
        UnknownNameError: The API version is unknown.
    """
    known = {spelling for each in VERSIONS for spelling in _spellings(each)}
    if api_version is None:
        if query in known:
            return "", query
        if behind := next((each for each in VERSIONS if "/" in each and query.endswith(f".{each}")), None):
            kind = query.removesuffix(f".{behind}")
            raise UnknownNameError(f"{query} names a version behind the kind: use {kind} --api-version {behind}")
        stated = max((each for each in known if query.startswith((f"{each}/", f"{each}."))), key=len, default=None)
        if stated is not None:
            return query[len(stated) + 1 :], stated
        if not (looking := _LIKE_VERSION.match(query)):
            return query, None
        api_version = looking[0]
    if api_version not in known:
        group = api_version.rpartition("/")[0]
        near = [each for each in VERSIONS if group and each.startswith(f"{group}/")] or VERSIONS
        raise UnknownNameError(f"API version {api_version} is not known here: give one of {', '.join(near)}")
    return query, api_version


_LIKE_VERSION: Final = re.compile(r"(?:[a-z0-9.-]+/)?v\d+(?:(?:alpha|beta)\d+)?(?=[./]|\Z)")
"""An API version, known or not, at the start of a query."""


def _spellings(api_version: str) -> tuple[str, str]:
    """Spell an API version in full and without its group."""
    return api_version, api_version.rpartition("/")[2]


def _find(meant: Sequence[ExplainedKind], path: Sequence[str], release: Release | None) -> FieldPlace:
    """Find a field in the newest version of a kind that has it."""
    places = [_walk(kind, path, release) for kind in meant]
    if found := [each for each in places if not isinstance(each, str)]:
        return found[0]
    raise UnknownNameError(f"{places[0]}{_other_path(meant[0], path)}")


def _walk(kind: ExplainedKind, path: Iterable[str], release: Release | None) -> FieldPlace | str:
    """Follow a path to a field; report the step that does not exist."""
    place = kind.place
    for step in path:
        fields = {child.path[-1]: child for child in children(place, release)}
        found = fields.get(step) or {name.casefold(): each for name, each in fields.items()}.get(step.casefold())
        if found is None and step in unjudged(place, release):
            return f"{place}.{step} exists in Kubernetes, but nothing of it is judged here"
        if found is None:
            inside = [str(each) for one in fields.values() for each in children(one, release) if each.path[-1] == step]
            near = nearest(step, fields)
            meant = f"{place}.{near}" if near else inside[0] if len(inside) == 1 else ""
            hint = f"did you mean {meant}?" if meant else f"it has {', '.join(fields) or 'none'}"
            return f"{place} has no field {step}: {hint}"
        place = found
    return place


def _other_path(kind: ExplainedKind, path: Sequence[str]) -> str:
    """Name the field of a version that another version has at this path."""
    for other in _named(kinds(), kind.name):
        place = _walk(other, path, None) if other.group == kind.group else ""
        if not isinstance(place, str):
            here = counterpart(place, kind, None)
            there = f"and in {kind.version} it is {here}" if here else f"and {kind.version} has nothing like it"
            return f"; that is a path of {other.version}, {there}"
    return ""


_INVALID: Final = re.compile(r'\b(\w+)(?:\.[\w.-]+)? "[^"]*" is invalid:\s')
_FIELD: Final = re.compile(r"(?:\[|, |: |\* |\A)((?:metadata|spec|status|webhooks)[^\s:,]*): ")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A value, which may look like a field."""
_NOT_DECODED: Final = re.compile(r'\b(\w+) in version "([\w./-]+)" cannot be handled as a ')
_IN_GO: Final = re.compile(r'unknown field "([^"]+)"|Go struct field \w+\.([\w.]+) of type ')
_OF_SCHEMA: Final = re.compile(r"at '/?([^']*)': additional properties ((?:'[^']+'(?:, )?)+)")
"""Unknown fields, as kubeconform says it."""
_OF_KUBECTL: Final = re.compile(r'\bValidationError\((\w[^()]*)\): unknown field "([^"]+)"(?: in \S*\.(v\d\w*)\.)?')
"""The same, as kubectl and Helm say it by the schemas of the cluster."""
_TYPED: Final = re.compile(r"\bfailed to create typed patch object \([^;()]*; /?([\w./-]+), Kind=(\w+)\)")
"""What server-side apply cannot decode."""
_UNDECLARED: Final = re.compile(r"(?<![^\s:])\.(\S+): field not declared in schema")
_NO_MATCH: Final = re.compile(r'no matches for kind "(\w+)" in version "([^"]*)"')
_EVENT: Final = re.compile(r"\n(?=\s*(?:\S+\s+)?(?:Warning|Normal)\s)")
"""Ends an event in the output of kubectl."""
_EVENTS: Final = re.compile(r"\nEvents:(?!\s*<none>)")
"""Comes before the events in the output of ``kubectl describe``."""
_MOST: Final = 5
"""The most fields of an answer, or of an event, that are described."""
_LOGGED: Final = re.compile(r'(?:\berr(?:or)?"?[=:] ?|"Failure",\s*"message":\s*)("(?:[^"\\]|\\.)*)(?:"|\Z)')
"""An error in a line of a component's log, or in a Status as JSON, which have it in quotes."""
_OURS: Final = re.compile(r"\b(?:error|warning|note) ([a-z0-9-]+): ")
"""A finding as draguard prints it."""
_REASON: Final = re.compile(
    r"(?:\A|: )(?:(Forbidden|Required value|Internal error)|"
    r"(Invalid value|Unsupported value|Duplicate value|Not found|Too many|Too long))(?:: |\Z)"
)
_FORBIDDEN: Final = re.compile(r'^.{0,99}?\b[\w.]+ "[^"]*" is forbidden: ', re.DOTALL)
"""How refusals of plugins and webhooks begin, and texts of rules that quote them."""
_VALUE: Final = re.compile(r'(?:(?:"(?:[^"\\]|\\.)*"|\b\d[\w.]*)(?:, )?)+')
_WORD: Final = re.compile(r"[a-z][\w'-]*|\*")
_ANY: Final = "*"
"""Stands for values."""
_ENOUGH: Final = 4
"""How many words in a row tell that an answer is what a rule says."""
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
    answer = _unquoted(_EVENTS.split(answer)[-1][:LONGEST].strip())
    answer = _LOGGED.sub(lambda found: "err: " + _unquoted(found[1] + '"'), answer)
    answer = _OF_SCHEMA.sub(_as_in_go, answer)
    if (ours := _OURS.search(answer)) and ours[1] in (known := _rules(None)):
        return of_rule(ours[1], known[ours[1]])
    parts = list(dict.fromkeys(part for event in _EVENT.split(answer) for part in _explained(event, kubernetes)))
    what = "is not a name, a field, or a message of a known component"
    unknown = UnknownNameError(f'"{cut(answer, 80)}" {what}: `draguard explain` lists the names')
    try:
        parts = parts or _described(_without_kind(answer, kubernetes), kubernetes)
    except UnknownNameError as error:
        unknown = error
    if not (parts := parts or _of_rules(answer, kubernetes)):
        raise unknown
    return "\n\n".join(parts)


def _as_in_go(found: re.Match[str]) -> str:
    """Say that fields are unknown as the API server does."""
    around = re.sub(r"/[0-9]+(?=/|\Z)", "", found[1]).replace("/", ".")
    names = re.findall("'([^']+)'", found[2])
    return ", ".join(f'unknown field "{".".join(filter(None, (around, name)))}"' for name in names)


def explain_reason(reason: str) -> str:
    """Describe which component gives a reason in events or conditions, and why; empty if none is known.

    Args:
        reason: The reason, such as ``UnexpectedAdmissionError``.
    """
    return "\n\n".join(_explained(reason[:LONGEST], None))


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
    found = _saying(answer, known)
    if len(found) == 1:
        return [of_rule(found[0], known[found[0]])]
    return [list_of_rules({name: known[name] for name in found}), _END] if found else []


def _saying(answer: str, known: Container[str]) -> list[str]:
    """Return the names of the known rules that say an answer."""
    asked = _words(_detail(answer))
    matcher = SequenceMatcher(None, b=asked, autojunk=False)
    shared: dict[str, int] = {}
    for name, texts_of_rule in _texts_of_rules().items():
        for said in texts_of_rule if name in known else ():
            if len(said) < _ENOUGH and len(asked) > len(said):
                continue  # a short text, such as "not found", is in many answers
            matcher.set_seq1(said)
            run = matcher.find_longest_match()
            length, words = (sum(word != _ANY for word in each) for each in (said[run.a : run.a + run.size], said))
            if run.size >= min(_ENOUGH, len(said)) and length >= min(_ENOUGH, words or _ENOUGH):
                shared[name] = max(length, shared.get(name, 0))
    return [name for name, length in shared.items() if length == max(shared.values())]


@cache
def _rules(kubernetes: str | None) -> dict[str, ExplainedRule]:
    release = release_of(kubernetes) if kubernetes else None
    return rules(kinds(release), release)


@cache
def _texts_of_rules() -> dict[str, list[list[str]]]:
    """Return the words of what each rule says: the messages of its example, and the texts in its code."""
    packages = ("webhook.api.", "webhook.references.", "webhook.formats.")
    said: dict[str, list[list[str]]] = defaultdict(list)
    for name, rule in _rules(None).items():
        shown, of_objects = example(name), every_rule().get(name)
        for of, message in shown.messages() if shown else ():
            said[of or name].append(_words(_detail(message)))
        functions = {stated.function for _, stated in rule.places} | {of_objects and of_objects.check}
        constants = {constant for each in functions for constant in texts(each, packages)}
        said[name] += (words for each in constants if len(words := _words(each)) >= _ENOUGH)
    return said


def _detail(message: str) -> str:
    """Return what a message says after the reason and the value; the reason if that is all it says."""
    message = _FORBIDDEN.sub("", message)
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
    return _WORD.findall(_VALUE.sub(f" {_ANY} ", message.casefold()))


_Subject = tuple[str, str | None, str]
"""A field or a kind, its API version if that is stated, and what is said of it."""


def _explained(answer: str, kubernetes: str | None) -> Iterator[str]:
    """Yield what the component says from which an answer comes, then the same for the answer that it quotes."""
    for component, said, part, quoted in answers_in(answer):
        if component.name == CLIENT and (unserved := _unserved(part, kubernetes)):
            yield of_component(component.name, [unserved])
            return
        if said:
            yield of_component(component.name, said)
        if component.name == API_SERVER and not quoted:
            yield from _described(filter(_is_known, _subjects(part)) if said else _subjects(part), kubernetes)


def _is_known(subject: _Subject) -> bool:
    """Tell whether draguard knows the kind that a field belongs to; an unknown word may be a version."""
    kind = subject[0].partition(".")[0]
    return kind.islower() or bool(_named(kinds(), kind))


def _unserved(answer: str, kubernetes: str | None) -> tuple[str, str] | None:
    """Tell which versions of a kind there are, if an answer says that a cluster does not serve one of them."""
    if not (found := _NO_MATCH.search(answer)):
        return None
    from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, kind_of  # few answers need it

    kind, stated = found.groups()
    named = kind_of(stated, kind)
    if named.group != GROUP and kind in KINDS:
        named = GroupVersionKind(GROUP, "", kind)
    known = Kinds().spans(named)
    if not known and named.group == GROUP:
        (problem,) = no_match({"apiVersion": stated, "kind": kind}, release_of(kubernetes) if kubernetes else None)
        meaning = f"the cluster has no kind {kind} in {stated}, which is built into Kubernetes: {problem.hint}"
        return meaning, "correct kind or apiVersion"
    if not known:
        return None
    meaning = f"the cluster does not serve {kind} in {stated}"
    if named.version not in known:
        meaning += ", and no release of Kubernetes does"
    else:
        since, until = known[named.version]
        flags = [] if is_served(stated, release=until, stated={}) else [f"--runtime-config={stated}=true"]
        if (served := find(stated, kind)) and isinstance(served.gate, str) and served.gate:
            flags.append(f"--feature-gates={served.gate}=true")
        flagged = f", if it runs with {' and '.join(flags)}" if flags else ""
        meaning += f"; Kubernetes {span(since, until)} does{flagged}"
    release = release_of(kubernetes) if kubernetes else None
    others = [
        f"{named.group}/{version} ({span(since, until)})"
        for version, (since, until) in known.items()
        if version != named.version and (release is None or since <= release <= until)
    ]
    if not others and named.group == GROUP:
        return meaning, "`draguard validate MANIFESTS` says what has taken its place"
    cures = [f"other versions are {', '.join(others)}"] if others else []
    cures.append(f"`kubectl api-resources --api-group={named.group}` shows which your cluster serves")
    if named.group == GROUP:
        cures[-1] += ", and `draguard convert --write --kubernetes-version RELEASE MANIFESTS` writes it"
    return meaning, "; ".join(cures)


def _described(subjects: Iterable[_Subject], kubernetes: str | None) -> list[str]:
    """Describe fields or kinds, and the rules of fields that say what is said of them."""
    parts = []
    for name, api_version, said in list(dict.fromkeys(subjects))[:_MOST]:
        try:
            parts.append(explain(name, api_version=api_version, kubernetes=kubernetes, is_brief=True))
            parts += _rule_of(name, said, kubernetes) if said else ()
        except UnknownNameError as error:
            parts.append(str(error))
    return [*dict.fromkeys(parts), _END] if parts else []


def _rule_of(name: str, said: str, kubernetes: str | None) -> list[str]:
    """Describe the only rule about a field that says something; nothing if several do, or none."""
    release, known = release_of(kubernetes) if kubernetes else None, _rules(kubernetes)
    meant, path = _addressed(kinds(release), _steps(name))
    readers = text.readers(_find(meant, path, release), release) if meant else ()
    found = _saying(said, {stated.name for stated, _ in readers}.intersection(known))
    return [of_rule(found[0], known[found[0]], is_brief=True)] if len(found) == 1 else []


def _fields_in(answer: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that an answer names, each with what it says of it."""
    _, *parts = _FIELD.split(_QUOTED.sub("", answer))
    yield from zip(parts[::2], parts[1::2], strict=True)


def _without_kind(answer: str, kubernetes: str | None) -> Iterator[_Subject]:
    """Yield the fields of an answer of a client, or of a part that does not name their kind: the only one that fits.

    Raises:
        UnknownNameError: Several kinds can be meant, or none.
    """
    if refused := _OF_KUBECTL.findall(answer):
        yield from ((f"{around}.{field}", version or None, "") for around, field, version in refused)
        return
    unknown = [name or wrong for name, wrong in _IN_GO.findall(answer)]
    paths = dict.fromkeys(unknown, "") or dict(_fields_in(answer))
    release = release_of(kubernetes) if kubernetes else None
    meant = {kind for path in paths if (kind := _only_kind_with(path, release))}
    if paths and len(meant) != 1:
        path = next(iter(paths))
        raise UnknownNameError(f"{path} has no kind before it: write KIND.{path}, such as Pod.spec")
    for path, said in paths.items():
        for name, newest in meant:
            yield f"{name}.{path}", newest if unknown else None, said


def _subjects(answer: str) -> Iterator[_Subject]:
    """Yield the fields or the kind that an answer is about."""
    if refused := list(_INVALID.finditer(answer)):
        ends = [*(each.start() for each in refused[1:]), len(answer)]
        for each, end in zip(refused, ends, strict=True):
            for path, said in _fields_in(answer[each.end() : end]):
                yield f"{each[1]}.{path}", None, said
    elif found := _NOT_DECODED.search(answer):
        for unknown, wrong in _IN_GO.findall(answer):
            yield f"{found[1]}.{unknown or wrong}", found[2], ""
    elif typed := _TYPED.search(answer):
        for path in _UNDECLARED.findall(answer):
            yield f"{typed[2]}.{path}", typed[1], ""
