"""Answers ``draguard explain``: a rule, a kind, a field or a feature gate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from webhook.api.gates import GATES
from webhook.api.versions import VERSIONS, release_of
from webhook.drivers import built_in, text_of
from webhook.explain import text
from webhook.explain.facts import counterpart, gated
from webhook.explain.places import FieldPlace, Kind, children, kinds, rules
from webhook.release import Release
from webhook.spelling import either, nearest

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


def _named(among: Iterable[Kind], name: str) -> list[Kind]:
    """Find a kind in all its versions, the newest first; its name may be short, and in the plural."""
    singulars = [name.casefold().removesuffix(end) for end in ("", "s", "es")]
    wanted = {_OTHER_NAMES.get(each, each) for each in singulars}
    found = [kind for kind in among if kind.name.lower() in wanted]
    return sorted(found, key=lambda kind: (kind.served.until, kind.served.since), reverse=True)


def _addressed(among: Iterable[Kind], steps: Sequence[str]) -> tuple[list[Kind], Sequence[str]]:
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


__all__ = ["UnknownNameError", "explain", "only_kind_with"]


class UnknownNameError(LookupError):
    """A rule, kind or field does not exist; the message suggests the intended one."""


def explain(
    query: str = "", *, api_version: str | None = None, kubernetes: str | None = None, recursive: bool = False
) -> str:
    """Describe a rule, a kind, a field or a feature gate.

    Args:
        query: A rule such as ``dns-label``, a kind or a field such as ``ResourceClaim.spec``, an API version such as
            ``v1beta1``, both as in ``v1beta1.ResourceClaim``, a feature gate such as ``DRADeviceTaints``, a driver such
            as ``gpu.nvidia.com``; empty for an overview.
        api_version: The API version to look into, with its group or without; None for the newest that has the kind.
        kubernetes: The release whose fields and rules are shown, such as ``"1.30"``; None for all releases.
        recursive: Whether to list the fields of a kind or a field at all depths, in place of their descriptions.

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
        return text.of_place(_find(meant, path, release), release, recursive=recursive)
    known = rules(among, release)
    if rule := _spelled(query, known):
        return text.of_rule(rule, known[rule])
    if gate := _spelled(query, GATES):
        return text.of_gate(gate, gated(among, gate, release))
    if elsewhere := _named(kinds(), steps[0]):
        where = api_version or f"Kubernetes 1.{release}"
        there = f"{elsewhere[0].api_version}, Kubernetes {text.releases(elsewhere[0].served)}"
        raise UnknownNameError(f"{where} has no {elsewhere[0].name}: it is in {there}")
    if places := _ending(among, steps, release):
        if place := _only(places, steps):
            return text.of_place(place, release, recursive=recursive)
        fields = [str(each) for each in places]
        raise UnknownNameError(f"{query} is not a rule or kind; a field is spelled with its kind: {_first(fields)}")
    if fields := list(_fields_of_type(among, query, release)):
        raise UnknownNameError(f"{query} is the type of a field: {_first(fields)}")
    alike = dict.fromkeys(kind.name for kind in among if steps[0].casefold() in kind.name.casefold())
    near = either([*alike][:_SHOWN]) or nearest(steps[0], [*(kind.name for kind in among), *known, *GATES])
    near = near or nearest(steps[-1], (place.path[-1] for place in _places(among, release) if place.path))
    hint = f"did you mean {near}?" if near else "`draguard explain` lists them"
    raise UnknownNameError(f"unknown rule or kind {query}: {hint}")


def _spelled(name: str, known: Iterable[str]) -> str:
    """Find a name that is written with regard to case or without; empty if there is none."""
    return next((each for each in known if each.casefold() == name.casefold()), "")


def only_kind_with(path: str, *, kubernetes: str | None) -> tuple[str, str] | None:
    """Find the only kind with a field or, as the field may be unknown, with the field around it.

    Args:
        path: The path in the kind, such as ``spec.devices.requests[0].name``.
        kubernetes: The release whose kinds are meant; None for all releases.

    Returns:
        The kind and its newest API version; None if there are several kinds, or none.

    Raises:
        ValueError: ``kubernetes`` is not a known version.
    """
    release = release_of(kubernetes) if kubernetes else None
    among, steps = kinds(release), _steps(path)
    for place in (steps, steps[:-1]):
        names = {kind.name for kind in among if not isinstance(_walk(kind, place, release), str)}
        if names:
            newest = _named(among, min(names))[0]
            return (newest.name, newest.api_version) if len(names) == 1 else None
    return None


def _steps(path: str) -> list[str]:
    """Split a path, which may be spelled as in findings: ``spec.devices.requests[0].name``."""
    return re.sub(r"\[[^\]]*\]", "", path).split(".")


_SHOWN = 3
"""How many fields of one name are listed, and kinds with similar names."""


def _first(fields: Sequence[str]) -> str:
    return f"{', '.join(fields[:_SHOWN])}{', …' if len(fields) > _SHOWN else ''}"


def _ending(among: Iterable[Kind], path: Sequence[str], release: Release | None) -> list[FieldPlace]:
    """List the fields of all kinds, in their newest versions, whose paths end with a name.

    A step may name the item of a list, such as ``Device`` for ``devices``; the last one only if another field has that
    very name. What newer releases serve comes first.
    """
    steps = [step.casefold() for step in path]
    wanted = [{step, f"{step}s"} for step in steps]

    def is_other(place: FieldPlace) -> bool:
        return place.path[-1].casefold() != steps[-1]

    found = []
    for place in _places(among, release):
        last = place.path[-len(wanted) :]
        if len(last) == len(wanted) and all(step.casefold() in each for step, each in zip(last, wanted, strict=True)):
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


def _fields_of_type(among: Iterable[Kind], name: str, release: Release | None) -> Iterator[str]:
    """List the fields of all kinds, in their newest versions, that have a type, or are lists of it."""
    for place in _places(among, release):
        if place.path and text.type_name(place.field).rpartition("]")[2].casefold() == name.casefold():
            yield str(place)


def _places(among: Iterable[Kind], release: Release | None) -> Iterator[FieldPlace]:
    """Yield the fields of all kinds, in their newest versions."""
    newest: dict[str, Kind] = {}
    for kind in among:
        newest.setdefault(kind.name, kind)
    left = [kind.place for kind in newest.values()]
    while left:
        place = left.pop(0)
        yield place
        left += children(place, release)


def _version_in(query: str, api_version: str | None) -> tuple[str, str | None]:
    """Return the query and the API version to look into, which may be the query itself.

    Raises:
        UnknownNameError: The API version is unknown.
    """
    known = {spelling for each in VERSIONS for spelling in _spellings(each)}
    if api_version is None:
        if query in known:
            return "", query
        stated = max((each for each in known if query.startswith((f"{each}/", f"{each}."))), key=len, default=None)
        return (query, None) if stated is None else (query[len(stated) + 1 :], stated)
    if api_version not in known:
        raise UnknownNameError(f"API version {api_version} is not known here: give one of {', '.join(VERSIONS)}")
    return query, api_version


def _spellings(api_version: str) -> tuple[str, str]:
    """Spell an API version in full and without its group."""
    return api_version, api_version.rpartition("/")[2]


def _find(meant: Sequence[Kind], path: Sequence[str], release: Release | None) -> FieldPlace:
    """Find a field in the newest version of a kind that has it."""
    complaints = []
    for kind in meant:
        place = _walk(kind, path, release)
        if not isinstance(place, str):
            return place
        complaints.append(place)
    raise UnknownNameError(complaints[0] + _other_path(meant[0], path))


def _walk(kind: Kind, path: Iterable[str], release: Release | None) -> FieldPlace | str:
    """Follow a path to a field; report the step that does not exist."""
    place = kind.place
    for step in path:
        fields = {child.path[-1]: child for child in children(place, release)}
        found = fields.get(step) or {name.casefold(): each for name, each in fields.items()}.get(step.casefold())
        if found is None:
            return _no_field(place, step, fields)
        place = found
    return place


def _other_path(kind: Kind, path: Sequence[str]) -> str:
    """Name the field of a version that another version has at this path."""
    for other in _named(kinds(), kind.name):
        place = _walk(other, path, None) if other.group == kind.group else ""
        if not isinstance(place, str):
            here = counterpart(place, kind, None)
            there = f"and in {kind.version} it is {here}" if here else f"and {kind.version} has nothing like it"
            return f"; that is a path of {other.version}, {there}"
    return ""


def _no_field(place: FieldPlace, step: str, fields: Iterable[str]) -> str:
    if place.type and step in place.type.opaque:
        return f"{place}.{step} exists in Kubernetes, but nothing of it is judged here"
    near = nearest(step, fields)
    hint = f"did you mean {place}.{near}?" if near else f"it has {', '.join(fields) or 'none'}"
    return f"{place} has no field {step}: {hint}"
