"""``draguard snapshot``: the objects of a cluster, or the kubectl command that collects them."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

from webhook.check.cluster import cluster_documents
from webhook.check.progress import counting
from webhook.cli.console import tell
from webhook.configuration.options import Live
from webhook.escapes import printable
from webhook.inventory.snapshots import OPTIONAL, RESOURCES
from webhook.report.model import Report
from webhook.report.text import as_json, as_text
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.cluster.live import ObjectsOfKind

_ONE_NAMESPACE: Final = (
    "warning: claims and pods outside namespace {} are left out: devices, cpu and memory that they use look free"
)


def run(arguments: Namespace) -> int:
    """Print the objects, or the command."""
    if unknown := [each for each in arguments.without if each not in RESOURCES]:
        raise UsageError(f"give one of {', '.join(RESOURCES)}", "--without", unknown[0])
    if arguments.namespace:
        tell(_ONE_NAMESPACE.format(arguments.namespace))
    wanted = [each for each in RESOURCES if each not in arguments.without]
    if arguments.cluster or arguments.run:
        return _print(wanted, arguments)
    if arguments.redact:
        raise UsageError("--redact is for objects: give --run, or files with --cluster")
    context = ["--context", arguments.context] if arguments.context else []
    scope = ["-n", arguments.namespace] if arguments.namespace else ["-A"]
    asked = ",".join(each for each in wanted if each not in OPTIONAL)
    print(printable(shlex.join(["kubectl", *context, "get", asked, *scope, "-o", "json"])))
    return 0


def _print(wanted: list[str], arguments: Namespace) -> int:
    """Read the objects and print them; what is printed is whole, even if the command is interrupted."""
    from msgspec import json  # the command needs no objects

    from webhook.cluster.redaction import Redaction

    kinds = [RESOURCES[each] for each in wanted]
    redaction, code, separator = Redaction() if arguments.redact else None, 0, b"\n"
    with TemporaryFile() as kept:  # a cluster may have more than fits into memory
        for part in _of_files(kinds, arguments.cluster) if arguments.cluster else _of_server(kinds, arguments):
            if part.note:
                tell(f"warning: {part.note}")
            if part.is_missing:
                code = 1
            for each in part.objects:
                kept.write(each + b"\n")
                if redaction:
                    redaction.learn(json.decode(each))
        if code and not kept.tell() and arguments.cluster:
            return 2
        kept.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(b'{"apiVersion": "v1", "kind": "List", "items": [')
        for line in kept:
            each = json.encode(redaction.hidden(json.decode(line))) if redaction else line.rstrip()
            if not each.isascii() or b"\x7f" in each:  # characters that could rewrite a terminal
                each = as_json(json.decode(each)).encode()
            sys.stdout.buffer.write(separator + each)
            separator = b",\n"
        sys.stdout.buffer.write(b"\n]}\n")
    return code


def _of_server(kinds: list[str], arguments: Namespace) -> Iterator[ObjectsOfKind]:
    from webhook.cluster.errors import ClusterError
    from webhook.cluster.live import Where, connect

    try:
        server = connect(Live(arguments.context or ""), tell)
        with counting(f"objects of {server.name}", sys.stderr) as watch:
            yield from server.parts(kinds, Where(arguments.namespace or "", only=True), watch)
    except ClusterError as error:
        raise UsageError(f"the cluster cannot be read: {error}") from error


def _of_files(kinds: list[str], paths: list[str]) -> Iterator[ObjectsOfKind]:
    from msgspec import json

    from webhook.cluster.live import ObjectsOfKind

    report = Report()
    for each in cluster_documents(paths, report, kinds, quiet=False, is_whole=True, tell=tell):
        yield ObjectsOfKind(each.data["kind"], [json.encode(each.data)])
    if report.findings:
        tell(*as_text(report.findings))
        yield ObjectsOfKind("", is_missing=True)
