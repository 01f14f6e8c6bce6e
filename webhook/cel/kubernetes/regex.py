"""The regex library: `find`, `findAll` (library/regex.go)."""

from __future__ import annotations

from typing import Final

from webhook.budget import work
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import member
from webhook.cel.regex.re2 import CompiledPattern, compile_pattern
from webhook.cel.types.base import INT, STRING, list_of

_WORK_OF_MATCH: Final = 8


def _compiled(pattern: str) -> CompiledPattern:
    try:
        return compile_pattern(pattern)
    except EvaluationError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return next((match.group() for match in _compiled(pattern).find_all(text)), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = []
    end = -1
    for match in _compiled(pattern).find_all(text):
        if len(found) == limit:
            break
        work(_WORK_OF_MATCH)
        # Go skips an empty match right after the previous match.
        if match.end() > match.start() or match.start() != end:
            found.append(match.group())
        end = match.end()
    return found


LIBRARY: Final = Library(
    functions=(
        member("find", "string_find_string", (STRING, STRING), STRING, _find),
        member("findAll", "string_find_all_string", (STRING, STRING), list_of(STRING), _find_all),
        member("findAll", "string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), _find_all),
    ),
)
