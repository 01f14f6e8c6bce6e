"""No attack: the baseline of the ordinary client on this machine."""

from tests.attacks import Attack
from tests.attacks.target import Target

ATTACK = Attack("nothing", Target.rest, slices=True)
