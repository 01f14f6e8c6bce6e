"""Shows the templates of a chart which versions of ``resource.k8s.io`` a release serves.

``.Capabilities.APIVersions`` has the versions of Helm's own client, and ``--api-versions`` only adds more. Charts of
DRA drivers choose the version of their objects by it, so an older release would get objects of a newer one.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from shutil import copytree
from tempfile import TemporaryDirectory

from webhook.documents.limits import MAX_BYTES
from webhook.regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Final

_ASKS: Final = re.compile(r'(?<![$\w.])[$\w.]*\.Capabilities\.APIVersions\.Has\s+"(resource\.k8s\.io/[\w/]+)"')
_TEMPLATES: Final = "templates"


@contextmanager
def as_served(chart: str, api_versions: Collection[str]) -> Iterator[str]:
    """Provide a chart whose templates see only the served versions.

    Args:
        api_versions: The served versions, and the kinds in each, as Helm spells them.

    Yields:
        The directory of the chart, or of a copy that differs where its templates check versions.
    """
    changed = dict(_changed(chart, api_versions))
    if not changed:
        yield chart
        return
    with TemporaryDirectory() as directory:
        copy = f"{directory}/chart"
        copytree(chart, copy, symlinks=True)
        for name, text in changed.items():
            os.unlink(f"{copy}/{name}")  # it may be a link to the chart itself
            with open(f"{copy}/{name}", "x", encoding="utf-8") as file:
                file.write(text)
        yield copy


def _changed(chart: str, api_versions: Collection[str]) -> Iterator[tuple[str, str]]:
    """Find the templates that would see wrong versions, by their names in the chart, with their new texts."""

    def answer(asks: re.Match[str]) -> str:
        return asks[0] if asks[1] in api_versions else "false"

    for directory, _, names in os.walk(chart):
        inside = directory[len(chart) :].strip("/")
        for name in names if _TEMPLATES in inside.split("/") else ():
            try:
                with open(f"{directory}/{name}", encoding="utf-8", opener=open_regular) as file:
                    text = file.read(MAX_BYTES)
            except (OSError, ValueError):  # Helm reports its errors
                continue
            if (rewritten := _ASKS.sub(answer, text)) != text:
                yield f"{inside}/{name}", rewritten
