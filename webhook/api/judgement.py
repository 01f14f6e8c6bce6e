"""Validates one object as the API server does: decode, prepare, validate, compare with the old object.

The order is that of kube-apiserver (``registry/rest/create.go``, ``update.go``): an object that cannot be decoded is
not validated, and fields that the strategy drops or keeps are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from webhook import formats
from webhook.api import gates, warnings
from webhook.api.core.meta import CHECKED_LAST, PREFIX_IN_PATH, Object
from webhook.api.versions import DEFAULT, VERSIONS, find, others_with, release_of, target, type_of
from webhook.budget import REVIEW, Budget, enter, leave
from webhook.limits import MOST_FINDINGS
from webhook.problem import BAD_REQUEST, ERROR, Path, Problem, quoted, refused
from webhook.release import Release, releases
from webhook.schema.decoding import GATE_OFF, UNKNOWN_FIELD, Misfit, apart, as_reported, refuses
from webhook.schema.fields import CompiledStruct, compile_struct, examined
from webhook.schema.target import CREATE, STATUS, UPDATE, UPDATE_STATUS

Gates = frozenset[tuple[str, bool]]

SOUGHT = 100
"""For how many unknown fields of an object suggestions are made; each takes a while."""

ENOUGH = 1000
"""The most findings about one list at a webhook; lists with a length limit cannot have as many items.

An object may have millions of invalid items, and the webhook must respond in time.
"""


def judge(
    obj: object,
    old: object = None,
    *,
    kubernetes: str | None = None,
    subresource: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    beyond_decoding: bool = False,
) -> list[Problem]:
    """Validate a submitted object as the API server would; see :func:`webhook.validate`.

    Each document has its own budget of work. With ``beyond_decoding`` the rest of an object that cannot be decoded
    is validated, too: the API server does that only once it can be.
    """
    release = release_of(kubernetes) if kubernetes else None
    kind = find(obj.get("apiVersion"), obj.get("kind")) if isinstance(obj, dict) else None
    if not isinstance(obj, dict) or kind is None or not kind.since <= (release or kind.default) <= kind.until:
        from webhook.api.unserved import unserved  # most objects are served

        return unserved(obj, kind, release)
    release = release or kind.default
    operation = UPDATE_STATUS if subresource == STATUS else CREATE if old is None else UPDATE
    stated = frozenset(feature_gates.items()) if feature_gates else None
    admin = None if namespace_labels is None else _admin_namespace(namespace_labels, release)
    version, name = obj["apiVersion"], obj["kind"]
    struct, found_in_kind = _plan_submitted(version, name, release, operation, stated, admin_namespace=admin)
    token = enter(Budget(REVIEW, is_offline=True))
    try:
        misfits, problems = _walked(struct, obj, old)
        found = _judged(struct, obj, old, misfits, problems)
        if beyond_decoding and any(misfit.rule != GATE_OFF for misfit in misfits):
            found += _beyond(struct, obj, old, misfits)
    except RecursionError:
        return [_TOO_DEEP]
    finally:
        leave(token)
    if old is None and STATUS in obj:
        found = [*warnings.status_dropped(struct, obj), *found]
    return [*found_in_kind, *found] if found_in_kind else found


@lru_cache(maxsize=512)
def _plan_submitted(
    api_version: str,
    kind: str,
    release: Release,
    operation: str,
    feature_gates: Gates | None,
    *,
    admin_namespace: bool | None,
) -> tuple[CompiledStruct, tuple[Problem, ...]]:
    """Return the plan that judges submitted objects of a kind, and the findings that all of them share."""
    served_kind, named = VERSIONS[api_version].kinds[kind], dict(feature_gates or ())
    known = target(
        api_version,
        release,
        operation,
        gates.enabled(release, named),
        admin_namespace,
        enough=MOST_FINDINGS + 1,  # one more says that there are more
        declarative=_is_declared(served_kind.type, release, named),
        thorough=True,
    )
    found = warnings.of_kind({"apiVersion": api_version, "kind": kind}, served_kind, known)
    struct = compile_struct(served_kind.type, known)
    return struct, tuple(found)


def decoder(api_version: str, kind: str, release: Release) -> CompiledStruct:
    """Return the type that decodes objects of a kind with all fields, whether draguard judges them or not.

    Of an unknown kind it knows only the metadata.

    Args:
        release: The Kubernetes release; that nearest to it which serves the kind, if it does not.
    """
    if known := find(api_version, kind):
        release = known.nearest(release)
    if (type_ := type_of(api_version, kind)) is None:
        type_, api_version = Object, "v1"  # unknown kinds share a target: clients choose their names
    return compile_struct(type_, target(api_version, release, CREATE, thorough=True).decoding)


def undecodable(obj: dict[str, Any], release: Release) -> list[Problem]:
    """List what the API server's decoder refuses in an object with a version and a kind; see :func:`decoder`."""
    struct = decoder(obj["apiVersion"], obj["kind"], release)
    misfits = [misfit for misfit in apart(struct.walk(obj))[0] if misfit.rule != GATE_OFF]
    return advised(misfits, struct, obj) if misfits else []


def judge_admitted(
    obj: object,
    old: object = None,
    *,
    kubernetes: str | None = None,
    subresource: str = "",
    feature_gates: Mapping[str, bool] | None = None,
) -> list[Problem]:
    """Validate an object that an API server has decoded and sends to its admission webhooks.

    That server knows best what it serves: an unknown field belongs to another release and is not a mistake, the server
    has set the status, and it has checked the namespace. The work counts against the review's budget, and the number of
    findings is limited.

    Args:
        old: The stored object, for an update.
        kubernetes: The server's release; None for the newest that knows the object's fields.
        subresource: ``"status"`` for an update of the status.
        feature_gates: The gates that differ from the release's defaults; if None, every gate may be on.
    """
    if not isinstance(obj, dict):
        from webhook.api.unserved import no_object

        return no_object(obj)
    version, name = obj.get("apiVersion"), obj.get("kind")
    if find(version, name) is None:
        return []
    operation = UPDATE_STATUS if subresource == STATUS else CREATE if old is None else UPDATE
    stated = None if feature_gates is None else frozenset(feature_gates.items())
    return _admitted(*_plan_admitted(version, name, operation, kubernetes, stated), obj, old)


def judge_stored(obj: dict[str, Any], kubernetes: str | None, *, decodes_only: bool) -> list[Problem]:
    """Validate an object of a known kind that an API server has stored, whose metadata is only decoded.

    Args:
        kubernetes: The release that stored it; None for the newest that knows the object's fields.
        decodes_only: Whether to decode the rest only, too.
    """
    struct, older = _plan_admitted(obj["apiVersion"], obj["kind"], CREATE, kubernetes, None, stored=True)
    return _admitted(struct.decoding if decodes_only else struct, older, obj)


def _admitted(
    struct: CompiledStruct, older: Iterable[Release], obj: dict[str, Any], old: object = None
) -> list[Problem]:
    misfits, problems = _walked(struct, obj, old)
    if misfits:
        struct = _as_decoded(struct, misfits, obj, older)
        misfits, problems = _walked(struct, obj, old)
    return _judged(struct, obj, old, misfits, problems)


@lru_cache(maxsize=512)
def _plan_admitted(
    api_version: str, kind: str, operation: str, kubernetes: str | None, feature_gates: Gates | None, **more: bool
) -> tuple[CompiledStruct, Iterable[Release]]:
    """Return the plan that judges admitted objects of a kind, and older releases that may know other fields.

    Args:
        more: More of the target, such as that the objects are stored.
    """
    served_kind = VERSIONS[api_version].kinds[kind]
    stated = release_of(kubernetes) if kubernetes else None
    # A server that sends an object serves it, whatever its stated release.
    release = served_kind.nearest(stated or DEFAULT)
    named = None if feature_gates is None else dict(feature_gates)
    gates_on = gates.every(release) if named is None else gates.enabled(release, gates.settable(named, release))
    declared = _is_declared(served_kind.type, release, named)
    known = target(api_version, release, operation, gates_on, admin_namespace=True, enough=ENOUGH, declarative=declared)
    struct = compile_struct(served_kind.type, known.but(**more))
    return struct, () if stated else tuple(reversed(releases(served_kind.since, release - 1)))


_TOO_DEEP = refused(BAD_REQUEST, Path(), "the object is nested too deeply").named("too-deep")


def stored(
    obj: dict[str, Any],
    *,
    kubernetes: str | None = None,
    subresource: str = "",
    feature_gates: Mapping[str, bool] | None = None,
) -> dict[str, Any]:
    """Return a manifest as an API server would store it: without the fields that it drops.

    Defaults are not set: objects are compared with their defaults.

    Args:
        obj: A valid object; one of an unknown kind is returned as it is.
        kubernetes: The release; None for the newest that serves the object's version.
        subresource: The subresource by which it was submitted, after its creation.
        feature_gates: The gates that differ from the release's defaults.
    """
    release, kind = release_of(kubernetes) if kubernetes else None, find(obj.get("apiVersion"), obj.get("kind"))
    if kind is None or not kind.since <= (release or kind.default) <= kind.until:
        return obj
    stated = frozenset(feature_gates.items()) if feature_gates else None
    version, name = obj["apiVersion"], obj["kind"]
    struct, _ = _plan_submitted(version, name, release or kind.default, CREATE, stated, admin_namespace=None)
    kept = _without(obj, (misfit for misfit in examined(struct.decoding, obj)[0] if misfit.rule == GATE_OFF))
    drops_status = subresource != STATUS and STATUS in kept and any(warnings.status_dropped(struct, kept))
    return _less(kept, (STATUS,), {}) if drops_status else kept


def _walked(struct: CompiledStruct, obj: dict[str, Any], old: object) -> tuple[Sequence[Misfit], Sequence[Problem]]:
    """Decode an object, and validate it if it is new; an update is validated once it is prepared."""
    return examined(struct if old is None else struct.decoding, obj)


def _judged(
    struct: CompiledStruct, obj: dict[str, Any], old: object, misfits: Sequence[Misfit], problems: Sequence[Problem]
) -> list[Problem]:
    dropped = [misfit for misfit in misfits if misfit.rule == GATE_OFF] if misfits else ()
    if len(dropped) < len(misfits):
        return advised([misfit for misfit in misfits if misfit.rule != GATE_OFF], struct, obj)
    return _new(struct, obj, dropped, problems) if old is None else _updated(struct, obj, old, dropped)


def advised(misfits: Iterable[Misfit], struct: CompiledStruct, obj: dict[str, Any]) -> list[Problem]:
    """List what the decoder refuses, with suggestions for the first unknown fields."""
    from webhook.schema.suggest import instead, suggestion  # most objects can be decoded

    problems = [misfit.problem() for misfit in as_reported(misfits)]
    unknown = (index for index, problem in enumerate(problems) if problem.rule == UNKNOWN_FIELD)
    for index in islice(unknown, SOUGHT):
        path = problems[index].path
        hint, fix = suggestion(struct, path, obj)
        # Where no field is near, other versions that have it are named, before a replacement that the type declares.
        if fix is None and hint == instead(struct, path):
            others = ", ".join(others_with(path, obj["apiVersion"], obj["kind"]))
            hint = "; ".join(filter(None, (others and f"a field of {others}", hint)))
        problems[index] = problems[index]._replace(hint=hint, fix=fix)
    return problems


def _beyond(struct: CompiledStruct, obj: dict[str, Any], old: Any, misfits: Sequence[Misfit]) -> list[Problem]:
    from webhook.api.beyond import beyond  # most objects can be decoded

    try:
        found = beyond(struct, obj, old, misfits, lambda *corrected: _judged(struct, corrected[0], old, *corrected[1:]))
        return [_spelled(problem, struct) for problem in found]
    except RecursionError:  # correcting an object takes more stack than judging it
        return []


def _new(
    struct: CompiledStruct, obj: dict[str, Any], dropped: Sequence[Misfit], problems: Sequence[Problem]
) -> list[Problem]:
    """Judge the creation of a decodable object."""
    found = [] if struct.target.stored else _namespace_refusals(struct, obj)
    if dropped:
        found = [*warnings.gates_off(dropped, obj, struct.target), *found]
        obj = _without(obj, dropped)
        problems = examined(struct, obj)[1]
    found = [*found, *problems]
    if found and any(problem.level == ERROR and problem.rule not in CHECKED_LAST for problem in found):
        found = [problem for problem in found if problem.rule != PREFIX_IN_PATH]
    return _arranged(found, struct, obj)


def _updated(struct: CompiledStruct, obj: dict[str, Any], old: object, dropped: Sequence[Misfit]) -> list[Problem]:
    """Judge an update of a decodable object."""
    from webhook.api import updates  # most objects are new

    # The stored object may have fields of a later release; undecodable fields cannot have been stored.
    stored = examined(struct.decoding, old)[0] if isinstance(old, dict) else ()
    if not isinstance(old, dict) or refuses(stored):
        return [_not_stored(stored)]
    in_use = {misfit.gates for misfit in stored if misfit.rule == GATE_OFF}
    dropped = [misfit for misfit in dropped if misfit.gates not in in_use]
    warned = warnings.gates_off(dropped, obj, struct.target)
    obj = _without(obj, dropped)
    found = [*warned, *updates.compared(struct, obj, old)]
    return _arranged(updates.ratcheted(found, struct, obj, old), struct, obj)


def _not_stored(misfits: Iterable[Misfit]) -> Problem:
    """Report an old state that no API server can have stored, with the first part that cannot be decoded."""
    first = next((misfit.problem() for misfit in as_reported(misfits) if misfit.refuses), None)
    hint = (
        f"in the old object: {first.hint}" if first and first.hint else "give the old object as the API server has it"
    )
    summary, detail = "the old object is not a stored object of this kind", str(first) if first else ""
    return refused(BAD_REQUEST, Path(), summary, "old-object", detail=detail)._replace(hint=hint)


def _arranged(found: list[Problem], struct: CompiledStruct, obj: dict[str, Any]) -> list[Problem]:
    """Spell the fields of findings as the API server does, and put those of declarative rules last."""
    if not found:
        return found
    spelled = [_spelled(problem, struct) for problem in found]
    if not struct.target.declarative:
        return spelled
    from webhook.api import declarative  # needed only for findings

    return declarative.arranged(spelled, struct, obj)


def _spelled(problem: Problem, struct: CompiledStruct) -> Problem:
    """Spell a finding's field as the API server does."""
    written = problem.path if problem.spelled is None else problem.spelled
    spelled = struct.spell(written)
    if spelled == problem.path:
        return problem if problem.spelled is None else problem._replace(spelled=None)
    return problem if spelled == problem.spelled else problem._replace(spelled=spelled)


def _as_decoded(
    struct: CompiledStruct, misfits: Sequence[Misfit], obj: dict[str, Any], older: Iterable[Release]
) -> CompiledStruct:
    """Judge a decoded object by a release that knows its fields; if there is none, without the unknown fields."""
    from webhook.schema.suggest import has  # needed only for unknown fields

    found, known = struct, struct.target
    for release in older:
        unknown = next((misfit for misfit in misfits if misfit.rule == UNKNOWN_FIELD), None)
        if unknown is None:
            return found
        candidate = compile_struct(struct.type, known.but(release=release, declarative=False))
        if has(candidate, unknown.path):
            found, misfits = candidate, apart(candidate.decoding.walk(obj))[0]
    if all(misfit.rule != UNKNOWN_FIELD for misfit in misfits):
        return found
    return compile_struct(struct.type, known.but(strict=False))


def _without(obj: dict[str, Any], dropped: Iterable[Misfit]) -> dict[str, Any]:
    """Leave out the fields that the API server drops before it validates."""
    for misfit in dropped:
        obj = _less(obj, misfit.path, misfit.leaves)
    return obj


def _less(value: Any, path: Sequence[str | int], leaves: Mapping[str, Any]) -> Any:
    step, *rest = path
    copy: Any = list(value) if isinstance(value, list) else dict(value)
    if rest:
        copy[step] = _less(value[step], rest, leaves)
        return copy
    del copy[step]
    return {**leaves, **copy}


def _namespace_refusals(struct: CompiledStruct, obj: dict[str, Any]) -> list[Problem]:
    """Find a namespace that cannot exist, as NamespaceLifecycle does before validation."""
    namespace = (obj.get("metadata") or {}).get("namespace")
    type_: Any = struct.type
    if not namespace or not type_.namespaced:
        return []
    if not (details := formats.dns_label(namespace, struct.target.release)):
        return []
    refusal = refused("NotFound", Path(("metadata", "namespace")), f"namespaces {quoted(namespace)} not found")
    return [refusal._replace(rule="namespace", hint=f"no namespace can be called so: {details[0]}")]


def _is_declared(type_: type[Object], release: Release, stated: Mapping[str, bool] | None) -> bool:
    """Tell whether declarative validation decides about a kind; unstated gates have their defaults."""
    if type_.tagged_since is None or release < type_.tagged_since:
        return False
    return gates.declarative(release, gates.enabled(release, stated and gates.settable(stated, release)))


def _admin_namespace(labels: Mapping[str, str], release: Release) -> bool | None:
    from webhook.api.dra.resourceclaim import ADMIN_SINCE, admin_label  # few know the namespace

    if release < ADMIN_SINCE:
        return None
    return labels.get(admin_label(release)) == "true"
