"""Names of the cluster's pods in the place of manifests: ``draguard why train-0 --cluster cluster.yaml``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from webhook.api.versions import NEWEST
from webhook.documents.selection import SUFFIXES
from webhook.formats import dns_subdomain
from webhook.inventory import Inventory
from webhook.objects import DEFAULT_NAMESPACE, JSONObject
from webhook.references.rules import listed
from webhook.spelling import nearest
from webhook.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_KINDS: Final = frozenset({"pod", "pods", "po"})


def take_names(arguments: Namespace, inventory: Inventory) -> list[JSONObject]:
    """Take paths that are not files for names of pods; return the pods, and leave the other paths.

    Raises:
        UsageError: The name matches no pod or more than one, or no cluster is given.
    """
    names = [path for path in arguments.paths if _may_be_name(path)]
    if names and not arguments.cluster:
        raise UsageError(f"{names[0]}: no such file; a pod is named together with its cluster: --cluster")
    arguments.paths = [path for path in arguments.paths if path not in names]
    return [_pod_of(each, inventory, arguments.namespace) for each in names]


def _may_be_name(path: str) -> bool:
    namespace, _, name = _without_kind(path).rpartition("/")
    is_file = os.path.lexists(path) or path.endswith(SUFFIXES)
    return not (is_file or "/" in namespace or dns_subdomain(name, NEWEST))


def _without_kind(path: str) -> str:
    """Leave out the kind of ``pod/NAME``, as kubectl spells it."""
    kind, slash, name = path.partition("/")
    return name if slash and kind in _KINDS else path


def _pod_of(given: str, inventory: Inventory, only: str | None) -> JSONObject:
    """Find the pod of a name; it may be in any namespace, if none is stated and only one has it."""
    known = [f"{namespace}/{name}" for namespace, name in inventory.names("Pod")]
    namespace, _, name = _without_kind(given).rpartition("/")
    namespace = namespace or only or ""
    same = [each for each in known if each.endswith(f"/{name}")]
    found = [each for each in same if each == f"{namespace or DEFAULT_NAMESPACE}/{name}"]
    if not (found or namespace):
        found = same
    if len(found) != 1:
        of = f"namespace {namespace}" if namespace else "the cluster"
        what = f"several pods of {of} have this name" if found else f"no file and no pod of {of} has this name"
        raise UsageError(f"{given}: {what}: {_hint(same or _alike(namespace, name, known), known)}")
    namespace, _, name = found[0].partition("/")
    return inventory.find("Pod", name, namespace) or {}


def _alike(namespace: str, name: str, known: Sequence[str]) -> list[str]:
    """Return the pods that a name probably means: those that a workload of this name has made, or a similar one."""
    made = [each for each in known if each.rpartition("/")[2].startswith(f"{name}-")]
    by_name = {each.partition("/")[2]: each for each in known}
    near = nearest(f"{namespace}/{name}", known) if namespace else by_name.get(nearest(name, by_name), "")
    return made or ([near] if near else [])


def _hint(meant: Sequence[str], known: Sequence[str]) -> str:
    if meant:
        return f"did you mean {listed(meant)}?"
    return f"the cluster has {listed(known)}" if known else "the cluster has no pods"
