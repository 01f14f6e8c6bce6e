"""``--pod-template``: where workloads of other projects keep their pods."""

from __future__ import annotations

import re

from webhook.cli.arguments import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Final

    from webhook.workloads import Locations

_STEP: Final = r"(?:[A-Za-z0-9_-]+(?:\[\])?|\*)"
_STATED: Final = rf"([a-z0-9.-]+\.[a-z0-9.-]+)/([A-Z][A-Za-z0-9]*)=({_STEP}(?:\.{_STEP})*)"


def pod_locations(arguments: Namespace) -> Locations | None:
    """Read ``--pod-template``; None if it was not given.

    Raises:
        UsageError: It is malformed.
    """
    found: Locations = {}
    for text in arguments.pod_template:
        if not (match := re.fullmatch(_STATED, text)):
            raise UsageError(
                f"--pod-template: {text!r}: give GROUP/KIND=PATH, such as example.com/Trainer=spec.workers[].template"
            )
        group, kind, path = match.groups()
        found[group, kind] = (*found.get((group, kind), ()), path)
    return found or None
