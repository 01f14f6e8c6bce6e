"""``draguard snapshot``: the kubectl command that collects the objects of a cluster."""

from __future__ import annotations

import shlex
import subprocess
import sys
from shutil import which
from typing import TYPE_CHECKING, Final

from webhook.cli.arguments import UsageError
from webhook.cli.console.lines import show_lines
from webhook.inventory.objects import DRA, KINDS
from webhook.policy.manifest.kinds import guess_resource

if TYPE_CHECKING:
    from argparse import Namespace

RESOURCES: Final = tuple(guess_resource(kind) for kind, group in KINDS.items() if group in {DRA, ""})
"""The resources that a simulation reads; PriorityClasses are not needed, as pods in a cluster state their priority."""
_FAILED: Final = 1
_ONE_NAMESPACE: Final = (
    "warning: claims and pods outside namespace {} are left out: devices, cpu and memory that they use look free"
)


def run(arguments: Namespace) -> int:
    """Print the command, or run it."""
    if unknown := [each for each in arguments.without if each not in RESOURCES]:
        raise UsageError(f"--without {unknown[0]}: give one of {', '.join(RESOURCES)}")
    command = _command(arguments)
    if arguments.namespace:
        show_lines([_ONE_NAMESPACE.format(arguments.namespace)], sys.stderr)
    if not arguments.run:
        print(shlex.join(command))
        return 0
    program = which(command[0])
    if program is None:
        raise UsageError(f"{command[0]} is not installed here: run this where it is: {shlex.join(command)}")
    # What is printed is whole, even if the command is interrupted.
    done = subprocess.run([program, *command[1:]], stdout=subprocess.PIPE, check=False)  # noqa: S603 - no shell reads it
    sys.stdout.flush()
    sys.stdout.buffer.write(done.stdout)
    return _FAILED if done.returncode else 0


def _command(arguments: Namespace) -> list[str]:
    wanted = ",".join(each for each in RESOURCES if each not in arguments.without)
    context = ["--context", arguments.context] if arguments.context else []
    scope = ["-n", arguments.namespace] if arguments.namespace else ["-A"]
    return ["kubectl", *context, "get", wanted, *scope, "-o", "yaml"]
