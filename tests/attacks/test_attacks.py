"""Every attack fails."""

from collections.abc import Iterator

import pytest

from tests.attacks import attacks
from tests.attacks.measuring import Victim, measure, row, victim

pytestmark = [pytest.mark.alone, pytest.mark.slow, pytest.mark.process]

SHARES = (0.2, 0.4, 0.8)
"""For which share of its time an attack goes on, and goes on again if it succeeded: a busy machine stalls, too."""


@pytest.fixture(scope="module")
def attacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    """Run a webhook for all attacks with the same options; one after the other, they must not bring it down either."""
    with victim(tmp_path_factory.mktemp("victim"), request.param) as running:
        yield running


@pytest.mark.parametrize(
    ("attacked", "name"),
    [(attack.options, name) for name, attack in attacks().items()],
    ids=attacks(),
    indirect=["attacked"],
    scope="module",
)
def test_an_attack_fails(name: str, attacked: Victim) -> None:
    failures = []
    for share in SHARES:
        measured = measure(name, attacked, share)
        verdict = measured.verdict(attacks()[name])
        if not verdict:
            return
        failures.append(row(name, measured, verdict))
        if measured.raised or measured.growth > attacks()[name].growth:
            break  # no stall explains that
    pytest.fail("\n".join(failures))
