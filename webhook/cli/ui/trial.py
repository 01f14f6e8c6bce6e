"""Trials on a cluster's objects: pods, and changes of nodes, claims and devices."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Container, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import count, islice
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.conversion import ConversionError, convert, to_v1
from webhook.api.templates import pod_template
from webhook.api.versions import served
from webhook.budget import check_deadline
from webhook.check.cluster import not_found, read_cluster
from webhook.check.simulated import what_if
from webhook.check.target import kubernetes, settings_of
from webhook.cli.console import tell
from webhook.cli.match import refused
from webhook.devices import Table
from webhook.deviceselectors.fleet import ERROR as FAILS
from webhook.deviceselectors.fleet import TRUE, Fleet, Query
from webhook.documents import Piece, Unreadable, parse
from webhook.documents.dump import dump
from webhook.edit.rewrite import with_objects
from webhook.engine.manifests import review
from webhook.hints.names import listed
from webhook.inventory import CLAIMS, KINDS, Inventory, MalformedError, controller_of
from webhook.inventory.claims import POD, pods_using, reserved_for
from webhook.inventory.resources import container_requests
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, at, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.patch import difference
from webhook.policy.change import defaults
from webhook.problem import ERROR, WARNING, Problem
from webhook.report.matched import advice
from webhook.report.model import Report
from webhook.report.text import as_text, counted
from webhook.scan.stored import Stored
from webhook.simulation import Settings
from webhook.simulation.cluster import Demand, amount_text
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

    from webhook.simulation.answers import Overlay
    from webhook.simulation.changes import Made

_COPIES_MAX: Final = 100
"""The most nodes that are added."""
_POOL: Final = ("spec", "pool", "name")
_NAME_MAX: Final = 253
_WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
CHOSEN: Final = (*_WORKLOADS, *CLAIMS)
"""The kinds of objects that can be asked about as pods are."""
SHOWN: Final = ("Node", "DeviceClass", "ResourceSlice", "DeviceTaintRule", "Pod", *CHOSEN)
"""The kinds of objects that can be changed."""
_METADATA: Final = ("name", "namespace", "labels", "annotations", "uid", "ownerReferences")
_STATUS: Final = {"Pod": ("phase", "resourceClaimStatuses"), "Node": ("allocatable", "capacity")}
"""The fields of an object's metadata and status that manifests keep."""
_VALUES_MAX: Final = 100
"""The most changes of a sort, and pods."""


class FormInput(NamedTuple):
    """The input of the page's form.

    Args:
        manifest: Pods, claims and workloads, as YAML or JSON.
        pods: Pods of the cluster, by name; and its workloads and claims, as ``KIND/NAMESPACE/NAME``.
        pending: Whether all pending pods are asked about.
        fit: Whether to count how many of these pods fit.
        drain: Nodes that are drained.
        add: Nodes of which there are more, each with their number, such as ``node-a*3``.
        release: Claims that are released.
        taint: Devices that are tainted, as ``driver/pool/device``.
        load: Objects of the cluster whose manifests are to be changed, as ``KIND/[NAMESPACE/]NAME``.
        make: The change to make of those that would help a pod, as ``NAMESPACE/POD: CHANGE``.
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
    load: Sequence[str] = ()
    make: str = ""

    @classmethod
    def of(cls, form: MultiDict[str, str]) -> FormInput:
        """Read the form; empty values, of fields that are not filled in, do not count.

        Raises:
            UsageError: A field has too many values.
        """

        def each(name: str) -> list[str]:
            values = dict.fromkeys(value.strip() for value in form.getlist(name) if value.strip())
            if len(values) > _VALUES_MAX:
                raise UsageError(f"{name}: more than {_VALUES_MAX} values")
            return list(values)

        manifest, selector = (form.get(name, "").replace("\r\n", "\n") for name in ("manifest", "selector"))
        more: dict[str, Any] = {name: each(name) for name in (*CHANGES, "load")} | {"make": form.get("make", "")}
        return cls(manifest, selector, each("pods"), "pending" in form, "fit" in form, **more)

    @property
    def changes(self) -> Sequence[str]:
        """The values of all changes."""
        return [*self.drain, *self.add, *self.release, *self.taint]


CHANGES: Final = ("drain", "add", "release", "taint")
"""The fields of the form that change the cluster."""


class ClusterChange(NamedTuple):
    """A change to the cluster.

    Args:
        field: Its field in the form; empty if a manifest makes it.
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
        wrong: Why changes are left out, by field and value.
    """

    inventory: Inventory
    changes: list[ClusterChange]
    evicted: list[str]
    copied: dict[str, str]
    wrong: dict[tuple[str, str], str]


class Snapshot:
    """The objects of a cluster, as they were read last.

    Args:
        arguments: The command's arguments.

    Raises:
        UsageError: They cannot be read.
    """

    def __init__(self, arguments: Namespace) -> None:
        self.arguments = arguments
        self.number = 0
        """How many times they were read."""
        self.read()
        for note in self.notes:
            tell(note)

    def read(self) -> None:
        """Read the objects, from the files or the cluster."""
        arguments, report, notes = self.arguments, Report(), list[str]()
        stated, kinds = kubernetes(arguments), [*KINDS, *_WORKLOADS]
        inventory = read_cluster(arguments.cluster, report, kinds, quiet=arguments.quiet, tell=notes.append)
        notes += (f"note: not read: {why}" for why in inventory.unread.values())
        if unreadable := [each for each in report.findings if not each.document]:
            raise UsageError("\n".join(as_text(unreadable)).rstrip())
        if not inventory.knows("ResourceSlice"):
            raise UsageError("\n".join([*notes, not_found("ResourceSlices", arguments.cluster)]))
        self.settings, self.inventory, self.notes = settings_of(stated, arguments, inventory), inventory, notes
        cluster = Stored(inventory=inventory, settings=self.settings)
        self._fleet = Fleet(cluster.catalog, self.settings.release, self.settings.gates)
        self.rows = list(Table(cluster).rows())
        found = (cluster.find((row.driver, row.pool), row.device) for row in self.rows)
        self._contents = [device.content if device else None for device in found]
        self.places = {(row.driver, row.pool, row.device): place for place, row in enumerate(self.rows)}
        self.number += 1

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
            if choice.outcome == FAILS:
                said += f"{advice(FAILS, said, Query((), own), self._fleet)}; an error ends scheduling on all nodes"
            place = reasons.setdefault(said, len(reasons))
            by_content |= {content.index: place for content in group.contents}
        cells = [by_content.get(content.index, 0) if content else 0 for content in self._contents]
        return {"cells": cells, "reasons": list(reasons)}

    def names(self) -> Iterator[str]:
        """Yield what selectors can read of the devices: attributes and capacities."""
        for holder in ("attributes", "capacity"):
            for domain, name in sorted(self._fleet.published((), holder)):
                yield f'device.{holder}["{domain}"].{name}'

    # -- objects

    def choices(self, kinds: Iterable[str]) -> Iterator[str]:
        """Yield the names of objects, as ``KIND/[NAMESPACE/]NAME``."""
        for kind in kinds:
            yield from ("/".join(filter(None, (kind, *names))) for names in self.inventory.names(kind))

    def chosen(self, stated: str) -> JSONObject:
        """Return the object of ``KIND/[NAMESPACE/]NAME`` as a manifest.

        Raises:
            UsageError: There is none.
        """
        kind, _, rest = stated.partition("/")
        if kind not in SHOWN:
            raise UsageError(f"{stated}: name it as KIND/NAME or KIND/NAMESPACE/NAME; kinds are {', '.join(SHOWN)}")
        namespace, _, name = rest.rpartition("/")
        is_in_one = any(space for space, _ in self.inventory.names(kind))
        return self.shown(_known(self.inventory, kind, name, (namespace or DEFAULT_NAMESPACE) if is_in_one else ""))

    def shown(self, obj: JSONObject) -> JSONObject:
        """Return an object as a manifest in a version that the release serves, without what people do not state."""
        kind, metadata, status = text(obj, "kind"), mapping(obj, "metadata"), mapping(obj, "status")
        kept = {name: metadata[name] for name in _METADATA if metadata.get(name)}
        found = {name: status[name] for name in _STATUS.get(kind, ()) if status.get(name)}
        rest = {name: value for name, value in obj.items() if name != "status"}
        made = {**rest, "metadata": kept, **({"status": found} if found else {})}
        versions = served(kind, self.settings.release)
        return made if not versions or made["apiVersion"] in versions else convert(made, versions[0])

    def edits(self, documents: Iterable[Piece]) -> Iterator[ClusterChange]:
        """Yield how manifests change objects of the cluster: those of :meth:`chosen`, which have the same uid."""
        for data in objects_of(documents):
            kind, name = text(data, "kind"), name_of(data)
            find = self.inventory.find
            old = find(kind, name, namespace_of(data)) or find(kind, name) if kind in SHOWN else None
            if old is None or text(data, "metadata", "uid") != text(old, "metadata", "uid"):
                continue
            try:
                taken = Inventory().take(data)  # as the cluster's objects are held
                after = self.shown(taken) if taken else None
            except (MalformedError, ConversionError):
                after = None
            if after is None or any(each.level == ERROR for each in self._problems(after)):
                continue  # the simulation tells
            before = self.shown(old)
            if operations := difference(before, after):
                said = f"{kind} {full_name_of(old) if mapping(old, 'metadata').get('namespace') else name}"
                yield self._edit(before, after, operations, said)

    def _edit(
        self, before: JSONObject, after: JSONObject, operations: Sequence[JSONObject], name: str
    ) -> ClusterChange:
        """Return a change of an object, with the commands that make it."""
        if text(before, "kind") in ("Pod", "Job") or any(each.level == ERROR for each in self._problems(after, before)):
            return ClusterChange("", "", f"{name} is created anew", self._anew(before, after))
        namespace = text(before, "metadata", "namespace")
        where = f"{text(before, 'kind').lower()} {quote(name_of(before))}{f' -n {quote(namespace)}' * bool(namespace)}"
        commands = []
        for option, is_status in (("", False), (" --subresource status", True)):
            if some := [each for each in operations if each["path"].startswith("/status") == is_status]:
                patch = quote(json.dumps(some))
                commands.append(self.inventory.kubectl(f"patch {where}{option} --type json -p {patch}"))
        return ClusterChange("", "", f"{name} is changed", "\n".join(commands))

    def _problems(self, obj: JSONObject, old: JSONObject | None = None) -> Sequence[Problem]:
        """Return what the API server says of an object, or of its change."""
        stated = dict(self.settings.stated) or None
        return review(obj, old, kubernetes=str(self.settings), feature_gates=stated).problems

    def _anew(self, before: JSONObject, after: JSONObject) -> str:
        """Return the commands that delete an object and create it anew; empty if its controller does that."""
        kind, metadata = text(before, "kind"), mapping(before, "metadata")
        if kind not in ("Pod", *CLAIMS) or items(metadata, "ownerReferences"):
            return ""
        name, namespace = name_of(before), namespace_of(before)
        kept = {key: value for key, value in mapping(after, "metadata").items() if key != "uid"}
        created = {key: value for key, value in {**after, "metadata": kept}.items() if key != "status"}
        commands = (
            self._deletion(name, namespace) if kind == CLAIMS[0] else "",
            self.inventory.kubectl(f"delete {kind.lower()} {quote(name)} -n {quote(namespace)}"),
            f"printf %s {quote(json.dumps(created))} | {self.inventory.kubectl('create -f -')}",
        )
        return "\n".join(filter(None, commands))

    # -- changes

    def changed(self, asked: FormInput) -> Changed:
        """Change the objects as the form asks for; a change that names what is not there is left out."""
        changed = Changed(self.inventory.copy(), [], [], {}, {})
        for field in CHANGES:
            for value in getattr(asked, field):
                check_deadline()
                try:
                    changed.changes.append(ClusterChange(field, value, *self._change(changed, field, value)))
                except UsageError as error:
                    changed.wrong[field, value] = str(error)
        return changed

    def _change(self, changed: Changed, field: str, value: str) -> tuple[str, str]:
        """Change the objects as a field asks for; return the change in words, and how to make it.

        Raises:
            UsageError: It names what is not there.
        """
        inventory, before = changed.inventory, [each.value for each in changed.changes if each.field == field]
        if field == "drain":
            moved, deleted = _drain(inventory, value)
            changed.evicted.extend(moved)
            said = f"node {value} is drained"
            if deleted:
                said += f" with --force, which deletes pods without a controller for good: {listed(deleted)}"
            command = inventory.kubectl(f"drain {quote(value)} --ignore-daemonsets --delete-emptydir-data")
            return said, command + " --force" * bool(deleted)
        if field == "add":
            name, copies = value.partition("*")[0], _copies(value)
            if not 0 < copies <= copies + sum(map(_copies, before)) <= _COPIES_MAX:
                raise UsageError(f"{value}: add 1 to {_COPIES_MAX} nodes in all, such as {name}*3")
            changed.copied.update(self._add(inventory, name, copies))
            return f"{counted(copies, 'more node')} like {name} {'is' if copies == 1 else 'are'} added", ""
        if field == "release":
            namespace, _, claim = value.rpartition("/")
            _known(inventory, "ResourceClaim", claim, namespace or DEFAULT_NAMESPACE)
            what_if(Namespace(without=(), release=[value]), inventory, DEFAULT_NAMESPACE)
            return f"claim {value} is released", self._deletion(claim, namespace)
        rule = _rule(value, len(before) + 1, self.places, self.settings)
        inventory.take(rule)
        warned = "".join(f"# {each.message}\n" for each in self._problems(rule) if each.level == WARNING)
        return f"device {value} is tainted", warned + dump([rule])

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
            check_deadline()
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
        claim = self.inventory.find("ResourceClaim", name, namespace or DEFAULT_NAMESPACE)
        pods = [quote(each) for each in pods_using(claim)]
        deletion = f"delete pod -n {quote(namespace_of(claim or {}))} {' '.join(pods)}"
        return self.inventory.kubectl(deletion) if pods else ""


def objects_of(documents: Iterable[Piece]) -> Iterator[JSONObject]:
    """Yield what of documents may be an object."""
    for each in documents:
        if not isinstance(each, Unreadable) and isinstance(each.data, dict):
            yield each.data


def users_of(objects: Iterable[JSONObject]) -> Iterator[JSONObject]:
    """Yield pods that use claims and templates, one for each."""
    for each in objects:
        if text(each, "kind") in CLAIMS:
            field = {CLAIMS[0]: "resourceClaimName"}.get(text(each, "kind"), "resourceClaimTemplateName")
            container = {"name": "main", "image": "any", "resources": {"claims": [{"name": "claim"}]}}
            spec = {"containers": [container], "resourceClaims": [{"name": "claim", field: name_of(each)}]}
            metadata = {"name": f"user-of-{name_of(each)}"[:_NAME_MAX], "namespace": namespace_of(each)}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def with_change(
    manifest: str, overlay: Overlay, made: Made, inventory: Inventory, snapshot: Snapshot
) -> tuple[str, str]:
    """Write a change that would help a pod into a manifest; return it without and with the change.

    Objects of the cluster that change are added to it.

    Args:
        overlay: The overlay of the pod.
        inventory: The objects, those of the manifest included.

    Raises:
        UsageError: It is about what neither the manifest nor the cluster has.
    """
    read = parse(manifest, "the manifest") if manifest.strip() else ()
    documents = [each for each in read if not isinstance(each, Unreadable)]
    objects = [each.data for each in documents]
    added, originals = list[JSONObject](), list[JSONObject]()
    find = snapshot.inventory.find
    for old, new in _edits(overlay.pod, made, inventory):
        wanted = [
            (text(each, "kind"), name_of(each) or text(each, "name")) for each in (old, controller_of(old) or old)
        ]
        owns = (
            isinstance(each, dict)
            and (text(each, "kind"), name_of(each)) in wanted
            and namespace_of(each) == namespace_of(old)
            for each in objects
        )
        place = next((at for at, is_one in enumerate(owns) if is_one), None)
        if place is not None:
            objects[place] = _rewritten(objects[place], old, new)
        elif stored := next(filter(None, (find(*each, namespace_of(old)) or find(*each) for each in wanted)), None):
            originals.append(snapshot.shown(stored))
            added.append(_rewritten(originals[-1], old, new))
        else:
            raise UsageError(f"{' '.join(wanted[0])} is not in the manifest as it is: make this change by hand")
    written = (manifest, originals), (with_objects(documents, objects), added)
    before, after = (
        "---\n".join(filter(None, (text_.strip() and f"{text_.rstrip()}\n", dump(each)))) for text_, each in written
    )
    return before, after


def _edits(pod: JSONObject, made: Made, inventory: Inventory) -> Iterator[tuple[JSONObject, JSONObject]]:
    """Yield the objects that differ with a change, before and after."""
    for each in made.objects:
        yield inventory.find(text(each, "kind"), name_of(each)) or each, each
    needs = made.needs
    for entry, claim in zip(items(needs.pod, "spec", "resourceClaims"), needs.claims, strict=False):
        name, template = text(entry, "resourceClaimName"), text(entry, "resourceClaimTemplateName")
        old = inventory.find(CLAIMS[not name], name or template, namespace_of(pod))
        spec = claim["spec"] if name or old is None else {**old["spec"], "spec": claim["spec"]}
        if old is not None and spec != old["spec"]:
            yield old, {**old, "spec": spec}
    if (spec := _spec_of(made)) != pod["spec"]:
        yield pod, {**pod, "spec": spec}


def _spec_of(made: Made) -> JSONObject:
    """Return the specification of a pod with the demands that a change leaves it."""
    needs, own = made.needs, Demand.of(made.needs.pod)
    spec: dict[str, Any] = deepcopy(needs.pod["spec"])
    for field in ("nodeSelector", "affinity"):
        spec.pop(field, None)
        spec |= {field: needs.demand.spec[field]} if needs.demand.spec.get(field) else {}
    if (tolerations := needs.demand.tolerations.stated) != own.tolerations.stated:
        spec["tolerations"] = [*tolerations]
    for name in [each for each, amount in own.requests.items() if needs.demand.requests.get(each) != amount]:
        holding = [
            amounts
            for each in items(spec, "containers")
            for amounts in (mapping(each, "resources", "requests"), mapping(each, "resources", "limits"))
            if name in amounts
        ]
        if sum(name in container_requests(each) for each in items(spec, "containers")) != 1:
            raise UsageError(f"several containers request {name}: make this change by hand")
        for amounts in holding:
            del amounts[name]
            if left := needs.demand.requests.get(name):
                amounts[name] = amount_text(name, left)
    return spec


def _rewritten(obj: JSONObject, old: JSONObject, new: JSONObject) -> JSONObject:
    """Change an object as it is written, where its stored form differs; defaults that are not written stay so."""
    obj = deepcopy(obj)
    if text(old, "kind") == "Pod" != text(obj, "kind"):
        template: Any = at(obj, *(pod_template(obj) or ()))
        template["spec"] = defaults.stated(new["spec"], old["spec"], template["spec"], new["spec"])
        return obj
    newest = to_v1(obj)
    changed = {**newest, "spec": defaults.stated(new["spec"], old["spec"], newest["spec"], new["spec"])}
    return changed if newest["apiVersion"] == obj["apiVersion"] else convert(changed, obj["apiVersion"])


def _copies(stated: str) -> int:
    """Return the number of nodes to add; 0 if it is invalid or out of range."""
    _, star, number = stated.partition("*")
    return int(number) if number.isdecimal() and len(number) <= len(str(_COPIES_MAX)) else int(not star)


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
    gone = [pod for pod in inventory.running() if text(pod, "spec", "nodeName") == name]
    users = {(namespace_of(pod), name_of(pod)) for pod in gone}
    for claim in inventory.all("ResourceClaim"):
        reserved, namespace = reserved_for(claim), namespace_of(claim)
        others = (each for each in reserved if each.resource != POD or (namespace, each.name) not in users)
        left = [each.reference() for each in others]
        if len(left) < len(reserved):
            inventory.put({**claim, "status": {**mapping(claim, "status"), "reservedFor": left} if left else {}})
    for pod in gone:
        inventory.discard("Pod", name_of(pod), namespace_of(pod))
        owner = controller_of(pod)
        if not owner:
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
