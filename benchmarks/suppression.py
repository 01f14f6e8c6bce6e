"""10,000 files with ignore rules, a baseline and a configuration file, beside the same files without."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

from benchmarks.manifests import CLAIM
from benchmarks.timing import interleaved
from webhook.cli import main as draguard

FILES = 10_000
FAULTY = 10
"""One file in this many has a finding."""
AIM = 1.1

CONFIGURATION = """\
exclude: [testdata, "*.gen.yaml", vendor/**, charts/*/ci]
levels: {deprecated: off, wrong-type: error, "cel-*": error}
ignores:
- {paths: ["app-1*"], rules: [unknown-field], reason: those are examples}
- {paths: ["app-2*/**/*.yaml"], rules: [object-name, required], reason: so are those}
baseline: known.json
"""


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        write(top)
        compare("without findings", top / "clean", top / "clean")
        compare(f"1 of {FAULTY} with a finding", top / "faulty", top / "commented")


def write(top: Path) -> None:
    """Write the files, and the suppressions."""
    for folder in ("clean", "faulty", "commented"):
        for number in range(FILES):
            text = CLAIM.format(number=number)
            if folder != "clean" and not number % FAULTY:
                is_commented = folder == "commented" and not number % (2 * FAULTY)
                text += f"  colour: red{' # draguard: ignore[unknown-field] why' if is_commented else ''}\n"
            file = top / folder / f"app-{number % 100}" / f"claim-{number}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        validate(top / folder, "--write-baseline", "known.json")
        (top / folder / ".draguard.yaml").write_text(CONFIGURATION, encoding="utf-8")


def validate(folder: Path, *options: str) -> str:
    """Run `draguard validate .` in a folder; return its output."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
            draguard(["validate", *options, "."])
    finally:
        os.chdir(here)
    return printed.getvalue()


def compare(name: str, bare: Path, configured: Path) -> None:
    """Print the time of the same files without and with suppressions."""
    summary = json.loads(validate(configured, "-o", "json"))["summary"]
    without, with_all = interleaved(
        lambda: validate(bare, "--no-config"), lambda: validate(configured, "--ignore", "empty", "--level", "enum=warn")
    )
    print(f"{FILES} files, {name}: {without:.2f} s; {with_all:.2f} s with configuration, baseline, ignore rules and ")
    print(f"  comments ({summary['suppressed']} suppressed): {with_all / without:.2f} x (aim {AIM} x)")


if __name__ == "__main__":
    main()
