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


@pytest.mark.parametrize("name", attacks())
def test_an_attack_fails(name: str, tmp_path: Path) -> None:
    measured = measure(name, tmp_path, SHARE)
    verdict = measured.verdict(attacks()[name])
    assert not verdict, row(name, measured, verdict)
