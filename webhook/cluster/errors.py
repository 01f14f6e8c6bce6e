"""Errors of the cluster's API."""

from __future__ import annotations

from webhook.usage import UsageError


class ClusterError(UsageError):
    """The Kubernetes API, or an object in it, cannot be used; the message explains the cause and the remedy."""


class Conflict(ClusterError):  # noqa: N818 - the API server's own word
    """Another client has changed the object: read it again, and decide again."""


class NotFound(ClusterError):  # noqa: N818 - the API server's own word
    """The object does not exist."""


class Forbidden(ClusterError):  # noqa: N818 - the API server's own word
    """The user may not do this."""


class Expired(ClusterError):  # noqa: N818 - the API server's own word
    """A list cannot be continued, as the objects have changed since it began."""


class TooLong(ClusterError):  # noqa: N818 - as its neighbours
    """An answer has more bytes than are read."""
