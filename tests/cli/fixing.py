"""Fixes of files."""

from __future__ import annotations

from pathlib import Path

from tests.command import draguard


def fixed(text: str, *options: str, name: str = "a.yaml", tmp_path: Path) -> str:
    """Return the contents of a file after --fix."""
    file = tmp_path / name
    file.write_bytes(text.encode())
    done = draguard("validate", "--fix", *options, file)
    assert "Traceback" not in done.err
    return file.read_bytes().decode()


UNSAFE = "--unsafe-fixes"


def write(folder: Path, text: str, name: str = "b.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file
