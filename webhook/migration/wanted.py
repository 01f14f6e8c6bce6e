"""The target versions of a migration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from webhook.api.versions import DEFAULT, GROUP, VERSIONS, served
from webhook.release import Release
from webhook.workloads import Locations

TARGETS: Final = tuple(
    name.rpartition("/")[2]
    for name, version in VERSIONS.items()
    if name.startswith(GROUP) and "DeviceClass" in version.kinds
)
"""The versions that objects can be converted to, the newest first."""

FLAT_CLAIMS_SINCE: Final = Release(31)
"""The first release whose pods name their claims without ``source``."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The target of a migration.

    Args:
        version: A version of ``resource.k8s.io``, such as ``v1``; empty for the newest that all releases serve.
        releases: The releases that the objects are for; the newest if there are none.
        locations: Where workloads keep their pods, besides the known places.
    """

    version: str = ""
    releases: Sequence[Release] = ()
    locations: Locations | None = None

    def api_version(self, kind: str) -> str:
        """Return the version of a kind, with its group; empty if no release serves the kind.

        A kind that the wanted version lacks gets one that the stated releases serve, or else its newest older version.
        """
        if self.version and (found := _not_newer(kind, f"{GROUP}/{self.version}", with_older=not self.releases)):
            return found
        every = [set(served(kind, release)) for release in self.releases or (DEFAULT,)]
        among = [name for name in served(kind, max(self.releases or (DEFAULT,))) if all(name in each for each in every)]
        return next((name for name in among if name.startswith(GROUP)), "")

    @property
    def has_flat_claims(self) -> bool:
        """Whether pods name their claims without ``source``."""
        return all(release >= FLAT_CLAIMS_SINCE for release in self.releases)

    @property
    def newest(self) -> Release:
        """The newest release that the objects are for."""
        return max(self.releases, default=DEFAULT)


def _not_newer(kind: str, wanted: str, *, with_older: bool) -> str:
    """Return the newest version that has a kind, the wanted one or one served beside it; empty if none."""
    names = [name for name in VERSIONS if name.startswith(GROUP)]
    among = names[names.index(wanted) :] if with_older else [wanted]
    since = VERSIONS[wanted].kinds["DeviceClass"].since
    having = (name for name in among if kind in VERSIONS[name].kinds)
    return next((name for name in having if VERSIONS[name].kinds[kind].until >= since), "")
