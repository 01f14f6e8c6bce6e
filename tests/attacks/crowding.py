"""Ordinary requests, but many: others have their turns."""

from collections.abc import Callable

from tests.attacks import Attack
from tests.attacks.target import Target, claim, repeated


def ordinary(number: int) -> bytes:
    """Make a claim of 60 KB, as ordinary as one can be."""
    metadata = {"annotations": {f"example.com/note-{at}": "x" * 100 for at in range(50)}}
    selectors = [{"cel": {"expression": f"device.driver == 'gpu-{at}.example.com'"}} for at in range(24)]
    exactly = {"deviceClassName": f"gpu-{number % 7}.example.com", "selectors": selectors}
    return claim((), metadata, devices={"requests": [{"name": f"gpu-{at}", "exactly": exactly} for at in range(28)]})


def _claims(connections: int, source: str) -> Callable[[Target], list[str]]:
    def run(target: Target) -> list[str]:
        assert 50_000 < len(ordinary(0)) < 66_000
        answers = target.flood(repeated(ordinary), connections=connections, source=source)
        wrong = [each for each in answers if each[0] != 503 and b'"allowed":true' not in each[1]]
        return [f"{status} {answer[:200]!r}" for status, answer in wrong[:1]]

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
