"""What is tried on a cluster's objects: pods, and changes of nodes, claims and devices."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import count, islice
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from webhook.allocation.devices import Catalog
from webhook.api.versions import served
from webhook.check.cluster import cluster_documents, context_of, not_found
from webhook.cli import simulate
from webhook.cli.console import tell
from webhook.cli.match import refused
from webhook.devices import Table
from webhook.deviceselectors.fleet import TRUE, Fleet
from webhook.documents.dump import dump
from webhook.inventory import KINDS, Inventory, MalformedError, has_ended
from webhook.inventory.claims import is_pod
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.optional import install
from webhook.records import NamedTuple
from webhook.references.rules import listed
from webhook.report.model import Report
from webhook.report.text import as_text, counted
from webhook.scan.stored import Cluster
from webhook.simulation import Settings, release_in
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

_COPIES_MAX: Final = 100
"""The most nodes that are added."""
_POOL: Final = ("spec", "pool", "name")
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


class Changed(NamedTuple):
    """The objects of a cluster after some changes.

    Args:
        evicted: The pods that look for another node.
        copied: The pools whose devices added nodes have, by the pools of these.
    """

    inventory: Inventory
    changes: Sequence[Change]
    evicted: Sequence[str]
    copied: Mapping[str, str] = {}


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
        for note in self.notes:
            tell(note)

    def read(self) -> None:
        """Read the objects, from the files or the cluster."""
        install("objects")
        report, inventory, notes = Report(), Inventory(), list[str]()
        for document in cluster_documents(
            self._stated.cluster, report, [*KINDS], quiet=self._stated.quiet, tell=notes.append
        ):
            try:
                inventory.add(document.data, has_nulls=False)
            except MalformedError as error:
                notes.append(f"note: not read: {error}")
                inventory.add_allocation(document.data)
        if report.findings:
            raise UsageError("\n".join(as_text(report.findings)).rstrip())
        slices = inventory.all("ResourceSlice")
        if not slices:
            raise UsageError("\n".join([*notes, not_found("ResourceSlices", self._stated.cluster)]))
        release = self._stated.kubernetes_version or release_in(inventory.all("Node"))
        arguments = Namespace(**{**vars(self._stated), "kubernetes_version": release})
        self.settings = simulate.settings_of(arguments, inventory)
        self.arguments, self.inventory, self.notes = arguments, inventory, notes
        inventory.context = context_of(arguments.cluster)
        catalog = Catalog(slices)
        self._fleet = Fleet(catalog, self.settings.release, self.settings.gates)
        cluster = Cluster(inventory=inventory, settings=self.settings)
        self.rows = list(Table(cluster).rows())
        found = (cluster.find((row.driver, row.pool), row.device) for row in self.rows)
        self._contents = [device.content if device else None for device in found]
        self.places = {(row.driver, row.pool, row.device): place for place, row in enumerate(self.rows)}

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

    def changed(self, trial: Trial) -> Changed:
        """Change the objects as a trial asks for.

        Raises:
            UsageError: A change names what is not there.
        """
        inventory, changes, evicted = self.inventory.copy(), list[Change](), list[str]()
        copied: dict[str, str] = {}
        added = 0
        for name in trial.drain:
            moved, deleted = _drain(inventory, name)
            evicted += moved
            said = f"node {name} is drained"
            if deleted:
                said += f" with --force, which deletes pods without a controller for good: {listed(deleted)}"
            command = inventory.kubectl(f"drain {quote(name)} --ignore-daemonsets --delete-emptydir-data")
            changes.append(Change("drain", name, said, command + " --force" * bool(deleted)))
        for stated in trial.add:
            name, star, number = stated.partition("*")
            copies = int(number) if number.isdecimal() and len(number) <= len(str(_COPIES_MAX)) else 1 - len(star)
            added += copies
            if not 0 < copies <= added <= _COPIES_MAX:
                raise UsageError(f"{stated}: add 1 to {_COPIES_MAX} nodes in all, such as {name}*3")
            copied |= self._add(inventory, name, copies)
            said = f"{counted(copies, 'more node')} like {name} {'is' if copies == 1 else 'are'} added"
            changes.append(Change("add", stated, said, ""))
        for name in trial.release:
            namespace, _, claim = name.rpartition("/")
            _known(inventory, "ResourceClaim", claim, namespace or DEFAULT_NAMESPACE)
            simulate.what_if(Namespace(without=(), release=[name]), inventory, DEFAULT_NAMESPACE)
            changes.append(Change("release", name, f"claim {name} is released", self._deletion(claim, namespace)))
        for place, name in enumerate(trial.taint, 1):
            rule = _rule(name, place, self.places, self.settings)
            inventory.add(rule)
            changes.append(Change("taint", name, f"device {name} is tainted", dump([rule])))
        return Changed(inventory, changes, evicted, copied)

    def _add(self, inventory: Inventory, name: str, copies: int) -> dict[str, str]:
        """Add nodes like one as it was, with the slices that are its own; return the pools, with their originals."""
        pools: dict[str, str] = {}
        node = _known(self.inventory, "Node", name)
        start, dot, domain = name.partition(".")
        every = inventory.all("ResourceSlice")
        taken = {*map(name_of, (*inventory.all("Node"), *every)), *(text(each, *_POOL) for each in every)}
        slices = [each for each in self.inventory.all("ResourceSlice") if text(each, "spec", "nodeName") == name]
        originals = {start, *map(name_of, slices), *(text(each, *_POOL) for each in slices)}
        ends = (f"-copy-{number}" for number in count(1))
        free = (
            end
            for end in ends
            if taken.isdisjoint({f"{start}{end}{dot}{domain}", *(f"{each}{end}" for each in originals)})
        )
        for end in islice(free, copies):
            other = f"{start}{end}{dot}{domain}"
            made = deepcopy(node)
            made["metadata"] = {**made["metadata"], "name": other, "uid": other}
            labels = mapping(made, "metadata", "labels")
            made["metadata"]["labels"] = {**labels, "kubernetes.io/hostname": other}
            inventory.put(made)
            for each in slices:
                copied = deepcopy(each)
                copied["metadata"] = {**copied["metadata"], "name": f"{name_of(each)}{end}"}
                copied["spec"]["nodeName"] = other
                pool = copied["spec"]["pool"]["name"]
                copied["spec"]["pool"]["name"] += end
                pools[copied["spec"]["pool"]["name"]] = pool
                inventory.put(copied)
        return pools

    def _deletion(self, name: str, namespace: str) -> str:
        """Return the command that deletes the pods of a claim, and so releases it."""
        claim = self.inventory.find("ResourceClaim", name, namespace or "default")
        pods = [quote(text(each, "name")) for each in items(claim, "status", "reservedFor") if is_pod(each)]
        deletion = f"delete pod -n {quote(namespace_of(claim or {}))} {' '.join(pods)}"
        return self.inventory.kubectl(deletion) if pods else ""


def _drain(inventory: Inventory, name: str) -> tuple[list[str], list[str]]:
    """Take a node away, with its devices and pods; claims that no other pod uses lose their devices.

    Returns:
        The pods that their controllers make anew, and those without a controller, which are gone.
    """
    moved, deleted = list[str](), list[str]()
    _known(inventory, "Node", name)
    inventory.discard("Node", name)
    for each in inventory.all("ResourceSlice"):
        if text(each, "spec", "nodeName") == name:
            inventory.discard("ResourceSlice", name_of(each))
    gone = [pod for pod in inventory.all("Pod") if text(pod, "spec", "nodeName") == name and not has_ended(pod)]
    users = {full_name_of(pod) for pod in gone}
    for claim in inventory.all("ResourceClaim"):
        reserved = items(claim, "status", "reservedFor")
        names = (f"{namespace_of(claim)}/{text(each, 'name')}" if is_pod(each) else "" for each in reserved)
        left = [each for each, user in zip(reserved, names, strict=True) if user not in users]
        if len(left) < len(reserved):
            inventory.put({**claim, "status": {**mapping(claim, "status"), "reservedFor": left} if left else {}})
    for pod in gone:
        inventory.discard("Pod", name_of(pod), namespace_of(pod))
        owner = next((each for each in items(pod, "metadata", "ownerReferences") if each.get("controller")), None)
        if owner is None:
            deleted.append(full_name_of(pod))
            continue
        if text(owner, "kind") in {"DaemonSet", "Node"}:
            continue
        spec = {key: value for key, value in mapping(pod, "spec").items() if key != "nodeName"}
        kept = {key: value for key, value in mapping(pod, "status").items() if key == "resourceClaimStatuses"}
        inventory.put({**pod, "spec": spec, "status": {**kept, "phase": "Pending"}})
        moved.append(full_name_of(pod))
    return moved, deleted


def _known(inventory: Inventory, kind: str, name: str, namespace: str = "") -> JSONObject:
    """Return an object.

    Raises:
        UsageError: There is none of this name.
    """
    if (found := inventory.find(kind, name, namespace)) is None:
        wanted = "/".join(filter(None, (namespace, name)))
        known = ["/".join(filter(None, each)) for each in inventory.names(kind)]
        there = f"there is {listed(known) or 'none'}"
        what = kind.lower().removeprefix("resource")
        raise UsageError(f"{what} {wanted} not found: {did_you_mean(wanted, known, there)}")
    return found


def _rule(name: str, number: int, known: Container[tuple[str, str, str]], settings: Settings) -> JSONObject:
    """Return a DeviceTaintRule for a device.

    Raises:
        UsageError: The device is unknown, or the release does not support DeviceTaintRules.
    """
    driver, _, rest = name.partition("/")
    pool, _, device = rest.rpartition("/")  # the name of a pool may have slashes
    if (driver, pool, device) not in known:
        raise UsageError(f"device {name} not found: name it as driver/pool/device")
    versions = served("DeviceTaintRule", settings.release)
    if not versions:
        raise UsageError(f"Kubernetes {settings} has no DeviceTaintRules")
    return {
        "apiVersion": versions[0],
        "kind": "DeviceTaintRule",
        "metadata": {"name": f"tried-{number}"},
        "spec": {
            "deviceSelector": {"driver": driver, "pool": pool, "device": device},
            "taint": {"key": "example.com/tried", "effect": "NoSchedule"},
        },
    }
