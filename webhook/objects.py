"""Objects as plain dicts, not validated: fields that are missing or of a wrong type count as empty."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any, Final

JSONObject = dict[str, "Any"]

DEFAULT_NAMESPACE: Final = "default"
"""The namespace of an object that states none."""
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which ``kubectl apply`` keeps the manifest."""

_NONE: Final[JSONObject] = {}
_PLAIN: Final = frozenset({str, int, bool, float, type(None)})


def plain(value: Any) -> Any:
    """Return a JSON value without subclasses of Python's own types; the same one if it has none.

    The CEL engine tells types by the class of a value, so that it does not take a subclass of ``str`` for a string.
    """
    cls = type(value)
    if cls in _PLAIN:
        return value
    if isinstance(value, dict):
        made = {plain(key): plain(each) for key, each in value.items()}
        is_same = cls is dict and all(map(is_, made, value)) and all(map(is_, made.values(), value.values()))
        return value if is_same else made
    if isinstance(value, list):
        copied = [plain(each) for each in value]
        return value if cls is list and all(map(is_, copied, value)) else copied
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def at(obj: Any, *path: str) -> Any:
    """Return the value at a path of field names, None if there is none."""
    for step in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(step)
    return obj


def mapping(obj: Any, *path: str) -> JSONObject:
    """Return the object at a path, an empty one if there is none."""
    found = at(obj, *path)
    return found if isinstance(found, dict) else _NONE


def items(obj: Any, *path: str) -> list[JSONObject]:
    """Return the objects of the list at a path, none if there is no list."""
    found = at(obj, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def placed(obj: Any, *path: str) -> list[tuple[tuple[str | int, ...], JSONObject]]:
    """Return the objects of the list at a path, each with its own path."""
    found = at(obj, *path)
    every = enumerate(found) if isinstance(found, list) else ()
    return [((*path, index), each) for index, each in every if isinstance(each, dict)]


def texts(obj: Any, *path: str) -> list[str]:
    """Return the texts of the list at a path, none if there is no list."""
    found = at(obj, *path)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def text(obj: Any, *path: str) -> str:
    """Return the text at a path, an empty one if there is none."""
    found = at(obj, *path)
    return found if isinstance(found, str) else ""


def number(obj: Any, *path: str) -> int | None:
    """Return the whole number at a path, None if there is none."""
    found = at(obj, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def condition_of(obj: Any, kind: str) -> JSONObject:
    """Return the condition of a type in an object's status, an empty one if there is none."""
    return next((each for each in items(obj, "status", "conditions") if each.get("type") == kind), _NONE)


def free_of_nulls(value: Any) -> Any:
    """Return a JSON value without null fields in its objects, which have no meaning; the same one if it has none."""
    if isinstance(value, dict):
        made = {key: free_of_nulls(each) for key, each in value.items() if each is not None}
        return value if len(made) == len(value) and all(map(is_, made.values(), value.values())) else made
    if isinstance(value, list):
        copied = [{} if each is None else free_of_nulls(each) for each in value]
        return value if all(map(is_, copied, value)) else copied
    return value


def metadata_of(obj: object) -> Mapping[str, Any]:
    """Return an object's metadata, of any type."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return metadata if isinstance(metadata, dict) else _NONE


def group_of(obj: object) -> str:
    """Return the API group of an object or of a reference; empty for the core group."""
    return text(obj, "apiVersion").rpartition("/")[0]


def name_of(obj: object) -> str:
    """Return an object's name, empty if it has none."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def namespace_of(obj: object) -> str:
    """Return an object's namespace, ``default`` if it states none."""
    namespace = metadata_of(obj).get("namespace")
    return namespace if namespace and isinstance(namespace, str) else DEFAULT_NAMESPACE


def full_name_of(obj: object) -> str:
    """Return an object's namespace and name: ``namespace/name``."""
    return f"{namespace_of(obj)}/{name_of(obj)}"


def labels_of(obj: object) -> dict[str, str]:
    """Return an object's labels whose values are texts."""
    labels = mapping(obj, "metadata", "labels")
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}


def is_object(value: object) -> bool:
    """Tell whether a JSON value states its version and kind, as objects of Kubernetes do."""
    return bool(text(value, "apiVersion") and text(value, "kind"))


DEFINITION: Final = "CustomResourceDefinition"
"""The kind that defines other kinds."""


def is_definition(obj: object) -> bool:
    """Tell whether an object is a CustomResourceDefinition, which defines a kind."""
    return isinstance(obj, dict) and obj.get("kind") == DEFINITION
