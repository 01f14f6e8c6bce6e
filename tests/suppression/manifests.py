"""Claims in files, and what is found in them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.command import Done, draguard
from tests.structured import claim_manifest


def claim(name: str = "gpu", more: str = "") -> str:
    return claim_manifest(name, more)


def rules(done: Done) -> list[tuple[str, str]]:
    return [(each["level"], each["rule"]) for each in json.loads(done.out)["findings"]]


def suppressed(done: Done) -> list[tuple[str, str, str]]:
    found: list[dict[str, Any]] = json.loads(done.out)["suppressed"]
    return [(each["rule"], *each["suppression"].values()) for each in found]


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
