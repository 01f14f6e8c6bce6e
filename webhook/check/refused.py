"""Decides which warnings about references hold in an object with errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from webhook.problem import ERROR, NOT_DECODED, Path
from webhook.schema.decoding import UNKNOWN_FIELD

if TYPE_CHECKING:
    from webhook.findings import Finding

_DECISIVE: Final = frozenset({Path(), Path(("apiVersion",)), Path(("metadata",)), Path(("metadata", "namespace"))})
"""With an error there, it is not known what the object refers to."""
_TOGETHER: Final = "selectors"
"""The items of such a list apply together: what one excludes, the others need not handle."""


def spoiled(findings: Iterable[Finding]) -> Sequence[Path] | None:
    """Return the fields of an object that have errors.

    Args:
        findings: The findings of the object.

    Returns:
        Their paths; None if nothing can be looked up in the object, because it cannot be decoded.
    """
    problems = [each.problem for each in findings if each.problem.level == ERROR and each.origin is None]
    if any(each.reason in NOT_DECODED and each.rule != UNKNOWN_FIELD for each in problems):
        return None
    paths = [each.path for each in problems]
    return None if not _DECISIVE.isdisjoint(paths) else paths


def holds(path: Path, errors: Iterable[Path]) -> bool:
    """Tell whether a warning about a field holds beside errors.

    Args:
        errors: The fields with errors.
    """
    scope = path[: path.index(_TOGETHER) + 1] if _TOGETHER in path else path
    return not any(error[: len(scope)] == scope or scope[: len(error)] == error for error in errors)
