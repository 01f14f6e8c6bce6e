"""Whether the API server can decode a patched object.

What draguard judges is decoded as when it is submitted. Of the rest of a kind that is known, and of kinds that only
policies look at, values of a wrong type are found; of what is left of Kubernetes' own kinds, those in the metadata.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from webhook.api.core.meta import Object
from webhook.api.shapes import type_of
from webhook.api.versions import VERSIONS, find, target
from webhook.objects import text
from webhook.policy.manifest.kinds import kind_of
from webhook.schema import CREATE, GATE_OFF, Target, compile_struct
from webhook.schema.decoding import apart
from webhook.schema.derive.whole import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webhook.objects import JSONObject
    from webhook.policy.ask.policyset import PolicySet
    from webhook.release import Release
    from webhook.schema.decoding import Misfit


class DecodingError(Exception):
    """What a patch made cannot be decoded: an internal error of the API server, whatever the failure policy says."""


def expect_decodable(obj: JSONObject, before: JSONObject, policies: PolicySet) -> None:
    """Make sure that the API server can decode what a patch made.

    What was there before may be of a release that is not known here; the API server had decoded it.

    Args:
        obj: What the patch made.
        before: The object that was patched.
        policies: Tell the release, and the kinds that there are.

    Raises:
        DecodingError: It cannot be decoded.
    """
    decode = _decoder(before, policies)
    found = decode(obj)
    if not found:
        return
    older = {_field(misfit) for misfit in decode(before)}
    for misfit in found:
        if _field(misfit) not in older:
            raise DecodingError(misfit.problem().message)


def _field(misfit: Misfit) -> tuple[str, ...]:
    """Return which field does not fit; a patch may move the items of a list."""
    return tuple(step for step in misfit.path if isinstance(step, str))


def _decoder(obj: JSONObject, policies: PolicySet) -> Callable[[JSONObject], Sequence[Misfit]]:
    api_version, kind = text(obj, "apiVersion"), text(obj, "kind")
    known, type_, release = find(api_version, kind), type_of(api_version, kind), policies.release
    if type_ is None and not policies.kinds.has_group(kind_of(api_version, kind).group):
        return lambda _: ()
    everything = compile_struct(type_ or Object, _target(api_version, kind, release)).decoding

    def decode(value: JSONObject) -> Sequence[Misfit]:
        return [misfit for misfit in apart(everything.walk(value))[0] if misfit.refuses]

    if known is None or not known.since <= release <= known.until:
        return decode
    judged = compile_struct(known.type, target(api_version, release, CREATE)).decoding

    def decode_judged(value: JSONObject) -> Sequence[Misfit]:
        found = [misfit for misfit in apart(judged.walk(value))[0] if misfit.rule != GATE_OFF]
        return found or decode(value)

    return decode_judged


@lru_cache(maxsize=64)
def _target(api_version: str, kind: str, release: Release) -> Target:
    """Return what makes structs of a kind that decode what is not judged, too."""
    replaced = VERSIONS[api_version].replaced if api_version in VERSIONS else {}
    type_ = type_of(api_version, kind) or Object
    return Target(api_version.rpartition("/")[2], release, CREATE, replaced=whole(type_, replaced))
