"""Workloads of other projects: finds their pods, and the claims that cannot work."""

from __future__ import annotations

from webhook.workloads.embedded import PodsIn
from webhook.workloads.pods import Locations, pods_in
from webhook.workloads.projects import lost, made_templates
from webhook.workloads.runtimes import Templates, is_cluster_scoped, is_template, used_by

__all__ = [
    "Locations",
    "PodsIn",
    "Templates",
    "is_cluster_scoped",
    "is_template",
    "lost",
    "made_templates",
    "pods_in",
    "used_by",
]
