"""Explains how to quote texts that YAML misreads, as happens to CEL expressions."""

from __future__ import annotations

import re
from typing import Final

from webhook.documents.scalars import WORDS
from webhook.patterns import Pattern
from webhook.problem import InYaml, cut

_COLON: Final = "mapping values are not allowed in this context"
_HINTS: Final = {
    _COLON: InYaml('quote a string that holds ": ", and check the indentation', json='quote a string that holds ": "'),
    "found character that cannot start any token": "quote a string that starts with %, @ or `",
    "did not find expected <document start>": "give one document between two --- lines, and no % directive",
    "did not find expected key": "check the indentation, and that quotes and brackets are closed",
    "could not find expected ':'": "give the key a colon, and indent what goes on from the line before",
    "found undefined tag handle": "quote a string that starts with !",
    "found unknown escape character": "in double quotes a backslash is written twice; or use single quotes",
    "did not find expected comment or line break": "a text begins on the line below | or >, indented",
    "block sequence entries are not allowed in this context": "a list begins on the line below its key",
}
"""Hints, by the YAML parser's message."""
_ELIDED: Final = "`...` stands for what an example leaves out: write it, or remove the line"
_OF_VALUES: Final = frozenset(
    {
        _COLON,
        "found character that cannot start any token",
        "did not find expected key",
        "did not find expected ',' or '}'",
        "did not find expected ',' or ']'",
        "did not find expected alphabetic or numeric character",
    }
)
"""Messages of a YAML parser about a misread value."""
_CLOSING: Final = {"[": "]", "{": "}", '"': '"', "'": "'"}
"""The closing characters of brackets and quotation marks."""
_LONGEST: Final = 60
"""The most characters that are shown of a line."""
_VALUE: Final = Pattern(r"""(?:^\s*|[-{,]\s+|\{)["']?([A-Za-z][\w./-]*)["']?:[ \t]+(\S.*)""")
_EXPRESSION: Final = Pattern(r"""(\b(?:\w+E|e)xpression)["']?:[ \t]+(\S.*)""")
_TAKEN_FOR: Final = {
    **dict.fromkeys("\"'", "a text that ends at the next {}"),
    **dict.fromkeys("[", "a list"),
    **dict.fromkeys("{", "a map"),
    **dict.fromkeys("*", "an alias"),
    **dict.fromkeys("`@%", "something else"),
}
"""The meaning of a value in YAML, by its first character."""
_DASHES: Final = Pattern("[-\u2010-\u2015\u2212]{2,}")
"""Hyphens, and the characters that editors replace them with."""
_KEY: Final = Pattern(r"[A-Za-z]+(?=[ \t]*:)")
_WITHOUT_COLON: Final = Pattern(r"(?:(?=-\s)-\s++)*+([A-Za-z][\w.-]*+)(?:\s++([^:#]++))?")
"""Matches a line whose key, before its value or the lines below, lacks the colon."""
_DESCRIBED: Final = Pattern(r"\A\s*Name: +\S+\r?\n(?:Namespace|Labels|Roles|Annotations): ")


def as_described(text: str) -> str:
    """Suggest what to read in place of what ``kubectl describe`` prints; empty if a text is none of it."""
    return "this looks like the output of kubectl describe: use kubectl get -o yaml" if _DESCRIBED.match(text) else ""


def hint_of(problem: str, line: str, column: int, mark: str = "", opened: str = "", *, before: str = "") -> str:
    """Suggest how to fix a YAML error; empty if that is unclear.

    Args:
        line: The line that the message is about.
        column: The place in it, from 0.
        mark: The bracket or quotation mark that is open there.
        opened: The line of that mark.
        before: The last line before ``line`` that has any content.
    """
    if _DASHES.fullmatch(line.strip()):
        return "three hyphens separate documents: write ---"
    if line.startswith("\ufeff"):
        return "remove the byte order mark at the start of the line: only a document may begin with it"
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "indent with spaces, not tabs"
    closes_another = mark in {"[", "{"} and line[column : column + 1] in {"]", "}"} - {_CLOSING[mark]}
    # After a colon, the indentation may be wrong, too.
    of_any = problem in _OF_VALUES and problem != _COLON and not closes_another
    if (problem in _OF_VALUES and (match := _EXPRESSION.search(line))) or (of_any and (match := _value(line, column))):
        key, value = match.groups()
        if misread := _misread(key, value, is_flow="{" in line[: match.start(1)]):
            return misread
    if problem == _COLON and (match := _WITHOUT_COLON.fullmatch(before.partition(" #")[0].strip())):
        key, value = match.groups()
        return f'did you mean "{cut(f"{key}: {value}" if value else f"{key}:", _LONGEST)}" above?'
    is_elided = "..." in (line.strip(), before.strip())
    return _ELIDED if is_elided else _HINTS.get(problem, "") or _unclosed(mark, opened)


def _value(line: str, column: int) -> re.Match[str] | None:
    """Return the last key with a value that begins at a place or before it."""
    last = None
    while (found := _VALUE.search(line, last.start(2) if last else 0)) and found.start(2) <= column:
        last = found
    return last


def _unclosed(mark: str, opened: str) -> str:
    """Explain what closes a bracket or a quotation mark; empty if it is neither."""
    if mark not in _CLOSING:
        return ""
    closing = f"a {_CLOSING[mark]}, a comma or a quotation mark" if mark in "[{" else f"a {mark}"
    begin = f"the {mark}" if opened.strip() == mark else f"the {mark} of `{cut(opened.strip(), _LONGEST)}`"
    return f"{closing} is missing before this: {begin} is still open"


def boolean_keys(text: str, *offsets: int) -> str:
    """Explain keys that YAML reads as booleans, such as ``n`` and ``on``; empty if there are none.

    Args:
        offsets: Where the keys begin.
    """
    keys = dict.fromkeys(match[0] for offset in offsets if (match := _KEY.match(text, offset)))
    words = [key for key in keys if isinstance(read := WORDS.get(key), bool) and key != str(read).lower()]
    if not words:
        return ""
    read = "true" if WORDS[words[0]] else "false"
    several = f"s {' and '.join(words)}" if words[1:] else f" {words[0]}"
    return f'YAML reads the key{several} as "{read}": to mean the text, write "{words[0]}" in quotes'


def _misread(key: str, value: str, *, is_flow: bool) -> str:
    """Explain how YAML misreads a value, and how to write it; empty if it reads a text."""
    if taken := _TAKEN_FOR.get(value[0]):
        meaning = f"YAML takes what begins with {value[0]} for {taken.format(value[0])}"
    elif is_flow and any(each in value for each in ',[]{}"'):
        meaning = "inside { }, quotes, brackets and commas end a plain value"
    elif ": " in value:
        meaning = 'YAML takes ": " for the end of a key'
    else:
        return ""
    if key.lower().endswith("expression") and not is_flow:
        return f"{meaning}: write it on the line below `{key}: |`, indented"
    mark = '"' if "'" in value else "'"
    return f"{meaning}: put all of it between {mark} and {mark}"
