"""Examples of rules, which are their tests, too: one file per rule in ``examples/``.

A file starts with the command that checks it, if not ``# run: validate``. Sections follow, each after a line of its
own: ``# fails``, ``# passes`` and, where needed, ``# before`` (the stored objects of an update) and ``# policies``.
Expected findings are at the end of their line, after ``#!``: the message, or its beginning and ``…``, preceded by the
rule in brackets if it is another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Final

from webhook.records import NamedTuple

_HEADING: Final = re.compile(r"^# (fails|passes|before|policies)\n", re.MULTILINE)
_RUN: Final = "# run: "


class Example(NamedTuple):
    """A rule, shown by manifests.

    Args:
        run: The command that checks them, with its options, such as ``validate --kubernetes-version 1.30``.
        fails: Manifests that break the rule; the findings are after ``#!``.
        before: The objects as they are stored, for rules about updates.
        policies: The policies to evaluate.
    """

    run: str
    fails: str
    passes: str
    before: str = ""
    policies: str = ""

    def sections(self) -> Iterator[tuple[str, str]]:
        """Return the manifests, each with a heading."""
        checked = f" (draguard {self.run})" if self.run != "validate" else ""
        if self.policies:
            yield "POLICIES", self.policies
        if self.before:
            yield "STORED", self.before
        yield f"FAILS{checked}", self.fails
        yield "PASSES", self.passes


def example(rule: str) -> Example | None:
    """Return the example of a rule; None if there is none."""
    file = resources.files("webhook.explain") / "examples" / f"{rule}.yaml"
    if not file.is_file():
        return None
    head, *parts = _HEADING.split(file.read_text(encoding="utf-8"))
    run = head.removeprefix(_RUN).strip() or "validate"
    return Example(run, **dict(zip(parts[::2], parts[1::2], strict=True)))
