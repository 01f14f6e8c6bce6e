"""What is tried on a cluster's objects: pods, and changes of nodes, claims and devices."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from copy import deepcopy
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from webhook.allocation.devices import Catalog
from webhook.api.versions import served
from webhook.check.cluster import not_found, read_cluster
from webhook.cli import simulate
from webhook.cli.console.reading import tell
from webhook.cli.match import refused
from webhook.devices import Row, Table
from webhook.deviceselectors.fleet import TRUE, Fleet
from webhook.documents.dump import dump
from webhook.inventory import Inventory, has_ended
from webhook.inventory.claims import is_pod
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.records import NamedTuple
from webhook.references.rules import listed
from webhook.report.model import Report
from webhook.scan.stored import Cluster
from webhook.simulation import Settings, release_in
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

_COPIES_MAX: Final = 100
_VALUES_MAX: Final = 100
"""The most changes of a sort, and pods."""


class Trial(NamedTuple):
    """What the form of the page asks for.

    Args:
        manifest: Pods, claims and workloads, as YAML or JSON.
        pods: Pods of the cluster, by name.
        pending: Whether all pending pods are asked about.
        fit: Whether to count how many of these pods fit.
        drain: Nodes that are drained.
        add: Nodes of which there are more, each with their number, such as ``node-a*3``.
        release: Claims that are released.
        taint: Devices that are tainted, as ``driver/pool/device``.
    """

    manifest: str = ""
    selector: str = ""
    pods: Sequence[str] = ()
    pending: bool = False
    fit: bool = False
    drain: Sequence[str] = ()
    add: Sequence[str] = ()
    release: Sequence[str] = ()
    taint: Sequence[str] = ()

    @classmethod
    def of(cls, form: MultiDict[str, str]) -> Trial:
        """Read the form; empty values, of fields that are not filled in, do not count.

        Raises:
            UsageError: A field has too many values.
        """

        def each(name: str) -> list[str]:
            values = dict.fromkeys(value.strip() for value in form.getlist(name) if value.strip())
            if len(values) > _VALUES_MAX:
                raise UsageError(f"{name}: more than {_VALUES_MAX} values")
            return list(values)

        texts = form.get("manifest", ""), form.get("selector", "")
        return cls(*texts, each("pods"), "pending" in form, "fit" in form, *map(each, CHANGES))

    @property
    def changes(self) -> Sequence[str]:
        """The values of all changes."""
        return [*self.drain, *self.add, *self.release, *self.taint]


CHANGES: Final = ("drain", "add", "release", "taint")
"""The fields of the form that change the cluster."""


class Change(NamedTuple):
    """A change to the cluster.

    Args:
        field: Its field in the form.
        value: The value of that field.
        said: The change, in words.
        command: How to make it: a command, or a manifest; empty if there is none.
    """

    field: str
    value: str
    said: str
    command: str


class Snapshot:
    """The objects of a cluster, as they were read last.

    Args:
        arguments: The command's arguments.

    Raises:
        UsageError: They cannot be read.
    """

    def __init__(self, arguments: Namespace) -> None:
        self._stated = arguments
        self.read()

    def read(self) -> None:
        """Read the objects, from the files or the cluster."""
        report = Report()
        self.inventory = read_cluster(self._stated.cluster, report, quiet=self._stated.quiet, tell=tell)
        if not self.inventory.all("ResourceSlice"):
            raise UsageError(not_found("ResourceSlices", self._stated.cluster))
        release = self._stated.kubernetes_version or release_in(self.inventory.all("Node"))
        self.arguments = Namespace(**{**vars(self._stated), "kubernetes_version": release})
        self.settings = simulate.settings_of(self.arguments, self.inventory)
        catalog = Catalog(self.inventory.all("ResourceSlice"))
        self._fleet = Fleet(catalog, self.settings.release, self.settings.gates)
        cluster = Cluster(inventory=self.inventory, settings=self.settings)
        self.rows = list(Table(cluster).rows())
        found = (cluster.find((row.driver, row.pool), row.device) for row in self.rows)
        self._contents = [device.content if device else None for device in found]

    # -- selectors

    def match(self, selector: str) -> dict[str, Any]:
        """Tell which devices a selector matches, and why not the others, by the places of devices in the list."""
        if not selector.strip():
            return {"cells": []}
        for finding in refused(selector, self._fleet):
            error = {"error": finding.brief or finding.problem.message, "hint": finding.problem.hint}
            return {**error, "line": finding.line, "column": finding.column}
        own = [{"cel": {"expression": selector}}]
        reasons: dict[str, int] = {"": 0}
        by_content: dict[int, int] = {}
        for group in self._fleet.sorted_out((), own).groups:
            choice = self._fleet.choose((), own, group.content)
            said = "" if choice.outcome == TRUE else choice.reason or f"the selector is {choice.outcome}"
            place = reasons.setdefault(said, len(reasons))
            by_content |= {content.index: place for content in group.contents}
        cells = [by_content.get(content.index, 0) if content else 0 for content in self._contents]
        return {"cells": cells, "reasons": list(reasons)}

    def names(self) -> Iterator[str]:
        """Yield what selectors can read of the devices: attributes and capacities."""
        for holder in ("attributes", "capacity"):
            for domain, name in sorted(self._fleet.published((), holder)):
                yield f'device.{holder}["{domain}"].{name}'

    # -- changes

    def changed(self, trial: Trial) -> tuple[Inventory, list[Change], list[str]]:
        """Return the objects as a trial changes them, the changes, and the pods that lose their node.

        Raises:
            UsageError: A change names what is not there.
        """
        inventory, changes, evicted = self.inventory.copy(), list[Change](), list[str]()
        for name in trial.drain:
            evicted += _drain(inventory, name)
            command = f"kubectl drain {quote(name)} --ignore-daemonsets --delete-emptydir-data"
            changes.append(Change("drain", name, f"node {name} is drained", command))
        for stated in trial.add:
            name, _, number = stated.partition("*")
            copies = min(int(number) if number.isdecimal() else 1, _COPIES_MAX)
            _add(inventory, name, copies)
            changes.append(Change("add", stated, f"{copies} more nodes like {name}", ""))
        for name in trial.release:
            simulate.what_if(Namespace(without=(), release=[name]), inventory, "default")
            namespace, _, claim = name.rpartition("/")
            changes.append(Change("release", name, f"claim {name} is released", self._deletion(claim, namespace)))
        for place, name in enumerate(trial.taint, 1):
            rule = _rule(name, place, self.rows, self.settings)
            inventory.add(rule)
            changes.append(Change("taint", name, f"device {name} is tainted", dump([rule])))
        return inventory, changes, evicted

    def _deletion(self, name: str, namespace: str) -> str:
        """Return the command that deletes the pods of a claim, and so releases it."""
        claim = self.inventory.find("ResourceClaim", name, namespace or "default")
        pods = [quote(text(each, "name")) for each in items(claim, "status", "reservedFor") if is_pod(each)]
        return f"kubectl delete pod -n {quote(namespace_of(claim or {}))} {' '.join(pods)}" if pods else ""


def _drain(inventory: Inventory, name: str) -> Iterator[str]:
    """Take a node away, with its devices; its pods lose it and their claims, but for those of DaemonSets."""
    _node(inventory, name)
    inventory.discard("Node", name)
    for each in inventory.all("ResourceSlice"):
        if text(each, "spec", "nodeName") == name:
            inventory.discard("ResourceSlice", name_of(each))
    gone = [pod for pod in inventory.all("Pod") if text(pod, "spec", "nodeName") == name and not has_ended(pod)]
    users = {full_name_of(pod) for pod in gone}
    for claim in inventory.all("ResourceClaim"):
        reserved = items(claim, "status", "reservedFor")
        if any(f"{namespace_of(claim)}/{text(each, 'name')}" in users for each in reserved):
            inventory.put({**claim, "status": {}})
    for pod in gone:
        inventory.discard("Pod", name_of(pod), namespace_of(pod))
        if any(text(each, "kind") in {"DaemonSet", "Node"} for each in items(pod, "metadata", "ownerReferences")):
            continue
        spec = {key: value for key, value in mapping(pod, "spec").items() if key != "nodeName"}
        kept = {key: value for key, value in mapping(pod, "status").items() if key == "resourceClaimStatuses"}
        inventory.put({**pod, "spec": spec, "status": {**kept, "phase": "Pending"}})
        yield full_name_of(pod)


def _node(inventory: Inventory, name: str) -> JSONObject:
    """Return a node.

    Raises:
        UsageError: There is none of this name.
    """
    if (node := inventory.find("Node", name)) is None:
        known = [each for _, each in inventory.names("Node")]
        raise UsageError(f"node {name} not found: {did_you_mean(name, known, f'there is {listed(known)}')}")
    return node


def _add(inventory: Inventory, name: str, copies: int) -> None:
    """Add nodes like one, with the slices that are its own."""
    node = _node(inventory, name)
    slices = [each for each in inventory.all("ResourceSlice") if text(each, "spec", "nodeName") == name]
    for number in range(1, copies + 1):
        start, dot, domain = name.partition(".")
        other = f"{start}-copy-{number}{dot}{domain}"
        made = deepcopy(node)
        made["metadata"] = {**made["metadata"], "name": other, "uid": other}
        labels = mapping(made, "metadata", "labels")
        made["metadata"]["labels"] = {**labels, "kubernetes.io/hostname": other}
        inventory.put(made)
        for each in slices:
            copied = deepcopy(each)
            copied["metadata"] = {**copied["metadata"], "name": f"{name_of(each)}-copy-{number}"}
            copied["spec"]["nodeName"] = other
            copied["spec"]["pool"]["name"] += f"-copy-{number}"
            inventory.put(copied)


def _rule(name: str, number: int, rows: Sequence[Row], settings: Settings) -> JSONObject:
    """Return a DeviceTaintRule for a device.

    Raises:
        UsageError: There is no such device, or the release has no such rules.
    """
    found = next((row for row in rows if f"{row.driver}/{row.pool}/{row.device}" == name), None)
    if found is None:
        raise UsageError(f"device {name} not found: name it as driver/pool/device")
    versions = served("DeviceTaintRule", settings.release)
    if not versions:
        raise UsageError(f"Kubernetes {settings} has no DeviceTaintRules")
    return {
        "apiVersion": versions[0],
        "kind": "DeviceTaintRule",
        "metadata": {"name": f"tried-{number}"},
        "spec": {
            "deviceSelector": {"driver": found.driver, "pool": found.pool, "device": found.device},
            "taint": {"key": "example.com/tried", "effect": "NoSchedule"},
        },
    }
