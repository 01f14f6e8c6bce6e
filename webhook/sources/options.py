"""Options of rendering."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

from webhook.api.runtimeconfig import is_served
from webhook.api.versions import DEFAULT, VERSIONS
from webhook.documents.search import KUSTOMIZATIONS, bare
from webhook.release import Release
from webhook.usage import UsageError

CHART: Final = "Chart.yaml"
"""The file that makes a directory a Helm chart."""


class SourceError(UsageError):
    """A chart or a kustomization cannot be rendered on this machine or with these options; the message says why."""


class NoRendererError(SourceError):
    """The program that renders it is not installed.

    Args:
        reason: The sort of source, and the program that is not installed.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is {reason}")
        self.reason = reason


Progress = Callable[[], "AbstractContextManager[Callable[[int], None]]"]


class RenderOptions(NamedTuple):
    """The options of rendering charts.

    Args:
        values: Files of values, as for ``helm --values``.
        sets: Single values, as for ``helm --set``.
        runtime_config: Which API versions it serves, as kube-apiserver takes it; None for the defaults.
        progress: Opens a context with a function that is called repeatedly with the seconds that a program has run.
        texts: Receives the rendered texts, by the file of the template or the kustomization.
        note: Called with each remark.
        concerns: Tells by the text of a file whether the chart or kustomization that has it is rendered if it is found
            below a directory. None to render only what is named, and to read no files beside that.
    """

    values: Sequence[str] = ()
    sets: Sequence[str] = ()
    namespace: str = "default"
    release: Release = DEFAULT
    runtime_config: Mapping[str, bool] | None = None
    progress: Progress = lambda: nullcontext(lambda _seconds: None)
    texts: dict[str, list[str]] | None = None
    note: Callable[[str], None] = lambda _remark: None
    concerns: Callable[[str], bool] | None = None

    def for_earlier(self, values: Sequence[str]) -> RenderOptions:
        """Return the options for an earlier state, whose texts and remarks are not reported.

        Args:
            values: Its files of values.
        """
        return RenderOptions(values, self.sets, self.namespace, self.release, self.runtime_config, self.progress)

    @property
    def api_versions(self) -> list[str]:
        """The API versions that the cluster serves, and the kinds in each; Helm itself may not know the newest."""
        served = [
            (version, kind)
            for version, each in VERSIONS.items()
            for kind, known in each.kinds.items()
            if known.since <= self.release <= known.until
            and not known.gate
            and is_served(version, release=self.release, stated=self.runtime_config)
        ]
        return list(dict.fromkeys(name for version, kind in served for name in (version, f"{version}/{kind}")))


def is_chart(directory: str) -> bool:
    """Tell whether a directory is a Helm chart."""
    return os.path.isfile(f"{directory}/{CHART}")


def prefix_of(directory: str) -> str:
    """Return the beginning of the names of all files that a chart or kustomization is rendered from."""
    return bare(f"{directory.rstrip('/')}/")


def kustomization_of(directory: str) -> str:
    """Return the file that makes a directory a kustomization; empty if there is none."""
    files = (f"{directory.rstrip('/')}/{name}" for name in sorted(KUSTOMIZATIONS))
    return next(filter(os.path.isfile, files), "")
