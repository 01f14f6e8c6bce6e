"""Converts objects between API versions, and sets defaults.

The kinds of ``resource.k8s.io`` are converted as ``pkg/apis/resource`` does (conversion.go of each version): the
differences between versions follow from the types that they replace (:mod:`webhook.api.versions`). Events are renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from webhook.api.core.meta import ObjectMeta
from webhook.api.versions import DEFAULT, GROUP, VERSIONS, find, target, type_of
from webhook.release import Release
from webhook.schema.target import CREATE

if TYPE_CHECKING:
    from webhook.objects import JSONObject
    from webhook.schema.derive.conversion import Conversion
    from webhook.schema.derive.defaults import Defaults

# -- Events: names of fields in the core group and ``events.k8s.io`` (``pkg/apis/events/v1/conversion.go``)


_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}

RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "v1": {new: old for old, new in _NAMES.items()},
    "events.k8s.io/v1": _NAMES,
}
"""The new names of fields, by the version that an Event is converted to."""


class ConversionError(ValueError):
    """A kind has no counterpart in the wanted version."""


def convert(obj: JSONObject, api_version: str) -> JSONObject:
    """Convert an object to another version of its API; the object itself is not changed.

    Unknown fields stay where they are, or move with their struct. So do fields that the other version lacks: the API
    server would refuse them there. Malformed values are not touched.

    Raises:
        ConversionError: The kind has no counterpart there, such as a classic ResourceClaim of v1alpha2.
    """
    own, kind = obj.get("apiVersion"), obj.get("kind")
    if own == api_version:
        return obj
    if kind == "Event" and own in RENAMED and api_version in RENAMED:
        names = RENAMED[api_version]
        return {names.get(name, name): value for name, value in obj.items()} | {"apiVersion": api_version}
    source, wanted = find(own, kind), find(api_version, kind)
    if source is None or wanted is None or source.declared != wanted.declared:
        if missing := next((name for name in ("apiVersion", "kind") if not obj.get(name)), ""):
            raise ConversionError(f"the object has no {missing}")
        msg = f"{kind} of {own} has no counterpart in {api_version}"
        if "/" not in str(api_version):
            msg += ": give group and version, such as resource.k8s.io/v1"
        raise ConversionError(msg)
    change = _conversion(str(own), api_version).of(source.type)
    moved = {**obj, "apiVersion": api_version}
    converted: JSONObject = moved if change is None else change(moved)
    return converted


def to_v1(obj: JSONObject) -> JSONObject:
    """Convert an object of ``resource.k8s.io`` to v1, or to the newest version that has its kind.

    Args:
        obj: The object, in any version; objects of other groups are returned as they are.

    Raises:
        ConversionError: No newer version has a counterpart, as for the classic kinds of v1alpha2.
    """
    own, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(own, str) or own.rpartition("/")[0] != GROUP or find(own, kind) is None:
        return obj
    newest = next(name for name, version in VERSIONS.items() if name.startswith(f"{GROUP}/") and kind in version.kinds)
    return convert(obj, newest)


def with_defaults(obj: JSONObject, release: Release = DEFAULT) -> JSONObject:
    """Return an object as an API server decodes it: with defaults, without empty fields.

    Args:
        obj: The object, which is not changed; of one of an unknown kind only the metadata is.
    """
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return obj
    if (type_ := type_of(api_version, kind)) is None:
        complete = _defaults("v1", release).of(ObjectMeta)
        return obj | {"metadata": complete(obj["metadata"])} if "metadata" in obj else obj
    if known := find(api_version, kind):
        release = known.nearest(release)
    completed: JSONObject = _defaults(api_version, release).of(type_)(obj)
    return completed


@cache
def _conversion(source: str, wanted: str) -> Conversion:
    from webhook.schema.derive.conversion import Conversion  # needed only to convert

    return Conversion(VERSIONS[source].replaced, VERSIONS[wanted].replaced)


@cache
def _defaults(api_version: str, release: Release) -> Defaults:
    from webhook.schema.derive.defaults import Defaults  # needed only to set defaults

    return Defaults(target(api_version, release, CREATE))
