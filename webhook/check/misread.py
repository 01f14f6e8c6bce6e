"""Warns of keys of labels and annotations that YAML reads as booleans, such as ``on``: the API server accepts them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from webhook.api.templates import pod_template
from webhook.objects import mapping
from webhook.problem import WARNING, Key, Path, Problem

if TYPE_CHECKING:
    from webhook.documents import Document

_KEYS: Final = ("true", "false")
_MAPS: Final = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "metadata", "labels"),
    ("spec", "metadata", "annotations"),
    ("spec", "selector", "matchLabels"),
)
"""Where objects and templates of claims have keys of the user's choice."""
_OF_PODS: Final = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))


def misread_keys(document: Document) -> Iterator[Problem]:
    """Yield a warning for each key that is a boolean in YAML, and a text once it is converted to JSON."""
    obj = document.data
    steps = tuple(map(str, pod_template(obj) or ()))
    for path in (*_MAPS, *((*steps, *each) for each in _OF_PODS if steps)):
        found = mapping(obj, *path)
        for key in _KEYS:
            if key in found and (hint := document.misread_key((*path, key))):
                message = f'the key is "{key}", and not what is written'
                yield Problem(WARNING, "misread-key", "Misread", Path((*path, Key(key))), message, hint)
