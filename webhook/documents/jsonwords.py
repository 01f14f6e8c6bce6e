"""Puts messages about YAML into the words of JSON, for files that are meant to be JSON."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


_WORDS: Final = {
    "write a list: a `-` before each entry": "write an array: the entries between [ and ]",
    "write a map: a line `key: value` for each entry": 'write an object: `"key": "value"` between { and }',
    "write a map: without quotes around it, and without | after the key": "write an object: without quotes around it",
    "write a map": "write an object",
    "a flow sequence": "an array",
    "a flow mapping": "an object",
    "a block mapping": "an object",
    "check that quotes and brackets are closed": "check commas, and that double quotes and brackets are closed",
    ", and check the indentation": "",
}
"""What to say in JSON, by what is said in YAML; longer texts come before those that they contain."""


_KEYED: Final = re.compile("write a list: `- (.*?): …` in place of `…:`")


def in_json(text: str) -> str:
    """Put a message into the words of JSON."""
    for yaml, json in _WORDS.items():
        text = text.replace(yaml, json)
    return _KEYED.sub(r'write an array: [{"\1": …}] in place of {…: …}', text)
