"""The parameters of a binding.

Follows apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` (CollectParams).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.objects import DEFAULT_NAMESPACE, JSONObject, labels_of, metadata_of, text
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
    """A policy or binding cannot be evaluated; the failure policy decides what that means.

    Args:
        text: What the API server says.
        missing: The object that would have to be given.
    """

    def __init__(self, text: str, missing: str = "") -> None:
        super().__init__(text)
        self.fault = PolicyFault(text, missing)


def check_param_kind(policy: Policy, objects: ClusterObjects) -> None:
    """Make sure that a policy's paramKind exists.

    Raises:
        ConfigurationError: The kind does not exist.
    """
    kind = policy.param_kind
    if kind is not None and objects.is_namespaced(kind) is None:
        msg = f"failed to find resource referenced by paramKind: '{kind}'"
        missing = f"the CustomResourceDefinition of {kind.kind} ({kind.api_version}), or such an object"
        raise ConfigurationError(msg, missing)


def collect_params(
    policy: Policy, binding: Binding, namespace: str, objects: ClusterObjects
) -> list[JSONObject | None]:
    """List the parameters of a policy, which is evaluated once with each; None stands for no parameters.

    Args:
        policy: The policy; its paramKind exists.
        namespace: The namespace of the judged object.
        objects: The objects that may be parameters.

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
    found: list[JSONObject | None] = [
        each
        for name, each in objects.find(kind, where)
        if (name == ref.name if ref.selector is None else ref.selector.matches(labels_of(each)))
    ]
    if not found and ref.denies_missing:
        raise ConfigurationError(
            "no params found for policy binding with `Deny` parameterNotFoundAction",
            _missing(kind, ref, where, objects),
        )
    return found[:1] if ref.selector is None else found


def _missing(kind: Kind, ref: ParamRef, namespace: str, objects: ClusterObjects) -> str:
    """Name the object that a binding refers to, and the namespaces that have one of this name."""
    if ref.selector is not None:
        wanted = f"a {kind.kind} ({kind.api_version}) with the labels that the selector asks for"
    else:
        wanted = f"the {kind.kind} {quoted(ref.name)} ({kind.api_version})"
    if not namespace:
        return wanted
    others = sorted(
        {
            text(metadata_of(each), "namespace") or DEFAULT_NAMESPACE
            for name, each in objects.find(kind, "")
            if (name == ref.name if ref.selector is None else ref.selector.matches(labels_of(each)))
        }
    )
    there = f"; there is one in {' and '.join(map(quoted, others))}" if others else ""
    return f"{wanted} in the namespace {quoted(namespace)}{there}"
