"""Self-managed certificates, kept through the Kubernetes API.

:class:`Manager` supplies a replica with certificates; the leader among the replicas renews them and updates the webhook
configurations. docs/certificates.md explains how.

:mod:`~webhook.cluster.rotation` decides the next step, :mod:`~webhook.cluster.election` elects the leader,
:mod:`~webhook.cluster.api` reads and writes objects, :mod:`~webhook.cluster.files` writes the pair to disk.
"""

from __future__ import annotations

from webhook.cluster.errors import ClusterError
from webhook.cluster.manager import Manager
from webhook.cluster.options import Lifetimes, ManagerOptions

__all__ = ["ClusterError", "Lifetimes", "Manager", "ManagerOptions"]
