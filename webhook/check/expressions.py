"""Locates CEL errors in the file: from line and column within an expression to those of the manifest.

YAML and JSON write a text with indentation, folded lines and escapes. So all characters but white space are counted:
both spellings have them, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from webhook.cel.errors import MISMATCHED_FIELD, SYNTAX, UNDEFINED
from webhook.cel.syntax.lexer import END
from webhook.documents import Document, Position
from webhook.documents.nodes import visible
from webhook.edit.scalars import count
from webhook.findings import Finding, found
from webhook.issues import Issue
from webhook.problem import Path, Problem, value_at
from webhook.report.text import counted
from webhook.schema.decoding import UNKNOWN_FIELD

_EXPRESSIONS: Final = frozenset({"expression", "messageExpression", "valueExpression"})
"""The fields that hold expressions."""
_MOST_ERRORS: Final = 3
"""The most errors of an expression to show."""
_TAGGED: Final = re.compile(r"""["']?\w+["']?\s*:\s*!(?!<|!\w+\s+\S)""")
"""A value that begins with ``!``; not one with a tag as YAML has them, such as ``!!str``."""
_COMMENT_HINT: Final = "YAML takes what follows # for a comment: write it on the line below `expression: |`, indented"
_NAME: Final = re.compile(r"\w+\s*$")
_LONGEST_SPELLING: Final = 12
"""The most characters for one of a text: two escapes of JSON."""
_MORE_CHARACTERS: Final = 4096
"""How much white space and comment are looked at in a line, which may have megabytes."""


def located(problem: Problem, document: Document, kubernetes: str = "") -> Finding:
    """Locate a problem in its file; a problem of an expression, in the expression.

    Args:
        kubernetes: The release that it is about, such as ``1.30``.
    """
    finding = found(problem, document, kubernetes)
    if not problem.path or problem.path[-1] not in _EXPRESSIONS or problem.rule == UNKNOWN_FIELD:
        return finding
    value = _text_at(document.data, problem.path)
    if _TAGGED.match(document.file.line(finding.line), finding.column - 1):
        problem = problem._replace(hint="quote the expression: YAML takes a leading ! for a tag", fix=None)
        return finding._replace(problem=problem, brief=_brief(problem))
    line, column = position(document, problem.path, _before(value, problem))
    if _is_cut(document, finding, value, problem):
        problem = problem._replace(hint=_COMMENT_HINT, fix=None)
    elif not problem.hint and (issues := _in_text(problem)):
        from webhook.hints.selectors import syntax  # needed only for wrong expressions

        if advice := syntax(issues[0], value):
            problem = problem._replace(hint=advice.hint)
    finding = finding._replace(problem=problem, brief=_brief(problem), key_line=finding.line)
    return finding._replace(line=line, column=column, text=document.file.excerpt(line))


def located_in_option(problem: Problem, expression: str, option: str) -> Finding:
    """Locate a problem of an expression that is given on the command line.

    Args:
        option: The option, which stands in the place of the file.
    """
    before = _before(expression, problem)
    visible = [offset for offset, each in enumerate(expression) if not each.isspace()]
    offset = visible[before] if before < len(visible) else len(expression)
    line, column = expression.count("\n", 0, offset) + 1, offset - expression.rfind("\n", 0, offset)
    text = expression.split("\n")[line - 1]
    return Finding(problem, option, line, column, text, brief=_brief(problem), key_line=1)


def _in_text(problem: Problem) -> list[Issue]:
    """List the errors that have a place in the text of an expression."""
    return [each for each in problem.issues if each.line > 0]


def _is_cut(document: Document, key: Finding, value: str, problem: Problem) -> bool:
    """Tell whether YAML reads the rest of an expression as a comment."""
    longest = _LONGEST_SPELLING * len(value) + _MORE_CHARACTERS
    line = document.file.line(key.line)[key.column - 1 :][:longest]
    start = line.find(f"{value} ") if value and "\n" not in value else -1
    rest = line[start + len(value) :].lstrip()
    found = (text for each in problem.issues if each.code in SYNTAX for text in each.arguments)
    return start >= 0 and rest.startswith("#") and any(isinstance(each, str) and END in each for each in found)


def _brief(problem: Problem) -> str:
    """Return the errors of an expression, without the expression itself, which is shown below; empty for others.

    What follows an error of syntax is mostly its consequence, and only counted.
    """
    issues = _in_text(problem)
    if not issues:
        return problem.detail if problem.reason == "FieldValueInvalid" else ""
    errors = list(dict.fromkeys(each.summary for each in issues))
    of = " in {1} of {0}".format(*issues[0].kind) if issues[0].kind else ""
    shown = errors[:1] if issues[0].code in SYNTAX else errors[:_MOST_ERRORS]
    left = len(errors) - len(shown)
    more = f" (and {counted(left, 'more error')})" if left else ""
    return f"{'; '.join(shown)}{of}{more}"


def position(document: Document, path: Path, before: int = 0) -> Position:
    """Return the position of an expression's character in its file, or of its key if that is unknown.

    Args:
        path: The path of the expression.
        before: The number of characters before the sought one, without white space.
    """
    value, spans = _text_at(document.data, path), _spans(document, path)
    if not value.strip() or len(spans) < count(value):
        return document.position(path)
    return document.file.position(spans[before][0] if before < len(spans) else spans[-1][1])


@lru_cache(maxsize=1)
def _spans(document: Document, path: Path) -> Sequence[tuple[int, int]]:
    """Return the places of a text's characters but white space: a patch in a kustomization may have many findings."""
    written = document.written(path)
    if written is None or written.alias:  # it is elsewhere, behind an alias
        return []
    return [each.span() for each in visible(document.file.text, written)]


def _before(value: str, problem: Problem) -> int:
    """Count the characters before a problem's position; none if it states no position."""
    if problem.character is not None:
        return count(value[: problem.character])
    issues = _in_text(problem)
    if not issues:
        return _mentioned(value, problem.value)
    offset = issues[0].offset
    before = value[:offset]
    if issues[0].code in {UNDEFINED, MISMATCHED_FIELD} and value.startswith(":", offset):
        before = _NAME.sub("", before)  # cel-go points to the colon behind the field of a literal
    return count(before)


def _mentioned(value: str, rejected: str) -> int:
    """Count the characters before a rejected text or variable in an expression; none if it does not have it."""
    around = r"\b" if rejected.startswith("variables.") else "[\"']"
    match = re.search(f"{around}{re.escape(rejected)}{around}", value) if rejected else None
    return count(value[: match.start()]) if match else 0


def _text_at(data: Any, path: Path) -> str:
    text = value_at(data, path)  # a missing value is a problem of its parent
    return text if isinstance(text, str) else ""
