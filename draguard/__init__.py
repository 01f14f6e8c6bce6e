"""Predicts how a Kubernetes API server and scheduler answer: the public functions of ``webhook`` (docs/library.md)."""

from __future__ import annotations

from webhook import (
    Finding,
    Path,
    Problem,
    __version__,
    allocate,
    check_files,
    convert,
    matches,
    simulate,
    validate,
)

__all__ = [
    "Finding",
    "Path",
    "Problem",
    "__version__",
    "allocate",
    "check_files",
    "convert",
    "matches",
    "simulate",
    "validate",
]
