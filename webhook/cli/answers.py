"""The options by which reviews are answered, as ``review`` and ``serve`` share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook import admission, prescheduled
from webhook.cli.release import kubernetes

if TYPE_CHECKING:
    from argparse import Namespace


def options(arguments: Namespace) -> admission.Options:
    """Read the options.

    Raises:
        UsageError: The Kubernetes version is not known.
    """
    return admission.Options(
        kubernetes=kubernetes(arguments),
        fail_open=arguments.failure_policy == "ignore",
        prescheduled=prescheduled.Options(arguments.select_node_by, arguments.pods),
    )
