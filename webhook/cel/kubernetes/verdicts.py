"""The API server's verdicts about device selectors; the form of most tells that they are accepted."""

from __future__ import annotations

import sys

from webhook.budget import current
from webhook.cel.cache import Cache
from webhook.cel.kubernetes.plain import error_of_nothing, plain_tree
from webhook.cel.kubernetes.refusals import TOO_COMPLEX, Refusal, uncompiled
from webhook.later import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.cel.kubernetes.shapes import Shape
    from webhook.release import Release

_ENTRY: Final = 400
"""The bytes that a verdict takes beside its texts."""
_FEW: Final = 16
"""The number of verdicts from which shapes are used."""
_shapes: Final = Module("webhook.cel.kubernetes.shapes")
"""Imported for many selectors only: it takes as long as some."""
_verdicts: Final[Cache[Refusal | bool]] = Cache(4 << 20)


def refusal_of(
    expression: str, release: Release, gates: frozenset[str] = frozenset(), *, stored: bool = False
) -> Refusal | None:
    """The API server's refusal of a selector; None if it accepts the selector.

    Verdicts are cached, programs are not; acceptance holds for all selectors of the same shape.

    Args:
        expression: The selector.
        release: The Kubernetes release, as the minor of 1.x, from 30 on.
        gates: The feature gates that are on.
        stored: Whether the selector is in the cluster already.

    Raises:
        BudgetExceededError: The check is more work than the budget in force allows.
    """
    around = release, gates, stored, current().is_offline
    known = _verdicts.get((expression, around))
    if known is None and (shape := _shape_of(expression)):
        known = _verdicts.get((None, shape.text, around))
    if known is None:
        known = _verdict(expression, release, gates, stored=stored)
        detail = "" if isinstance(known, bool) else known.detail
        size = sys.getsizeof(expression) + sys.getsizeof(detail) + _ENTRY
        _verdicts.put((expression, around), known, size)
        if shape and known is True:
            _verdicts.put((None, shape.text, around), known, size)
    return None if isinstance(known, bool) else known


def _verdict(expression: str, release: Release, gates: frozenset[str], *, stored: bool) -> Refusal | bool:
    if not expression and (error := error_of_nothing()):
        return uncompiled(error, expression, release)
    if plain_tree(expression, release):
        return True
    from webhook.cel.kubernetes.devices import compile_selector  # slow to import

    found = compile_selector(expression, release, gates, stored=stored)
    return found if isinstance(found, Refusal) else not found.is_too_complex or TOO_COMPLEX


def _shape_of(expression: str) -> Shape | None:
    """The shape of a selector; None if it has none, or there were few selectors so far."""
    if len(_verdicts) < _FEW:
        return None
    shape: Shape | None = _shapes.shape_of(expression)
    return shape
