"""Targets of compilation: API version, Kubernetes release, operation."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from webhook.later import cached_property
from webhook.release import Release

CREATE = "create"
UPDATE = "update"
UPDATE_STATUS = "update/status"

MAIN = ""
STATUS = "status"

OLDEST = Release(27)
"""The first known Kubernetes 1.x release."""


_FACTS = (
    *("version", "release", "operation", "gates", "admin_namespace", "replaced"),
    *("stored", "declarative", "enough", "validates", "strict", "thorough"),
)


class Target:
    """One API version, as one Kubernetes release serves it for one operation.

    Args:
        version: The API version, such as ``v1alpha2``; error texts spell Go's types with it.
        operation: ``CREATE``, ``UPDATE`` or ``UPDATE_STATUS``.
        gates: The feature gates that are on.
        admin_namespace: Whether the object's namespace is labelled for admin access; None if unknown.
        replaced: The types that differ in this version: those of the newest version, and their replacements.
        stored: Whether the validated value is already stored, for which some rules are milder.
        declarative: Whether declarative validation decides where handwritten rules say the same in other words.
        enough: The number of findings about one list, map or text, or of one rule, after which the search ends.
        validates: Whether values are validated, not only decoded.
        strict: Whether unknown fields are reported; if not, they are ignored.
        thorough: Whether unvalidated parts are decoded, too: a server has done that before it calls webhooks.
    """

    def __init__(
        self,
        version: str,
        release: Release,
        operation: str,
        *,
        gates: frozenset[str] = frozenset(),
        admin_namespace: bool | None = None,
        replaced: Mapping[Any, Any] | None = None,
        stored: bool = False,
        declarative: bool = False,
        enough: int = sys.maxsize,
        validates: bool = True,
        strict: bool = True,
        thorough: bool = False,
    ) -> None:
        self.version, self.release, self.operation, self.gates = version, release, operation, gates
        self.admin_namespace, self.replaced = admin_namespace, replaced or {}
        self.stored, self.declarative, self.enough = stored, declarative, enough
        self.validates, self.strict, self.thorough = validates, strict, thorough
        self.compiled: dict[type, Any] = {}
        """The types compiled so far."""

    @property
    def subresource(self) -> str:
        """The subresource of the operation: ``MAIN`` or ``STATUS``."""
        return self.operation.partition("/")[2]

    @cached_property
    def of_stored(self) -> Target:
        """The same target for values that an update leaves unchanged."""
        return self._but(stored=True)

    @cached_property
    def decoding(self) -> Target:
        """The same target for values that are only decoded."""
        return self if not self.validates else self._but(validates=False)

    @cached_property
    def lenient(self) -> Target:
        """The same target for values that may have unknown fields."""
        return self._but(strict=False)

    def _but(self, **changed: bool) -> Target:
        return Target(**{name: getattr(self, name) for name in _FACTS} | changed)

    def has(self, since: int, until: int | None) -> bool:
        """Tell whether the release is within a range."""
        return since <= self.release and (until is None or self.release <= until)

    def pick(self, value: Any) -> Any:
        """Return the release's value of a fact that changed with releases, in order: ``{33: 4, 35: 16}``."""
        if not isinstance(value, dict):
            return value
        found = None
        for since, each in value.items():
            if since <= self.release:
                found = each
        return found
