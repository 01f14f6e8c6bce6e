"""The review options of ``draguard serve``, reloaded when their files change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from webhook.admission import ReviewOptions
from webhook.cli.console.lines import print_error
from webhook.cli.options.reviews import options
from webhook.server import Reloaded, UnusableError
from webhook.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_STANDARD_INPUT = "-"


def reloaded_options(arguments: Namespace) -> Reloaded[ReviewOptions]:
    """Read the options, which follow the files of ``--policies``, ``--authorizer`` and ``--kubernetes-version-file``.

    Standard input can be read only once, so policies from there are not reloaded.

    Raises:
        UsageError: As :func:`webhook.cli.options.reviews.options` does.
    """
    named = [*arguments.policies, *filter(None, [arguments.authorizer])]
    if not arguments.policies or _STANDARD_INPUT in named:
        named = []
    named += [path for path in arguments.cluster if path != _STANDARD_INPUT]
    version = arguments.kubernetes_version_file if arguments.kubernetes_version is None else None

    def files() -> Iterator[str]:
        if version:
            yield version
        if named:
            from webhook.documents import find  # needed only with policies

            yield from (path for path in find(named) if isinstance(path, str))

    def prepared(tell: Callable[[str], None] = print_error) -> ReviewOptions:
        found = options(arguments, tell)
        if found.policies:
            found.policies.prepare()
        return found

    def anew() -> ReviewOptions:
        lines: list[str] = []
        try:
            return prepared(lines.append)
        except UsageError as error:
            raise UnusableError("\n".join([*lines, str(error)])) from error

    what = " and ".join(
        [
            *(["policies and the cluster" if arguments.cluster else "policies"] if named or not version else []),
            *(["release"] if version else []),
        ]
    )
    return Reloaded(what, files, anew, prepared)


def faults(answering: Reloaded[ReviewOptions]) -> Iterator[str]:
    """Explain, for readiness, why the policies in use are not those of their files."""
    if answering.fault:
        yield f"the policies in the files cannot be used: {answering.fault.splitlines()[0]}"
