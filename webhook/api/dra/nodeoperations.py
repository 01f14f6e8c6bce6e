"""Node operations that kubelet may skip for a device."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.problem import Problem, invalid
from webhook.schema import Array, Text, View

EVERY, PREPARE, UNPREPARE = "*", "NodePrepareResources", "NodeUnprepareResources"


def skip_node_operations() -> Array:
    """Declare operations that are skipped."""
    return Array(
        Text(go="SkipNodeOperation", one_of=(EVERY, PREPARE, UNPREPARE), always=True),
        "What kubelet need not ask the driver for.",
        unique="",
        list_type="set",
        declarative=True,
        since=37,
        gate="DRAOptionalNodeOperations",
    )


def skipped_operations(holder: View) -> Iterator[Problem]:
    """A device that is prepared without its driver must be unprepared without it, too."""
    skipped = holder.skipNodeOperations
    if PREPARE in skipped and UNPREPARE not in skipped and EVERY not in skipped:
        detail = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        yield invalid(holder / "skipNodeOperations", list(skipped), detail)
