"""Rules that apply to any field, object or file, with the texts of ``general.txt``."""

from __future__ import annotations

import os
import re
from inspect import getdoc
from typing import Final

from webhook.limits import MOST_FINDINGS, MOST_IN_ALL
from webhook.references import manifests

_NUMBERS: Final = {"MOST_FINDINGS": f"{MOST_FINDINGS:,}", "MOST_IN_ALL": f"{MOST_IN_ALL:,}"}


def _rule(entry: str) -> tuple[str, str]:
    name, _, text = entry.partition(":")
    text = re.sub("|".join(_NUMBERS), lambda found: _NUMBERS[found[0]], text)
    said = "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))
    return name, said or getdoc(getattr(manifests, name.replace("-", "_"))) or ""


with open(os.path.join(os.path.dirname(__file__), "general.txt"), encoding="utf-8") as _file:
    _, *_parts = re.split(r"^\[(\w+)\]\n", _file.read(), flags=re.MULTILINE)
_SECTIONS: Final = {
    title: dict(map(_rule, re.split(r"\n(?=\w)", of.strip())))
    for title, of in zip(_parts[::2], _parts[1::2], strict=True)
}
EVERY_FIELD: Final = _SECTIONS["fields"]
"""Rules about single fields, which are declared as their limits."""
OF_UPDATES: Final = _SECTIONS["updates"]
"""Rules about updates, which compare an object with its earlier state."""
OF_EVALUATION: Final = _SECTIONS["evaluation"]
"""Rules about the evaluation of policies."""
OF_POLICIES: Final = _SECTIONS["policies"]
"""Rules of ``draguard policy check`` about policies and bindings."""
OF_SUITES: Final = _SECTIONS["suites"]
"""Rules of ``draguard policy test`` about suites."""
EVERY_OBJECT: Final = {**OF_UPDATES, **OF_EVALUATION, **OF_POLICIES, **OF_SUITES, **_SECTIONS["objects"]}
"""Rules about whole objects and files, which no type declares."""
