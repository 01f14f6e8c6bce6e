"""``draguard version``: prints the version, as ``--version`` does."""

from __future__ import annotations

from argparse import Namespace

from webhook import __version__


def run(_arguments: Namespace | None = None) -> int:
    """Print the version."""
    print(f"draguard {__version__}")
    return 0
