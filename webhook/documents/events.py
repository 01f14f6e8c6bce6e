"""Parses YAML events, by libyaml if PyYAML has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import yaml
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from webhook.documents.content import ContentError
from webhook.documents.limits import MAX_EXCERPT, MAX_TAG_DIRECTIVES, too_many_directives
from webhook.documents.yamlhints import hint_of

_FORBIDDEN: Final = "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that YAML allows nowhere, not even in quotes (go-yaml v2 ``readerc.go``)."""

_MARK: Final = "\ufeff"
_INNER_MARK: Final = re.compile(f"(?<=[\n\r\x85\u2028\u2029]){_MARK}")
_LIKE_A_MARK: Final = "\u2060"

_NO_COLON: Final = "could not find expected ':'"
_TAG_DIRECTIVE: Final = re.compile("(?:^|(?<=[\r\n\x85\u2028\u2029]))%TAG")
_MAY_BE_TAG: Final = re.compile(r"![^\s,\[\]!]*[,\[\]]")
_TAG: Final = re.compile(r"![\w\-;/?:@&=+$,.!~*'()\[\]%]*", re.ASCII)
_ENDS: Final = frozenset(",[]")
_MOST_WRONG_TAGS: Final = 20
"""The most tags unreadable to libyaml that are handled in a text; each takes another parse."""
_SPELLED: Final = str.maketrans(",[]", ";;;")


def _with_whole_tags(text: str) -> str:
    """Return the text with tags that end where Kubernetes' reader ends them (go-yaml v2 ``scannerc.go``, tag URIs).

    In Kubernetes' reader commas and brackets belong to tags, so that ``[!!str, z]`` is one text; libyaml ends a tag
    before them. The name of such a tag has no effect, so its commas and brackets are replaced by a character that both
    readers accept.
    """
    for _ in range(_MOST_WRONG_TAGS):
        pieces: list[str] = []
        at = 0
        wrong = None
        try:
            for start, end in _tags(text):
                if start >= at and text[end : end + 1] in _ENDS:
                    whole = _TAG.match(text, start)
                    assert whole is not None  # noqa: S101 - a tag begins there
                    pieces += text[at:start], whole[0].translate(_SPELLED)
                    at = whole.end()
        except yaml.MarkedYAMLError as error:
            if error.context == "while scanning a tag" and error.context_mark is not None:
                wrong = _TAG.match(text, error.context_mark.index)
        except PARSER_ERRORS:
            pass  # the parser reports it
        if wrong is not None and wrong.start() >= at:
            pieces += text[at : wrong.start()], wrong[0].translate(_SPELLED)
            at = wrong.end()
        changed = "".join((*pieces, text[at:]))
        if wrong is None or changed == text:
            return changed
        text = changed
    return text


def _tags(text: str) -> Iterator[tuple[int, int]]:
    """List where tags begin and end."""
    parser = _parser(text)
    while (token := parser.get_token()) is not None:
        if type(token) is yaml.TagToken:
            yield token.start_mark.index, token.end_mark.index


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser without its C library."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


PARSER_ERRORS = (yaml.YAMLError, ValueError, OverflowError)


def parser_of(text: str) -> Any:
    """Return a parser whose ``get_event`` returns the text's events and finally ``None``.

    Raises:
        ContentError: It has too many directives for libyaml.
    """
    if text.count("%TAG") > MAX_TAG_DIRECTIVES:
        directives = [each.start() for each in islice(_TAG_DIRECTIVE.finditer(text), MAX_TAG_DIRECTIVES + 1)]
        if len(directives) > MAX_TAG_DIRECTIVES:
            raise too_many_directives(directives[-1])
    if _MAY_BE_TAG.search(text):
        text = _with_whole_tags(text)
    if _MARK in text:
        # libyaml skips a byte order mark at the start of any line, Kubernetes' reader only at the start of a document.
        text = _INNER_MARK.sub(_LIKE_A_MARK, text)
    return _parser(text)


def _parser(text: str) -> Any:
    if yaml.__with_libyaml__:
        return yaml.cyaml.CParser(text)  # type: ignore[attr-defined]  # the stubs leave it out
    return PythonParser(text)


def content_error(error: Exception, text: str) -> ContentError:
    """Convert a YAML parser's error to the words and position of Kubernetes' reader."""
    if not isinstance(error, yaml.MarkedYAMLError):
        character = re.search(_FORBIDDEN, text)
        if character is None:
            return ContentError(f"not YAML: {error}", 0)
        hint = "the file is not text, or has stray bytes: YAML takes no control characters"
        return ContentError(f"control characters are not allowed: U+{ord(character[0]):04X}", character.start(), hint)
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "unknown problem parsing YAML content"
    if problem == _NO_COLON and error.context_mark is not None:
        mark = error.context_mark  # the start of the text, not its end
    context = f", {error.context}" if error.context else ""
    offset = 0 if mark is None else mark.index
    return ContentError(problem + context, offset, hint_of(problem, _line(text, offset)))


def _line(text: str, offset: int) -> str:
    end = text.find("\n", offset)
    return text[text.rfind("\n", 0, offset) + 1 : len(text) if end < 0 else end][:MAX_EXCERPT]
