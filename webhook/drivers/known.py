"""The built-in profiles."""

from __future__ import annotations

import os
from functools import cache, lru_cache
from typing import Final

from webhook.documents import Document, parse
from webhook.drivers.profile import Profile, valid_profile

_DIRECTORY = os.path.join(os.path.dirname(__file__), "profiles")


_LONGEST: Final = 253
"""The most characters of the name of a class."""


@cache
def built_in() -> tuple[str, ...]:
    """Return the drivers with built-in profiles, in order."""
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(_DIRECTORY) if name.endswith(".yaml")))


def profile_of(driver: str) -> Profile | None:
    """Return the built-in profile of a driver, None if there is none."""
    # Objects may name any driver: only known ones are cached.
    return _read(driver) if driver in built_in() else None


def driver_of_class(name: str) -> str:
    """Return the known driver that installs a device class; empty if there is none."""
    return _driver_of_class(name) if len(name) <= _LONGEST else ""


@lru_cache(maxsize=256)
def _driver_of_class(name: str) -> str:
    # Finding the file with the name is faster than parsing all files.
    having = (driver for driver in built_in() if name and name in text_of(driver))
    return next((driver for driver in having if name in _read(driver).classes), "")


@cache
def text_of(driver: str) -> str:
    """Return the file of a driver that :func:`built_in` lists."""
    with open(os.path.join(_DIRECTORY, f"{driver}.yaml"), encoding="utf-8") as file:
        return file.read()


@cache
def _read(driver: str) -> Profile:
    return valid_profile(next(each.data for each in parse(text_of(driver)) if isinstance(each, Document)))
