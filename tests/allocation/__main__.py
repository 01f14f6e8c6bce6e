"""Print how far draguard agrees with the recorded allocator: python -m tests.allocation [--show N] [FILE…]."""

import argparse
from pathlib import Path

from tests.allocation.recorded import FILES, Agreement, scenarios

SHOWN = 10


def main() -> int:
    """Print the agreement per file, and the first disagreements."""
    parser = argparse.ArgumentParser(prog="python -m tests.allocation", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=FILES, help="recorded scenarios; default: all")
    parser.add_argument("--show", type=int, default=SHOWN, help="how many disagreements to show (default: %(default)s)")
    options = parser.parse_args()
    shown = []
    print(f"{'file':16} {'scenarios':>9} {'nodes':>6} {'equal':>6} {'unknown':>8} {'agreement':>10}")
    for file in options.files:
        agreement = Agreement()
        for scenario in scenarios(file):
            agreement.add(scenario)
        known = agreement.nodes - agreement.unknown
        counts = f"{agreement.scenarios:9} {agreement.nodes:6} {agreement.equal:6} {agreement.unknown:8}"
        print(f"{file.name.removesuffix('.jsonl.gz'):16} {counts} {100 * agreement.equal / known:9.2f}%")
        shown += agreement.disagreements
    for text in shown[: options.show]:
        print(text)
    return 1 if shown else 0


if __name__ == "__main__":
    raise SystemExit(main())
