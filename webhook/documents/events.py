"""The YAML events of a text, from libyaml where PyYAML has it, else from PyYAML's own parser."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from webhook.documents.fault import Fault

_FORBIDDEN: Final = "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that YAML allows nowhere, not even in quotes (go-yaml v2 ``readerc.go``)."""

_HINTS: Final = {
    "mapping values are not allowed in this context": 'quote a text that holds ": ", and check the indentation',
    "found character that cannot start any token": (
        "indent with spaces, not tabs; quote a text that starts with %, @ or `"
    ),
    "found a tab character that violates indentation": "indent with spaces",
    "found a tab character where an indentation space is expected": "indent with spaces",
    "did not find expected <document start>": "give one document between two --- lines, and no % directive",
    "did not find expected key": "check the indentation, and that quotes and brackets are closed",
    "could not find expected ':'": "give the key a colon, and indent what goes on from the line before",
    "found undefined tag handle": "quote a text that starts with !",
    "found unknown escape character": "in double quotes a backslash is written twice; or use single quotes",
}


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser without its C library."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


PARSER_ERRORS = (yaml.YAMLError, ValueError, OverflowError)


def parser_of(text: str) -> Any:
    """Return a parser whose ``get_event`` gives the text's events and at last ``None``."""
    if yaml.__with_libyaml__:
        return yaml.cyaml.CParser(text)  # type: ignore[attr-defined]  # the stubs leave it out
    return PythonParser(text)


def fault_of(error: Exception, text: str) -> Fault:
    """Say what a YAML parser says, as Kubernetes' reader does, and where."""
    if not isinstance(error, yaml.MarkedYAMLError):
        character = re.search(_FORBIDDEN, text)
        if character is None:
            return Fault(f"not YAML: {error}", 0)
        hint = "the file is not text, or has stray bytes: YAML takes no control characters"
        return Fault(f"control characters are not allowed: U+{ord(character[0]):04X}", character.start(), hint)
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "unknown problem parsing YAML content"
    context = f", {error.context}" if error.context else ""
    return Fault(problem + context, 0 if mark is None else mark.index, _HINTS.get(problem, ""))
