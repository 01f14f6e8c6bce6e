"""``draguard policy``: one module for each action."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module


def run(arguments: Namespace) -> int:
    """Run the action; each imports only the modules that it needs."""
    code: int = import_module(f"{__name__}.{arguments.action}").run(arguments)
    return code
