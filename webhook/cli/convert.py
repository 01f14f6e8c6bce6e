"""``draguard convert``: moves manifests to another version of resource.k8s.io."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from webhook.api.versions import release_of
from webhook.cli.arguments import UsageError
from webhook.cli.console.diff import unified
from webhook.cli.console.reading import some_paths
from webhook.cli.options.podtemplates import pod_locations
from webhook.cli.options.release import kubernetes_versions
from webhook.cli.options.suppressing import exclusions
from webhook.documents import STDIN, STDIN_NAME, Document, Selection, parse, read
from webhook.documents.selection import EMPTY
from webhook.documents.stream import encoding_of
from webhook.findings import found, unread
from webhook.migration import Wanted, migrate
from webhook.report.summary import counted, not_read
from webhook.report.text import as_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from webhook.documents import Unreadable
    from webhook.findings import Finding
    from webhook.migration import Migrated

_SEPARATOR = "---"


def run(arguments: Namespace) -> int:
    """Convert the named manifests, and print or write them; return the exit code."""
    paths = some_paths(arguments)
    _check_together(arguments, paths)
    stated = [release_of(each) for each in kubernetes_versions(arguments) if each]
    wanted = Wanted(arguments.to or "", stated, pod_locations(arguments))
    faults: list[Finding] = []
    files: list[Migrated] = []
    selection = Selection(excluded=exclusions(arguments), allow_empty=True)
    named = {STDIN_NAME if path == STDIN else path for path in paths}
    printed = ""
    for each in migrate(_documents(read(paths, selection=selection), faults), wanted):
        is_written = arguments.write and each.after != each.before
        faults += _as_written(each) if is_written else each.lost
        if is_written:
            _write(each)
        if arguments.diff:
            sys.stdout.writelines(unified(each.name, each.before, each.after))
        elif not (arguments.write or arguments.check) and (each.is_manifest or each.name in named):
            sys.stdout.write(_joined(each.after, printed))
            printed = each.after
        if each.is_manifest or each.name in named:
            files.append(each)
        else:
            selection.left_out[EMPTY] += 1
    older = [finding for each in files for finding in each.older]
    if arguments.check and not arguments.diff:
        _print(older, sys.stdout)
    _print(faults, sys.stdout if arguments.check else sys.stderr)
    if not arguments.quiet:
        print(_summary(files, arguments), file=sys.stderr)
        if selection.left_out:
            print(not_read(selection.left_out, renders=False), file=sys.stderr)
    if any(fault.line == 0 for fault in faults):
        return 2
    return 1 if faults or (arguments.check and older) else 0


def _check_together(arguments: Namespace, paths: Sequence[str]) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: Two options exclude each other.
    """
    message = ""
    if arguments.write and (arguments.diff or arguments.check):
        message = f"--write changes files, {'--diff' if arguments.diff else '--check'} does not: give one of them"
    elif arguments.write and STDIN in paths:
        message = "--write: standard input (-) cannot be changed in place: leave out --write, or name files"
    if message:
        raise UsageError(message)


def _documents(documents: Iterable[Document | Unreadable], faults: list[Finding]) -> Iterator[Document]:
    """Return the objects; collect unreadable documents as faults."""
    for document in documents:
        if isinstance(document, Document):
            yield document
        else:
            faults.append(unread(document))


def _as_written(file: Migrated) -> list[Finding]:
    """Locate objects that cannot be converted in the new text of a file."""
    documents = {
        (document.index + 1, document.within): document
        for document in parse(file.after.encode(), file.name)
        if isinstance(document, Document)
    }
    return [
        found(each.problem, document) if (document := documents.get((each.document, each.within))) else each
        for each in file.lost
    ]


def _write(file: Migrated) -> None:
    """Write a file in its own encoding, unless it has been changed meanwhile.

    Raises:
        OSError: The file has changed, or cannot be written.
    """
    from webhook.cli.console.files import write_bytes  # noqa: PLC0415 - needed only to write

    with open(file.name, "rb") as opened:  # noqa: PTH123 - importing pathlib takes longer than converting a file
        data = opened.read()
    mark, encoding = encoding_of(data)
    if data[len(mark) :].decode(encoding, "replace") != file.before:
        raise OSError(f"{file.name} has been changed by another program meanwhile: nothing was written to it")
    try:
        write_bytes(file.name, mark + file.after.encode(encoding))
    except PermissionError as error:
        raise OSError(f"{file.name}: not written: {error.strerror}") from error


def _joined(text: str, before: str) -> str:
    """Return the text to print for a file after another one, with a separator unless it is the first."""
    if not before:
        return text
    ended = "" if before.endswith("\n") else "\n"
    return ended + text if text.startswith(_SEPARATOR) else f"{ended}{_SEPARATOR}\n{text}"


def _print(findings: Sequence[Finding], stream: TextIO) -> None:
    for line in as_text(findings):
        print(line, file=stream)


def _summary(files: Sequence[Migrated], arguments: Namespace) -> str:
    count = sum(len(each.older) for each in files)
    changed = sum(each.before != each.after for each in files)
    if not count:
        return f"nothing to convert in {counted(len(files), 'file')}"
    what = f"{counted(count, 'place')} in {counted(changed, 'file')}"
    if arguments.check:
        return f"{what} {'is' if count == 1 else 'are'} older: convert with draguard convert --write"
    return f"{what} {'would be converted' if arguments.diff else 'converted'}"
