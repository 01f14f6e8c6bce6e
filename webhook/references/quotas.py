"""Rules about the keys of ResourceQuotas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.api.dra.names import IMPLICIT_KEY, QUOTA_SUFFIX, class_in
from webhook.hints.names import instead
from webhook.inventory.quotas import QUOTA, STANDARD, refused
from webhook.inventory.resources import is_extended
from webhook.objects import JSONObject, items, mapping, texts
from webhook.patterns import Pattern
from webhook.policy.manifest.kinds import Kinds
from webhook.problem import ERROR, Problem
from webhook.references.rules import Context, finding, rule
from webhook.spelling import nearest

_COUNT: Final = "count/"
_IN_SCOPES: Final = ("count/pods", "count/persistentvolumeclaims")
"""The objects that a quota with scopes counts."""
_REQUESTS: Final = "requests."
_OF_STORAGE: Final = (
    ".storageclass.storage.k8s.io/requests.storage",
    ".storageclass.storage.k8s.io/persistentvolumeclaims",
)
_LIKE_PREFIX: Final = r"(?:requests?|limits?)\."
_PREFIX: Final = Pattern(_LIKE_PREFIX)
_LIKE_CLASS: Final = Pattern(
    rf"(?:{_LIKE_PREFIX})?(?:(?P<first>.+)\.)?deviceclass\.resource\.(?:k8s|kubernetes)\.io/(?P<last>.+)"
)
"""A key about the devices of a class, however it is misspelt."""


@rule(QUOTA, level=ERROR)
def refused_quota(quota: JSONObject, context: Context) -> Iterator[Problem]:
    """A ResourceQuota limits an unknown resource, or has an invalid amount: a negative one, or a fraction of a device.

    Names without a slash are those of standard resources. Objects and extended resources have whole amounts, too. Of
    standard resources, a quota with scopes limits pods, CPU and memory only, and with the scope BestEffort pods only.
    The API server refuses the quota, so that it limits nothing.
    """
    for problem in refused(quota, context.release):
        key = str(problem.path[-1])
        hint = _without_slash(key, Kinds(context.release)) or instead(key, STANDARD, "such names")
        yield problem._replace(hint=hint) if problem.value == key else problem


@rule(QUOTA)
def quota_of_nothing(quota: JSONObject, context: Context) -> Iterator[Problem]:
    """A key of a ResourceQuota names nothing that Kubernetes counts, so that it has no effect.

    Counted are standard resources such as requests.cpu; extended resources as requests.NAME, but neither as NAME nor as
    limits.NAME; objects in namespaces as count/RESOURCE.GROUP; devices as CLASS.deviceclass.resource.k8s.io/devices
    and, with the feature gate DRAExtendedResource from Kubernetes 1.35 on, as
    requests.deviceclass.resource.kubernetes.io/CLASS. Claims are in no scope: a quota with scopes does not count them.
    """
    spec, kinds = mapping(quota, "spec"), Kinds(context.release)
    has_scopes = bool(texts(spec, "scopes") or items(spec, "scopeSelector", "matchExpressions"))
    for key in mapping(spec, "hard"):
        path = ("spec", "hard", key)
        if "/" in key and (hint := _uncounted(key, kinds, context)):
            yield finding(path, f'Kubernetes does not count "{key}", so that this has no effect', hint, "NotCounted")
        elif has_scopes and (class_in(key) or key.startswith(_COUNT)) and key not in _IN_SCOPES:
            message = f'this has no effect: a quota with scopes does not count "{key}"'
            yield finding(path, message, "move it to a quota without scopes", "NotCounted")


def _without_slash(key: str, kinds: Kinds) -> str:
    """Return the hint for a key that lacks ``/devices`` or ``count/``; empty if another one is meant."""
    devices = f"{key}/devices"
    if devices.removesuffix(QUOTA_SUFFIX) not in ("", devices):
        return f'did you mean "{devices}"?'
    known = kinds.named(key)
    is_counted = known and not _unknown(known.resource, known.group, kinds)
    return f'did you mean "{_COUNT}{known.qualified}"?' if known and is_counted else ""


def _uncounted(key: str, kinds: Kinds, context: Context) -> str:
    """Return the hint for a key that is not counted; empty if it is.

    Follows kubernetes ``pkg/quota/v1/evaluator/core`` (MatchingResources of each file).
    """
    if key.startswith(_COUNT):
        return _unknown(*key.removeprefix(_COUNT).partition(".")[::2], kinds)
    if key.endswith((QUOTA_SUFFIX, *_OF_STORAGE)):
        return ""
    if like := _LIKE_CLASS.fullmatch(key):
        if key.startswith(IMPLICIT_KEY) and context.quotas.counts_extended:
            return ""
        return f'did you mean "{like["first"] or like["last"]}{QUOTA_SUFFIX}"?'
    name = key.removeprefix(_REQUESTS)
    if name != key and is_extended(name):
        return ""
    if prefix := _PREFIX.match(name):
        name = name[prefix.end() :]
    class_name, *suffix = name.rsplit(".", QUOTA_SUFFIX.count("."))
    is_of_class = nearest(f".{'.'.join(suffix)}", [QUOTA_SUFFIX])
    meant = f"{class_name}{QUOTA_SUFFIX}" if is_of_class else f"{_REQUESTS}{name}" if is_extended(name) else ""
    return f'did you mean "{meant}"?' if meant else "leave it out"


def _unknown(resource: str, group: str, kinds: Kinds) -> str:
    """Return the hint for objects that no namespace has in the release; empty if others define their group."""
    if not kinds.has_group(group):
        return ""
    known = {each.resource: each.namespaced for each in kinds.of_group(group)}
    if known.get(resource):
        is_served = any(each.resource == resource for each in kinds.served(group))
        return "" if is_served else f"leave it out: Kubernetes 1.{kinds.release} does not serve these objects"
    if resource in known:
        return "leave it out: these objects are in no namespace"
    if near := nearest(resource, [name for name, is_namespaced in known.items() if is_namespaced]):
        return f'did you mean "{_COUNT}{near}{group and "."}{group}"?'
    other = None if group else kinds.named(resource)
    return f'did you mean "{_COUNT}{other.qualified}"?' if other else "name a resource as kubectl api-resources does"
