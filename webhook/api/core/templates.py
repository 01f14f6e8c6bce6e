"""Where each workload kind keeps its pod template.

The one table of what makes pods: what is judged of it, rewritten in it, and enforced more mildly follows from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    Steps = tuple[str, ...]

_IN_SPEC: Final = ("spec", "template")

TEMPLATES: Final[Mapping[str, Mapping[str, Steps]]] = {
    "v1": {"Pod": (), "PodTemplate": ("template",), "ReplicationController": _IN_SPEC},
    "apps/v1": {"DaemonSet": _IN_SPEC, "Deployment": _IN_SPEC, "ReplicaSet": _IN_SPEC, "StatefulSet": _IN_SPEC},
    "batch/v1": {"CronJob": ("spec", "jobTemplate", *_IN_SPEC), "Job": _IN_SPEC},
}
"""The steps to the template by API version and kind; a pod is its own template."""

_BY_KIND: Final = {
    (api_version.rpartition("/")[0], kind): steps
    for api_version, kinds in TEMPLATES.items()
    for kind, steps in kinds.items()
}


def template_of(group: str, kind: str) -> Steps | None:
    """Return the steps to a kind's pod template, none for a pod; None for a kind that has none.

    Args:
        group: The kind's API group, empty for the core group.
        kind: The kind.
    """
    return _BY_KIND.get((group, kind))
