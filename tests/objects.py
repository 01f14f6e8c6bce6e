"""Objects of all kinds, values that are made up, and objects with parts that are left out or replaced.

Hypothesis chooses seeds, and random numbers the rest: it would take ten times as long to draw each part of a value.
"""

import copy
import marshal
import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.conformance.recorded import FILES, bases


def base_objects() -> Iterator[Any]:
    """Read the objects that the recorded verdicts are about."""
    for file in FILES:
        for each in bases(file):
            yield each["object"]
            yield from each.get("stored", [])


OBJECTS = list(base_objects())
NUMBERS = (0, 1, -1, 2**31, -(2**63) - 1, 2**63 - 1, 2**63, 2**64, 10**30, 0.0, -0.0, 0.5, -1.5, 5e-324, 1e300)
TEXTS = ("", "a", "A_b", "x" * 300, "1Gi", "1.2.3", "2024-01-31T12:00:00Z", "é")
HALF = ("\ud800",)
"""Half of a surrogate pair, which readers of documents and reviews replace or refuse."""
INFINITE = (math.inf, -math.inf)
_ALPHABETS = (range(0x20, 0x7F), range(0x300), range(0xD800), range(0xE000, 0x110000))


def seeded(make: Callable[[Random], Any]) -> st.SearchStrategy[Any]:
    """Make values from seeds."""
    return st.integers(0, 2**24 - 1).map(lambda seed: make(Random(seed)))  # noqa: S311 - for tests


def text(dice: Random) -> str:
    """Choose a text."""
    alphabets = dice.choice((_ALPHABETS, *([each] for each in _ALPHABETS)))
    return "".join(chr(dice.choice(dice.choice(alphabets))) for _ in range(dice.randrange(21)))


def number(dice: Random) -> float:
    """Choose a number of any size."""
    sign = dice.choice((-1, 1))
    whole = sign * dice.getrandbits(dice.randrange(1, 130))
    return dice.choice((*NUMBERS, whole, whole, whole, sign * dice.random() * 10.0 ** dice.randrange(-320, 309)))


def value(dice: Random, keys: Sequence[str] = (), more: Sequence[Any] = ()) -> Any:
    """Choose a value of JSON.

    Args:
        dice: Chooses it.
        keys: The keys of its maps; they have any if there are none.
        more: Values that it may have, too.
    """
    kind = dice.randrange(10)
    if kind < 2:
        return dice.choice((None, False, True))
    if kind < 4:
        return number(dice)
    if kind < 7:
        return dice.choice((*TEXTS, *more, *more, text(dice), text(dice), text(dice)))
    items = [value(dice, keys, more) for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 4)))]
    return {dice.choice(keys) if keys else text(dice): each for each in items} if kind == 9 else items


json_values = seeded(lambda dice: value(dice, more=HALF))


def mutated(bases: Sequence[Any], *, most: int = 4) -> st.SearchStrategy[Any]:
    """Change some places of real objects: another value, one left out, one more, a list that is long.

    Args:
        bases: The objects.
        most: How many places may change.
    """

    def make(dice: Random) -> Any:
        obj = marshal.loads(marshal.dumps(dice.choice(bases)))  # noqa: S302 - our own; deepcopy takes much longer
        for _ in range(dice.randrange(most + 1)):
            holder, key = dice.choice(list(places(obj)))
            change = dice.randrange(5)
            if change == 0 or key is None:
                insert(holder, text(dice), value(dice, more=HALF))
            elif change == 1:
                del holder[key]
            elif change == 2 and isinstance(holder[key], list):
                holder[key] = holder[key] * dice.randrange(40)
            else:
                holder[key] = value(dice, more=HALF)
            if not obj:
                break
        return obj

    return seeded(make)


def mutilated(document: dict[str, Any], more: Sequence[Any] = INFINITE) -> st.SearchStrategy[Any]:
    """Replace one value of a document, by ``more`` or others."""
    found = paths(document)
    return seeded(lambda dice: with_value(document, dice.choice(found), value(dice, more=more)))


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the paths of all values in a value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found += paths(each, (*path, key))
    return found


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at a path."""
    changed = copy.deepcopy(document)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """List the places of a value: a holder and a key, None for a new one."""
    if isinstance(value, dict | list):
        yield value, None
        for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places(each)


def insert(holder: Any, key: str, value: Any) -> None:
    """Put one more value into a map or list."""
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)
