"""``draguard validate``: finds the errors for which the API server would refuse manifests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from webhook.check.files import judged
from webhook.cli.console.output import check_outputs, show
from webhook.cli.console.reading import paths_of, tell

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print the findings and a summary."""
    check_outputs(arguments)
    if not arguments.stdin_filename:
        arguments.paths = paths_of(arguments)
    if arguments.fix or arguments.diff or arguments.unsafe_fixes:
        from webhook.cli.validate import fixing  # needed only to fix files

        return fixing.run(arguments, partial(judged, tell=tell))
    return show(judged(arguments, tell=tell), arguments)
