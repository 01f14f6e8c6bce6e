"""Runs draguard, as a process or in this one, and reads its reports."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from webhook.cli import main

ROOT = Path(__file__).parent.parent
SCRIPT = Path(sys.executable).with_name("draguard")
NOT_COPIED = (".git", ".venv", ".*cache", ".hypothesis", "*.pyc.*")
"""What a copy of the project does without: much of it comes and goes while tests run."""


class Done(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


def process(*arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
    """Run the installed command in the project's directory."""
    done = subprocess.run(
        [SCRIPT, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=60,
        env={**os.environ, **(env or {})},
    )
    encoding = (env or {}).get("PYTHONIOENCODING", "utf-8")
    return Done(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def draguard(*arguments: str | Path, stdin: bytes = b"", columns: int = 0) -> Done:
    """Run the command in this process, where it is faster and its coverage is measured.

    Args:
        arguments: Its arguments.
        stdin: What it reads from standard input.
        columns: The width of a terminal that gets its outputs; 0 for none.
    """
    stream = _Terminal if columns else io.TextIOWrapper
    out, err = (stream(io.BytesIO(), encoding="utf-8", newline="" if columns else None) for _ in range(2))
    width = patch.dict(os.environ, COLUMNS=str(columns)) if columns else nullcontext()
    real = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stdout(out), redirect_stderr(err), width:
            code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdin = real
    return Done(code, *(_text(stream) for stream in (out, err)))


def usage_error(*arguments: str | Path, stdin: bytes = b"") -> str:
    """Run a command that is used wrongly, and so prints nothing but an error; return it."""
    done = draguard(*arguments, stdin=stdin)
    assert (done.code, done.out) == (2, "")
    return done.err


def reported(*arguments: str | Path, stdin: str = "") -> Any:
    """Run a command, and return its report."""
    done = draguard(*arguments, "--output", "json", stdin=stdin.encode())
    assert done.err == ""
    return json.loads(done.out)


def findings(*arguments: str | Path, stdin: str = "") -> list[dict[str, Any]]:
    """Run a command, and return the findings that it reports."""
    found: list[dict[str, Any]] = reported(*arguments, stdin=stdin)["findings"]
    return found


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
