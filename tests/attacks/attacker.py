"""Attacks a webhook, in a process that loads little else."""

import json
import resource
import sys
import time
from pathlib import Path

from tests.attacks import attacks_of
from tests.attacks.target import Target


def main(name: str, port: str, monitoring: str, ca: str, seconds: str) -> None:
    """Run an attack, and write its faults as JSON.

    Args:
        name: The name of the attack.
        port: The webhook's port for reviews.
        monitoring: The webhook's port for probes.
        ca: The file with the authority of its certificate.
        seconds: The duration.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    end = time.monotonic() + float(seconds)
    target = Target(int(port), int(monitoring), Path(ca).read_text(encoding="ascii"), end)
    json.dump(attacks_of(name.partition("-")[0])[name].run(target) or [], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
