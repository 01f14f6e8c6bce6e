"""Computes the next rotation step in a separate process.

``cryptography`` takes 9 MB of the process that imports it, and one replica needs it for a moment every ten minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from webhook.cluster.errors import ClusterError
from webhook.cluster.options import Lifetimes
from webhook.cluster.secret import Step, decode, decode_all, encode, encode_all

_PATIENCE = 60.0  # seconds


def decide(
    data: Mapping[str, bytes],
    now: datetime,
    names: Sequence[str],
    lifetimes: Lifetimes,
    trusted: Sequence[bytes | None] | None,
    *,
    served: tuple[bytes, bytes] | None = None,
) -> Step | None:
    """Run :func:`webhook.cluster.rotation.step` in a separate process, which frees its memory.

    Raises:
        ClusterError: The process has failed.
    """
    question = {
        "data": encode_all(data),
        "now": now.isoformat(),
        "names": list(names),
        "lifetimes": [part.total_seconds() for part in (lifetimes.authority, lifetimes.serving, lifetimes.overlap)],
        "trusted": None if trusted is None else [_encoded(bundle) for bundle in trusted],
        "served": None if served is None else [encode(part) for part in served],
    }
    try:
        done = subprocess.run(  # noqa: S603 - this module
            [sys.executable, "-P", "-m", __name__],
            input=json.dumps(question).encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,  # a process that reaps all children may have taken the exit code
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        message = f"the certificates cannot be read: {type(error).__name__}"  # its content may be a key
        raise ClusterError(message) from error
    if answer and "fault" in answer:
        raise ClusterError(answer["fault"])
    return Step(answer["kind"], answer["why"], decode_all(answer["data"])) if answer else None


def answer(question: Mapping[str, Any]) -> dict[str, Any] | None:
    """Answer a request of :func:`decide`, in JSON."""
    from webhook.certificates.issuing import CertificateError
    from webhook.cluster.rotation import step  # not in the process that asks

    trusted, served = question["trusted"], question.get("served")
    try:
        found = step(
            decode_all(question["data"]),
            datetime.fromisoformat(question["now"]),
            question["names"],
            Lifetimes(*(timedelta(seconds=seconds) for seconds in question["lifetimes"])),
            None if trusted is None else [None if bundle is None else decode(bundle) for bundle in trusted],
            served=None if served is None else (decode(served[0]), decode(served[1])),
        )
    except CertificateError as error:
        return {"fault": str(error)}
    return found and {"kind": found.kind, "why": found.why, "data": encode_all(found.data)}


def _encoded(bundle: bytes | None) -> str | None:
    return None if bundle is None else encode(bundle)


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
