"""``draguard policy new``: an example of a policy, and its suite."""

from __future__ import annotations

from argparse import Namespace
from importlib import resources
from pathlib import Path
from typing import Final

from webhook import formats
from webhook.api.versions import NEWEST
from webhook.usage import UsageError

_FILES: Final = ("policy.yaml", "tests.yaml")


def run(arguments: Namespace) -> int:
    """Write the files, and print the next steps."""
    name: str = arguments.name
    if faults := formats.dns_subdomain(name, NEWEST):
        raise UsageError(f"{name!r} cannot be the name of a policy: {faults[0]}")
    directory = Path(arguments.directory or name)
    example = resources.files(__package__) / "examples" / ("mutating" if arguments.mutating else "validating")
    files = {directory / file: (example / file).read_text("utf-8").replace("NAME", name) for file in _FILES}
    if present := [file for file in files if file.exists()]:
        raise UsageError(f"{present[0]} already exists: give another --directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
            print(file)
    except OSError as error:
        raise UsageError(f"cannot write to {directory}: {error.strerror}") from error
    return 0
