"""Maps rendered lines to the lines of a chart's template, which users can change.

Helm does not tell where a line comes from. So the two texts are aligned: lines without actions (``{{ … }}``) are the
same in both, and so is the text between actions of a line. The output of an action is mapped to the action, or to a
word in it that is there once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from webhook.documents.limits import MAX_EXCERPT
from webhook.records import NamedTuple

_ACTION: Final = "{{"
_OUTPUT: Final = re.compile(r"(?:\s*\{\{-|\{\{).*?(?:-\}\}\s*|\}\})")
"""An action, with the white space that it removes."""
_KEY: Final = re.compile(r"(?:- +)*(?:[\"']?[\w./-]+[\"']?:|-(?= ))")
_WORD: Final = re.compile(r"[\w./-]+|\S")
_CONTROL: Final = re.compile(r"\{\{-?\s*(?:if|else|end|with|range|define|block|\$\w+\s*:?=|/\*)")
"""Actions that write nothing themselves."""
_MOST: Final = 4_000_000
"""Pairs of lines beyond which texts are not aligned."""
_MOST_STEPS: Final = 100_000_000
"""Steps, each some nanoseconds, beyond which they are not aligned: if lines repeat, the worst case is cubic."""


class TemplatePlace(NamedTuple):
    """A place in a template.

    Args:
        line: The line, from 1.
        column: The column, in characters from 1.
    """

    line: int
    column: int
    text: str


def locate(template: str, rendered: str, line: int, column: int) -> TemplatePlace | None:
    """Find the place in a template that a place of its output comes from.

    Args:
        line: The line in the output, from 1.
        column: The column, in characters from 1.

    Returns:
        The place; None if that is unknown.
    """
    aligned = _aligned(template, rendered)
    if not 1 <= line <= len(aligned) or aligned[line - 1] < 0:
        return None
    text, written = template.splitlines()[aligned[line - 1]], rendered.splitlines()[line - 1]
    margin = len(text) - len(text.lstrip())
    at = margin + _offset(text.strip(), written.strip(), column - 1 - (len(written) - len(written.lstrip())))
    return TemplatePlace(aligned[line - 1] + 1, at + 1, text if len(text) <= MAX_EXCERPT else "")


def _offset(source: str, written: str, at: int) -> int:
    """Return the offset in a template's line for one in its output; that of the only action, or 0, if it is unknown."""
    if _start(source) != _start(written) or at <= 0:
        return 0
    actions = list(_OUTPUT.finditer(source))
    offset, is_text = _counterpart(source, actions, written, at)
    if is_text:
        return offset
    word = _WORD.match(written, at)
    places = [each.start() for each in _WORD.finditer(source) if word and each[0] == word[0]]
    if len(places) == 1:
        return places[0]
    return source.index(_ACTION) if offset < 0 and len(actions) == 1 else max(offset, 0)


def _counterpart(source: str, actions: Sequence[re.Match[str]], written: str, at: int) -> tuple[int, bool]:
    """Return the offset in a template's line of the text or action that wrote an offset of its output; -1 if unknown.

    Returns:
        The offset, and whether it is one of the text between actions, which is the same in both.
    """
    done = begin = writer = 0
    for end, action in [*((each.start(), each) for each in actions), (len(source), None)]:
        text = source[begin:end]
        place = written.find(text, done) if action else len(written) - len(text)
        if place < done or not written.startswith(text, place) or (begin == 0 and place):
            return (writer if at == done else -1), False
        if at < place:
            return writer, False
        if at < place + len(text):
            return begin + at - place, True
        if action:
            done, begin, writer = place + len(text), action.end(), source.index(_ACTION, end)
    return writer, False


@lru_cache(maxsize=16)
def _aligned(template: str, rendered: str) -> Sequence[int]:
    """Return, for each rendered line, the index of its line in the template; -1 if there is none."""
    source, written = ([line.strip() for line in text.splitlines()] for text in (template, rendered))
    if len(source) * len(written) > _MOST:
        return ()
    plain = {line for line in source if _ACTION not in line}
    left = [line if line in plain else _start(line) for line in written]
    right = [line if line in plain else _start(line) for line in source]
    often = Counter(right)
    if sum(often[line] for line in left) * min(len(left), len(right)) > _MOST_STEPS:
        return ()
    found = [-1] * len(written)
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        for index in range(block.size):
            found[block.a + index] = block.b + index
    last = -1
    for index, token in enumerate(left):
        if found[index] < 0:
            found[index] = right.index(token) if token and right.count(token) == 1 else _writer(source, last)
        last = found[index]
    return found


def _start(line: str) -> str:
    """Return the start of a line without its value: its key, or the dash of an item."""
    match = _KEY.match(line)
    return match[0] if match else line


def _writer(source: Sequence[str], last: int) -> int:
    """Return the action that has probably written the lines after the last known one."""
    for index in range(last + 1, len(source)):
        if source[index].startswith(_ACTION):
            if not _CONTROL.match(source[index]):
                return index
        elif source[index]:
            break
    return last
