"""A running cluster: its objects, and the webhook's own certificate in it.

:mod:`~webhook.cluster.live` reads objects, :mod:`~webhook.cluster.api` reads and writes them with a service account's
token. :class:`~webhook.cluster.manager.Manager` supplies a replica with certificates; the leader among the replicas
renews them and updates the webhook configurations: :mod:`~webhook.cluster.rotation` decides the next step,
:mod:`~webhook.cluster.election` elects the leader, :mod:`~webhook.cluster.manager` carries out both.
docs/certificates.md explains how.
"""
