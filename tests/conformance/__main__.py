"""Print how far draguard agrees with the recorded API servers: python -m tests.conformance [-v] [FILE…]."""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from tests.conformance.recorded import FILES, Agreement, cases

SHOWN = 20


def main() -> int:
    """Print the agreement per file and kind, and the first disagreements."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=FILES, help="recorded verdicts; default: all")
    parser.add_argument("--show", type=int, default=SHOWN, help="how many disagreements to show (default: %(default)s)")
    options = parser.parse_args()
    shown = []
    print(f"{'file':16} {'kind':24} {'cases':>6} {'verdicts':>9} {'causes':>8} {'texts':>8}")
    for file in options.files:
        kinds: defaultdict[str, Agreement] = defaultdict(Agreement)
        for case in cases(file):
            kinds[case.kind].add(case)
            kinds["all"].add(case)
        for kind, agreement in sorted(kinds.items()):
            name = file.name.removesuffix(".jsonl.gz")
            figures = [
                100 * agreement.verdicts / agreement.cases,
                100 * agreement.causes / agreement.cases,
                100 * agreement.same_texts / (agreement.texts or 1),
            ]
            row = " ".join(f"{figure:7.2f}%" for figure in figures)
            print(f"{name:16} {kind:24} {agreement.cases:6}  {row}")
        shown += kinds["all"].disagreements
    for text in shown[: options.show]:
        print(text)
    return 1 if shown else 0


if __name__ == "__main__":
    raise SystemExit(main())
