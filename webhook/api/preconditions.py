"""Preconditions of updates: the same object, in the expected state."""

from __future__ import annotations

from typing import Any, Final

from webhook.problem import BAD_REQUEST, Path, Problem, refused

_EMPTY: Final[dict[str, Any]] = {}


def preconditions(obj: dict[str, Any], old: dict[str, Any], *, namespaced: bool) -> list[Problem]:
    """Find whether an update is for another object or another state of it (registry/generic/registry/store.go)."""
    new, stored = obj.get("metadata") or _EMPTY, old.get("metadata") or _EMPTY
    path = Path(("metadata",))
    found = []
    if namespaced and new.get("namespace") and new["namespace"] != (stored.get("namespace") or new["namespace"]):
        message = "the namespace of the provided object does not match the namespace sent on the request"
        found.append(refused(BAD_REQUEST, path / "namespace", message).named("namespace"))
    if (new.get("name") or "") != (stored.get("name") or ""):
        ours, theirs = new.get("name") or "", stored.get("name") or ""
        message = f"the name of the object ({ours}) does not match the name on the URL ({theirs})"
        if not ours:
            message = f"the name of the object ({theirs} based on URL) was undeterminable: name must be provided"
        found.append(refused(BAD_REQUEST, path / "name", message).named("name"))
    if new.get("uid") and new["uid"] != stored.get("uid"):
        message = (
            f"Precondition failed: UID in precondition: {new['uid']}, UID in object meta: {stored.get('uid') or ''}"
        )
        found.append(refused("Conflict", path / "uid", message).named("uid"))
    if new.get("resourceVersion") and new["resourceVersion"] != stored.get("resourceVersion"):
        message = "the object has been modified; please apply your changes to the latest version and try again"
        found.append(refused("Conflict", path / "resourceVersion", message).named("resource-version"))
    return found


def is_unconditional(obj: dict[str, Any], old: dict[str, Any]) -> bool:
    """Tell whether an update states no resource version; a manifest may have none, but a stored object has."""
    new, stored = obj.get("metadata") or _EMPTY, old.get("metadata") or _EMPTY
    return bool(stored.get("resourceVersion") and not new.get("resourceVersion"))
