"""Whether the API server can decode what a JSON Patch made, as far as the kind is known here.

Kinds that draguard judges are decoded as when they are submitted. Of others, and of workloads around their pod
templates, values of a wrong type are found where :mod:`webhook.policy.schemas` has the kind; of what is left of
Kubernetes' own kinds, those in labels, annotations and finalizers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.api.shapes import OBJECT, schema_of
from webhook.api.versions import find, target
from webhook.policy.kinds import kind_of
from webhook.policy.request import text_of
from webhook.problem import Key
from webhook.schema import CREATE, compile_struct
from webhook.schema.decoding import wrong_type
from webhook.schema.derive.shape import ListOf, MapOf, Scalar, Structure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from webhook.policy.load import PolicySet
    from webhook.policy.request import JSONObject
    from webhook.schema.decoding import Misfit
    from webhook.schema.derive.shape import Shape

_TEMPLATES_ONLY: Final = frozenset({"apps/v1", "batch/v1"})
"""Versions of whose kinds draguard judges the pod templates only."""
_GO: Final[Mapping[str, tuple[type, str]]] = {
    "string": (str, "string"),
    "timestamp": (str, "v1.Time"),
    "bytes": (str, "[]uint8"),
    "boolean": (bool, "bool"),
    "integer": (int, "int32"),
}
"""What JSON holds for a scalar, and its Go type; the schemas do not tell int32 from int64."""


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
    older = {misfit.path for misfit in decode(before)}
    for misfit in found:
        if misfit.path not in older:
            raise DecodingError(misfit.problem().message)


def _decoder(obj: JSONObject, policies: PolicySet) -> Callable[[JSONObject], Sequence[Misfit]]:
    api_version, kind = text_of(obj, "apiVersion"), text_of(obj, "kind")
    known, shape, release = find(api_version, kind), schema_of(api_version, kind), policies.release
    if known and known.since <= release <= known.until:
        struct = compile_struct(known.type, target(api_version, release, CREATE))
        if shape is None or api_version not in _TEMPLATES_ONLY:
            return struct.decode
        workload = shape
        return lambda value: struct.decode(value) or tuple(_misfits(value, workload))
    if shape is None and not policies.kinds.has_group(kind_of(api_version, kind).group):
        return lambda _: ()
    whole = shape or OBJECT
    return lambda value: tuple(_misfits(value, whole))


def _misfits(value: Any, shape: Shape, owner: str = "") -> Iterator[Misfit]:
    """Find values of a wrong type. Fields that there are not are none: the schemas are those of all releases."""
    if value is None:
        return
    kind, go_type = _type_of(shape)
    if not _is_a(value, kind):
        yield from wrong_type(value, owner, go_type)
        return
    for step, part, its_shape in _parts(value, shape):
        holder = shape.name if isinstance(shape, Structure) else owner
        yield from (misfit.under(step) for misfit in _misfits(part, its_shape, holder))


def _parts(value: Any, shape: Shape) -> Iterator[tuple[str | int, Any, Shape]]:
    if isinstance(shape, ListOf):
        yield from ((index, each, shape.item) for index, each in enumerate(value))
    elif isinstance(shape, MapOf):
        yield from ((Key(key), each, shape.item) for key, each in value.items())
    elif isinstance(shape, Structure):
        yield from ((name, each, field) for name, each in value.items() if (field := shape.field(name)) is not None)


def _type_of(shape: Shape) -> tuple[type, str]:
    """Return what JSON holds for a shape, and its Go type."""
    if isinstance(shape, Structure):
        return dict, f"v1.{shape.name}"
    if isinstance(shape, MapOf):
        return dict, f"map[string]{_type_of(shape.item)[1]}"
    if isinstance(shape, ListOf):
        return list, f"[]{_type_of(shape.item)[1]}"
    return _GO.get(shape.kind, _ANY) if isinstance(shape, Scalar) else _ANY


_ANY: Final = (object, "interface {}")


def _is_a(value: Any, kind: type) -> bool:
    """Tell whether a JSON value is of a type; 3.0 is a whole number in CEL's JSON, true is none."""
    if kind is int and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
