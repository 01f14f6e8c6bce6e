"""Merges an ApplyConfiguration into an object, as server-side apply does.

Follows apiserver ``pkg/admission/plugin/policy/mutating/patch/smd.go`` and sigs.k8s.io/structured-merge-diff
(``typed/validate.go``, ``typed/merge.go``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from webhook.objects import JSONObject
from webhook.policy.change.decoding import MutationError
from webhook.policy.change.native import Foreign, go_type, plain, sharp
from webhook.policy.evaluation.verdict import EvaluationFault
from webhook.policy.manifest.kinds import kind_in
from webhook.problem import Verbatim, quoted, shown
from webhook.schema.derive import shape as shapes
from webhook.schema.derive.shape import Anything, ListOf, MapOf, Scalar, Shape, Structure, part_of

_UNKNOWN: Final = ": field not declared in schema"
_DUPLICATE: Final = ": duplicate entries for key "
_ZEROS: Final[Mapping[str, Any]] = {
    shapes.STRING: "",
    shapes.INTEGER: 0,
    shapes.NUMBER: 0,
    shapes.BOOLEAN: False,
    shapes.QUANTITY: "0",
}
_STRINGS: Final = frozenset({shapes.STRING, shapes.TIMESTAMP, shapes.BYTES, shapes.DURATION})


def _unmergeable(text: str, atomic: Iterable[str] = ()) -> MutationError:
    """Return the error of an ApplyConfiguration, in the API server's words; `atomic` fields are replaced as a whole."""
    text = f"error applying patch: {text}"
    return MutationError(text, EvaluationFault(text, atomic=tuple(atomic)))


def apply(obj: JSONObject, configuration: JSONObject, schema: Structure, *, duplicates: bool = True) -> JSONObject:
    """Merge an ApplyConfiguration into an object; neither is changed.

    Args:
        duplicates: Whether lists in the object may have several items with one key.

    Raises:
        MutationError: The configuration is not of the object's type, or would replace an atomic value.
    """
    _expect_typed(configuration, schema, "patch")
    if atomics := list(_atomics(configuration, schema, "")):
        listed = ", ".join(atomics)
        raise _unmergeable(
            f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {listed}", atomics
        )
    # The object may have fields of an unknown release.
    _expect_typed(obj, schema, "original", (_UNKNOWN, _DUPLICATE) if duplicates else (_UNKNOWN,))
    merged: JSONObject = _merged(obj, configuration, schema)
    return merged


def expect_whole_numbers(configuration: JSONObject, schema: Structure) -> None:
    """Make sure that a configuration sets no field for whole numbers to a fraction, which Go cannot convert.

    Raises:
        MutationError: It does.
    """
    if error := next(_fractions(configuration, schema), ""):
        raise MutationError(f"unable to convert unstructured object to {kind_in(configuration)}: {error}")


def _fractions(value: Any, shape: Shape) -> Iterator[str]:
    if isinstance(value, float) and isinstance(shape, Scalar) and not value.is_integer():
        if shape.kind == shapes.INTEGER:
            yield f"cannot convert float64 to {shape.go}"
        elif shape.kind == shapes.INT_OR_STRING:
            yield f"json: cannot unmarshal number {shown(value)} into Go value of type int32"
    for _, each, inner in _parts(value, shape):
        if type(each) is not str:
            yield from _fractions(each, inner)


def _parts(value: Any, shape: Shape) -> Iterator[tuple[str, Any, Shape]]:
    """Yield the parts of a value, of known shapes, and the steps to them."""
    if isinstance(value, list) and isinstance(shape, ListOf):
        yield from ((f"[{index}]", each, shape.item) for index, each in enumerate(value))
    elif isinstance(value, dict) and isinstance(shape, Structure | MapOf):
        for name, each in value.items():
            if (inner := part_of(shape, name)) is not None:
                yield f".{name}", each, inner


def without_nulls(value: Any, shape: Shape) -> Any:
    """Replace nulls as decoding into Go's types does: fields are left out, items are the zero values of their types."""
    if isinstance(value, dict):
        if isinstance(shape, Structure):
            fields = ((name, each, shape.field(name) or Anything()) for name, each in value.items() if each is not None)
            return {name: without_nulls(each, field) for name, each, field in fields}
        if isinstance(shape, MapOf):
            return {key: _item_without_nulls(each, shape.item) for key, each in value.items()}
    if isinstance(value, list) and isinstance(shape, ListOf):
        return [_item_without_nulls(each, shape.item) for each in value]
    return value


def _item_without_nulls(value: Any, shape: Shape) -> Any:
    if value is not None:
        return without_nulls(value, shape)
    if isinstance(shape, Scalar):
        return _ZEROS.get(shape.kind)
    return {} if isinstance(shape, Structure) else None


def _expect_typed(obj: JSONObject, schema: Structure, which: str, tolerated: tuple[str, ...] = ()) -> None:
    if errors := [text for text, code in _type_errors(obj, schema) if code not in tolerated]:
        # typed/helpers.go, ValidationErrors.Error
        text = errors[0] if len(errors) == 1 else "errors:\n" + "\n".join(f"  {each}" for each in errors)
        raise _unmergeable(f"failed to convert {which} object to typed object: {text}")


def _type_errors(value: Any, shape: Shape) -> Iterator[tuple[str, str]]:
    """Yield the type errors in a value, from their paths within it on, with their sort if they may be tolerated."""
    if value is None or isinstance(shape, Anything):  # null fits every type
        return
    if isinstance(shape, Scalar):
        if error := _scalar_error(value, shape.kind):
            yield f": {error}", ""
    else:
        yield from _list_errors(value, shape) if isinstance(shape, ListOf) else _map_errors(value, shape)


def _map_errors(value: Any, shape: MapOf | Structure) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield f": expected map, got {plain(value)}", ""
        return
    for key, each in value.items():
        item = part_of(shape, key)
        if item is None:
            yield f".{key}{_UNKNOWN}", _UNKNOWN
            break  # as upstream, which checks no further field
        if type(each) is str and isinstance(item, Scalar) and item.kind in _STRINGS:
            continue  # as most are
        for error, code in _type_errors(each, item):
            yield f".{key}{error}", code


def _list_errors(value: Any, shape: ListOf) -> Iterator[tuple[str, str]]:
    if not isinstance(value, list):
        yield f": expected list, got {plain(value)}", ""
        return
    seen: set[Any] = set()
    for index, item in enumerate(value):
        key: tuple[Any, ...] | None = None
        if shape.merging != shapes.ATOMIC:
            try:
                key = _key_of(item, shape)
            except ValueError as fault:
                yield f": element {index}: {fault}", ""
                break  # as upstream, which checks no further element
            if key in seen:
                yield f"{_DUPLICATE}{_key_text(key, shape)}", _DUPLICATE
            seen.add(key)
        for error, code in _type_errors(item, shape.item):
            yield f"{f'[{index}]' if key is None else _key_text(key, shape)}{error}", code


def _scalar_error(value: Any, kind: str) -> str:
    if kind in {shapes.INTEGER, shapes.NUMBER}:
        return "" if type(value) in {int, float} else f"expected numeric (int or float), got {go_type(value)}"
    if kind in _STRINGS and not (kind == shapes.TIMESTAMP and isinstance(value, list | dict | Foreign)):
        return "" if isinstance(value, str) else f"expected string, got {sharp(value)}"
    if kind == shapes.BOOLEAN:
        return "" if isinstance(value, bool) else f"expected boolean, got {plain(value)}"
    return f"expected any scalar, got {plain(value)}" if isinstance(value, list | dict | Foreign) else ""


def _text(value: Any) -> str:
    """Spell a value as ``value.ToString`` does."""
    if isinstance(value, Foreign):
        return "{{undefined}}"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_text(each)}" for name, each in sorted(value.items()))
    return quoted(value) if type(value) is str else shown(value)


def _key_of(item: Any, shape: ListOf) -> tuple[Any, ...]:
    """Return the key of a list item.

    Raises:
        ValueError: It has none.
    """
    if shape.merging == shapes.SET:
        if isinstance(item, list | dict):
            kind = "list" if isinstance(item, list) else "map"
            raise ValueError(f"associative list without keys has an element that's a {kind} type")
        return (type(item), item)
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise ValueError(f"associative list with keys may not have {what}")  # noqa: TRY004 - as for other items
    parts = (item.get(name, default) for name, default in shape.keys)
    return tuple(Verbatim(_text(part)) if isinstance(part, list | dict) else part for part in parts)


def _key_text(key: tuple[Any, ...], shape: ListOf) -> str:
    """Spell an item's key as ``fieldpath.PathElement`` does."""
    if shape.merging == shapes.SET:
        return f"[={_text(key[1])}]"
    pairs = sorted(zip((name for name, _ in shape.keys), key, strict=True))
    return "[" + ",".join(f"{name}={_text(part)}" for name, part in pairs) + "]"


def _atomics(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Find the atomic values in a configuration, which would be replaced as a whole."""
    is_map = isinstance(value, dict) and isinstance(shape, Structure | MapOf) and shape.is_atomic
    if is_map or (isinstance(value, list) and isinstance(shape, ListOf) and shape.merging == shapes.ATOMIC):
        yield path
    for step, each, inner in () if isinstance(shape, MapOf) else _parts(value, shape):
        yield from _atomics(each, inner, f"{path}{step}")


def _merged(old: Any, new: Any, shape: Shape | None) -> Any:
    if isinstance(shape, Structure | MapOf) and isinstance(old, dict) and isinstance(new, dict):
        return old | {key: _merged(old.get(key), each, part_of(shape, key)) for key, each in new.items()}
    if isinstance(shape, ListOf) and shape.merging != shapes.ATOMIC and isinstance(old, list) and isinstance(new, list):
        return _merged_lists(old, new, shape)
    return new


def _merged_lists(old: list[Any], new: list[Any], shape: ListOf) -> list[Any]:
    """Merge two lists by keys: in the new list's order; items that only the old list has keep their places.

    Source: structured-merge-diff ``typed/merge.go``, ``visitListItems``.
    """
    keys = [_key_of(each, shape) for each in old]
    olds: dict[tuple[Any, ...], Any] = {}
    for key, each in zip(keys, old, strict=True):
        olds[key] = None if key in olds else each  # several items with one key are not merged, but replaced
    news = {_key_of(each, shape): each for each in new}
    left, right = deque(zip(keys, old, strict=True)), deque(news)
    shared = deque(key for key in news if key in olds)
    merged: set[tuple[Any, ...]] = set()
    out: list[Any] = []
    while left or right:
        at, item = left[0] if left else ((), None)
        is_other = bool(left and right) and at != right[0]
        if is_other and at in news and shared and shared[0] != at:
            left.popleft()  # the new list adds it later
        elif left and at not in news:
            out.append(item)
            left.popleft()
        elif right and not (is_other and at in merged):
            key = right.popleft()
            merged.add(key)
            if left and not is_other:
                left.popleft()
            if shared and shared[0] == key:
                shared.popleft()
            out.append(_merged(olds.get(key), news[key], shape.item))
        else:
            left.popleft()
    return out
