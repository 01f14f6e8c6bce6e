"""Compares an update with the stored object: it must be the same object, and some fields cannot change.

Follows kube-apiserver (``registry/rest/update.go``, ``registry/generic/registry/store.go``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, cast

from webhook.api import warnings
from webhook.api.core.meta import Object, repeated_owner
from webhook.problem import BAD_REQUEST, TOO_MANY, Path, Problem, invalid, refused
from webhook.schema.declarations import IMMUTABLE, IN_PLACE, name_of
from webhook.schema.fields import SIZE_ENDS_LIST_SINCE, CompiledStruct, compile_struct, examined, merged
from webhook.schema.target import UPDATE, UPDATE_STATUS

_SUPERSEDED_SINCE = 37
"""From Kubernetes 1.37 a handwritten finding goes only if a declarative one says the same."""

_EMPTY: Final[dict[str, Any]] = {}


def compared(struct: CompiledStruct, obj: dict[str, Any], old: dict[str, Any]) -> list[Problem]:
    """Judge an update of a decodable object by what is stored."""
    refusals = _preconditions(obj, old, namespaced=_kind(struct).namespaced)
    # A manifest may have no resource version, but a stored object has.
    given, stored = ((each.get("metadata") or _EMPTY).get("resourceVersion") for each in (obj, old))
    if stored and not given and not _kind(struct).unconditional_update:
        path = Path(("metadata", "resourceVersion"))
        return [*refusals, invalid(path, 0, "must be specified for an update").named("resource-version")]
    refusals += warnings.not_touched(struct, obj, old)
    if struct.target.operation == UPDATE_STATUS:
        refusals += _repeated_owners(struct, obj)
    obj = _prepared(struct, obj, old)
    found = _validated(struct, obj, old)
    kind, release = _kind(struct), struct.target.release
    kept = [problem for problem in found if not kind.tolerates(problem, release)]
    if len(kept) < len(found) and any(problem.path[:1] == ("spec",) for problem in _validated(struct, old, old)):
        found = kept
    return [*refusals, *found]


def _validated(struct: CompiledStruct, obj: dict[str, Any], old: dict[str, Any]) -> Sequence[Problem]:
    found = examined(struct, obj)[1]
    changes = struct.change(obj, old) if struct.change else ()
    if not changes:
        return found
    if struct.target.release >= SIZE_ENDS_LIST_SINCE:
        long = {each.path for each in found if each.reason == TOO_MANY}
        changes = [
            each
            for each in changes
            if long.isdisjoint(each.path[:length] for length in range(len(each.path)))
            or struct.finds_declaratively(each)
        ]
    before: dict[str, str | None] = {IMMUTABLE: _kind(struct).immutable_before}
    if struct.target.operation == UPDATE:  # in a status, fields that are validated only if they change come last
        before = {**dict.fromkeys((each.rule for each in changes), IN_PLACE), **struct.before, **before}
    return merged(found, changes, struct, before)


def ratcheted(found: list[Problem], struct: CompiledStruct, obj: dict[str, Any], old: dict[str, Any]) -> list[Problem]:
    """Leave out findings of declarative rules about values that an update does not change.

    From Kubernetes 1.37 on a handwritten rule reports these instead, if there is one: only a declarative finding
    supersedes it.
    """
    if not found or not struct.target.declarative:
        return found
    from webhook.api import declarative  # needed only for findings

    if not (late := declarative.unchanged(found, struct, obj, old)):
        return found
    left_out = set(map(id, late))
    rest = [problem for problem in found if id(problem) not in left_out]
    if struct.target.release < _SUPERSEDED_SINCE:
        return rest
    handwritten = compile_struct(struct.type, struct.target.but(declarative=False))
    paths = {problem.path for problem in late}
    reported = {(problem.path, problem.message) for problem in rest}
    superseded = (each for each in compared(handwritten, obj, old) if each.path in paths)
    return rest + [each for each in superseded if (each.path, each.message) not in reported]


def _repeated_owners(struct: CompiledStruct, obj: dict[str, Any]) -> list[Problem]:
    """Find the owner references that repeat others, before an update of the status discards them all."""
    metadata = struct.fields["metadata"].struct
    if metadata is None or "ownerReferences" not in _kept_by_status(struct) or not (submitted := obj.get("metadata")):
        return []
    found = repeated_owner(compile_struct(metadata.type, struct.target).view(submitted))
    return [problem.under("metadata").named(name_of(repeated_owner)) for problem in found]


def _kept_by_status(struct: CompiledStruct) -> frozenset[str]:
    return struct.target.pick(_kind(struct).kept_by_status) or frozenset()


def _kind(struct: CompiledStruct) -> type[Object]:
    return cast("type[Object]", struct.type)


def _prepared(struct: CompiledStruct, obj: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Keep the fields that an update cannot change, as PrepareForUpdate does."""
    prepared = _keeping({"status"} if struct.target.operation == UPDATE else {"spec"}, obj, old)
    if struct.target.operation == UPDATE_STATUS and (kept := _kept_by_status(struct)):
        prepared["metadata"] = _keeping(kept, obj.get("metadata") or {}, old.get("metadata") or {})
    return _kind(struct).prepare(prepared, old, struct.target)


def _keeping(names: Collection[str], new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Return new fields, but for some the old ones."""
    return {name: value for name, value in new.items() if name not in names} | {
        name: value for name, value in old.items() if name in names
    }


def _preconditions(obj: dict[str, Any], old: dict[str, Any], *, namespaced: bool) -> list[Problem]:
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
