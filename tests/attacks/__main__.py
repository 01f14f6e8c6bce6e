"""Prints the table of attacks: python -m tests.attacks [NAME …]."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.attacks import attacks
from tests.attacks.measuring import HEAD, measure, row, victim


def main() -> None:
    """Run attacks; end with 1 if one succeeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attack the webhook.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(attacks())} (default: all)")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - attacks().keys()):
        parser.error(f"unknown: {', '.join(unknown)}")
    print(HEAD)
    failed = False
    for name in arguments.names or attacks():
        with (
            tempfile.TemporaryDirectory() as directory,
            victim(Path(directory), attacks()[name].options) as attacked,
        ):
            measured = measure(name, attacked)
        verdict = measured.verdict(attacks()[name])
        failed |= bool(verdict)
        print(row(name, measured, verdict), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
