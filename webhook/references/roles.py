"""Rules about the permissions of drivers and schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.formats import dns_subdomain
from webhook.hints.names import renamed
from webhook.hints.selectors import AS_TEXT
from webhook.inventory import DRA
from webhook.objects import JSONObject, items, mapping, namespace_of, placed, text, texts
from webhook.policy.manifest.kinds import Kinds
from webhook.problem import ERROR, Advice, Path, Problem, Steps, invalid, malformed, not_supported, quoted, required
from webhook.references.rules import ACCOUNT, Context, drivers_of, finding, rule
from webhook.spelling import nearest

ROLES: Final = ("ClusterRole", "Role")
_GATE: Final = "DRAResourceClaimGranularStatusAuthorization"
_ANY: Final = "*"
_STATUS: Final = "resourceclaims/status"
_DRIVER: Final = "resourceclaims/driver"
_UPDATES: Final = frozenset({_ANY, "update", "patch"})
_OF_DRIVERS: Final = {f"{where}-node:{verb}" for where in ("associated", "arbitrary") for verb in ("update", "patch")}
_NEEDED: Final = {"driver": {_ANY, *_OF_DRIVERS}, "binding": _UPDATES}
"""The verbs that allow changes of a part of the status, by the subresource that stands for it."""


@rule(*ROLES)
def status_without_part(role: JSONObject, context: Context) -> Iterator[Problem]:
    """A role allows updates of the status of claims, and no role allows updates of any part of it.

    From Kubernetes 1.36 the API server refuses such updates unless the user has a permission for the part, too: verbs
    associated-node:update and associated-node:patch of resourceclaims/driver for status.devices, for a driver that runs
    on the node of the claim (arbitrary-node:update and arbitrary-node:patch for others); update and patch of
    resourceclaims/binding for status.allocation and status.reservedFor, which schedulers set. All roles count: those of
    other files, and of the cluster with --cluster.
    """
    if _GATE not in context.gates or context.once(_allows_parts):
        return
    for path, each in placed(role, "rules"):
        resources = texts(each, "resources")
        if DRA in texts(each, "apiGroups") and _STATUS in resources and _UPDATES & {*texts(each, "verbs")}:
            message = "from Kubernetes 1.36 this allows no update of a claim's status: no role allows one of its parts"
            hint = (
                "add resourceclaims/driver with associated-node:update and associated-node:patch for drivers, or "
                "resourceclaims/binding with update and patch for schedulers"
            )
            yield finding((*path, "resources", resources.index(_STATUS)), message, hint, "Forbidden")


def _allows_parts(context: Context) -> bool:
    """Tell whether any role allows updates of a part of the status."""
    rules = (each for role in _roles(context) for each in items(role, "rules"))
    return any(
        {DRA, _ANY} & {*texts(each, "apiGroups")}
        and verbs & {*texts(each, "verbs")}
        and {_ANY, f"*/{part}", f"resourceclaims/{part}"} & {*texts(each, "resources")}
        for each in rules
        for part, verbs in _NEEDED.items()
    )


def _roles(context: Context) -> list[JSONObject]:
    return [role for kind in ROLES for role in context.inventory.all(kind)]


_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_KINDS: Final = {each.resource: each.namespaced for each in Kinds().of_group(DRA)}
"""The resources of DRA, each with whether it has a namespace."""
_SUBRESOURCES: Final = ("status", "finalizers", *_NEEDED)


@rule(*ROLES, of_field=True)
def role_for_nothing(role: JSONObject, context: Context) -> Iterator[Problem]:
    """A rule of a role names a resource that its API groups do not have, or an unknown verb: it allows nothing.

    RBAC takes any name. Resources are plural and in lower case, as in `kubectl api-resources`, and those of DRA are in
    the API group resource.k8s.io. Only names of DRA are looked for, in Kubernetes' own groups. The resource names of
    resourceclaims/driver are drivers, not their charts or service accounts, and its verbs are its own. Resource names
    are no patterns, and requests to create have none, but for server-side apply, which needs the verb patch, too. A
    Role allows nothing for objects without a namespace, such as ResourceSlices.
    """
    for path, each in placed(role, "rules"):
        groups = texts(each, "apiGroups")
        if _ANY in groups:
            continue
        if DRA in groups:
            yield from _useless(each, path, kind=str(role.get("kind")))
            yield from _useless_verbs(each, path)
            yield from _no_drivers(each, path, context)
        elif resource := next((one for one in texts(each, "resources") if one.partition("/")[0] in _KINDS), ""):
            message = f'{resource} are of API group "{DRA}", which the rule does not name, so that this has no effect'
            names = (group.partition("/")[0] for group in groups)
            misspelt = next((place for place, name in enumerate(names) if nearest(name, [DRA])), None)
            if misspelt is not None:
                yield finding((*path, "apiGroups", misspelt), message, renamed(DRA), "Unknown")
            elif groups and all("." not in group or group.endswith(".k8s.io") for group in groups):
                place, hint = texts(each, "resources").index(resource), f"add a rule with apiGroups: [{DRA}]"
                yield finding((*path, "resources", place), message, hint, "Unknown")


def _useless(each: JSONObject, path: Steps, kind: str) -> Iterator[Problem]:
    """Find the resources in a rule that have no effect."""
    for place, resource in enumerate(texts(each, "resources")):
        meant = _meant(resource, is_only=len(texts(each, "apiGroups")) == 1)
        message = f'API group "{DRA}" has no resource "{resource}", so that this has no effect'
        if not meant and kind == "Role" and _KINDS.get(resource) is False:
            message = f"{resource} have no namespace: a Role cannot allow anything for them"
            meant = "write a ClusterRole, and a ClusterRoleBinding"
        if meant:
            yield finding((*path, "resources", place), message, meant, "Unknown")


def _useless_verbs(each: JSONObject, path: Steps) -> Iterator[Problem]:
    """Find the verbs in a rule that have no effect, and names that are patterns."""
    known, names = [*_VERBS, *sorted(_NEEDED["driver"])], texts(each, "resourceNames")
    for place, name in enumerate(names):
        if _ANY in name:
            how = "list the names, or leave resourceNames out for all objects"
            yield finding((*path, "resourceNames", place), AS_TEXT.format(quoted(name)), how, "Unknown")
    verbs, resources = texts(each, "verbs"), texts(each, "resources")
    has_names = names and not any("/" in one for one in resources)
    for place, verb in enumerate(verbs):
        near = nearest(verb, known)
        if has_names and (verb == "deletecollection" or (verb == "create" and "patch" not in verbs)):
            message = f"requests to {verb} have no name, so that with resourceNames the rule does not allow them"
            yield finding((*path, "verbs", place), message, f"allow {verb} by a rule without resourceNames", "Unknown")
        if verb in _OF_DRIVERS and {_ANY, "*/driver", _DRIVER}.isdisjoint(resources):
            message = f'verb "{verb}" is supported for {_DRIVER} only: it allows nothing'
            yield finding((*path, "verbs", place), message, f"allow it for {_DRIVER}", "Unknown")
        if verb not in known and (near or len(texts(each, "apiGroups")) == 1):
            hint = renamed(near) if near else f"verbs are {', '.join(_VERBS)}"
            yield finding((*path, "verbs", place), f'unknown verb "{verb}": it allows nothing', hint, "Unknown")


def _no_drivers(each: JSONObject, path: Steps, context: Context) -> Iterator[Problem]:
    """Find the resource names of a rule that should be drivers, and neither look like one nor are known."""
    selectors = [items(one, "spec", "selectors") for one in context.inventory.all("DeviceClass")]
    for place, name in enumerate(texts(each, "resourceNames") if _DRIVER in texts(each, "resources") else ()):
        is_selected = any(name in drivers_of(one, context) for one in selectors)
        if "." not in name and not is_selected and not context.knows_driver(name):
            message = f'"{name}" is not the name of a driver: the rule has no effect'
            hint = "use spec.driver of its ResourceSlices, a DNS subdomain such as gpu.example.com"
            yield finding((*path, "resourceNames", place), message, hint, "Unknown")


def _meant(resource: str, *, is_only: bool) -> str | Advice:
    """Suggest a resource of DRA in place of an unknown one; empty if it is known, or may be of another group.

    Args:
        is_only: Whether the rule names no other group.
    """
    name, slash, subresource = resource.partition("/")
    near = name if name in {_ANY, *_KINDS} else nearest(name, _KINDS)
    if slash and near:
        known = subresource in {_ANY, *_SUBRESOURCES}
        near += f"/{subresource if known else nearest(subresource, _SUBRESOURCES) or subresource}"
    if near:
        return "" if near == resource else renamed(near)
    return "it has " + ", ".join(sorted(_KINDS)) if is_only else ""


_RBAC: Final = "rbac.authorization.k8s.io"
_GROUPS_OF: Final = {ACCOUNT: "", "User": _RBAC, "Group": _RBAC}
"""The kinds of subjects, with the API group of each."""


@rule(*ROLES, level=ERROR)
def refused_role(role: JSONObject, _context: Context) -> Iterator[Problem]:
    """A rule of a role lacks verbs, API groups or resources, or is about URLs and resources: the API server refuses it.

    A rule is about resources, or, in a ClusterRole, about URLs (nonResourceURLs), which have no API group. Only roles
    that name resources of DRA are judged.
    """
    for steps, each in placed(role, "rules") if _is_of_dra(role) else ():
        path, of_urls, urls = Path(steps), Path((*steps, "nonResourceURLs")), each.get("nonResourceURLs")
        if not each.get("verbs"):
            yield required(path / "verbs", "verbs must contain at least one value")
        if urls and role["kind"] == "Role":
            yield invalid(of_urls, urls, "namespaced rules cannot apply to non-resource URLs")
        if urls and (each.get("apiGroups") or each.get("resources") or each.get("resourceNames")):
            yield invalid(of_urls, urls, "rules cannot apply to both regular resources and non-resource URLs")
        for field, name in {} if urls else {"apiGroups": "api group", "resources": "resource"}.items():
            if not each.get(field):
                yield required(path / field, f"resource rules must supply at least one {name}")


def _of_dra(context: Context) -> set[tuple[str, str, str]]:
    """Return the roles that allow something of DRA: kind, namespace and name."""
    names, every = context.inventory.names, context.inventory.all
    known = ((kind, *each) for kind in ROLES for each in zip(names(kind), every(kind), strict=True))
    return {(kind, *key) for kind, key, role in known if _is_of_dra(role)}


def _names_of_dra(context: Context) -> set[str]:
    return {name for *_, name in context.once(_of_dra)}


def _is_of_dra(role: JSONObject | None) -> bool:
    return any({DRA, *_KINDS} & {*texts(each, "apiGroups"), *texts(each, "resources")} for each in items(role, "rules"))


@rule("ClusterRoleBinding", "RoleBinding", level=ERROR)
def refused_binding(binding: JSONObject, context: Context) -> Iterator[Problem]:
    """A binding refers to a role or a subject that cannot exist: the API server refuses it.

    A ServiceAccount has a namespace, which only a RoleBinding may leave out for its own, and no API group. Bindings of
    other roles than those for DRA are not judged.
    """
    if text(binding, "roleRef", "name") not in context.once(_names_of_dra):
        return
    kinds = ROLES[::-1] if binding["kind"] == "RoleBinding" else ROLES[:1]
    yield from _referred(mapping(binding, "roleRef"), Path(("roleRef",)), dict.fromkeys(kinds, _RBAC), context)
    for steps, each in placed(binding, "subjects"):
        path, name = Path(steps), text(each, "name")
        yield from _referred(each, path, _GROUPS_OF, context)
        if each.get("kind") == ACCOUNT:
            yield from malformed(path / "name", name, dns_subdomain(name, context.release) if name else ())
            if binding["kind"] == "ClusterRoleBinding" and not each.get("namespace"):
                yield required(path / "namespace")


def _referred(reference: JSONObject, path: Path, groups: Mapping[str, str], context: Context) -> Iterator[Problem]:
    """Judge a reference by the kinds that it may name, each with its API group, which is the default."""
    kind, group = text(reference, "kind"), text(reference, "apiGroup")
    if kind not in groups:
        yield not_supported(path / "kind", kind, groups, context.release)
    elif group and group != groups[kind]:
        yield not_supported(path / "apiGroup", group, [groups[kind]], context.release)
    if not reference.get("name"):
        yield required(path / "name")


@rule("ClusterRoleBinding", "RoleBinding", of_field=True)
def role_not_found(binding: JSONObject, context: Context) -> Iterator[Problem]:
    """A binding names a role that is not known, and almost one that allows something of DRA, or its other kind.

    The API server takes any name, but refuses a ClusterRoleBinding that names a Role.
    """
    wanted, name = text(binding, "roleRef", "kind"), text(binding, "roleRef", "name")
    spaces = dict(zip(ROLES, ("", namespace_of(binding)), strict=True))
    if wanted not in spaces or context.inventory.find(wanted, name, spaces[wanted]):
        return
    message = context.missing(f"{wanted} {quoted(name)}", consequence="the binding has no effect")
    for kind, space in spaces.items():
        near = nearest(name, context.namesakes(kind, name, space)[1]) if kind == wanted else name
        if (kind, space, near) in context.once(_of_dra):
            field, meant = ("name", near) if kind == wanted else ("kind", kind)
            yield finding(("roleRef", field), message, renamed(meant), "NotFound")


@rule("ClusterRoleBinding", "RoleBinding", of_field=True)
def account_not_found(binding: JSONObject, context: Context) -> Iterator[Problem]:
    """A binding of a role for DRA misspells the name of a ServiceAccount, or its namespace.

    The API server takes any name, and refuses the requests of the driver or scheduler later. A pod uses a
    ServiceAccount of its own namespace: a chart that is installed into another one takes the account with it.
    """
    kind, name = text(binding, "roleRef", "kind"), text(binding, "roleRef", "name")
    if (kind, "" if kind == ROLES[0] else namespace_of(binding), name) not in context.once(_of_dra):
        return
    subjects = [(path, each) for path, each in placed(binding, "subjects") if each.get("kind") == ACCOUNT]
    names = [(text(each, "namespace") or namespace_of(binding), text(each, "name")) for _, each in subjects]
    known = context.inventory.names(ACCOUNT)
    if any((space, name) in known or ("", name) in known for space, name in names):
        return
    for (path, _), (space, name) in zip(subjects, names, strict=True):
        elsewhere, around = context.namesakes(ACCOUNT, name, space)
        near = nearest(name, around)
        if near or (len(elsewhere) == 1 and name != "default"):
            field, meant = ("name", near) if near else ("namespace", elsewhere[0])
            # A cluster's accounts are not read.
            message = f'{ACCOUNT} "{name}" is not among these manifests in namespace {space}: '
            message += "unless the cluster has it, this grants nothing"
            yield finding((*path, field), message, renamed(meant), "NotFound")
