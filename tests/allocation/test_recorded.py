from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.allocation.recorded import FILES, Agreement, scenarios

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition("-")[0])
def test_the_allocator_answers_as_recorded(file: Path) -> None:
    agreement = Agreement()
    for scenario in scenarios(file):
        agreement.add(scenario)
    assert agreement.nodes > 0
    assert agreement.equal + agreement.unknown == agreement.nodes
    assert agreement.disagreements == []
