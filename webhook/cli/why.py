"""``draguard why``: why a pod, workload, claim or node of a cluster is as it is, and what to change."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from time import monotonic
from typing import Any, Final, NamedTuple

from webhook.api.versions import NEWEST
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.check.cluster import read_cluster
from webhook.check.target import feature_gates, kubernetes
from webhook.cli import simulate
from webhook.cli.console import show_escaped, show_refusals, show_result, tell
from webhook.devices import Table
from webhook.documents.search import SUFFIXES
from webhook.formats import dns_label, dns_subdomain
from webhook.hints.names import listed
from webhook.inventory import AROUND, ASKED, Inventory, split_kind
from webhook.inventory import KINDS as BASE
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, items, namespace_of, text
from webhook.report.model import Report
from webhook.report.picture import Help, Picture, Story
from webhook.report.text import colored
from webhook.report.text import stated as stated_as
from webhook.simulation import release_in
from webhook.spelling import nearest, some_of
from webhook.usage import UsageError, naming
from webhook.why import Scene, explain, gone, subject_of

_HELPS_MAX: Final = 5
_OTHERS_MAX: Final = 20
_MORE: Final = "and {} more (--output json has all)"
_FORMS: Final = "[NAMESPACE/]NAME of a pod or KIND/NAME"


class Asked(NamedTuple):
    """The subject of the question.

    Args:
        stated: How the user named it.
        namespace: Its namespace; empty if none was stated.
    """

    stated: str
    kind: str
    name: str
    namespace: str

    @property
    def place(self) -> str:
        """The namespace to look into first; empty for a node."""
        return "" if self.kind == "Node" else self.namespace or DEFAULT_NAMESPACE


def run(arguments: Namespace) -> int:
    """Print why it is as it is; return 1 unless all is well. Manifests, and pods without a name, are simulated."""
    asked = _asked(arguments)
    if asked is None:
        for path in arguments.paths:
            if os.path.isdir(path):
                hint = f"give {_FORMS}, or a manifest; `draguard simulate` takes directories"
                raise UsageError(f"{path}: a directory: {hint}")
            kind, slash, _ = path.partition("/")
            if slash and kind.lower() in ASKED and not os.path.lexists(path) and arguments.paths[1:]:
                raise UsageError(f"{path}: one of several: ask about one object at a time")
        return simulate.run(arguments)
    if not arguments.cluster:
        raise UsageError(f"{asked.stated}: no such file; to ask about an object in a cluster, give --cluster or --live")
    try:
        with limited(Budget(deadline=monotonic() + arguments.timeout, is_offline=True)):
            return _why(asked, arguments)
    except DeadlineExceededError:
        tell(f"not explained: {arguments.timeout:g} seconds have passed; give a longer --timeout")
        return 1


def _asked(arguments: Namespace) -> Asked | None:
    """Return what the arguments name in the cluster; None if they are manifests, or ask what would be."""
    stated = "/".join(arguments.paths)  # also "pod NAME", as kubectl has it
    is_pair = len(arguments.paths[1:]) == 1 and arguments.paths[0].lower() in ASKED
    asks_what_if = arguments.fit or arguments.pending or arguments.without or arguments.release
    is_file = os.path.lexists(stated) or stated.endswith(SUFFIXES)
    if len(arguments.paths) != 1 + is_pair or asks_what_if or is_file:
        return None
    kind, (*namespace, name) = split_kind(stated)
    if not kind and (namespace[1:] or (namespace and dns_label(namespace[0], NEWEST))):
        kind = namespace.pop()  # of another project: no namespace is called so, or it stands behind one
    if len(namespace) > 1 or dns_subdomain(name, NEWEST):
        return None
    return Asked(stated, kind or "Pod", name, namespace[0] if namespace else arguments.namespace or "")


def _why(asked: Asked, arguments: Namespace) -> int:
    stated, report = kubernetes(arguments), Report()
    kinds, only = (*BASE, *AROUND), asked.place
    inventory = read_cluster(arguments.cluster, report, kinds, namespace=only, quiet=arguments.quiet, tell=tell)
    if report.errors and not (inventory.all("Node") or inventory.all("Pod")):
        return show_refusals(report)
    tell(*(f"note: not read: {stated_as(each)}" for each in report.findings))
    gates = feature_gates(arguments, stated or release_in(inventory.all("Node")))
    with naming("--kubernetes-version"):
        scene = Scene(inventory, stated, gates)
    rows = [*Table(scene).rows()] if arguments.output == "html" else []  # before the simulation gives some away
    answer = _explained(scene, asked)
    if arguments.output == "html":
        refs = [(each["kind"], each["namespace"] or "", each["name"]) for each in answer["objects"]]
        from webhook.report.html import pictured  # few answers are pages

        picture = Picture(rows, scene, stories=[_story(scene, asked, answer)], refs=refs)
        told, level = [f"explained as Kubernetes {answer['kubernetes']}"], "fine" if answer["isWell"] else "error"
        evidence = {"Evidence": map(_evidence, answer["evidence"])}
        show_escaped(pictured(picture, answer["asked"], level, told, evidence))
    else:
        show_result(_text(answer), answer, arguments)
    return 0 if answer["isWell"] else 1


def _explained(scene: Scene, asked: Asked) -> dict[str, Any]:
    inventory = scene.inventory
    obj, namespace = inventory.find(asked.kind, asked.name, asked.place), asked.place
    if obj is None and not asked.namespace and asked.place:  # another namespace may have it, if it is the only one
        spaces = [space for space, name in inventory.names(asked.kind) if name == asked.name]
        if len(spaces) == 1:
            namespace = spaces[0]
            obj = inventory.find(asked.kind, asked.name, namespace)
    subject = subject_of(asked.kind, asked.name, namespace)
    if obj is not None:
        return explain(scene, obj, subject)
    if asked.kind == "Pod" and (found := gone(scene, asked.name, namespace, subject)):
        return found
    if owner := _owner(asked, inventory):
        return explain(scene, owner, subject_of(text(owner, "kind"), asked.name, namespace_of(owner)))
    raise UsageError(f"{asked.stated}: {_unknown(asked, inventory)}")


def _owner(asked: Asked, inventory: Inventory) -> JSONObject | None:
    """Return an owner of pods or of Kubernetes' workloads, of another project's kind, as far as they tell."""
    is_pod = asked.kind == "Pod"  # or what was taken for the namespace is a kind
    word = (asked.namespace if is_pod else asked.kind).lower().partition(".")[0]
    words, place = {word, word.removesuffix("s")} - {""}, "" if is_pod else asked.namespace
    for obj in (each for kind in ("Pod", *AROUND) for each in inventory.all(kind)):
        for each in items(obj, "metadata", "ownerReferences"):
            is_meant = text(each, "name") == asked.name and text(each, "kind").lower() in words
            if is_meant and place in {"", namespace_of(obj)}:
                return {"kind": each["kind"], "metadata": {**each, "namespace": namespace_of(obj)}}
    return None


def _unknown(asked: Asked, inventory: Inventory) -> str:
    """Say that nothing has a name, and which one was probably meant."""
    where = f"namespace {asked.place}" if asked.place else "the cluster"
    what = "pod" if asked.kind == "Pod" else asked.kind
    names = list(inventory.names(asked.kind))
    if asked.kind == "Pod" and not names:
        return f"no file has this name, and --cluster has no Pods: collect those of {where}, too"
    near_by = [name for space, name in names if space == asked.place]
    alike = [_shown(asked, space, name) for space, name in names if name == asked.name]
    around = [each for each in names if each[0] == asked.place or not asked.namespace]
    alike += [_shown(asked, *each) for each in around if each[1].startswith(f"{asked.name}-")]
    if not alike and (near := nearest(asked.name, [name for _, name in around])):
        alike = [_shown(asked, *each) for each in around if each[1] == near]
    others = [kind for kind in dict.fromkeys(ASKED.values()) if kind != asked.kind]
    alike += [
        f"{kind.lower().removeprefix('resource')}/{asked.name}"
        for kind in others
        if inventory.find(kind, asked.name, "" if kind == "Node" else asked.place or DEFAULT_NAMESPACE)
    ]
    is_name = asked.kind == "Pod" and not split_kind(asked.stated)[0]
    missing = f"{'no such file, and ' if is_name else ''}{where} has no {what} {asked.name}"
    kinds, is_other = "", asked.kind not in ASKED.values()
    if asked.kind == "Pod" and "/" in asked.stated and asked.namespace not in {DEFAULT_NAMESPACE, *dict(names)}:
        no_owner, is_other = f"Kind {asked.namespace} is not one of a pod's owners", True
        missing = f"no such file. {no_owner}, and the cluster has no pod in a namespace {asked.namespace}"
    if is_other:
        known = ", ".join(dict.fromkeys(kind.lower().removeprefix("resource") for kind in ASKED.values()))
        kinds = f". The kinds that can be asked about are {known}, and owners of these"
    if alike:
        return f"{missing}: did you mean {listed(alike)}?"
    if near_by:
        return f"{missing}, but {listed(sorted(near_by))}{kinds}"
    there = f". The cluster has {listed(sorted(_shown(asked, *each) for each in names))}" if names else ""
    return f"{missing}{there}{kinds}"


def _shown(asked: Asked, namespace: str, name: str) -> str:
    word = "" if asked.kind == "Pod" else f"{asked.kind.lower().removeprefix('resource')}/"
    return word + (name if namespace == asked.place or not namespace else f"{namespace}/{name}")


def _story(scene: Scene, asked: Asked, answer: JSONObject) -> Story:
    """Return what the picture tells of an answer: for a pending pod, with the devices that it passes by."""
    subject, _, cause = answer["cause"].partition(": ")
    others = [each.removeprefix(f"{subject}: ") for each in answer["others"]]
    named = [(each["name"], each["namespace"]) for each in answer["objects"] if each["kind"] == "Pod"]
    if asked.kind == "Pod":
        named.insert(0, (asked.name, answer["asked"].partition("/")[0]))
    known = filter(None, (scene.inventory.find("Pod", *each) for each in named))
    pod = next((each for each in known if not text(each, "spec", "nodeName")), None)
    found = Story("", "")
    if pod is not None and answer["stage"] == "pending":
        placement = scene.scheduler.schedule(pod)
        found = Story.of("", scene.answers.of(placement), scene.answers.overlay(placement))
    opened = {each.label.rpartition(" (")[0]: each for each in found.helps}
    helps = [opened.get(each, Help(each)) for each in answer["helps"]]
    return found._replace(title=answer["stage"], said=cause, node="", helps=helps, notes=others)


def _text(answer: JSONObject) -> Iterator[str]:
    """Write an answer as text: the cause, what would help, what else is wrong, and the evidence."""
    subject, _, why = answer["cause"].partition(": ")
    yield f"{subject}: {colored('good' if answer['isWell'] else 'error', why)}"
    if helps := answer["helps"]:
        yield f"  {colored('help', 'what would help:')}"
        yield from (f"    {each}" for each in some_of(helps, _HELPS_MAX, _MORE))
    if others := answer["others"]:
        yield "  also:"
        yield from (f"    {each.removeprefix(f'{subject}: ')}" for each in some_of(others, _OTHERS_MAX, _MORE))
    yield "  evidence:"
    yield from (f"    {each}" for each in some_of([*map(_evidence, answer["evidence"])], _OTHERS_MAX, _MORE))
    yield f"explained as Kubernetes {answer['kubernetes']}"


def _evidence(each: JSONObject) -> str:
    name = "/".join(filter(None, (each["namespace"], each["name"])))
    if "state" in each:
        return f"{each['kind']} {name}{each['state'] and ': '}{each['state']}"
    times = f" ({each['count']} times)" if each["count"] > 1 else ""
    return f"{each['time']} {each['kind']} {name}: {each['reason']}{times}: {each['message']}"
