"""Simulates kube-scheduler offline, and explains its decisions.

The parts: :mod:`cluster <webhook.simulation.cluster>` holds the state, :mod:`scheduler <webhook.simulation.scheduler>`
runs the scheduling cycle; :mod:`webhook.allocation` allocates devices. :mod:`rejections
<webhook.simulation.rejections>` explains what nodes lack, :mod:`changes <webhook.simulation.changes>` tries what may
help, and :mod:`answers <webhook.simulation.answers>` writes it down.
"""

from webhook.simulation.cluster import Cluster, Settings, release_in
from webhook.simulation.scheduler import Placement, Scheduler

__all__ = ["Cluster", "Placement", "Scheduler", "Settings", "release_in"]
