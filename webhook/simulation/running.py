"""The pods that already have a node, by name and by the workload that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.objects import JSONObject, at, items, name_of, namespace_of, text

_Key = tuple[str, str, str]


class Running:
    """Finds the pods of workloads among those that already have a node.

    Args:
        pods: The pods that have a node and have not ended.
    """

    def __init__(self, pods: Iterable[JSONObject] = ()) -> None:
        self._by_name: dict[tuple[str, str], JSONObject] = {}
        self._by_owner: dict[_Key, list[JSONObject]] = {}
        for pod in pods:
            self._by_name[namespace_of(pod), name_of(pod)] = pod
            if not at(pod, "metadata", "deletionTimestamp"):  # its controller makes another pod in its place
                for owner in owners_of(pod):
                    self._by_owner.setdefault(owner, []).append(pod)

    def named(self, pod: JSONObject) -> JSONObject | None:
        """Return the running pod of the same name; None if there is none."""
        return self._by_name.get((namespace_of(pod), name_of(pod)))

    def of(self, workload: JSONObject) -> list[JSONObject]:
        """Return the running pods of a workload."""
        return self._by_owner.get((namespace_of(workload), text(workload, "kind"), name_of(workload)), [])


def owners_of(pod: JSONObject) -> Iterator[_Key]:
    """Return the controller of a pod, and the controller of that one, which its name tells."""
    namespace = namespace_of(pod)
    for each in items(pod, "metadata", "ownerReferences"):
        if at(each, "controller") is not True:
            continue
        kind, name = text(each, "kind"), text(each, "name")
        yield namespace, kind, name
        above, _, suffix = name.rpartition("-")
        if kind == "ReplicaSet" and suffix == text(pod, "metadata", "labels", "pod-template-hash"):
            yield namespace, "Deployment", above
        elif kind == "Job" and suffix.isdecimal():
            yield namespace, "CronJob", above
