"""Kubernetes releases, as a type of their own: a release is never taken for a limit or for a count."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NewType, TypeVar

    T = TypeVar("T")
    Release = NewType("Release", int)
else:
    Release = int
"""A Kubernetes release, as the minor of 1.x: 36 for Kubernetes 1.36. Releases compare as numbers."""

DEFAULT = Release(37)
"""The release that judges if none is stated: the newest whose answers are recorded or published."""


def picked(facts: Mapping[int, T], release: int) -> T | None:
    """Return a release's value of a fact that changed with releases, in order: ``{33: 4, 35: 16}``; None before."""
    known = [value for since, value in facts.items() if since <= release]
    return known[-1] if known else None


def span(first: int, last: int) -> str:
    """Write a span of releases by its first and last one."""
    return f"1.{first}" if first == last else f"1.{first} to 1.{last}"


def releases(first: int, last: int) -> list[Release]:
    """Return all releases between two releases, both included."""
    return [Release(each) for each in range(first, last + 1)]
