"""Releases, records, and what is computed on first use."""

from __future__ import annotations

import copy
import inspect
import pickle
import tracemalloc
import typing
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, NamedTuple

import pytest

from tests.rows import each_row
from webhook.api import gates
from webhook.api.versions import NEWEST, patch_of, release_of, target
from webhook.later import cached_property
from webhook.problem import Path, too_long, too_many
from webhook.records import Told
from webhook.release import Release, releases
from webhook.schema.target import CREATE, OLDEST


def test_mypy_refuses_a_plain_number_as_a_release() -> None:
    """These are refused by mypy, which would find an ignore that is not needed: nothing here is tested at run time."""
    limit = 32
    too_long(Path(), 1, limit)  # type: ignore[arg-type]
    too_many(Path(), 2, 1, limit)  # type: ignore[arg-type]
    gates.enabled(limit)  # type: ignore[arg-type]
    gates.stage("DRAAdminAccess", limit)  # type: ignore[arg-type]
    target("resource.k8s.io/v1", 34, CREATE)  # type: ignore[arg-type]


@each_row(("text", "patch"), ("1.36", 0), ("v1.36.2", 2), ("1.36.0-rc.1+a", 0), ("1.36.12", 12), ("1.36-rc.1", 0))
def test_a_release_and_a_patch_release_are_read(text: str, patch: int) -> None:
    release: Release = release_of(text)
    assert (release, patch_of(text)) == (36, patch)


def test_long_versions_are_not_remembered() -> None:
    tracemalloc.start()
    try:
        assert {release_of(f"1.36.{number}-{'a' * 100_000}") for number in range(30)} == {36}
        assert tracemalloc.get_traced_memory()[0] < 300_000
    finally:
        tracemalloc.stop()


def test_both_ends_are_among_the_releases() -> None:
    assert releases(34, 36) == [34, 35, 36]
    assert releases(36, 35) == []
    assert releases(OLDEST, NEWEST)[-1] == NEWEST


SECONDS = 10
"""How long threads may wait for each other."""


class Value:
    """Computes a property once two threads do."""

    both = Barrier(2)

    @cached_property
    def made(self) -> object:
        self.both.wait(SECONDS)
        return object()


def test_properties_of_several_values_are_computed_at_the_same_time_and_all_threads_get_the_first_result() -> None:
    value = Value()
    with ThreadPoolExecutor(2) as threads:
        several = list(threads.map(lambda value: value.made, (Value(), Value())))
        one, other = threads.map(lambda _: value.made, range(2))
    assert several[0] is not several[1]
    assert one is other is value.made


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
)
def test_a_record_is_a_named_tuple(look: Any) -> None:
    assert look(Point(1)) == look(Peer(1))


@each_row("arguments", {}, {"y": 1}, {"x": 1, "z": 1})
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


class Greeting(Told):
    """A text with a fact."""

    language: str = "en"


def test_a_text_tells_the_facts_that_its_class_declares_and_no_others() -> None:
    hello = Greeting("hallo", language="de")
    assert (hello, hello.language, Greeting("hello").language) == ("hallo", "de", "en")
    assert [copy.copy(hello).language, pickle.loads(pickle.dumps(hello)).language] == ["de", "de"]  # noqa: S301 - as above
    with pytest.raises(TypeError, match="Greeting declares no langauge"):
        Greeting("hallo", langauge="de")
