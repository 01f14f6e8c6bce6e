"""What can be rendered, and how."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.documents.selection import KUSTOMIZATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHART: Final = "Chart.yaml"


class SourceError(ValueError):
    """A chart or a kustomization cannot be rendered on this machine, or not with these options; the text says why."""


class RenderOptions(NamedTuple):
    """How charts are rendered.

    Args:
        values: Files of values, as for ``helm --values``.
        sets: Single values, as for ``helm --set``.
        namespace: The release's namespace.
        kubernetes: The cluster's release, such as ``1.36``.
        api_versions: API versions that the cluster serves, beside those that Helm itself knows.
    """

    values: Sequence[str] = ()
    sets: Sequence[str] = ()
    namespace: str = "default"
    kubernetes: str = "1.36"
    api_versions: Sequence[str] = ()


def is_chart(directory: str) -> bool:
    """Tell whether a directory is a Helm chart."""
    return os.path.isfile(f"{directory}/{_CHART}")  # noqa: PTH113 - pathlib takes longer to import than a file to judge


def kustomization_of(directory: str) -> str:
    """Return the file that makes a directory a kustomization; empty if there is none."""
    files = (f"{directory.rstrip('/')}/{name}" for name in sorted(KUSTOMIZATIONS))
    return next(filter(os.path.isfile, files), "")
