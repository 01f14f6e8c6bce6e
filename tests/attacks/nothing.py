"""No attack: the baseline of the ordinary client on this machine."""

from tests.attacks import Attack
from tests.attacks.target import Target


def _run(target: Target) -> list[str]:
    target.rest()
    return []


ATTACK = Attack("nothing", _run, slices=True)
