"""Prints the table of attacks: python -m tests.attacks [NAME …]."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.attacks import attacks
from tests.attacks.measuring import HEAD, measure, row, victim
from tests.attacks.target import Target


def main() -> None:
    """Run attacks; end with 1 if one succeeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attack the webhook.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(attacks())} (default: all)")
    parser.add_argument("--attack", nargs=5, help=argparse.SUPPRESS)  # what each runs in a process of its own
    arguments = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if arguments.attack:
        name, port, monitoring, ca, seconds = arguments.attack
        end = time.monotonic() + float(seconds)
        target = Target(int(port), int(monitoring), Path(ca).read_text(encoding="ascii"), end)
        json.dump(attacks()[name].run(target), sys.stdout)
        return
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
