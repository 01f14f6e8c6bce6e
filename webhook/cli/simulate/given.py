"""The objects that are simulated: pods and workloads, and others that change the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.api.versions import find
from webhook.engine.manifests import review
from webhook.inventory import KINDS, Inventory
from webhook.inventory.objects import CLAIMS
from webhook.objects import JSONObject, full_name_of, name_of, namespace_of, text
from webhook.problem import ERROR
from webhook.simulation.workloads import is_suspended, is_workload, sample, stand_ins
from webhook.workloads import Templates


class Given:
    """Takes the manifests of the user, as ``kubectl apply`` does.

    Args:
        inventory: The cluster's objects, to which those are added that are neither pods nor workloads.
        templates: The runtimes and templates among the manifests.
        gates: The feature gates that differ from its defaults.
    """

    def __init__(
        self, inventory: Inventory, templates: Templates, release: str, gates: Mapping[str, bool] | None
    ) -> None:
        self._inventory, self.templates = inventory, templates
        self._release, self._gates = release, gates
        self._objects: dict[tuple[str, ...], JSONObject] = {}
        self._made: dict[tuple[str, ...], list[JSONObject]] = {}
        self._created: dict[tuple[str, str], None] = {}
        self.notes: list[str] = []
        """What to tell of the manifests."""

    @property
    def workloads(self) -> Sequence[JSONObject]:
        """The pods and workloads."""
        return [each for made in self._made.values() for each in made]

    @property
    def created(self) -> Iterator[JSONObject]:
        """The claims that the cluster does not have yet."""
        return filter(None, (self._inventory.find(CLAIMS[0], name, namespace) for namespace, name in self._created))

    def add(self, obj: JSONObject) -> None:
        """Take an object; one of the same kind and name is an update.

        Raises:
            MalformedError: It cannot be decoded.
        """
        who = _named(obj)
        key = (text(obj, "apiVersion").rpartition("/")[0], text(obj, "kind"), namespace_of(obj), name_of(obj))
        if name_of(obj) and (old := self._objects.get(key)) is not None:
            if refusal := self._refusal(obj, old):
                self.notes.append(
                    f"{who} is given twice, and the first is simulated: the API server refuses the second, {refusal}"
                )
                return
            which = "with the second" if obj != old else "once"
            self.notes.append(f"{who} is given twice: it is simulated {which}, as kubectl apply updates an object")
        self._made[key] = made = self._makers(obj, who)
        if made or text(obj, "kind") in KINDS:
            self._objects[key] = obj
        for each in made:
            if (pod := sample(each)) is not None:
                Inventory().take(pod)  # so that findings are located in its template

    def _refusal(self, obj: JSONObject, old: JSONObject) -> str:
        """Return why the API server refuses an update; empty if it does not."""
        if obj == old or text(obj, "apiVersion") != text(old, "apiVersion"):
            return ""
        found = review(obj, old, kubernetes=self._release, feature_gates=self._gates).problems
        return next((f"{each.field}: {each.message}" for each in found if each.level == ERROR), "")

    def _makers(self, obj: JSONObject, who: str) -> list[JSONObject]:
        """Return the pods and workloads of an object, or add it to the cluster."""
        if is_workload(obj):
            # A pod does not replace one of the cluster here: that may run already.
            made = [Inventory().take(obj) or obj]
        else:
            made, notes = stand_ins(obj, self.templates)
            self.notes += (f"{who}: {each}" for each in notes)
            names = name_of(obj), namespace_of(obj)
            is_new = text(obj, "kind") == CLAIMS[0] and self._inventory.find(CLAIMS[0], *names) is None
            self._inventory.take(self._with_status(obj))
            if is_new and not text(obj, "metadata", "uid"):
                self._created[names[::-1]] = None
        if made and is_suspended(obj):
            self.notes.append(f"{who} is suspended: its pods are simulated as if it were resumed")
        return made

    def _with_status(self, obj: JSONObject) -> JSONObject:
        """Return an object with the status that it has in the cluster, which an update does not change."""
        kind = text(obj, "kind")
        if kind not in KINDS or "status" in obj:
            return obj
        name = name_of(obj)
        old = self._inventory.find(kind, name, namespace_of(obj)) or self._inventory.find(kind, name)
        return {**obj, "status": old["status"]} if old and "status" in old else obj


def _named(obj: JSONObject) -> str:
    """Return an object's kind and name, with the namespace that is stated, or that its kind has."""
    served = find(obj.get("apiVersion"), obj.get("kind"))
    has_namespace = served.type.namespaced if served else bool(text(obj, "metadata", "namespace"))
    return f"{text(obj, 'kind')} {full_name_of(obj) if has_namespace else name_of(obj)}"
