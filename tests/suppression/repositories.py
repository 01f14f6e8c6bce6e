"""Repositories with changes, and what is found in them."""

import os
import subprocess
from pathlib import Path

from tests.command import draguard
from tests.suppression.manifests import rules

IMMUTABLE = [("error", "immutable")]
OTHER = ("gpu.example.com", "other.example.com")


def git(*arguments: str, at: Path) -> None:
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(at), *arguments]  # the one on the PATH
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **identity})


def found(*arguments: str | Path, rev: str = "HEAD", stdin: bytes = b"") -> list[tuple[str, str]]:
    done = draguard(
        "validate", "-o", "json", "--ignore", "unknown-field,deprecated", "--against", rev, *arguments, stdin=stdin
    )
    assert done.err == ""
    return rules(done)


def change(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
