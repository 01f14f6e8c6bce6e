"""The profiles that draguard has."""

from __future__ import annotations

import os
from functools import cache

import yaml

from webhook.drivers.profile import Profile, read_profile

_DIRECTORY = os.path.join(os.path.dirname(__file__), "profiles")  # noqa: PTH118, PTH120 - pathlib is slow to import


def built_in() -> list[str]:
    """Return the drivers that have a profile here."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(_DIRECTORY) if name.endswith(".yaml"))  # noqa: PTH208


@cache
def profile_of(driver: str) -> Profile | None:
    """Return the profile of a driver that draguard has, None if it has none."""
    return read_profile(yaml.load(text_of(driver), Loader=yaml.CSafeLoader)) if driver in built_in() else None


@cache
def driver_of_class(name: str) -> str:
    """Return the driver whose installation brings a device class; empty if none that is known does."""
    found = (driver for driver in built_in() if (known := profile_of(driver)) and name in known.classes)
    return next(found, "")


def text_of(driver: str) -> str:
    """Return the file of a driver that :func:`built_in` lists."""
    with open(os.path.join(_DIRECTORY, f"{driver}.yaml"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        return file.read()
