"""What an API server makes of a custom resource before anything else sees it: pruning, defaults.

Follows apiextensions-apiserver ``pkg/apiserver/schema`` (pruning, defaulting) and ``customresource_handler.go``
(unstructuredSchemaCoercer). No function changes its value.
"""

from __future__ import annotations

from typing import Any

from webhook.budget import work
from webhook.problem import Path
from webhook.structural.schema import META_FIELDS, Structural


def decoded(obj: Any, schema: Structural) -> tuple[Any, list[Path]]:
    """Return an object without what the API server prunes, and the paths of its unknown fields.

    Args:
        schema: The schema of its version.
    """
    unknown: list[Path] = []
    pruned = _pruned(obj, schema, Path(), unknown, is_resource=True)
    return _without_nulls(pruned, schema), sorted(unknown, key=str)


def defaulted(value: Any, schema: Structural | None) -> Any:
    """Return a value with the defaults of its schema; null counts as absent where it is not allowed."""
    if schema is None or not isinstance(value, dict | list):
        return value
    work(1 + len(value))
    if isinstance(value, list):
        return [_item(each, schema.items) for each in value]
    work(len(schema.properties))
    missing = {
        name: _copied(each.default)
        for name, each in schema.properties.items()
        if each.default is not None and (name not in value or (value[name] is None and not each.nullable))
    }
    return {
        name: defaulted(each, schema.properties[name]) if name in schema.properties else _item(each, schema.values)
        for name, each in {**value, **missing}.items()
    }


def _copied(default: Any) -> Any:
    """Return a copy of a default, so that no two objects share it."""
    if isinstance(default, dict):
        work(1 + len(default))
        return {name: _copied(each) for name, each in default.items()}
    if isinstance(default, list):
        work(1 + len(default))
        return [_copied(each) for each in default]
    return default


def _item(value: Any, schema: Structural | None) -> Any:
    if value is None and schema is not None and not schema.nullable:
        value = _copied(schema.default)
    return defaulted(value, schema)


def _pruned(
    value: Any,
    schema: Structural | None,
    path: Path,
    unknown: list[Path],
    *,
    is_resource: bool = False,
    is_kept: bool = False,
) -> Any:
    """Return a value without the fields that its schema does not know; without a schema, none is known.

    Args:
        unknown: Receives the paths of unknown fields.
        is_resource: Whether it is a whole object, with metadata.
        is_kept: Whether it is an item of a list whose unknown fields are preserved.
    """
    if not isinstance(value, dict | list):
        return value
    is_kept = is_kept or (schema is not None and schema.preserves_unknown)
    if is_kept and schema is None:
        return value
    work(1 + len(value))
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        return [_pruned(each, items, path / index, unknown, is_kept=is_kept) for index, each in enumerate(value)]
    kept = {}
    for name, each in value.items():
        if schema is not None and (schema.is_embedded or is_resource) and name in META_FIELDS:
            kept[name] = each
        elif schema is not None and (name in schema.properties or schema.takes_any_field):
            kept[name] = _pruned(each, schema.field(name), path / name, unknown)
        elif is_kept:
            kept[name] = each
        else:
            unknown.append(path / name)
    return kept


def _without_nulls(value: Any, schema: Structural | None) -> Any:
    """Return a value without fields that are null, but may not be and have no default."""
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        return [_without_nulls(each, items) for each in value]
    if not isinstance(value, dict):
        return value
    work(1 + len(value))
    kept = {}
    for name, each in value.items():
        field = schema.field(name) if schema is not None else None
        if each is not None or field is None or field.nullable or field.default is not None:
            kept[name] = _without_nulls(each, field)
    return kept
