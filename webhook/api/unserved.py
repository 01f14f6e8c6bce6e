"""Explains why an object is not served: it is malformed, or its kind unknown or absent from the release."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from webhook.api.versions import DEFAULT, GROUP, KINDS, NEWEST, VERSIONS, Served, misnamed, moved, served
from webhook.problem import BAD_REQUEST, ERROR, Fix, Path, Problem, refused
from webhook.release import Release, span
from webhook.schema import OLDEST
from webhook.schema.decoding import WRONG_TYPE, kind_of
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


def unserved(obj: object, kind: Served | None, release: Release) -> list[Problem]:
    """Explain why an object is not served; silent if its kind may be another project's.

    Args:
        kind: Its kind; None if unknown.
        release: A Kubernetes release that does not serve it.
    """
    if not isinstance(obj, dict):
        return no_object(obj, release)
    if kind is None:
        return no_match(obj, release) if misnamed(obj.get("apiVersion"), obj.get("kind")) else []
    name, version = obj["kind"], obj["apiVersion"]
    others = served(name, release)
    hint = f"Kubernetes 1.{release} serves {name} in {', '.join(others) or 'no version'}"
    more = [f"{version} is served by {span(kind.since, kind.until)}", *moved(name, version, others)]
    return [not_served(version, name, "; ".join([hint, *more]))]


def not_served(version: object, kind: object, hint: str, fix: Fix | None = None, *, at: str = "apiVersion") -> Problem:
    """Report an object whose kind is not served in its version, at one of these fields."""
    message = f'no matches for kind "{kind}" in version "{version}"'
    return Problem(ERROR, "not-served", "NotFound", Path((at,)), message, hint, fix=fix)


def no_object(obj: object, release: Release = DEFAULT) -> list[Problem]:
    """Explain why a value is not a Kubernetes object: it is not a JSON object, or has no API version or no kind.

    Args:
        release: The Kubernetes release whose API version is suggested.
    """
    if not isinstance(obj, dict):
        return [refused(BAD_REQUEST, Path(), "an object must be a JSON object").named("not-an-object")]
    if obj.get("apiVersion") and obj.get("kind"):
        return []
    return [_not_set(field, obj, release) for field in ("apiVersion", "kind") if not obj.get(field)]


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


def _not_named(obj: dict[str, Any]) -> list[Problem]:
    """Report an API version or kind that is not a text (apimachinery ``SimpleMetaFactory.Interpret``)."""
    text = "json: cannot unmarshal {} into Go struct field .{} of type string"
    return [
        refused(BAD_REQUEST, Path((name,)), text.format(kind_of(obj[name]), name)).named(WRONG_TYPE)
        for name in ("apiVersion", "kind")
        if not isinstance(obj[name], str)
    ]


def no_match(obj: dict[str, Any], release: Release) -> list[Problem]:
    """Report an unknown kind that only Kubernetes could define."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if missing := no_object(obj, release) or _not_named(obj):
        return missing
    others = served(str(kind), release)
    if others or kind in KINDS:
        hint = f"Kubernetes 1.{release} serves {kind} in {', '.join(others) or 'no version'}"
        hint += f"; {_SUCCESSORS[str(kind)]}" if kind in _SUCCESSORS and not others else ""
        return [not_served(version, kind, hint, Fix("replace", others[0], safe=False) if others else None)]
    near = nearest(str(kind), KINDS)
    hint = f'did you mean "{near}"?' if near else f"Kubernetes 1.{OLDEST} to 1.{NEWEST} have no such kind"
    return [not_served(version, kind, hint, Fix("replace", near, safe=False) if near else None, at="kind")]
