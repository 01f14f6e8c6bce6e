"""Which DaemonSets run the kubelet plugins of drivers: no field ties the two."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.engine.prescheduled import REQUIRED
from webhook.inventory import has_ended, statuses_of
from webhook.inventory.claims import containers_of
from webhook.objects import JSONObject, condition_of, items, mapping, name_of, namespace_of, text, texts

_REGISTRY: Final = "plugins_registry"
"""The directory on each node in which kubelet looks for the sockets of plugins."""
_PLUGINS: Final = "/var/lib/kubelet/plugins"
"""The directory of plugins' own sockets, usually in one with the driver's name."""
_OF_STORAGE: Final = "node-driver-registrar"
"""The image that registers storage drivers (CSI), whose plugins use the same directories."""
_SORTS: Final = frozenset(["gpu", "cpu", "memory", "nic", "vf", "tpu", "npu"])
"""Words that name a sort of devices."""
_COMMON: Final = _SORTS.union(
    ("ai", "com", "dev", "device", "devices", "dra", "driver", "drivers", "gpus", "io", "k8s", "kubelet", "kubernetes"),
    ("net", "node", "org", "plugin", "resource", "resources", "sigs", "www", "x"),
)
"""Words in the names of drivers that do not tell one from another."""
_WORDS: Final = re.compile(r"[a-z0-9]+")
_DISTINCT: Final = 100
_SURE: Final = 1_000_000


class Plugin(NamedTuple):
    """A DaemonSet that runs drivers.

    Args:
        drivers: The names of the drivers, as far as that is known.
    """

    workload: JSONObject
    drivers: Sequence[str]
    pods: Mapping[str, JSONObject]


def plugins(
    daemon_sets: Iterable[tuple[JSONObject, Iterable[JSONObject]]],
    served: Mapping[str, Collection[str]],
    drivers: Collection[str],
) -> list[Plugin]:
    """Find the DaemonSets that run plugins, and the drivers of each.

    One that names a driver runs it. Else it is one whose pods are on the nodes for which the driver publishes slices,
    or whose names have the distinctive words of the driver's; or its common words, such as ``cpu``, if no other driver
    has more in common with it.

    Args:
        daemon_sets: All DaemonSets, each with its pods.
        served: The nodes for which drivers publish slices.
    """
    found = []
    for each, pods in daemon_sets:
        if _is_one(each):
            by_node: dict[str, JSONObject] = {}
            for pod in pods:  # one that was evicted stays beside its successor
                if (node := home_of(pod)) not in by_node or has_ended(by_node[node]):
                    by_node[node] = pod
            found.append(Plugin(each, [], by_node))
    words = [_written(each.workload) for each in found]
    likes = [{driver: _likeness(written, driver) for driver in drivers} for written in words]
    named = [[driver for driver in sorted(drivers) if of[driver] >= _SURE] for of in likes]
    free = [place for place, each in enumerate(found) if not named[place] and not _own(each.workload)]
    left = sorted(set(drivers).difference(*named))
    for driver in left:
        nodes, others = served.get(driver, ()), [known for each in left if (known := served.get(each, ()))]
        scores = {
            place: likes[place][driver]
            for place in free
            if nodes and 2 * len(found[place].pods.keys() & nodes) >= len(nodes)
        } or {
            place: likes[place][driver]
            for place in free
            if likes[place][driver] and (nodes or not any(found[place].pods.keys() & each for each in others))
            if likes[place][driver] >= _DISTINCT or all(like < _DISTINCT for like in likes[place].values())
        }
        best = [place for place, score in scores.items() if score == max(scores.values())]
        for place in best if len(best) == 1 or max(scores.values(), default=0) >= _DISTINCT else ():
            named[place].append(driver)
    return [each._replace(drivers=named[place]) for place, each in enumerate(found)]


def is_ready(node: JSONObject) -> bool:
    """Tell whether kubelet reports that a node is ready; also if it reports nothing."""
    return text(condition_of(node, "Ready"), "status") in {"", "True"}


def home_of(pod: JSONObject) -> str:
    """Return the node of a DaemonSet's pod, also of one that waits to be bound to it."""
    if node := text(pod, "spec", "nodeName"):
        return node
    terms = items(pod, "spec", *REQUIRED, "nodeSelectorTerms")
    return next((name for term in terms for each in items(term, "matchFields") for name in texts(each, "values")), "")


def trouble_of(pod: JSONObject) -> str:
    """Tell why a pod does not run; empty if it does."""
    for each in statuses_of(pod):
        reason = text(each, "state", "waiting", "reason")
        if reason and reason not in {"ContainerCreating", "PodInitializing"}:
            return f"{text(each, 'name')} is not running ({reason})"
    phase = text(pod, "status", "phase")
    if phase != "Running":
        return f"it is not running: {phase}" + (f" ({reason})" if (reason := text(pod, "status", "reason")) else "")
    return "it is not ready" if text(condition_of(pod, "Ready"), "status") == "False" else ""


def _is_one(workload: JSONObject) -> bool:
    """Tell whether a DaemonSet mounts the directories of plugins, other than for storage."""
    spec = mapping(workload, "spec", "template", "spec")
    paths = [text(each, "hostPath", "path") for each in items(spec, "volumes")]
    images = [text(each, "image") for each in items(spec, "containers")]
    is_plugin = any(_REGISTRY in each or each.startswith(_PLUGINS) for each in paths)
    return is_plugin and not any(_OF_STORAGE in each for each in images)


def _own(workload: JSONObject) -> set[str]:
    """Return the names of the directories of a plugin's sockets."""
    paths = (text(each, "hostPath", "path") for each in items(workload, "spec", "template", "spec", "volumes"))
    return {path.removeprefix(f"{_PLUGINS}/").strip("/") for path in paths if path.startswith(f"{_PLUGINS}/")} - {""}


def _written(workload: JSONObject) -> str:
    """Return the words of a DaemonSet by which its driver may be known."""
    template = mapping(workload, "spec", "template")
    parts: list[Any] = [name_of(workload), namespace_of(workload), *mapping(workload, "metadata", "labels").values()]
    for _, each in containers_of(template):
        host, slash, path = text(each, "image").partition("/")
        image = path if slash and "." in host else text(each, "image")  # without the registry
        parts += [text(each, "name"), image, *texts(each, "args"), *texts(each, "command")]
        parts += [text(env, "value") for env in items(each, "env")]
    return "\n".join([*(each for each in parts if isinstance(each, str)), *_own(workload)]).lower()


def _likeness(written: str, driver: str) -> int:
    """Tell how much a DaemonSet looks like the one of a driver: 0 for not at all, below 100 by common words only."""
    if driver.lower() in written:
        return _SURE
    words = set(_WORDS.findall(driver.lower()))
    squeezed = "".join(_WORDS.findall(driver.lower()))
    distinct = sum(len(each) for each in words - _COMMON if each in written) or (len(squeezed) * (squeezed in written))
    return distinct * _DISTINCT + sum(len(each) for each in words & _SORTS if each in written)
