"""Rewrites pre-scheduled pods: ``spec.nodeName`` becomes a constraint that the scheduler obeys.

A pod created with ``spec.nodeName`` bypasses the scheduler, which alone allocates resource claims. kubelet refuses to
start such a pod, unless its claims are allocated already; it stays on its node, stuck, and keeps its CPU and memory
from other pods (Kubernetes documentation, Dynamic Resource Allocation, "Pre-scheduled Pods"). With a node selector
instead, the same pod is scheduled, onto the same node.

Rewrites one object and does no I/O. The caller chooses the objects: at admission, pods on CREATE without a subresource.
A malformed object is left alone, since the API server refuses it with a better message.

A pod's author can write any annotations and owners, so they prove nothing. At admission (:func:`rewrite`) only the
requester's identity marks a kubelet's pod; a manifest (:func:`rewrite_manifest`) has no requester, so its author is
believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from webhook.api.templates import pod_template, source
from webhook.formats import dns_subdomain, label_value
from webhook.objects import JSONObject, at, items, mapping, text
from webhook.patch import difference
from webhook.problem import Key, Path, Problem, forbidden, quoted
from webhook.release import Release
from webhook.schema.decoding import UNKNOWN_FIELD

_RELEASE: Final = Release(36)  # the formats of names and label values are the same in every release
_HOSTNAME: Final = "kubernetes.io/hostname"
REQUIRED_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"
REQUIRED: Final = ("affinity", "nodeAffinity", REQUIRED_TERMS)
_TERMS: Final = (*REQUIRED, "nodeSelectorTerms")
_READ: Final = frozenset({"affinity", "annotations", "nodeName", "nodeSelector", "ownerReferences", "resourceClaims"})
"""The fields of the spec and the metadata of a pod that the rewrite reads."""
_MAX_TERMS: Final = 1_000
"""The maximum number of terms that get the node's name: a patch of 0.6 MiB; such a pod seldom has two terms."""

RULE: Final = "prescheduled"
"""The rule that pods with claims do not name their node."""
_BYPASSES: Final = "bypasses the scheduler, which alone allocates resource claims, so the pod can"


class RewriteOptions(NamedTuple):
    """Which pre-scheduled pods are rewritten, and how.

    Args:
        select_node_by: ``"hostname"``: the node selector ``kubernetes.io/hostname``, as the Kubernetes documentation
            advises; ``"name"``: node affinity to ``metadata.name``, for clusters whose nodes carry another label.
        pods: ``"claims"``: pods that use resource claims; ``"all"``: every pod that names its node.
    """

    select_node_by: Literal["hostname", "name"] = "hostname"
    pods: Literal["claims", "all"] = "claims"


class Rewrite(NamedTuple):
    """The change of an object, and how to report it.

    Args:
        patch: A JSON Patch (RFC 6902) for the object that was given.
        warnings: Warnings for the requesting user; for a pod at most 120 ASCII characters each, as client-go advises.
        annotations: Annotations for the audit log; the API server prefixes each key with the webhook's name.
    """

    patch: list[dict[str, object]]
    warnings: tuple[str, ...]
    annotations: Mapping[str, str]


Rewriting = Callable[[Any], Rewrite | Problem | None]
"""Returns the rewrite of an object for the scheduler; or why it must be refused; or None if there is nothing to do."""


def rewrite(obj: object, options: RewriteOptions, *, user: object) -> Rewrite | Problem | None:
    """Move a new pod's ``spec.nodeName`` into a constraint that the scheduler obeys.

    A mirror pod that is not created by its node loses its ``nodeName`` like any other. The API server then refuses
    it: ``must set spec.nodeName if mirror pod annotation is set`` (ValidatePodSpecificAnnotations).

    Args:
        user: The user who creates the pod: ``userInfo`` of the admission request.

    Returns:
        The change; or why the pod, which could never run, must be refused; or ``None`` if there is nothing to do.
    """
    is_own = _is_own_node(user, text(obj, "spec", "nodeName"))
    return None if is_own or pod_template(obj) != () else _rewrite(obj, options, ())


def rewrite_manifest(obj: object, options: RewriteOptions) -> Rewrite | Problem | None:
    """Rewrite the manifest of a pod, or the pod template of a workload, as :func:`rewrite` does.

    Returns:
        As :func:`rewrite`, with paths from the top of ``obj``; ``None`` also for a kind without pod template, and for a
        pod that its annotations declare a kubelet's (a static pod or a mirror pod).
    """
    template = pod_template(obj)
    if template is None or (not template and _is_of_kubelet(obj)):
        return None
    return _rewrite(obj, options, template)


def rewritten(request: Mapping[str, Any], obj: Any, options: RewriteOptions) -> Rewrite | Problem | None:
    """Return the rewrite of a new pre-scheduled pod, or why it must be refused; None for other objects."""
    resource = request.get("resource")
    is_pod = isinstance(resource, dict) and resource.get("resource") == "pods" and not resource.get("group")
    is_new = request["operation"] == "CREATE" and not request.get("subResource")
    return rewrite(obj, options, user=request.get("userInfo")) if is_pod and is_new else None


def bypassing(request: Mapping[str, Any], options: RewriteOptions) -> Problem | None:
    """Return the refusal of a new pod that bypasses the scheduler, as nothing has rewritten it; None for others."""
    obj = request.get("object")
    if rewritten(request, obj, options) is None:
        return None
    has_claims = rewritten(request, obj, options._replace(pods="claims")) is not None
    detail = consequence(mapping(obj, "spec")) if has_claims else "bypasses the scheduler"
    return forbidden(Path(("spec", "nodeName")), f"{detail}; name the node in a nodeSelector instead").named(RULE)


def consequence(spec: JSONObject) -> str:
    """Say what ``spec.nodeName`` means for a pod with claims.

    kube-controller-manager reserves claims that are allocated for such a pod; those of its templates never are.
    """
    may_run = all(source(each, "resourceClaimName") for each in items(spec, "resourceClaims"))
    return f"{_BYPASSES} only run if its claims are allocated already" if may_run else f"{_BYPASSES} never run"


def _rewrite(obj: Any, options: RewriteOptions, template: tuple[str, ...]) -> Rewrite | Problem | None:
    spec, where = mapping(obj, *template, "spec"), Path((*template, "spec"))
    node, claims = text(spec, "nodeName"), bool(spec.get("resourceClaims"))
    if not node or not (claims or options.pods == "all") or _is_refused(obj, template, spec, node):
        return None

    terms, selector = at(spec, *_TERMS), mapping(spec, "nodeSelector")
    if terms is not None and all(_is_empty(term) or False in _demands(term, node) for term in terms):
        return _contradiction(Path((*where, *_TERMS)), where, node)
    # A node's name may be longer than a label value. And the DaemonSet controller finds the node of a pending pod by
    # the requirement on the name: without it, it would create one pod after another (pkg/controller/daemon/util).
    too_long = bool(label_value(node, _RELEASE))
    owners = items(obj, *template, "metadata", "ownerReferences")
    controllers = (owner.get("kind") for owner in owners if owner.get("controller") is True)
    by_label = options.select_node_by == "hostname" and "DaemonSet" not in controllers
    by_name = too_long or not by_label
    if not by_name and selector.get(_HOSTNAME, node) != node:
        return _contradiction(where / "nodeSelector" / Key(_HOSTNAME), where, node)

    if by_name and terms is not None and len(terms) > _MAX_TERMS:
        reason = f"has more than {_MAX_TERMS} terms, too many to add node {quoted(node)} to, which"
        reason = f"{reason} {where / 'nodeName'} asks for; remove {where / 'nodeName'} or most of the terms"
        return forbidden(Path((*where, *_TERMS)), reason).named("prescheduled-too-many-terms")
    changed = _with_affinity(spec, node) if by_name else {**spec, "nodeSelector": {_HOSTNAME: node, **selector}}
    del changed["nodeName"]
    target = "node affinity metadata.name" if by_name else f"nodeSelector {_HOSTNAME}"
    texts = [
        f"replaced by {target}, so that the scheduler {'allocates resource claims' if claims else 'places the pod'}",
        "NoSchedule taints of the node then apply"
        + ("" if by_name else f"; its label {_HOSTNAME} must equal its name"),
        *(["longer than a label value may be, hence no nodeSelector"] if too_long and by_label else []),
    ]
    return Rewrite(
        # No "test" first: the API server applies the patch to the very object that it sent.
        patch=difference(spec, changed, where),
        warnings=tuple(f"{where / 'nodeName'}: {text}" for text in texts),
        annotations={"prescheduled": f"{node} -> {target}"},
    )


def _is_refused(obj: JSONObject, template: tuple[str, ...], spec: JSONObject, node: str) -> bool:
    """Tell whether the API server refuses an object because of a value that the rewrite reads."""
    from webhook.api.judgement import undecodable  # few pods name their node

    start, misfits = len(template), undecodable(obj, _RELEASE)
    wrong = (each.path[start:] for each in misfits if each.rule != UNKNOWN_FIELD and each.path[:start] == template)
    if dns_subdomain(node, _RELEASE) or any(not path[1:] or path[1] in _READ for path in wrong):
        return True
    return at(spec, *REQUIRED) is not None and not at(spec, *_TERMS)  # must have at least one node selector term


def _is_own_node(user: object, node: str) -> bool:
    """Tell whether the kubelet of the named node creates the pod: NodeRestriction lets it create no other pods.

    Both name and group are needed, as for the node authorizer (pkg/auth/nodeidentifier/default.go).
    """
    match user:
        case {"username": str(name), "groups": list(groups)}:
            return name == f"system:node:{node}" and "system:nodes" in groups
    return False


def _is_of_kubelet(obj: Any) -> bool:
    """Tell whether annotations declare a static pod, which kubelet runs from a file or URL, or its mirror pod.

    The annotations are those of pkg/kubelet/types/pod_update.go.
    """
    annotations = mapping(obj, "metadata", "annotations")
    owners = items(obj, "metadata", "ownerReferences")
    return (
        "kubernetes.io/config.mirror" in annotations
        or annotations.get("kubernetes.io/config.source", "api") != "api"
        or any(owner.get("kind") == "Node" and owner.get("apiVersion") == "v1" for owner in owners)
    )


def _is_empty(term: JSONObject | None) -> bool:
    """Tell whether a term matches no node at all (component-helpers scheduling/corev1/nodeaffinity)."""
    return not term or not (term.get("matchExpressions") or term.get("matchFields"))


def _demands(term: JSONObject, node: str) -> set[bool | None]:
    """Tell whether requirements of a term demand a node's name (True), rule it out (False), or neither (None)."""
    return {_demand(requirement, node) for requirement in term.get("matchFields") or ()}


def _demand(requirement: object, node: str) -> bool | None:
    match requirement:
        case {"key": "metadata.name", "operator": "In", "values": [str(name)]}:
            return name == node
        case {"key": "metadata.name", "operator": "NotIn", "values": [str(name)]} if name == node:
            return False
    return None


def _with_affinity(spec: JSONObject, node: str) -> JSONObject:
    """Require the node's name in every term, since one matching term is enough.

    An empty term is left alone: it matches nothing, and would match the node with the requirement. A term that rules
    out the node gets it, too: it matches other nodes now, and then none.
    """
    requirement = {"key": "metadata.name", "operator": "In", "values": [node]}
    changed: Any = [
        term
        if _is_empty(term) or True in _demands(term, node)
        else {**term, "matchFields": [*(term.get("matchFields") or ()), requirement]}
        for term in at(spec, *_TERMS) or ()
    ] or [{"matchFields": [requirement]}]
    for depth in range(len(REQUIRED), -1, -1):
        changed = {**mapping(spec, *_TERMS[:depth]), _TERMS[depth]: changed}
    made: JSONObject = changed
    return made


def _contradiction(path: Path, where: Path, node: str) -> Problem:
    reason = f"rules out node {quoted(node)}, which {where / 'nodeName'} asks for, so the pod could never run"
    return forbidden(path, f"{reason}; keep one of the two").named("prescheduled-contradiction")
