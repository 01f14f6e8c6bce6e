"""``draguard version``: prints the version, as ``--version`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace


def run(_arguments: Namespace) -> int:
    """Print the version of the installed distribution."""
    from importlib.metadata import version  # noqa: PLC0415 - takes longer than all the rest

    print(f"draguard {version('draguard')}")
    return 0
