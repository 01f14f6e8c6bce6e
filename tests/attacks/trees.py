"""Links in a tree of manifests that lead to pipes, devices and secrets, read beside the webhook."""

import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, product
from pathlib import Path

from tests.attacks import Attack
from tests.attacks.target import Target
from tests.command import SCRIPT

SECRET = "s3cr3t-t0ken"  # noqa: S105 - for the test
SECONDS = 20.0
"""For a process that starts on a busy machine and refuses at once."""
COMMANDS = ["validate"], ["validate", "--old"], ["validate", "--policies"], ["mutate"], ["policy", "check"]


def _faults(command: list[str], given: str, more: Path) -> list[str]:
    started = time.monotonic()
    done = subprocess.run(
        [SCRIPT, *command, given, *([more] if command[-1].startswith("--") else ())],
        env={**os.environ, "TOKEN": SECRET},
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    took, faults = time.monotonic() - started, []
    if SECRET in done.stdout + done.stderr:
        faults.append(f"{command} shows what is outside the tree")
    if took > SECONDS or done.returncode not in {1, 2}:
        faults.append(f"{command} took {took:.1f} s, and ended {done.returncode}")
    return faults


def _read(target: Target) -> list[str]:
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(2) as pool:
        tree = Path(directory, "tree")
        (tree / "below").mkdir(parents=True)
        (tree / ".git").mkdir()
        (tree / ".git" / "config").write_text(f"token: [{SECRET}", encoding="ascii")
        Path(directory, "outside").write_text(f"token: [{SECRET}", encoding="ascii")
        os.mkfifo(tree / "pipe")
        leading = ["/proc/self/environ", "/dev/stdin", "/dev/zero", "../pipe", "../../outside", "../.git/config", ".."]
        for number, to in enumerate(leading):
            (tree / "below" / f"{number}.yaml").symlink_to(to)
        (tree / "loop").symlink_to(".")
        (tree / "again").symlink_to(".")
        runs = [*product(COMMANDS, (str(tree), f"{tree}/**/*.yaml"), [tree / "below" / "none.yaml"])]
        while not target.is_over:
            faults += chain.from_iterable(pool.map(_faults, *zip(*runs, strict=True)))
    return faults


ATTACK = Attack("links in a tree of manifests to pipes, devices and secrets", _read, slowest=1.0)
