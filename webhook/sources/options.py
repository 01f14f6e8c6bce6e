"""What can be rendered, and how."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.api.versions import NEWEST, VERSIONS
from webhook.documents.selection import KUSTOMIZATIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.release import Release

_CHART: Final = "Chart.yaml"


class SourceError(ValueError):
    """A chart or a kustomization cannot be rendered on this machine, or not with these options; the text says why."""


class RenderOptions(NamedTuple):
    """How charts are rendered.

    Args:
        values: Files of values, as for ``helm --values``.
        sets: Single values, as for ``helm --set``.
        namespace: The release's namespace.
        release: The cluster's release.
    """

    values: Sequence[str] = ()
    sets: Sequence[str] = ()
    namespace: str = "default"
    release: Release = NEWEST

    @property
    def kubernetes(self) -> str:
        """The cluster's version, as Helm takes it."""
        return f"1.{self.release}.0"

    @property
    def api_versions(self) -> list[str]:
        """The API versions that the cluster serves; Helm itself may be older, and not know the newest."""
        kinds = ((name, kind) for name, version in VERSIONS.items() for kind in version.kinds.values())
        return list(dict.fromkeys(name for name, kind in kinds if kind.since <= self.release <= kind.until))


def is_chart(directory: str) -> bool:
    """Tell whether a directory is a Helm chart."""
    return os.path.isfile(f"{directory}/{_CHART}")  # noqa: PTH113 - pathlib takes longer to import than a file to judge


def kustomization_of(directory: str) -> str:
    """Return the file that makes a directory a kustomization; empty if there is none."""
    files = (f"{directory.rstrip('/')}/{name}" for name in sorted(KUSTOMIZATIONS))
    return next(filter(os.path.isfile, files), "")
