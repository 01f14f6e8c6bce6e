"""Identifies findings to tools that keep track of them: the same finding has the same identifier in another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256

from webhook.findings import Finding


def identified(findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """Give each finding a unique identifier: a hash of its fingerprint, and a number if that repeats."""
    seen = Counter[str]()
    for finding in findings:
        text = "\0".join(finding.fingerprint)
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[digest] += 1
        yield f"{digest}:{seen[digest]}", finding
