"""Targets of compilation: API version, Kubernetes release, operation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from webhook.later import cached_property
from webhook.records import Record
from webhook.release import Release, picked

CREATE = "create"
UPDATE = "update"
UPDATE_STATUS = "update/status"

MAIN = ""
STATUS = "status"

OLDEST = Release(27)
"""The first known Kubernetes 1.x release."""


class Target(Record):
    """One API version, as one Kubernetes release serves it for one operation.

    Args:
        version: The API version, such as ``v1alpha2``; error texts spell Go's types with it.
        operation: ``CREATE``, ``UPDATE`` or ``UPDATE_STATUS``.
        gates: The feature gates that are on.
        admin_namespace: Whether the object's namespace is labelled for admin access; None if unknown.
        replaced: The types that differ in this version: those of the newest version, and their replacements.
        enough: The number of findings about one list, map or text, or of one rule, after which the search ends.
        declarative: Whether declarative validation decides where handwritten rules say the same in other words.
        thorough: Whether unvalidated parts are decoded, too: a server has done that before it calls webhooks.
        stored: Whether the validated value is already stored, for which some rules are milder, and an object's metadata
            is only decoded.
        validates: Whether values are validated, not only decoded.
        strict: Whether unknown fields are reported; if not, they are ignored.
    """

    __slots__ = ("__dict__",)  # for what follows from these facts

    version: str
    release: Release
    operation: str
    gates: frozenset[str] = frozenset()
    admin_namespace: bool | None = None
    replaced: Mapping[Any, Any] = {}
    enough: int = sys.maxsize
    declarative: bool = False
    thorough: bool = False
    stored: bool = False
    validates: bool = True
    strict: bool = True

    @cached_property
    def compiled(self) -> dict[type, Any]:
        """The types compiled so far."""
        return {}

    @property
    def subresource(self) -> str:
        """The subresource of the operation: ``MAIN`` or ``STATUS``."""
        return self.operation.partition("/")[2]

    @cached_property
    def _others(self) -> dict[tuple[tuple[str, Any], ...], Target]:
        return {(): self}

    @cached_property
    def decoding(self) -> Target:
        """The same target for values that are only decoded."""
        return self.but(validates=False)

    def but(self, **changed: Any) -> Target:
        """Return the same target with other facts; always the same one, as it has the types compiled for it."""
        key = tuple((name, value) for name, value in changed.items() if getattr(self, name) != value)
        if key not in self._others:
            self._others[key] = Target(**{name: getattr(self, name) for name in Target.__annotations__} | changed)
        return self._others[key]

    def has(self, since: int, until: int | None) -> bool:
        """Tell whether the release is within a range."""
        return since <= self.release and (until is None or self.release <= until)

    def pick(self, value: Any) -> Any:
        """Return the release's value of a fact that may have changed with releases."""
        return picked(value, self.release) if isinstance(value, dict) else value
