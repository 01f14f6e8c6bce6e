"""Writes reports of openreports.io into the cluster, and deletes those that no longer hold."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from webhook.cluster.api import Api, ObjectRef
from webhook.cluster.errors import ClusterError, Conflict, Forbidden, NotFound
from webhook.cluster.live import MAX_OBJECTS, MAX_RESPONSE, chunks, decoded
from webhook.objects import JSONObject, items, mapping, name_of, text
from webhook.report.openreports import MANAGED_BY, NAME
from webhook.report.text import counted

_MANAGER: Final = "draguard-scan"
"""The field manager; only objects of it are deleted."""
_ROOT: Final = "/apis/openreports.io/v1alpha1"
_KINDS: Final = {"Report": "reports", "ClusterReport": "clusterreports"}
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_OWN: Final = quote(f"{MANAGED_BY}={NAME}", safe="")
_FAULTS_MAX: Final = 5
"""How many reports may fail before the others are not tried: the API server may be gone, or a namespace."""
_log = logging.getLogger(__name__)


class ReportWriter:
    """Keeps the reports of a cluster.

    Args:
        api: The API server.
        may_write: Tells whether this process is still the one that writes.
    """

    def __init__(self, api: Api, may_write: Callable[[], bool] = lambda: True) -> None:
        self._api, self._may_write = api, may_write
        self._known: dict[str, tuple[bytes, str]] = {}
        """The hash of what was written last, and the version that it became, by path."""
        self._is_served = True

    def write(self, reports: Iterable[JSONObject]) -> str:
        """Write the reports that have changed, here or in the cluster, and delete others; return what was done.

        Without the kinds in the cluster nothing is written, which is logged once.

        Raises:
            Conflict: Another process writes now.
            ClusterError: Reports could not be written or deleted.
        """
        try:
            stored = {path: each for resource in _KINDS.values() for path, each in self._stored(resource)}
        except NotFound:
            if self._is_served:
                _log.warning(
                    "no reports are written, as the cluster does not serve openreports.io/v1alpha1: install its "
                    "CustomResourceDefinitions (https://openreports.io); metrics go on"
                )
            self._is_served = False
            return "no reports: not served"
        self._is_served = True
        known, faults, refused, written = self._known, list[str](), list[str](), 0
        wanted = {
            _path_of(_KINDS[each["kind"]], text(each, "metadata", "namespace"), name_of(each)): each for each in reports
        }
        self._known = {path: each for path, each in known.items() if path in wanted}
        obsolete = [path for path in stored if path not in wanted]
        for path, report in wanted.items():
            digest = sha256(json.dumps(report).encode()).digest()
            if path in stored and self._known.get(path) == (digest, stored[path]):
                continue
            if answer := self._try(faults, refused, path, partial(self._api.apply, obj=report, manager=_MANAGER)):
                written += 1
                self._known[path] = digest, text(answer, "metadata", "resourceVersion")
        deleted = sum(bool(self._try(faults, refused, path, self._api.delete)) for path in obsolete)
        if faults:
            raise ClusterError("; ".join(faults))
        more = f", {len(refused)} refused, such as: {refused[0]}" if refused else ""
        return f"{counted(len(wanted), 'report')}, {written} written, {deleted} deleted{more}"

    def _try(self, faults: list[str], refused: list[str], path: str, act: Callable[[ObjectRef], Any]) -> Any:
        """Write or delete a report; note why it fails, or is refused, as in a namespace that is being deleted."""
        if not self._may_write():
            raise Conflict("the lead was lost before all reports were written")
        try:
            return act(ObjectRef(f"report {path.removeprefix(_ROOT)}", path, "its namespace is gone"))
        except NotFound:
            return None
        except Forbidden as error:
            refused.append(str(error))
            return None
        except ClusterError as error:
            faults.append(str(error))
            if len(faults) > _FAULTS_MAX:
                raise ClusterError("; ".join(faults)) from error
            return None

    def _stored(self, resource: str) -> Iterator[tuple[str, str]]:
        """Yield the paths and versions of own reports; those of others may be many and long, and change nothing."""
        count = 0
        read = partial(self._api.read, most=MAX_RESPONSE, accept=_METADATA)
        for chunk in chunks(read, f"{_ROOT}/{resource}?labelSelector={_OWN}&"):
            for each in map(decoded, chunk.items or ()):
                about = mapping(each, "metadata")
                if any(text(one, "manager") == _MANAGER for one in items(about, "managedFields")):
                    yield _path_of(resource, text(about, "namespace"), name_of(each)), text(about, "resourceVersion")
            count += len(chunk.items or ())
            if count > MAX_OBJECTS:
                raise ClusterError(f"more than {MAX_OBJECTS:,} {resource}")


def _path_of(resource: str, namespace: str, name: str) -> str:
    within = f"namespaces/{quote(namespace, safe='')}/" if namespace else ""
    return f"{_ROOT}/{within}{resource}/{quote(name, safe='')}"
