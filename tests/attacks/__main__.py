"""Prints the table of attacks: python -m tests.attacks [NAME …]."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.attacks import attacks
from tests.attacks.measuring import HEAD, measure, row, victim

EXPLAINED = """\
Each attack has a webhook of its own. Beside it, an ordinary client sends reviews: half of them take p50, the slowest
takes max. "probes" counts the liveness probes that failed; MiB is how far the memory of all processes rose above what
it was before. The webhook "holds" if no limit was broken; else the broken ones are named.
"""
"""What the table shows."""


def main() -> None:
    """Run attacks; end with 1 if one succeeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description="Attack the webhook.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(attacks())} (default: all)")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - attacks().keys()):
        parser.error(f"unknown: {', '.join(unknown)}")
    print(f"{EXPLAINED}\n{HEAD}")
    names = arguments.names or list(attacks())
    failed = []
    for name in names:
        with tempfile.TemporaryDirectory() as directory, victim(Path(directory), attacks()[name].options) as attacked:
            measured = measure(name, attacked)
        verdict = measured.verdict(attacks()[name])
        failed += [name] if verdict else []
        print(row(name, measured, verdict), flush=True)
        if verdict:
            print(f"    the attack: {attacks()[name].text}", flush=True)
    print(f"FAILED: {', '.join(failed)}" if failed else f"passed: limits held in {len(names)} of {len(names)} attacks")
    if failed:
        print("on a busy machine, reviews may be slow for other reasons: run what failed again by its name")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
