"""Patterns of paths, as ``.gitignore`` has them: ``*.json``, ``examples/**/broken``, ``charts``.

A pattern without ``/`` matches names in any directory, one with ``/`` paths below the directory that it belongs to;
``**`` stands for any number of directories. A pattern that matches a directory matches everything in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, Final

from webhook.patterns import Pattern

MAX_PATTERN: Final = 1024
"""The most characters of a pattern."""
_MOST: Final = 200_000
"""The most characters of the patterns of a list: RE2 has too little memory for more, and logs each of their nodes."""
_TOKEN: Final = Pattern(r"(^|/)\*\*(?:/|$)|\*+|\?|\[!?\]?[^\]]*\]|[\s\S]")


_TOO_MANY: Final = "the patterns are too many or too long: name directories"


class PatternError(ValueError):
    """A pattern of paths is malformed; the message says how."""


class Globs:
    """Patterns of paths that belong to a directory.

    Raises:
        PatternError: A pattern is malformed, or there are too many.
    """

    def __init__(self, patterns: Sequence[str], directory: str) -> None:
        self._inside = os.path.realpath(directory).rstrip("/") + "/"
        self._here = os.getcwd().rstrip("/") + "/"
        self._matches = _compiled(patterns) if patterns else None
        self._directory: tuple[str | None, str] = None, ""

    def has(self, path: str) -> bool:
        """Tell whether a pattern matches a path, given as users spell it: relative to the working directory."""
        return self._matches is not None and bool(self._matches(self.relative(path)))

    def relative(self, path: str) -> str:
        """Return a path relative to the directory; one outside stays absolute, and only matches by its name."""
        directory, slash, name = path.rpartition("/")
        if name in {"", ".", ".."}:
            return self._seen(path)
        if directory + slash != self._directory[0]:  # files come directory by directory
            self._directory = directory + slash, self._seen(f"{directory}{slash}x")[:-1]
        return self._directory[1] + name

    def _seen(self, path: str) -> str:
        full = path if path.startswith("/") else self._here + path.removeprefix("./")
        if "/." in full or "//" in full:
            full = os.path.normpath(full)
        return full.removeprefix(self._inside)


def _compiled(patterns: Sequence[str]) -> Any:
    """Compile patterns with RE2, which takes linear time for any pattern."""
    import re2  # type: ignore[import-untyped]  # few have patterns

    if sum(map(len, patterns)) > _MOST:
        raise PatternError(_TOO_MANY)
    options = re2.Options()
    options.log_errors = False
    every = re2.Set.FullMatchSet(options)  # a third of the time of one expression, which makes spans of its matches
    for pattern in patterns:
        text = pattern.removeprefix("./").rstrip("/")
        if not text or len(pattern) > MAX_PATTERN or "\n" in text:
            raise PatternError(f"{pattern[:MAX_PATTERN]!r} is not a pattern of paths, such as examples/** or *.json")
        if ".." in text.split("/"):
            raise PatternError(f"{pattern}: a pattern cannot lead out of its directory")
        anchored = "/" in text
        parts = [_part(token) for token in _TOKEN.finditer(text.removeprefix("/"))]
        expression = f"(?:{'' if anchored else '(?:.*/)?'}{''.join(parts)}(?:/.*)?)"
        try:
            re2.compile(expression, options=options)
        except re2.error as error:
            why = error.args[0]
            why = why.decode(errors="replace") if isinstance(why, bytes) else why
            raise PatternError(f"{pattern}: {why}") from error
        every.Add(expression)
    try:
        every.Compile()
    except re2.error as error:
        raise PatternError(_TOO_MANY) from error
    return every.Match


def _part(token: re.Match[str]) -> str:
    text = token[0]
    if token[1] is not None:
        before = "/" if token[1] else ""
        return f"{before}(?:.*/)?" if text.endswith("/") else f"{before}.*"
    if text.startswith("*"):
        return "[^/]*"
    if text == "?":
        return "[^/]"
    if text.startswith("["):
        inner = text[1:-1]
        negated, inner = inner.startswith("!"), inner.removeprefix("!").replace("\\", "\\\\").replace("[", "\\[")
        return f"[{'^' if negated else ''}{inner}]" if inner else re.escape(text)
    return re.escape(text)
