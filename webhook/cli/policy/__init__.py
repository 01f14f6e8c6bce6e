"""``draguard policy``: one module for each action."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Run the action; each imports only the modules that it needs."""
    code: int = import_module(f"{__name__}.{arguments.action}").run(arguments)
    return code
