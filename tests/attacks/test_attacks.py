"""Every attack fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.attacks import attacks
from tests.attacks.measuring import measure, row

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.alone, pytest.mark.process, pytest.mark.slow]

SHARE = 0.3
"""`python -m tests.attacks` goes on for longer."""
ROOM = 4.0
"""A machine may be slower than the one of the bounds, and busy."""


@pytest.mark.parametrize("name", attacks())
def test_an_attack_fails(name: str, tmp_path: Path) -> None:
    measured = measure(name, tmp_path, SHARE, ROOM)
    verdict = measured.verdict(attacks()[name], ROOM)
    assert not verdict, row(name, measured, verdict)
