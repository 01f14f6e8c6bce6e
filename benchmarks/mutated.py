"""Reviews that API servers sent, some mutated as by a client that sends nonsense."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.reviews import recorded
from webhook.admission.requests import MAX_UID, MalformedReviewError, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    Place = tuple[Any, Any]

OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
AS_RECORDED = 0.25
"""The share of reviews that are sent as recorded."""
IN_ASCII = 0.5
KEY_TWICE = 0.05
BROKEN = 0.05
"""The share of bodies that are cut off or have replaced bytes."""
MOST_MUTATIONS = 3

OTHERS: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 70,
    1.5,
    -0.0,
    1e308,
    "",
    "1",
    "x y",
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"a": []},
)
TEXTS = (
    "\0",
    "\u202e\u200b",
    "\ud800",
    "\U0001f600" * 40,
    "é",
    "\u0130",
    "\x1b[31m",
    "../..",
    "{{.}}",
    "'; --",
    "\r\n",
)
LENGTHS = (64, 254, 4096, 100_000)
DEPTHS = (5, 60, 300, 2000, 4900)
DEEP = 100
"""Reviews that are nested more deeply may be refused."""
MOST_BYTES = 4 << 20
"""Longer reviews are sent as recorded."""
LONG = (500_000, 1_400_000, 3_900_000)
OFTEN_LONG = 0.01
"""The share of lengthened texts that become as long as a request may be."""

_NESTED = re.compile(r'"nested in (lists|fields) (\d+)"')
_KEY = re.compile(r'(?<!\\)"\w+": ')


class Sent(NamedTuple):
    """A request, and the expected response.

    Args:
        path: The path of the request.
        body: Its body.
        uid: The review's uid, as in the body; None if the body is not a review, which is answered by 400.
        is_deep: Whether it may be refused for its depth.
        is_odd: Whether identifying fields have types that no API server sends, so that it may be called malformed.
    """

    path: str
    body: bytes
    uid: str | None
    is_deep: bool
    is_odd: bool = False


class Reviews:
    """Any number of reviews, each determined by the seed and its index alone.

    Args:
        seed: The seed of all random choices.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._recorded = [(each.path, json.dumps(each.review)) for each in recorded()]

    def __getitem__(self, index: int) -> Sent:
        """Make a review."""
        chance = random.Random(f"{self._seed} {index}")  # noqa: S311 - to be repeated, not to be secret
        path, recorded_text = chance.choice(self._recorded)
        review = json.loads(recorded_text)
        review["request"]["uid"] = f"soak-{index}"
        if chance.random() >= AS_RECORDED:
            for _ in range(chance.randint(1, MOST_MUTATIONS)):
                chance.choice(MUTATIONS)(review, chance)
        text = _NESTED.sub(_nest, json.dumps(review, ensure_ascii=chance.random() < IN_ASCII))
        if chance.random() < KEY_TWICE:
            text = key_twice(text, chance)
        body = text.encode("utf-8", "surrogatepass")
        if chance.random() < BROKEN:
            body = chance.choice((cut_off, scribbled_over))(body, chance)
        if len(body) > MOST_BYTES:
            body = recorded_text.encode()
        return Sent(path, body, uid_in(body), b"[" * DEEP in body or b'{"a": ' * DEEP in body, _is_odd(body))


def _is_odd(body: bytes) -> bool:
    try:
        parse(body)
    except MalformedReviewError:
        return True
    return False


def uid_in(body: bytes) -> str | None:
    """Return the uid of a review that can be answered; None if the body is no such review."""
    try:
        review = json.loads(body.decode(), parse_constant=_refuse)
        json.dumps(review, ensure_ascii=False, allow_nan=False).encode()  # refuses halves of surrogate pairs, and 1e400
        request = review["request"]
        uid = request["uid"]
        answerable = (
            (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
            and request["operation"] in OPERATIONS
            and isinstance(request.get("subResource") or "", str)
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return uid if answerable and isinstance(uid, str) and 0 < len(uid) <= MAX_UID else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def places(review: Any, kinds: type | tuple[type, ...] = object) -> list[Place]:
    """Return the places of values of some types: the dict or list that holds each, and its key or index."""
    found: list[Place] = []
    holders = [review]
    while holders:
        holder = holders.pop()
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, kinds):
                found.append((holder, key))
            if isinstance(value, dict | list):
                holders.append(value)
    return found


def _chosen(review: Any, chance: random.Random, kinds: type | tuple[type, ...] = object) -> Place:
    return chance.choice(places(review, kinds) or [({"a": ""}, "a")])


def dropped(review: Any, chance: random.Random) -> None:
    """Drop a field or an item."""
    holder, key = _chosen(review, chance)
    del holder[key]


def doubled(review: Any, chance: random.Random) -> None:
    """Repeat all items of a list, a random number of times."""
    holder, key = _chosen(review, chance, list)
    holder[key] = holder[key] * chance.choice((2, 3, 40)) if isinstance(holder[key], list) else holder[key]


def retyped(review: Any, chance: random.Random) -> None:
    """Replace a value by one of another type."""
    holder, key = _chosen(review, chance)
    holder[key] = json.loads(json.dumps(chance.choice(OTHERS)))


def lengthened(review: Any, chance: random.Random) -> None:
    """Repeat a text until it is long."""
    holder, key = _chosen(review, chance, str)
    length = chance.choice(LONG if chance.random() < OFTEN_LONG else LENGTHS)
    text = holder[key] or "x"
    holder[key] = (text * (length // len(text) + 1))[:length]


def strange(review: Any, chance: random.Random) -> None:
    """Insert unusual characters into a text."""
    holder, key = _chosen(review, chance, str)
    at = chance.randint(0, len(holder[key]))
    holder[key] = holder[key][:at] + chance.choice(TEXTS) + holder[key][at:]


def renamed(review: Any, chance: random.Random) -> None:
    """Rename a field."""
    holder, key = _chosen(review, chance)
    if isinstance(holder, dict):
        holder[chance.choice((key.upper(), f"{key}s", "", *TEXTS))] = holder.pop(key)


def moved(review: Any, chance: random.Random) -> None:
    """Copy the value of one place to another."""
    (holder, key), (other, there) = _chosen(review, chance), _chosen(review, chance)
    holder[key] = json.loads(json.dumps(other[there]))


def nested(review: Any, chance: random.Random) -> None:
    """Mark the place of a deep value: only as text can it be deeper than Python's own encoder allows."""
    holder, key = _chosen(review, chance)
    holder[key] = f"nested in {chance.choice(('lists', 'fields'))} {chance.choice(DEPTHS)}"


MUTATIONS: tuple[Callable[[Any, random.Random], None], ...] = (
    dropped,
    doubled,
    retyped,
    lengthened,
    strange,
    renamed,
    moved,
    nested,
)


def _nest(found: re.Match[str]) -> str:
    depth = int(found[2])
    return "[" * depth + "]" * depth if found[1] == "lists" else '{"a": ' * depth + "1" + "}" * depth


def key_twice(text: str, chance: random.Random) -> str:
    """Write a field twice; the second counts."""
    key = chance.choice(list(_KEY.finditer(text)))
    return f"{text[: key.start()]}{key[0]}null, {text[key.start() :]}"


def cut_off(body: bytes, chance: random.Random) -> bytes:
    """Cut off the end."""
    return body[: chance.randrange(len(body))]


def scribbled_over(body: bytes, chance: random.Random) -> bytes:
    """Replace some bytes."""
    written = bytearray(body)
    for _ in range(chance.randint(1, 3)):
        written[chance.randrange(len(written))] = chance.randrange(256)
    return bytes(written)
