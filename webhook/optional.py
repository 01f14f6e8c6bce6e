"""Installs what is only there for speed, if it is there: ``DRAGUARD_FAST=0`` takes it away."""

from __future__ import annotations

import os
from importlib import import_module

_PACKAGE = "webhook.fast"


def install(*parts: str) -> None:
    """Install parts of it.

    Args:
        *parts: ``objects`` answers for objects that are judged, ``reviews`` for bodies of requests.
    """
    if os.environ.get("DRAGUARD_FAST") == "0":
        return
    for part in parts:
        try:
            import_module(f"{_PACKAGE}.{part}").install()
        except ModuleNotFoundError as error:
            if error.name != _PACKAGE:
                raise
