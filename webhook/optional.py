"""Installs what is only there for speed, if it is there; ``DRAGUARD_FAST=0`` takes it away."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

_PACKAGE = "webhook.fast"


@cache
def install(part: str) -> None:
    """Install a part of it.

    Args:
        part: ``documents`` or ``reviews``, whichever is read.
    """
    if os.environ.get("DRAGUARD_FAST") == "0":
        return
    try:
        import_module(f"{_PACKAGE}.{part}").install()
    except ModuleNotFoundError as error:
        if error.name != _PACKAGE:
            raise
