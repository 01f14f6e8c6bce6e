"""The API server's refusals of device selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.budget import work
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel.errors import CompileError
    from webhook.issues import Issue
    from webhook.release import Release

_NO_COLUMN_SINCE: Final = 32
_CHARACTERS: Final = 16
"""The characters of a report kept for a unit of work: a hundred errors show a long line a hundred times."""


class Refusal(NamedTuple):
    """The API server's refusal of a selector.

    Args:
        is_internal: Whether it counts as an internal error.
        issues: The errors in the text of the selector.
    """

    detail: str
    is_internal: bool = False
    issues: tuple[Issue, ...] = ()


TOO_COMPLEX: Final = Refusal("too complex, exceeds cost limit")
"""The refusal of a selector that can cost more than a selector may."""


def uncompiled(error: CompileError, expression: str, release: Release) -> Refusal:
    """The refusal of a selector with errors; cel-go had a column where there is no text until 1.32 (cel-go 0.22)."""
    text = str(error)
    work(len(text) // _CHARACTERS)
    if not expression and release < _NO_COLUMN_SINCE:
        text = text.replace("<input>:1:0:", "<input>:1:1:", 1)
    return Refusal(f"compilation failed: {text}", issues=tuple(error.issues))
