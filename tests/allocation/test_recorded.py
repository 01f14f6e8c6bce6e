from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.allocation.recorded import FILES, Agreement, scenarios

pytestmark = pytest.mark.no_cover


def _named(file: Path) -> ParameterSet:
    name = file.name.partition("-")[0]
    return pytest.param(file, id=name, marks=[pytest.mark.slow] if name == "generated" else [])


@pytest.mark.parametrize("file", [_named(file) for file in FILES])
def test_the_allocator_answers_as_recorded(file: Path) -> None:
    agreement = Agreement()
    for scenario in scenarios(file):
        agreement.add(scenario)
    assert agreement.nodes > 0
    assert agreement.equal + agreement.unknown == agreement.nodes
    assert agreement.disagreements == []
