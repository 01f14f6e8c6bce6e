"""Decodes objects as the API server does, before policies are asked about them or read them.

Known kinds and those of CustomResourceDefinitions are decoded with all their fields; of Kubernetes' remaining kinds,
only the metadata is.
"""

from __future__ import annotations

from webhook.api import conversion, judgement
from webhook.api.versions import type_of
from webhook.objects import JSONObject, text
from webhook.policy.manifest.kinds import Kinds, kind_of
from webhook.problem import ERROR, Path, Problem
from webhook.schema.decoding import UNKNOWN_FIELD


def undecodable(obj: JSONObject, kinds: Kinds) -> list[Problem]:
    """List why the API server cannot decode an object; no policy is asked about such an object.

    Args:
        obj: The object as submitted.
    """
    api_version, kind = text(obj, "apiVersion"), text(obj, "kind")
    if not api_version or not kind:
        return []
    if type_of(api_version, kind):
        return judgement.undecodable(obj, kinds.release)
    if served := kinds.unserved(kind_of(api_version, kind)):
        message = f'no matches for kind "{kind}" in version "{api_version}"'
        hint = f"its CustomResourceDefinition serves {', '.join(served)}"
        return [Problem(ERROR, "not-served", "NotFound", Path(("apiVersion",)), message, hint)]
    if custom := kinds.custom(kind_of(api_version, kind)):
        found = judgement.undecodable(obj, kinds.release)
        of_metadata = [each for each in found if each.rule != UNKNOWN_FIELD or each.path[:1] == ("metadata",)]
        return [*of_metadata, *custom.unknown_fields(obj)]
    if not kinds.has_group(kind_of(api_version, kind).group):
        return []
    found = judgement.undecodable(obj, kinds.release)
    return [problem for problem in found if problem.rule != UNKNOWN_FIELD]


def decoded(obj: JSONObject, kinds: Kinds) -> JSONObject:
    """Return an object as the API server decodes it: with defaults, without null; the object itself is not changed.

    Args:
        obj: The object as submitted, which can be decoded.
    """
    if custom := kinds.custom(kind_of(text(obj, "apiVersion"), text(obj, "kind"))):
        return custom.completed(obj, kinds.release)
    return conversion.with_defaults(obj, kinds.release)


def stored(obj: JSONObject, kinds: Kinds) -> JSONObject | None:
    """Return an object as it is stored once a client creates it; None if the API server refuses it.

    Args:
        obj: The object as submitted.
    """
    if custom := kinds.custom(kind_of(text(obj, "apiVersion"), text(obj, "kind"))):
        return custom.stored(obj, kinds.release)
    return None if undecodable(obj, kinds) else decoded(obj, kinds)
