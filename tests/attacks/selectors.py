"""Selectors that take long to compile: macros in macros, and patterns; as they are, and padded to heavy reviews."""

from collections.abc import Callable
from typing import Any

from tests.attacks import MIB, Attack
from tests.attacks.target import Target, claim, padded, repeated


def optional_maps(number: int) -> bytes:
    """Make a claim whose selectors expand to thousands of nodes each."""
    text = f"optional.of({number})" + "".join(f".optMap(x{at}, x{at})" for at in range(10)) + ".hasValue()"
    return claim(f"{text} || {number} == {at}" for at in range(96))


def patterns(number: int) -> bytes:
    """Make a claim whose patterns RE2 takes long to compile."""
    return claim(f"''.matches('(?i)\\\\pL{{{300 - at}}}{number}')" for at in range(32))


def nested(number: int) -> bytes:
    """Make a claim with macros in macros."""
    text = "[1].all(a, [1].all(b, [1].all(c, [1].exists(d, [1].exists(e, [1].map(f, f).size() == 1)))))"
    return claim(f"{text} || {number} == {at}" for at in range(200))


def either(number: int) -> bytes:
    """Make one or the other, padded."""
    return padded(optional_maps(number) if number % 2 else patterns(number), 100_000)


def single(number: int) -> bytes:
    """Make a claim with one selector."""
    deep = "optional.of(1)" + "".join(f".optMap(y{at}, y{at})" for at in range(9)) + ".hasValue()"
    return claim([f"{deep} || {number} == 1" if number % 2 else f"''.matches('(?i)\\\\pL{{200}}{number}')"])


def _flood(make: Callable[[int], bytes], **how: Any) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        target.flood(repeated(make), **{"connections": 8, **how})

    return run


def _kept(target: Target) -> None:
    target.flood(map(single, range(400)), connections=2)


ATTACK = {
    "macros": Attack("claims with 96 selectors of ten optMap each", _flood(optional_maps)),
    "patterns": Attack("claims with patterns that RE2 takes long to compile", _flood(patterns)),
    "nested": Attack("claims with macros in macros", _flood(nested, path="/validate/ignore")),
    "padded": Attack("the same, padded to heavy reviews", _flood(either), slices=True),
    "kept": Attack("200 selectors and 200 patterns, each another", _kept, growth=60 * MIB, seconds=30),
}
