"""The example of pending pods, and the answers of commands."""

import json
from pathlib import Path
from typing import Any

from tests.command import ROOT, draguard

EXAMPLES = ROOT / "examples" / "simulate"
DEPLOYMENT, CLUSTER = EXAMPLES / "deployment.yaml", EXAMPLES / "cluster.yaml"


def simulated(*arguments: str | Path, command: str = "simulate") -> list[dict[str, Any]]:
    done = draguard(command, "--output", "json", *arguments)
    found: list[dict[str, Any]] = json.loads(done.out)
    return found
