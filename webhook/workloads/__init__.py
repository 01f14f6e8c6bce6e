"""Workloads of other projects: where their pods are, and which of their claims cannot work."""

from __future__ import annotations

from webhook.workloads.embedded import PodsIn
from webhook.workloads.pods import Locations, pods_in
from webhook.workloads.projects import lost, made_templates

__all__ = ["Locations", "PodsIn", "lost", "made_templates", "pods_in"]
