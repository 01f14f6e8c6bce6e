"""Errors of the cluster's API."""

from __future__ import annotations


class ClusterError(Exception):
    """The Kubernetes API, or an object in it, cannot be used; the message explains the cause and the remedy."""


class Conflict(ClusterError):  # noqa: N818 - the API server's own word
    """Another client has changed the object: read it again, and decide again."""


class NotFound(ClusterError):  # noqa: N818 - the API server's own word
    """The object does not exist."""
