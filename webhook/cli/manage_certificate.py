"""``draguard manage-certificate``: the certificate manager, apart from the webhook.

The webhook parses input from any client. This process reads only the Kubernetes API, listens on no port, and is the
only one with a token.
"""

from __future__ import annotations

import signal
from argparse import Namespace

from webhook.cli.options.certificate import manager_of
from webhook.logs import configure


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
