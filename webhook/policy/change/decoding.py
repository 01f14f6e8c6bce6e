"""Decodes objects that policies have changed, as the API server does."""

from __future__ import annotations

from typing import Final

from webhook.api.judgement import decoder
from webhook.api.versions import type_of
from webhook.objects import JSONObject, text
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.verdict import EvaluationFault
from webhook.policy.manifest.kinds import GroupVersionKind, kind_in
from webhook.problem import Path, quoted
from webhook.schema.decoding import STRICT, UNKNOWN_FIELD, Misfit, apart, as_reported, wrong_type

_IDENTITY: Final = ("apiVersion", "kind")
_SCHEME: Final = '"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'


class DecodingError(Exception):
    """A patched object cannot be decoded: an internal error of the API server, whatever the failure policy."""


class MutationError(Exception):
    """A mutation fails; the failure policy decides what that means. The fault says why, for authors."""

    def __init__(self, message: str, fault: EvaluationFault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


def with_identity(obj: JSONObject, before: JSONObject) -> JSONObject:
    """Return a patched object with its API version and kind: the API server adds what the patch has removed.

    Follows apimachinery ``pkg/runtime/serializer/json`` (meta.go, Interpret; json.go, gvkWithDefaults).

    Raises:
        DecodingError: The API version or the kind is not a text, or malformed.
    """
    if all(obj.get(name) == before.get(name) for name in _IDENTITY):
        return obj
    for name in _IDENTITY:
        if (value := obj.get(name)) is not None and not isinstance(value, str):
            wrong = wrong_type(value, "", "string")[0]._replace(path=Path((name,))).problem().message
            raise DecodingError(f"couldn't get version/kind; json parse error: {wrong}")
    stated = str(obj.get("apiVersion") or "")
    if stated.count("/") > 1:
        raise DecodingError(f"unexpected GroupVersion string: {stated}")
    own = text(before, "apiVersion")
    is_own = stated in {"", "/", f"{own.rpartition('/')[0]}/"}
    identity = {"apiVersion": own if is_own else stated, "kind": obj.get("kind") or text(before, "kind")}
    return obj | {name: value for name, value in identity.items() if value}


def expect_decodable(obj: JSONObject, before: JSONObject, policies: PolicySet) -> None:
    """Make sure that the API server can decode a patched object.

    The object before the patch may have fields of an unknown release; the API server has decoded it.

    Raises:
        DecodingError: It cannot be decoded, or is of another kind in the same version.
        MutationError: It is of another kind, or version, from which it cannot be converted back.
    """
    own, kind = (kind_in(each) for each in (before, obj))
    is_other = own != kind and bool(kind.kind) and policies.kinds.has_group(own.group)
    if is_other and policies.kinds.find(kind) is None:
        raise DecodingError(_unregistered(kind))
    found = _misfits(obj, kind if is_other else own, policies)
    if not found:
        if is_other:
            _refuse_other(kind, own, policies)
        return
    older = set() if is_other else {misfit.path.names for misfit in _misfits(before, own, policies)}
    new = [misfit for misfit in found if misfit.path.names not in older]
    if wrong := [misfit for misfit in new if misfit.refuses]:
        raise DecodingError(as_reported(wrong)[0].problem().message)
    if new:
        unknown = (misfit.problem().detail for misfit in new)
        raise DecodingError(STRICT + ", ".join(unknown))


def _refuse_other(kind: GroupVersionKind, own: GroupVersionKind, policies: PolicySet) -> None:
    """Raise the error of an object that a patch has made one of another registered kind.

    Follows apiserver ``mutating/dispatcher.go``: the object is converted to the version that was sent (dispatchOne),
    and after all policies to the internal type of the kind that was sent (dispatchInvocations).
    """
    if kind.group != own.group:
        version = quoted(own.api_version)
        raise MutationError(f"{_go(kind)} is not suitable for converting to {version} in scheme {_SCHEME}")
    target = kind._replace(version=own.version)
    if kind != target:
        is_known = policies.kinds.find(target) is not None
        unknown = f"converting ({_go(kind)}) to ({_go(target)}): unknown conversion"
        raise MutationError(unknown if is_known else _unregistered(target))
    internal = f"{own.group.partition('.')[0] or 'core'}.{own.kind}"
    raise DecodingError(f"failed to convert object: converting ({_go(kind)}) to ({internal}): unknown conversion")


def _go(kind: GroupVersionKind) -> str:
    return f"{kind.version}.{kind.kind}"


def _unregistered(kind: GroupVersionKind) -> str:
    return f"no kind {quoted(kind.kind)} is registered for version {quoted(kind.api_version)} in scheme {_SCHEME}"


def _misfits(obj: JSONObject, kind: GroupVersionKind, policies: PolicySet) -> list[Misfit]:
    """List what does not fit a kind, as far as it is known."""
    is_known = type_of(kind.api_version, kind.kind) is not None
    if not is_known and not policies.kinds.has_group(kind.group):
        return []
    misfits = apart(decoder(kind.api_version, kind.kind, policies.release).walk(obj))[0]
    return [misfit for misfit in misfits if misfit.refuses or (is_known and misfit.rule == UNKNOWN_FIELD)]
