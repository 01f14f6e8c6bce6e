"""Projections: types with which msgspec decodes only those parts of an object that validation or policies read.

The rest is skipped, which takes a fraction of the time and memory. What is left are plain maps and lists.
"""

from __future__ import annotations

from itertools import chain
from types import GenericAlias
from typing import Any, TypedDict, cast

from webhook.extent import ITEMS, Extent
from webhook.schema.collections import Array, Map
from webhook.schema.nested import Nested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.schema.compiled import CompiledStruct
    from webhook.schema.fields import Field

EVERYTHING: Final[Any] = Any
"""The type of a value all of which is read."""


def projection(struct: CompiledStruct, extent: Extent) -> Any:
    """Return the type of the parts that either validation or others read; `EVERYTHING` if these are all.

    Validation reads the fields of any release: those of others tell by which release an object must be judged. It
    ignores fields that no release has.

    Args:
        struct: The type of the object.
        extent: What others read of it.
    """
    if extent.whole or ITEMS in extent.parts:  # the items of a map are its keys
        return EVERYTHING
    parts = [struct, *(cast("CompiledStruct", struct.fields[name].struct) for name in struct.inline)]
    fields = dict.fromkeys(chain(extent.parts, *(part.type.fields for part in parts)), EVERYTHING)
    for part in parts:
        for name, field in part.stated.items():
            fields[name] = _of_field(field, part.fields[name].struct, extent.parts.get(name, Extent()))
    skipped = set(chain.from_iterable(part.type.opaque for part in parts)) - fields.keys()
    if not skipped and all(type_ is EVERYTHING for type_ in fields.values()):
        return EVERYTHING
    return TypedDict(struct.type.__name__, fields, total=False)  # type: ignore[operator]


def _of_field(field: Field, struct: Any, extent: Extent) -> Any:
    """Return the type of a field's value, which may be null."""
    if isinstance(field, Nested):
        type_ = projection(struct, extent)
    elif isinstance(field, Array) and isinstance(field.item, Nested) and extent.parts.keys() <= {ITEMS}:
        type_ = _all_of(list, projection(struct, extent.parts.get(ITEMS, Extent())))
    elif isinstance(field, Map) and isinstance(field.item, Nested) and not extent.parts:
        type_ = _all_of(dict, str, projection(struct, Extent()))
    else:
        type_ = EVERYTHING
    return EVERYTHING if type_ is EVERYTHING or extent.whole else type_ | None


def _all_of(type_: type, *parameters: Any) -> Any:
    """Return the type of a list or map, given the types of its keys and values."""
    return EVERYTHING if parameters[-1] is EVERYTHING else GenericAlias(type_, parameters)
