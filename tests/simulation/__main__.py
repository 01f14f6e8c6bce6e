"""Print how far draguard agrees with the recorded scheduler: python -m tests.simulation."""

from tests.simulation.recorded import agreement, cases


def main() -> int:
    """Print the agreement, and the disagreements."""
    found = [(case["id"], agreement(case)) for case in cases()]
    for part in ("conditions", "nodes", "claims"):
        equal = sum(getattr(each, part) for _, each in found)
        print(f"{part:10} {equal:4} of {len(found)} cases {100 * equal / len(found):7.2f}%")
    wrong = [f"{name}: {each.details}" for name, each in found if each.details]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
