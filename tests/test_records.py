"""Named tuples beside those of :mod:`typing`."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any

import pytest

from tests.rows import each_row
from webhook.records import NamedTuple


class Point(NamedTuple):
    """A place on a plane."""

    x: int
    y: int = 2

    @property
    def turned(self) -> Point:
        """The point with its coordinates exchanged."""
        return self._replace(x=self.y, y=self.x)


class Peer(typing.NamedTuple):
    """The same, made by the standard library."""

    x: int
    y: int = 2


@each_row(
    "look",
    [
        tuple,
        hash,
        lambda record: record._fields,
        lambda record: record._asdict(),
        lambda record: (record.x, record.y),
        lambda record: tuple(record._replace(x=5)),
        lambda record: str(record).partition("(")[2],
        lambda record: record.__match_args__,
        lambda record: [(name, each.default) for name, each in inspect.signature(type(record)).parameters.items()],
        lambda record: hasattr(record, "__dict__"),
    ],
)
def test_a_record_is_a_named_tuple(look: Any) -> None:
    assert look(Point(1)) == look(Peer(1))


@each_row("arguments", [{}, {"y": 1}, {"x": 1, "z": 1}])
def test_wrong_arguments_are_refused_alike(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError) as peers:
        Peer(**arguments)
    with pytest.raises(TypeError) as ours:
        Point(**arguments)
    assert str(ours.value) == str(peers.value).replace("Peer", "Point")


def test_methods_of_the_class_are_its_own() -> None:
    assert Point(1).turned == Point(2, 1)
    assert Point.__doc__ == "A place on a plane."


def test_copies_equal_the_original() -> None:
    assert copy.copy(Point(3)) == pickle.loads(pickle.dumps(Point(3))) == Point(3)  # noqa: S301 - its own
