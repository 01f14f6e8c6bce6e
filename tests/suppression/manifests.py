"""Claims in files, and what is found in them."""

import json
from typing import Any

from tests.command import Done
from tests.structured import claim_manifest


def claim(name: str = "gpu", more: str = "") -> str:
    return claim_manifest(name, more)


def rules(done: Done) -> list[tuple[str, str]]:
    return [(each["level"], each["rule"]) for each in json.loads(done.out)["findings"]]


def suppressed(done: Done) -> list[tuple[str, str, str]]:
    found: list[dict[str, Any]] = json.loads(done.out)["suppressed"]
    return [(each["rule"], *each["suppression"].values()) for each in found]
