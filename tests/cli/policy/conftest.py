"""Fixtures of the tests of policies."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.manifests import Write
from tests.cli.policy.manifests import NODELESS, Found
from tests.command import findings


@pytest.fixture
def judged(write: Write) -> Found:
    """Return a function that finds what policies say of objects, or of a pod."""

    def judged(policies: str | list[Any], *objects: Any, options: tuple[str | Path, ...] = ()) -> list[dict[str, Any]]:
        folder = write(p=policies, pod=list(objects or [NODELESS]))
        return findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml", *options)

    return judged


@pytest.fixture
def checked(write: Write) -> Found:
    """Return a function that finds what is wrong with policies."""

    def checked(policies: str | list[Any], *options: str) -> list[dict[str, Any]]:
        return findings("policy", "check", *options, write(p=policies))

    return checked
