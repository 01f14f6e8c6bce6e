"""10,000 manifests beside CSafeLoader alone, start-up beside bare Python: python -m benchmarks.manifests."""

from __future__ import annotations

import compileall
import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

import webhook
from benchmarks.timing import interleaved
from webhook.cli import main as draguard

DOCUMENTS = 10_000
FILES = 1_000
START_UPS = 20

METADATA = """\
kind: ResourceClaim
metadata:
  name: claim-{number}
  namespace: default
  labels:
    app.kubernetes.io/name: cats
"""
CLAIM = f"""\
apiVersion: resource.k8s.io/v1alpha2
{METADATA}spec:
  resourceClassName: resource.example.com
  allocationMode: WaitForFirstConsumer
  parametersRef:
    apiGroup: cats.resource.example.com
    kind: ClaimParameters
    name: large-black-cat-claim-parameters
"""
SELECTING = f"""\
apiVersion: resource.k8s.io/v1
{METADATA}spec:
  devices:
    requests:
    - name: cat
      exactly:
        deviceClassName: cats.example.com
        selectors:
        - cel:
            expression: device.attributes["cats.example.com"].breed == "breed-{{number}}"
"""
"""A claim whose selector differs from all others."""


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        for claim in (CLAIM, SELECTING):
            documents = [claim.format(number=number) for number in range(DOCUMENTS)]
            for files in (1, FILES):
                folder = Path(directory, f"{claim is CLAIM}-{files}")
                folder.mkdir()
                share = DOCUMENTS // files
                for number in range(files):
                    text = "---\n".join(documents[number * share : (number + 1) * share])
                    (folder / f"claims-{number}.yaml").write_text(text, encoding="utf-8")
                compare(folder, "classic" if claim is CLAIM else "selecting")
    start_up()


def compare(folder: Path, what: str) -> None:
    """Print the time of validating a folder.

    Args:
        folder: The folder.
        what: A description of its claims.
    """
    files = sorted(folder.iterdir())

    def load() -> None:
        for file in files:
            list(yaml.load_all(file.read_bytes(), yaml.CSafeLoader))

    def validate(*options: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            draguard(["validate", *options, str(folder)])

    baseline, alone, together = interleaved(load, lambda: validate("--jobs", "1"), validate, rounds=3)
    print(f"{DOCUMENTS} {what} claims in {len(files)} files: CSafeLoader alone {baseline:.2f} s")
    for ours, processes, aim in ((alone, "one process", 0.5), (together, "as many as pay off", 0.35)):
        print(f"  draguard validate in {processes}: {ours:.2f} s, {ours / baseline:.2f} x (aim {aim} x)")


def start_up() -> None:
    """Print the start-up time, with modules compiled as pip does."""
    compileall.compile_dir(str(Path(webhook.__file__).parent), quiet=2)
    script = str(Path(sys.executable).with_name("draguard"))
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(CLAIM.format(number=0))
        file.flush()

        def run(*command: str) -> None:
            for _ in range(START_UPS):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        bare, version, validate = interleaved(
            lambda: run(sys.executable, "-c", "pass"),
            lambda: run(script, "--version"),
            lambda: run(script, "validate", os.fspath(file.name)),
            rounds=3,
        )
    for name, seconds, aim in (("--version", version, 30), ("validate of one claim", validate, 50)):
        more = (seconds - bare) / START_UPS * 1000
        print(f"draguard {name}: {more:.0f} ms above bare Python's {bare / START_UPS * 1000:.0f} ms ", end="")
        print(f"({seconds / bare:.2f} x; aim {aim} ms)")


if __name__ == "__main__":
    main()
