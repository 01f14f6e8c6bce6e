"""The number of examples that hypothesis tries: fewer in the quick lane."""

from hypothesis import settings

_ALL = 100
"""How many there are where a test says nothing and the lane is not quick."""


def examples(number: int) -> settings:
    """Return settings for a number of examples; in the quick lane, for the share that its profile allows."""
    return settings(max_examples=max(1, number * settings().max_examples // _ALL))
