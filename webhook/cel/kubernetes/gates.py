"""The feature gates that decide what device selectors may read."""

from __future__ import annotations

from typing import Final

CONSUMABLE_CAPACITY: Final = "DRAConsumableCapacity"
LIST_ATTRIBUTES: Final = "DRAListTypeAttributes"
