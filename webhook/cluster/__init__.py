"""Self-managed certificates, kept through the Kubernetes API.

:class:`Manager` keeps a replica supplied; one of the replicas, which leads, keeps the certificates young and the
webhook configurations informed. docs/certificates.md tells how.

:mod:`~webhook.cluster.rotation` knows what is to be done next, :mod:`~webhook.cluster.election` who does it,
:mod:`~webhook.cluster.api` how objects are read and written, :mod:`~webhook.cluster.files` where the pair is put.
"""

from __future__ import annotations

from webhook.cluster.errors import ClusterError
from webhook.cluster.manager import Manager
from webhook.cluster.options import Lifetimes, ManagerOptions

__all__ = ["ClusterError", "Lifetimes", "Manager", "ManagerOptions"]
