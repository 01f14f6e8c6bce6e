"""The Kubernetes release that is asked, as several commands take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.api.versions import release_of
from webhook.cli.arguments import UsageError

if TYPE_CHECKING:
    from argparse import Namespace


def kubernetes(arguments: Namespace) -> str | None:
    """Read ``--kubernetes-version``, None if it was not given.

    Raises:
        UsageError: The release is not known here.
    """
    stated: str | None = arguments.kubernetes_version
    try:
        if stated is not None:
            release_of(stated)
    except ValueError as error:
        message = f"--kubernetes-version: {error}"
        raise UsageError(message) from error
    return stated
