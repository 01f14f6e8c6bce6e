"""Explains why an object is not served: it is malformed, or its kind unknown or absent from the release."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from webhook.api.versions import DEFAULT, GROUP, KINDS, NEWEST, VERSIONS, Served, misnamed, moved, served
from webhook.problem import BAD_REQUEST, ERROR, Fix, Path, Problem, refused
from webhook.release import Release, span
from webhook.schema.decoding import WRONG_TYPE, kind_of
from webhook.schema.target import OLDEST
from webhook.spelling import nearest

_NAMED: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_FIELDS: Final = 20
"""How many fields of an object may be a misspelt version or kind."""


_SUCCESSORS: Final = {
    "ResourceClass": "a DeviceClass has taken its place",
    **dict.fromkeys(
        ("ResourceClaimParameters", "ResourceClassParameters"),
        "a claim or DeviceClass states parameters itself, in config[].opaque",
    ),
}
"""The kinds that have replaced those of v1alpha2."""


def unserved(obj: object, kind: Served | None, stated: Release | None) -> list[Problem]:
    """Explain why an object is not served; silent if its kind may be another project's.

    Args:
        kind: Its kind; None if unknown.
        stated: A Kubernetes release that does not serve it; None if that follows from its version.
    """
    release = stated or DEFAULT
    if not isinstance(obj, dict):
        return no_object(obj, release)
    if kind is None:
        return no_match(obj, stated) if misnamed(obj.get("apiVersion"), obj.get("kind")) else []
    name, version = obj["kind"], obj["apiVersion"]
    others = served(name, release)
    more = [f"{version} is served by {span(kind.since, kind.until)}", *moved(name, version, others)]
    return [not_served(version, name, "; ".join([_serving(name, release), *more]))]


def not_served(version: object, kind: object, hint: str, fix: Fix | None = None, *, at: str = "apiVersion") -> Problem:
    """Report an object whose kind is not served in its version, at one of these fields."""
    message = f'no matches for kind "{kind}" in version "{version}"'
    return Problem(ERROR, "not-served", "NotFound", Path((at,)), message, hint, fix=fix)


def no_object(obj: object, release: Release = DEFAULT) -> list[Problem]:
    """Explain why a value is not a Kubernetes object: it is not a JSON object, or has no text as API version or kind.

    Args:
        release: The Kubernetes release whose API version is suggested.
    """
    if not isinstance(obj, dict):
        return [refused(BAD_REQUEST, Path(), "an object must be a JSON object").named("not-an-object")]
    problems = []
    for field in ("apiVersion", "kind"):
        value = obj.get(field)
        if value is None or value == "":
            problems.append(_not_set(field, obj, release))
        elif not isinstance(value, str):  # apimachinery ``SimpleMetaFactory.Interpret``
            text = f"json: cannot unmarshal {kind_of(value)} into Go struct field .{field} of type string"
            problems.append(refused(BAD_REQUEST, Path((field,)), text).named(WRONG_TYPE))
    return problems


def _not_set(field: str, obj: dict[str, Any], release: Release) -> Problem:
    """Report an object without a version or kind, at the field that may be misspelt."""
    problem = refused(BAD_REQUEST, Path((field,)), f"{field} not set").named("not-served")
    others = [str(name) for name in islice(obj, _FIELDS) if name not in _NAMED and isinstance(obj[name], str)]
    if written := nearest(field, others):
        hint, fix = f'did you mean "{field}" in place of "{written}"?', Fix("rename", field, safe=False)
        return problem._replace(path=Path((written,)), spelled=Path((field,)), hint=hint, fix=fix)
    version = obj.get("apiVersion")
    if field == "kind" and isinstance(version, str) and version.startswith(f"{GROUP}/") and version in VERSIONS:
        return problem._replace(hint=f"add kind: {' or '.join(sorted(VERSIONS[version].kinds))}")
    versions = served(str(obj.get("kind")), release) if field == "apiVersion" else ()
    return problem._replace(hint=f"add apiVersion: {versions[0]}") if versions else problem


def no_match(obj: dict[str, Any], stated: Release | None) -> list[Problem]:
    """Report an unknown kind that only Kubernetes could define.

    Args:
        stated: The Kubernetes release; None if that follows from the object's version.
    """
    version, kind, release = obj.get("apiVersion"), str(obj.get("kind")), stated or DEFAULT
    if missing := no_object(obj, release):
        return missing
    others = served(kind, release)
    if others or kind in KINDS:
        fix = Fix("replace", others[0], safe=False) if others else None
        return [not_served(version, kind, _serving(kind, release), fix)]
    known = VERSIONS[str(version)].kinds if version in VERSIONS else {}
    if fit := nearest(kind, [name for name in known if stated is None or version in served(name, stated)]):
        return [not_served(version, kind, f'did you mean "{fit}"?', Fix("replace", fit, safe=False), at="kind")]
    near = nearest(kind, KINDS)  # to rename it would be another error
    none = f"Kubernetes 1.{OLDEST} to 1.{NEWEST} have no such kind"
    hint = f'did you mean "{near}"? {_serving(near, release)}' if near else none
    return [not_served(version, kind, hint, at="kind")]


def _serving(kind: str, release: Release) -> str:
    """Say in which versions a release serves a kind, or else what has taken its place."""
    others = served(kind, release)
    hint = f"Kubernetes 1.{release} serves {kind} in {', '.join(others) or 'no version'}"
    return hint if others or kind not in _SUCCESSORS else f"{hint}; {_SUCCESSORS[kind]}"
