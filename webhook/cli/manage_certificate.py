"""``draguard manage-certificate``: the certificate manager, apart from the webhook.

The webhook parses input from any client. This process reads only the Kubernetes API, listens on no port, and is the
only one with a token.
"""

from __future__ import annotations

import signal
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.logs import configure
from webhook.usage import UsageError, naming

if TYPE_CHECKING:
    from webhook.cluster.manager import Manager


def run(arguments: Namespace) -> int:
    """Manage the certificate until SIGTERM or SIGINT."""
    manager = manager_of(arguments, None)
    configure(arguments.log_format, arguments.log_level)
    before = {each: signal.signal(each, lambda *_: manager.stop()) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        manager.run()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    return 0


def started(arguments: Namespace) -> Manager:
    """Read ``--manage-…``, and wait for a certificate.

    ``--manage-directory`` holds ``tls.pem`` from then on, which a thread keeps current until the manager is stopped.

    Raises:
        UsageError: An option is missing, or there was no certificate in time; the message says why.
    """
    with naming("--manage-certificate", UsageError):
        manager = manager_of(arguments, Path(arguments.manage_directory))
        manager.start()
    return manager


def manager_of(arguments: Namespace, directory: Path | None) -> Manager:
    """Make the manager that the options describe.

    Args:
        directory: The directory for ``tls.pem``; None to maintain only the Secret, with the cluster's
            version.

    Raises:
        UsageError: An option is missing or malformed.
    """
    from webhook.cluster.manager import Manager  # needed only to manage certificates
    from webhook.cluster.options import ManagerOptions

    return Manager(
        ManagerOptions(
            namespace=arguments.manage_namespace or _own_namespace(arguments),
            secret=arguments.manage_secret,
            lease=arguments.manage_lease,
            names=tuple(arguments.manage_name),
            directory=directory,
            webhooks=tuple(arguments.manage_webhooks),
            account=Path(arguments.manage_account),
        )
    )


def _own_namespace(arguments: Namespace) -> str:
    """Read the namespace of this process's pod."""
    path = Path(arguments.manage_account, "namespace")
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        option = "--manage-namespace" if "manage_directory" in arguments else "--namespace"
        raise UsageError(f"cannot read {path}, so this is not a pod: give {option}") from error
