"""Known findings: those of a baseline file, or of an earlier revision.

A baseline is JSON: ``version``, which is 1, and ``findings``, each with ``rule``, ``kind``, ``namespace`` and ``name``
of the object (or ``file``, relative to the baseline, if it has no name), ``path`` (the field) and ``count``. Empty ones
are left out. Lines are not part of it, so that it outlives edits; it is sorted, one finding a line, so that it can be
merged.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from webhook.documents import STDIN_NAME
from webhook.documents.files import open_named
from webhook.findings import Finding, Fingerprint, Suppression
from webhook.usage import UsageError

VERSION: Final = 1
"""The version of the format."""
MAX_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of a baseline."""
_MOST: Final = 1 << 31
"""The highest count of a finding."""
BASELINE: Final = "baseline"
"""The kind of suppression."""
REVISION: Final = "revision"
"""The kind of suppression of findings of an earlier revision."""
_FIELDS: Final = Fingerprint._fields
_EXAMPLE: Final = '{"rule": "unknown-field", "kind": "ResourceClaim", "name": "gpu", "path": "spec.x", "count": 1}'


class Known:
    """Known findings, with their counts.

    Args:
        kind: The kind of suppression.
        counts: How often each finding was found.
        directory: The directory that the files of fingerprints are relative to; None for names as given.
    """

    def __init__(self, kind: str, reason: str, counts: Mapping[Fingerprint, int], directory: str | None = None) -> None:
        self.kind, self.reason, self.directory = kind, reason, directory
        self._counts = dict(counts)
        self._left = Counter(counts)
        self._seen = Counter[Fingerprint]()

    def see(self, finding: Finding) -> Fingerprint:
        """Note that a finding still exists, reported or not; return its fingerprint."""
        fingerprint = _fingerprint(finding, self.directory)
        self._seen[fingerprint] += 1
        return fingerprint

    def suppresses(self, fingerprint: Fingerprint) -> Suppression | None:
        """Suppress a finding, as often as it is known."""
        if self._left[fingerprint] <= 0:
            return None
        self._left[fingerprint] -= 1
        return Suppression(self.kind, self.reason)

    def gone(self) -> dict[Fingerprint, int]:
        """Return the findings that were not seen again, with the number of missing ones."""
        return {each: count - self._seen[each] for each, count in self._counts.items() if count > self._seen[each]}


def _fingerprint(finding: Finding, directory: str | None) -> Fingerprint:
    """Identify a finding, its file relative to a directory, so that draguard can run anywhere."""
    found = finding.fingerprint
    return found._replace(file=relative_file(found.file, directory)) if found.file else found


def relative_file(file: str, directory: str | None) -> str:
    """Make a file relative to a directory."""
    return file if directory is None or file == STDIN_NAME else os.path.relpath(file, directory)


def counted(findings: Iterable[Finding], directory: str | None = None) -> Counter[Fingerprint]:
    """Count findings by fingerprint."""
    return Counter(_fingerprint(finding, directory) for finding in findings)


def directory_of(file: str) -> str:
    """Return the directory of a baseline."""
    return os.path.dirname(os.path.abspath(file))


def read(file: str) -> Known:
    """Read a baseline.

    Raises:
        UsageError: It cannot be read, or is not a baseline.
    """
    try:
        with open(file, "rb", opener=open_named) as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        hint = f": `--write-baseline {file}` makes it" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{file}: {(error.strerror or str(error)).lower()}{hint}", "--baseline") from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file}: larger than {MAX_BYTES // (1024 * 1024)} MiB", "--baseline")
    import json  # needed only with a baseline

    try:
        loaded = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not JSON: {error}", "--baseline") from error
    counts = Counter[Fingerprint]()
    version = loaded.get("version") if isinstance(loaded, dict) else None
    if version != VERSION:
        found = "it has none" if version is None else f"it has {version!r}"
        message = f"{file}: not a baseline of version {VERSION}: {found}; `--write-baseline {file}` writes it anew"
        raise UsageError(message, "--baseline")
    if not isinstance(entries := loaded.get("findings"), list):
        raise UsageError(f"{file}: findings must be a list", "--baseline")
    for index, each in enumerate(entries):
        count = each.get("count", 1) if isinstance(each, dict) else None
        texts = [text for name in _FIELDS if isinstance(text := each.get(name, ""), str)] if count else []
        if len(texts) < len(_FIELDS) or not texts[0] or type(count) is not int or not 1 <= count <= _MOST:
            raise UsageError(
                f"{file}: findings[{index}] is not an entry of a baseline, such as {_EXAMPLE}", "--baseline"
            )
        counts[Fingerprint(*texts)] += count
    return Known(BASELINE, file, counts, directory_of(file))


def entry(fingerprint: Fingerprint, count: int) -> dict[str, Any]:
    """Return the baseline's entry for equal findings."""
    return {name: text for name, text in zip(_FIELDS, fingerprint, strict=True) if text} | {"count": count}


def lines(counts: Mapping[Fingerprint, int]) -> Iterator[str]:
    """Write a baseline."""
    import json

    yield "{"
    yield f'  "version": {VERSION},'
    yield '  "findings": ['
    entries = [json.dumps(entry(each, count)) for each, count in sorted(counts.items())]
    yield from (f"    {each}," for each in entries[:-1])
    yield from (f"    {each}" for each in entries[-1:])
    yield "  ]"
    yield "}"
