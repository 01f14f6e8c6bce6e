"""``draguard version``: prints the version, as ``--version`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook import __version__

if TYPE_CHECKING:
    from argparse import Namespace


def run(_arguments: Namespace | None = None) -> int:
    """Print the version."""
    print(f"draguard {__version__}")
    return 0
