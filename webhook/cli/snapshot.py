"""``draguard snapshot``: the kubectl command that collects the objects of a cluster."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Collection, Sequence
from shutil import copyfileobj, which
from tempfile import TemporaryFile
from typing import IO, Final

from webhook.cli.console.lines import show_lines
from webhook.inventory.snapshots import OPTIONAL, RESOURCES
from webhook.sources.running import held_interrupts
from webhook.usage import UsageError

_FAILED: Final = 1
_LONGEST: Final = 8192
"""The bytes of a complaint that are shown as one line."""
_LOG: Final = re.compile(r"[EW]\d{4} .*memcache\.go:")
_UNSERVED: Final = re.compile(r'error: the server doesn\'t have a resource type "(.*)"')
_ONE_NAMESPACE: Final = (
    "warning: claims and pods outside namespace {} are left out: devices, cpu and memory that they use look free"
)


def run(arguments: Namespace) -> int:
    """Print the command, or run it."""
    if unknown := [each for each in arguments.without if each not in RESOURCES]:
        raise UsageError(f"--without {unknown[0]}: give one of {', '.join(RESOURCES)}")
    without = set(arguments.without)
    if arguments.namespace:
        show_lines([_ONE_NAMESPACE.format(arguments.namespace)], sys.stderr)
    if not arguments.run:
        print(shlex.join(_command(arguments, without)))
        return 0
    program = which("kubectl")
    if program is None:
        raise UsageError(
            f"kubectl is not installed here: run this where it is: {shlex.join(_command(arguments, without))}"
        )
    # What is printed is whole, even if the command is interrupted; a cluster may have more of it than fits into memory.
    with TemporaryFile() as printed:
        while True:
            code, unserved = _run([program, *_command(arguments, without)[1:]], OPTIONAL - without, printed)
            if not unserved:
                break
            show_lines([f"warning: the cluster does not serve {unserved}: the snapshot leaves them out"], sys.stderr)
            without.add(unserved)
        sys.stdout.flush()
        printed.seek(0)
        copyfileobj(printed, sys.stdout.buffer)
    return _FAILED if code else 0


def _command(arguments: Namespace, without: Collection[str]) -> list[str]:
    wanted = ",".join(each for each in RESOURCES if each not in without)
    context = ["--context", arguments.context] if arguments.context else []
    scope = ["-n", arguments.namespace] if arguments.namespace else ["-A"]
    return ["kubectl", *context, "get", wanted, *scope, "-o", "yaml"]


def _run(command: Sequence[str], optional: Collection[str], printed: IO[bytes]) -> tuple[int, str]:
    """Run kubectl; return its exit code, and the resource that the cluster does not serve.

    Args:
        optional: The resources that a cluster may lack.
        printed: The file that gets what kubectl prints, and nothing else.
    """
    complaints = _Complaints(optional)
    printed.seek(0)
    printed.truncate()
    with held_interrupts() as deliver:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE)  # noqa: S603 - no shell
    with process:
        try:
            deliver()
            assert process.stderr is not None  # noqa: S101 - it is a pipe
            complaints.read(process.stderr)
            process.wait()
        except BaseException:
            process.kill()
            raise
    if process.returncode and complaints.is_only_log:
        show_lines([complaints.log], sys.stderr)
    return process.returncode, complaints.unserved


class _Complaints:
    """Passes kubectl's complaints on, without its log of failed requests, which repeats the reason that it gives last.

    Args:
        optional: The resources that a cluster may lack.
    """

    def __init__(self, optional: Collection[str]) -> None:
        self._optional = optional
        self.log = self.unserved = ""
        self.is_only_log = True
        """Whether kubectl gave no reason but in its log."""

    def read(self, stream: IO[bytes]) -> None:
        """Read all complaints, and show each at once: a login may wait for what it asks the user to do.

        Args:
            stream: Where kubectl writes them.
        """
        for line in iter(lambda: stream.readline(_LONGEST), b""):
            complaint = line.decode(errors="replace").rstrip()
            if _LOG.match(complaint):
                self.log = complaint
                continue
            self.is_only_log = False
            found = _UNSERVED.fullmatch(complaint)
            if found and found[1] in self._optional:
                self.unserved = found[1]
            else:
                show_lines([complaint], sys.stderr)
