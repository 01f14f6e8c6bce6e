"""Ordinary requests, but many: others have their turns."""

from collections.abc import Callable

from tests.attacks import Attack
from tests.attacks.target import Target, claim, repeated


def ordinary(number: int) -> bytes:
    """Make a claim of 60 KB, as ordinary as one can be."""
    return claim((f"device.attributes['gpu.example.com'].index == {number % 7}" for _ in range(8)), labels(), **many())


def labels() -> dict[str, object]:
    """Make metadata."""
    return {"annotations": {f"example.com/note-{number}": "x" * 100 for number in range(50)}}


def many() -> dict[str, object]:
    """Make the spec of a claim with many requests, as long as the rest of 60 KB."""
    selectors = [{"cel": {"expression": f"device.driver == 'gpu-{number}.example.com'"}} for number in range(24)]
    requests = [
        {"name": f"gpu-{number}", "exactly": {"deviceClassName": "gpu.example.com", "selectors": selectors}}
        for number in range(28)
    ]
    return {"devices": {"requests": requests}}


def _claims(connections: int, source: str) -> Callable[[Target], list[str]]:
    def run(target: Target) -> list[str]:
        answers = target.flood(repeated(ordinary), connections=connections, source=source)
        size = len(ordinary(0))
        wrong = [
            f"{status} {answer[:200]!r}"
            for status, answer in answers
            if status != 503 and b'"allowed": true' not in answer
        ]
        return ([f"a body has {size} bytes"] if not 50_000 < size < 66_000 else []) + wrong[:1]

    return run


ATTACK = {
    f"{connections}-{source}": Attack(
        f"{connections} connections from {source} with ordinary claims of 60 KB",
        _claims(connections, source),
        slowest=1.0,
    )
    for connections in (8, 40)
    for source in ("127.0.0.1", "127.0.0.2")
}
