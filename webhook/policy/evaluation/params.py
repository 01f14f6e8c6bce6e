"""The parameters of a binding.

Follows apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` (CollectParams).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from webhook.objects import DEFAULT_NAMESPACE, JSONObject, labels_of, text
from webhook.problem import quoted
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.policy.evaluation.clusterobjects import ClusterObjects
    from webhook.policy.manifest.kinds import Kind
    from webhook.policy.manifest.model import Binding, ParamRef, Policy


class PolicyFault(NamedTuple):
    """Why a policy or binding cannot be evaluated.

    Args:
        text: What the API server says.
        missing: The object that would have to be given; empty if none would help.
    """

    text: str
    missing: str = ""


class ConfigurationError(Exception):
    """A policy or binding cannot be evaluated; the failure policy decides what that means."""

    def __init__(self, text: str, missing: str = "") -> None:
        super().__init__(text)
        self.fault = PolicyFault(text, missing)


def no_param_kind(policy: Policy, objects: ClusterObjects) -> PolicyFault | None:
    """Return the fault of a policy whose paramKind does not exist."""
    kind = policy.param_kind
    if kind is None or objects.is_namespaced(kind) is not None:
        return None
    missing = f"the CustomResourceDefinition of {kind.kind} ({kind.api_version}), or such an object"
    return PolicyFault(f"failed to find resource referenced by paramKind: '{kind}'", missing)


def collect_params(
    policy: Policy, binding: Binding, namespace: str, objects: ClusterObjects
) -> list[JSONObject | None]:
    """List the parameters of a policy, which is evaluated once with each; None stands for no parameters.

    Raises:
        ConfigurationError: The parameters do not exist, or cannot exist.
    """
    kind, ref = policy.param_kind, binding.param_ref
    if kind is None or ref is None:
        return [None]
    if objects.is_namespaced(kind):
        where = ref.namespace or namespace
        if not where:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif ref.namespace:
        raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    else:
        where = ""
    found: list[JSONObject | None] = [*_found(kind, ref, where, objects)]
    if not found and ref.denies_missing:
        raise ConfigurationError(
            "no params found for policy binding with `Deny` parameterNotFoundAction",
            _missing(kind, ref, where, objects),
        )
    return found[:1] if ref.selector is None else found


def _found(kind: Kind, ref: ParamRef, namespace: str, objects: ClusterObjects) -> Iterator[JSONObject]:
    for name, each in objects.find(kind, namespace):
        if name == ref.name if ref.selector is None else ref.selector.matches(labels_of(each)):
            yield each


def _missing(kind: Kind, ref: ParamRef, namespace: str, objects: ClusterObjects) -> str:
    """Name the object that a binding refers to, and the namespaces that have one of this name."""
    if ref.selector is not None:
        wanted = f"a {kind.kind} ({kind.api_version}) with the labels that the selector asks for"
    else:
        wanted = f"the {kind.kind} {quoted(ref.name)} ({kind.api_version})"
    if not namespace:
        return wanted
    others = sorted(
        {text(each, "metadata", "namespace") or DEFAULT_NAMESPACE for each in _found(kind, ref, "", objects)}
    )
    there = f"; there is one in {' and '.join(map(quoted, others))}" if others else ""
    return f"{wanted} in the namespace {quoted(namespace)}{there}"
