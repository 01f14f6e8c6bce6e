"""Print how far draguard agrees with the recorded API servers: python -m tests.conformance [FILE…]."""

import argparse
import time
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
    shown, started = [], time.process_time()
    print(f"{'file':16} {'kind':26} {'cases':>6} {'verdicts':>9} {'causes':>8} {'texts':>8}")
    for file in options.files:
        kinds: defaultdict[str, Agreement] = defaultdict(Agreement)
        for case in cases(file):
            kinds[case.kind].add(case)
            kinds["all"].add(case)
        for kind, each in sorted(kinds.items()):
            figures = [100 * count / each.cases for count in (each.verdicts, each.causes, each.texts)]
            row = " ".join(f"{figure:7.2f}%" for figure in figures)
            print(f"{file.name.removesuffix('.jsonl.gz'):16} {kind:26} {each.cases:6}  {row}")
        shown += kinds["all"].disagreements
    print(f"{time.process_time() - started:.0f} s of CPU time")
    for text in shown[: options.show]:
        print(text)
    return 1 if shown else 0


if __name__ == "__main__":
    raise SystemExit(main())
