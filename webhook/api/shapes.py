"""The types of all known kinds, including those that only policies read."""

from __future__ import annotations

from functools import cache
from typing import Any

from webhook.api.versions import VERSIONS, find
from webhook.schema import Struct
from webhook.schema.derive.shape import Structure


def type_of(api_version: str, kind: str) -> type[Struct] | None:
    """Return the type of a kind, as the newest version has it; None if unknown."""
    if known := find(api_version, kind):
        return known.type
    from webhook.api.core import catalogue  # only policies look at them

    return catalogue.kind(api_version, kind)


def schema_of(api_version: str, kind: str) -> Structure | None:
    """Return the schema of a kind, as far as merging and type checking need it."""
    return _schema_of(api_version, kind) if type_of(api_version, kind) else None


@cache  # of known kinds only: clients choose the names of others
def _schema_of(api_version: str, kind: str) -> Structure:
    type_: Any = type_of(api_version, kind)
    return Structure(type_, VERSIONS[api_version].replaced if api_version in VERSIONS else {})
