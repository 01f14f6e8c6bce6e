"""Moves manifests to another version of their API; the text keeps its comments, its order and its layout."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

from webhook.api import gates
from webhook.api.conversion import ConversionError, convert
from webhook.api.judgement import judge
from webhook.api.templates import pod_template
from webhook.api.versions import DEFAULT, GROUP, VERSIONS, find, served, target
from webhook.documents import Document
from webhook.edit.rewrite import with_objects
from webhook.findings import Finding, found, guarded
from webhook.migration.classic import CLASSIC, Parameters, from_classic, lost
from webhook.objects import JSONObject, group_of, text
from webhook.problem import ERROR, Path, Problem, Steps, value_at
from webhook.release import Release
from webhook.schema.decoding import UNKNOWN_FIELD, apart
from webhook.schema.fields import compile_struct
from webhook.schema.suggest import instead
from webhook.schema.target import CREATE
from webhook.workloads import Locations, pods_in
from webhook.workloads.locations import is_held
from webhook.workloads.projects import TRIED, parts_of_dra


class Migrated(NamedTuple):
    """A file, and the result of its migration.

    Args:
        name: Its name as given, ``<stdin>`` for standard input.
        after: Its converted text; the same if there is nothing to convert.
        older: Findings about converted parts.
        lost: Findings about parts that cannot be converted.
    """

    name: str
    before: str
    after: str
    older: list[Finding]
    lost: list[Finding]


def migrate(documents: Iterable[Document], wanted: MigrationTarget) -> Iterator[Migrated]:
    """Convert the objects of files.

    Args:
        documents: The objects, file by file.
        wanted: The versions to convert to.
    """
    every = list(documents)
    parameters = Parameters(each.data for each in every)
    for name, of_file in groupby(every, key=lambda document: document.source):
        together = list(of_file)
        older, lost, objects = list[Finding](), list[Finding](), list[Any]()
        for document in together:
            result = Converted(document.data)
            with guarded(document, lost):
                result = converted(document.data, wanted, parameters)
            older += (found(problem, document) for problem in result.older)
            lost += (found(problem, document) for problem in result.lost)
            objects.append(result.object)
        yield Migrated(name, together[0].file.text, with_objects(together, objects, _with_version), older, lost)


def _with_version(whole: Any, items: Sequence[Any]) -> None:
    """Give a list of one of the group's kinds the version of its items."""
    versions = {text(each, "apiVersion") for each in items if isinstance(each, dict)}
    if text(whole, "apiVersion").startswith(f"{GROUP}/") and len(versions) == 1:
        whole["apiVersion"] = versions.pop() or whole["apiVersion"]


_FLAT_CLAIMS_SINCE: Final = Release(31)
"""The first release whose pods name their claims without ``source``."""


@dataclass(frozen=True, slots=True)
class MigrationTarget:
    """The target of a migration.

    Args:
        version: A version of ``resource.k8s.io``, such as ``v1``; empty for the newest that all releases serve.
        releases: The releases that the objects are for; the default one if there are none.
        locations: Where workloads keep their pods, besides the known places.
    """

    version: str = ""
    releases: Sequence[Release] = ()
    locations: Locations | None = None

    def api_version(self, kind: str) -> str:
        """Return the version of a kind, with its group; empty if no release serves the kind.

        A kind that the wanted version lacks gets one that the stated releases serve, or else its newest older version.
        """
        if self.version:
            wanted, names = f"{GROUP}/{self.version}", [name for name in VERSIONS if name.startswith(GROUP)]
            since = VERSIONS[wanted].kinds["DeviceClass"].since  # an older one must be served beside it
            for name in [wanted] if self.releases else names[names.index(wanted) :]:
                if kind in VERSIONS[name].kinds and VERSIONS[name].kinds[kind].until >= since:
                    return name
        every = [served(kind, release) for release in self.releases]
        among = (name for name in served(kind, self.newest) if all(name in each for each in every))
        return next((name for name in among if name.startswith(GROUP)), "")

    @property
    def newest(self) -> Release:
        """The newest release that the objects are for."""
        return max(self.releases, default=DEFAULT)


class Converted(NamedTuple):
    """The result of converting an object.

    Args:
        object: The converted object; the same one if nothing changes.
        older: Findings about converted parts, at their places in the old object.
        lost: Findings about parts that cannot be converted.
    """

    object: Any
    older: Sequence[Problem] = ()
    lost: Sequence[Problem] = ()


def converted(obj: Any, wanted: MigrationTarget, parameters: Parameters) -> Converted:
    """Convert an object.

    Args:
        obj: Any JSON value; only objects of ``resource.k8s.io``, and those that make pods, are converted.
        wanted: The versions to convert to.
        parameters: The parameters that claims of v1alpha2 may refer to.
    """
    own, kind = text(obj, "apiVersion"), text(obj, "kind")
    if not own.startswith(f"{GROUP}/"):
        return _with_held(_with_flat_claims(obj, wanted), wanted, parameters)
    if find(own, kind) is None:
        return Converted(obj, lost=judge(obj))
    newer, problems = from_classic(obj, parameters) if own == CLASSIC else (obj, [])
    if problems and newer is obj:
        return Converted(obj, lost=problems)
    if (version := wanted.api_version(newer["kind"])) == own:
        return Converted(obj, lost=_losses(obj, obj, wanted))
    try:
        changed = convert(newer, version)
    except ConversionError:
        return Converted(obj, lost=[_without_version(obj, version, newer["kind"], wanted)])
    if newer is obj:
        problems = _losses(obj, changed, wanted)
        parents = {Path(each.path[:-1]) for each in problems}
        changed = _without(changed, set().union(*(_filled_in(each, obj, changed) for each in parents)), Path())
    is_of = version if changed["kind"] == kind else f"{changed['kind']} of {version}"
    return Converted(changed, [_older(Path(("apiVersion",)), f"{kind} is of {own}, not {is_of}")], problems)


_CLAIMS: Final = ("spec", "resourceClaims")


def _with_flat_claims(obj: Any, wanted: MigrationTarget) -> Converted:
    """Convert an object whose pods may name their claims by ``source``, unless a release needs that."""
    if not isinstance(obj, dict) or any(release < _FLAT_CLAIMS_SINCE for release in wanted.releases):
        return Converted(obj)
    nested = list(_nested(obj, wanted.locations))
    changed = deepcopy(obj) if nested else obj
    for place, index, entry in nested:
        value_at(changed, place)[index] = entry
    message = "pods of Kubernetes 1.31 and later name claims and templates without source"
    return Converted(changed, [_older(Path((*place, index, "source")), message) for place, index, _ in nested])


def _nested(obj: Any, locations: Locations | None) -> Iterator[tuple[Steps, int, JSONObject]]:
    """Yield the entries of ``resourceClaims`` with a ``source``, of all pods: their places, and them without it."""
    if (template := pod_template(obj)) is not None:
        places: list[Steps] = [(*template, *_CLAIMS)]
    else:
        places = [tuple(pods.place(("template", *_CLAIMS))) for pods in pods_in(obj, locations) if pods.is_known]
    for place in dict.fromkeys(places):
        claims = value_at(obj, place)
        for index, entry in enumerate(claims if isinstance(claims, list) else ()):
            source = entry.get("source", "") if isinstance(entry, dict) else ""
            if source is None or (isinstance(source, dict) and source.keys().isdisjoint(entry)):
                parts = ((source or {}) if key == "source" else {key: entry[key]} for key in entry)
                yield place, index, {key: value for part in parts for key, value in part.items()}


def _with_held(whole: Converted, wanted: MigrationTarget, parameters: Parameters) -> Converted:
    """Convert the manifests in an object of another project, such as a ManifestWork, as well."""
    parts = () if group_of(whole.object) in TRIED else parts_of_dra(whole.object)
    manifests = [(at, each) for at, each in parts if is_held(each) and find(each["apiVersion"], each["kind"])]
    changed, older, lost = deepcopy(whole.object) if manifests else whole.object, [*whole.older], [*whole.lost]
    for at, each in reversed(manifests):
        held = converted(each, wanted, parameters)
        value_at(changed, at[:-1])[at[-1]] = held.object
        older += (problem._replace(path=Path((*at, *problem.path))) for problem in held.older)
        lost += (problem._replace(path=Path((*at, *problem.path))) for problem in held.lost)
    return Converted(changed, older, lost)


def _older(path: Path, message: str) -> Problem:
    """Report a part that can be converted."""
    return Problem(ERROR, "older-version", "Deprecated", path, message, "draguard convert --write converts it")


def _without_version(obj: JSONObject, version: str, newer: str, wanted: MigrationTarget) -> Problem:
    """Report an object without a version that all requested releases serve."""
    if wanted.releases[1:] and all(served(newer, release) for release in wanted.releases):
        releases = ", ".join(f"1.{release}" for release in wanted.releases)
        message = f"Kubernetes {releases} have no version of {newer} in common"
        hint = "convert for each release by itself"
    elif version:
        message = f"{obj['kind']} of {obj['apiVersion']} cannot be converted to {version}"
        hint = "write it anew by hand, or state releases that serve a newer version"
    else:
        message = f"the requested releases do not serve {newer}"
        hint = "leave the object out, or state releases that serve it"
    return lost(Path(("kind",)), message, hint)


def _losses(before: JSONObject, after: JSONObject, wanted: MigrationTarget) -> list[Problem]:
    """Find the fields that the new version lacks: those that an earlier conversion has left, and those of the old one.

    Fields that the old version lacks, too, are those of a typo unless they have a replacement.
    """
    misspelt, never, version = _unknown_of(before), _unknown_of(after), after["apiVersion"]
    found = {path: hint for path, hint in misspelt.items() if hint and path in never}
    if after is not before:
        known = convert(_without(before, misspelt, Path()), version) if misspelt else after
        found |= _unknown_of(known, wanted.newest)
    ends = VERSIONS[version].kinds[after["kind"]].until < wanted.newest
    release = f"Kubernetes 1.{wanted.newest}"
    return [
        lost(path, f"{version if ends or path in never else release} has no {path[-1]}", hint or "remove the field")
        for path, hint in found.items()
    ]


def _unknown_of(obj: JSONObject, newest: Release | None = None) -> dict[Path, str]:
    """List the fields unknown to all releases that serve an object's version, or to the newest wanted one.

    Each comes with its replacement, if known.
    """
    version = obj["apiVersion"]
    kind = VERSIONS[version].kinds[obj["kind"]]
    unknown = list[dict[Path, str]]()
    for release in (kind.since, kind.until) if newest is None else (max(min(newest, kind.until), kind.since),):
        compiled = compile_struct(kind.type, target(version, release, CREATE, gates.every(release)))
        misfits = apart(compiled.decoding.walk(obj))[0]
        unknown.append({each.path: instead(compiled, each.path) for each in misfits if each.rule == UNKNOWN_FIELD})
    return {path: hint for path, hint in unknown[0].items() if path in unknown[-1]}


def _filled_in(at: Path, before: JSONObject, after: JSONObject) -> set[Path]:
    """Find the required fields of a struct that its conversion has left empty, as nothing was there to fill them."""
    fields = value_at(before, at, {})
    held = {*fields, *(name for each in fields.values() if isinstance(each, dict) for name in each)}
    return {at / name for name, value in value_at(after, at, {}).items() if value == "" and name not in held}


def _without(value: Any, paths: Container[Path], at: Path) -> Any:
    """Return a value without the fields at some paths."""
    if isinstance(value, list):
        return [_without(each, paths, at / index) for index, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {name: _without(each, paths, at / name) for name, each in value.items() if at / name not in paths}
