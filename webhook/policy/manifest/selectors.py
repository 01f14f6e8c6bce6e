"""Label selectors, matched as in apimachinery ``pkg/labels/selector.go``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.records import NamedTuple


class Requirement(NamedTuple):
    """A condition on one label: In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Tell whether labels meet the condition; an absent label meets NotIn."""
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return self.key not in labels or labels[self.key] not in self.values
        return (self.key in labels) == (self.operator == "Exists")


class Selector(NamedTuple):
    """A label selector; all its requirements must hold."""

    requirements: tuple[Requirement, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the selector selects everything."""
        return not self.requirements

    def matches(self, labels: Mapping[str, Any]) -> bool:
        """Tell whether the selector selects labels."""
        return all(each.holds(labels) for each in self.requirements)


EVERYTHING = Selector()


def selector_of(selector: Mapping[str, Any] | None) -> Selector:
    """Read a well-formed label selector; None, the API server's default, selects everything."""
    if not selector:
        return EVERYTHING
    labels = (selector.get("matchLabels") or {}).items()
    expressions = selector.get("matchExpressions") or ()
    return Selector(
        (
            *(Requirement(key, "In", frozenset({value or ""})) for key, value in labels),
            *(
                Requirement(each.get("key") or "", each.get("operator") or "", frozenset(each.get("values") or ()))
                for each in expressions
            ),
        )
    )
