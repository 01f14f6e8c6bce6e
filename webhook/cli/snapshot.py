"""``draguard snapshot``: the objects of a cluster, or the kubectl command that collects them."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

from webhook.check.progress import counting
from webhook.cli.console.lines import show_lines
from webhook.cli.console.reading import tell
from webhook.configuration.options import Live
from webhook.inventory.snapshots import OPTIONAL, RESOURCES
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.cluster.live import Server

_INCOMPLETE: Final = 1
_ONE_NAMESPACE: Final = (
    "warning: claims and pods outside namespace {} are left out: devices, cpu and memory that they use look free"
)


def run(arguments: Namespace) -> int:
    """Print the objects, or the command."""
    if unknown := [each for each in arguments.without if each not in RESOURCES]:
        raise UsageError(f"--without {unknown[0]}: give one of {', '.join(RESOURCES)}")
    if arguments.namespace:
        show_lines([_ONE_NAMESPACE.format(arguments.namespace)], sys.stderr)
    wanted = [each for each in RESOURCES if each not in arguments.without]
    if arguments.run:
        return _print(wanted, arguments)
    context = ["--context", arguments.context] if arguments.context else []
    scope = ["-n", arguments.namespace] if arguments.namespace else ["-A"]
    asked = ",".join(each for each in wanted if each not in OPTIONAL)
    print(shlex.join(["kubectl", *context, "get", asked, *scope, "-o", "yaml"]))
    return 0


def _print(wanted: list[str], arguments: Namespace) -> int:
    from webhook.cluster.errors import ClusterError  # the command needs no cluster
    from webhook.cluster.live import connect

    try:
        server = connect(Live(arguments.context or ""), tell)
        return _write(server, wanted, arguments.namespace or "")
    except ClusterError as error:
        raise UsageError(f"the cluster cannot be read: {error}") from error


def _write(server: Server, wanted: list[str], namespace: str) -> int:
    """Read the objects and print them; what is printed is whole, even if the command is interrupted."""
    from webhook.cluster.live import Where  # as above

    kinds, where = [RESOURCES[each] for each in wanted], Where(namespace, only=True)
    code, separator = 0, b"\n"
    # A cluster may have more than fits into memory.
    with TemporaryFile() as printed, counting(f"objects of {server.name}", sys.stderr) as watch:
        printed.write(b'{"apiVersion": "v1", "kind": "List", "items": [')
        for part in server.parts(kinds, where, watch):
            for each in part.objects:
                printed.write(separator + each)
                separator = b",\n"
            if part.note:
                tell(f"warning: {part.note}")
            if part.is_missing:
                code = _INCOMPLETE
        printed.write(b"\n]}\n")
        sys.stdout.flush()
        printed.seek(0)
        copyfileobj(printed, sys.stdout.buffer)
    return code
