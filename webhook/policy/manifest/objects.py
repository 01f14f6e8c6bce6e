"""Metadata, labels and texts of unvalidated objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

JSONObject = dict[str, Any]

DEFAULT_NAMESPACE: Final = "default"
"""The namespace of an object that states none."""


def metadata_of(obj: object) -> Mapping[str, Any]:
    """Return an object's metadata, whatever it is."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def text_of(mapping: Mapping[str, Any], key: str) -> str:
    """Return a text field, empty if there is none."""
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def labels_of(obj: object) -> dict[str, str]:
    """Return an object's labels, those that are texts."""
    labels = metadata_of(obj).get("labels")
    if not isinstance(labels, dict):
        return {}
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}
