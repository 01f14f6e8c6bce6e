"""Certificates that the webhook manages itself, by means of the Kubernetes API."""

from __future__ import annotations

from webhook.cluster.errors import ClusterError
from webhook.cluster.options import Lifetimes, Options

__all__ = ["ClusterError", "Lifetimes", "Options"]
