"""Rules about opaque parameters, and what else drivers refuse, by their profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from webhook.api.dra.names import NAMED_BY
from webhook.api.templates import source
from webhook.budget import BudgetExceededError, limited
from webhook.drivers import Profile
from webhook.hints.names import listed
from webhook.inventory import devices_path
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, placed, text
from webhook.problem import NOTE, Advice, Problem, Steps
from webhook.references.rules import SELECTING, Context, claim_or_template, drivers_of_request, finding, rule, uses_of

if TYPE_CHECKING:
    from webhook.drivers.rules import Part, Subject
    from webhook.structural.keywords import Fault

_MOST: Final = 100
"""How many errors of one configuration are reported: suggestions for unknown fields take time."""
_SEVERAL: Final = 2
"""How many pods a DaemonSet counts for."""
_UNCHECKED: Final = "not checked: the profiles' schemas take more work than draguard allows"
_SMALLER: Final = "validate fewer files at a time, or simplify the schemas"


@rule(*SELECTING, of_field=True, part="config")
def wrong_parameters(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """Opaque parameters have a kind, field or value that their driver does not know.

    The API server does not look into them. The driver refuses them when it prepares the devices: the pod is scheduled,
    and stays in ContainerCreating. `draguard driver show NAME` prints the parameters that a driver accepts, and their
    source. If your version accepts others, pass its profile with --driver-profile.
    """
    for fault, path in _faults(obj, context):
        if not fault.gate:
            yield finding(path, fault.message, Advice(fault.hint, fault.fix), "Refused")


@rule(*SELECTING, level=NOTE, of_field=True, part="config")
def driver_gate(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """Opaque parameters need a feature gate of the driver that is off by default.

    The driver refuses them unless its installation enables the gate. Manifests that need the gate are usually installed
    with a driver that enables it.
    """
    for fault, path in _faults(obj, context):
        if fault.gate:
            yield finding(path, fault.message, fault.hint, "Refused")


def _faults(obj: JSONObject, context: Context) -> Iterator[tuple[Fault, Steps]]:
    for path, each in placed(obj, *devices_path(obj), "config"):
        if profile := context.profile(text(each, "opaque", "driver")):
            for fault in _checked(profile, at(each, "opaque", "parameters"), context):
                yield fault, (*path, "opaque", "parameters", *fault.path)


def _checked(profile: Profile, parameters: Any, context: Context) -> Sequence[Fault]:
    """Check parameters; where the user's profiles have taken too much work, report that instead."""
    from webhook.drivers.schema import check_parameters  # most objects have no parameters
    from webhook.structural.keywords import Fault

    return _within_budget(context, check_parameters(profile, parameters), Fault((), _UNCHECKED, _SMALLER))


def _within_budget(context: Context, faults: Iterator[Fault], otherwise: Fault) -> Sequence[Fault]:
    """Return the first faults that profiles find; another one if the user's profiles take more work than they may."""
    if context.checking is None:
        return [*islice(faults, _MOST)]
    try:
        with limited(context.checking):
            return [*islice(faults, _MOST)]
    except BudgetExceededError:
        return [otherwise]


@rule(*SELECTING, "Pod")
def refused_by_driver(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A driver does not support a claim: its parts do not fit together, or it has too many users.

    The API server does not know what drivers check. Most refuse a claim when they prepare its devices: the pod is
    scheduled, and stays in ContainerCreating. `draguard driver show NAME` prints the rules of a driver, and their
    source; if your version has others, pass its profile with --driver-profile.
    """
    if obj["kind"] == "Pod":
        yield from _of_users(obj, context)
        return
    drivers = dict.fromkeys(text(each, "opaque", "driver") for each in items(obj, *devices_path(obj), "config"))
    is_class = obj["kind"] == "DeviceClass"  # of whose drivers those matter that it configures
    for request in () if is_class else context.requests(obj):
        drivers |= dict.fromkeys(drivers_of_request(request, context))
    for profile in filter(None, map(context.profile, drivers)):
        if profile.rules and (is_class or not profile.is_example):
            for each in _broken(profile, _subject(obj, profile, context), context):
                yield finding(each.path, each.message, reason="Refused")


def _of_users(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """Evaluate the rules about the users of a pod's claims."""
    for path, entry in placed(pod, "spec", "resourceClaims"):
        claim = claim_or_template(pod, entry, context)
        if claim is None:
            continue
        wanted = (sorted(drivers_of_request(each, context)) for each in context.requests(claim))
        drivers = dict.fromkeys(chain.from_iterable(wanted))
        for profile in filter(None, map(context.profile, drivers)):
            if profile.is_example or not any(each.is_about_users for each in profile.rules):
                continue
            subject = _subject(claim, profile, context)
            users = _users(pod, source(entry, "resourceClaimName"), context)
            used = [_user(each, entry, subject.requests) for each in users]
            for each in _broken(profile, subject._replace(users=used), context):
                message = f'claim "{name_of(claim)}" is used by {listed(map(_shown, used))}: {each.message}'
                yield finding((*path, NAMED_BY[claim["kind"]]), message, reason="Refused")


def _subject(claim: JSONObject, profile: Profile, context: Context) -> Subject:
    """Return a claim, the one that a template makes, or a class, as the rules of a profile see it."""
    from webhook.drivers.rules import Part, Subject

    path, is_class = devices_path(claim), claim["kind"] == "DeviceClass"
    whence = "FromClass" if is_class else "FromClaim"
    configs = _configs(profile, items(claim, *path, "config"), (*path, "config"), whence, context)
    if is_class:
        return Subject(Part({}, ()), configs=configs, classes={name_of(claim): claim})
    requests: list[Part] = []
    classes: dict[str, JSONObject] = {}
    of_classes: list[JSONObject] = []
    for request in context.requests(claim):
        if drivers_of_request(request, context) != {profile.driver}:
            continue
        wanted = {**request.content, "name": request.name}
        if amounts := request.capacity:
            full = {name if "/" in name else f"{profile.driver}/{name}": each for name, each in amounts.items()}
            wanted["capacity"] = {"requests": full}
        requests.append(Part(wanted, request.path))
        if device_class := request.device_class:
            classes[name_of(device_class)] = device_class
            stated = _configs(profile, items(device_class, "spec", "config"), (), "FromClass", context)
            of_classes += ({**each.value, "requests": [request.name]} for each in stated)
    return Subject(Part({"spec": mapping(claim, *path[:-1])}, path[:-2]), requests, configs, of_classes, classes)


def _configs(
    profile: Profile, stated: Sequence[JSONObject], path: tuple[str, ...], source: str, context: Context
) -> list[Part]:
    """Return the configuration for a profile's driver, as DeviceAllocationConfiguration of allocated claims."""
    from webhook.drivers.rules import Part

    found = []
    for index, each in enumerate(stated):
        if text(each, "opaque", "driver") == profile.driver:
            faults = _checked(profile, at(each, "opaque", "parameters"), context)
            misfits = [fault.path for fault in faults if not fault.gate]
            found.append(Part({**each, "source": source}, (*path, index), misfits))
    return found


def _broken(profile: Profile, subject: Subject, context: Context) -> Sequence[Fault]:
    """Evaluate the rules of a profile; where they take too much work, report that instead."""
    from webhook.drivers.rules import broken
    from webhook.structural.keywords import Fault

    otherwise = Fault(subject.claim.path, f"{_UNCHECKED}; {_SMALLER}")
    return _within_budget(context, broken(profile.rules, subject), otherwise)


def _users(pod: JSONObject, claim: str, context: Context) -> Sequence[JSONObject]:
    """Return the pods that use a claim, a pod of their own first; only that one for a claim made from a template."""
    others = context.users_of(namespace_of(pod), claim) if claim else ()
    own = text(pod, "owner", "kind"), name_of(pod)
    return [pod, *(each for each in others if (text(each, "owner", "kind"), name_of(each)) != own)]


def _user(pod: JSONObject, entry: JSONObject, requests: Sequence[Part]) -> JSONObject:
    """Return a pod as a user of a claim: the containers that get devices for the requests.

    Args:
        entry: The claim, as the pod or another one names it.
    """
    claim = source(entry, "resourceClaimName")
    same = (each for each in items(pod, "spec", "resourceClaims") if source(each, "resourceClaimName") == claim)
    names = {text(each, "name") for each in (same if claim else [entry])}
    wanted = {"", *(each.name.partition("/")[0] for each in requests)}
    uses = ((text(container, "name"), text(use, "name"), text(use, "request")) for _, container, use in uses_of(pod))
    containers = {container: request for container, name, request in uses if name in names and request in wanted}
    pods = mapping(pod, "owner").get("pods", 1) if claim else 1
    return {
        "kind": text(pod, "owner", "kind") or "Pod",
        "name": name_of(pod) if claim else "",  # pods with claims of their own are judged alike, whatever their names
        "namespace": namespace_of(pod),
        "pods": _SEVERAL if isinstance(pods, str) else 1 if pods is None else pods,
        "hostNetwork": at(pod, "spec", "hostNetwork") is True,
        "containers": [{"name": name, "request": request} for name, request in containers.items()],
    }


def _shown(user: JSONObject) -> str:
    names = [text(each, "name") for each in items(user, "containers")]
    containers = f"container{'s' if len(names) > 1 else ''} {' and '.join(names)}"
    if not user["name"]:
        return containers if names else "the pod"
    kind, pods = user["kind"], user["pods"]
    who = f"pod {user['name']}" if kind == "Pod" else f"{kind} {user['name']}{f' ({pods} pods)' if pods > 1 else ''}"
    return f"{containers} of {who}" if names else who
