"""Which policies are asked about a request, with which bindings and parameters.

Follows apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` and ``validating/dispatcher.go``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.policy.activation import bindings_of, request_value
from webhook.policy.convert import convert
from webhook.policy.match import is_exempt, match
from webhook.policy.params import ConfigurationError, check_param_kind, collect_params
from webhook.problem import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from webhook.policy.authorizer import Authorizer
    from webhook.policy.load import Hook, PolicySet
    from webhook.policy.match import Matched
    from webhook.policy.model import Binding
    from webhook.policy.request import JSONObject, Request


class Invocation(NamedTuple):
    """A policy that is asked with a binding and parameters, or the reason why it cannot be."""

    hook: Hook
    binding: Binding | None
    matched: Matched | None = None
    params: JSONObject | None = None
    error: str = ""


@dataclass(slots=True)
class Session:
    """One request, and what the policies that are asked about it share.

    Args:
        request: The request.
        policies: The policies.
        authorizer: Who knows what the user may do.
        notes: What was assumed.
    """

    request: Request
    policies: PolicySet
    authorizer: Authorizer
    notes: set[str] = field(default_factory=set)
    _requests: dict[Matched, JSONObject] = field(default_factory=dict)
    _authorizer_bindings: dict[str, Any] | None = field(default=None)

    @property
    def namespace(self) -> JSONObject | None:
        """The object's namespace; None for objects of the cluster, Namespaces among them."""
        request = self.request
        return self.policies.namespace(request.namespace) if request.namespace and not request.is_namespace else None

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels, and note it if they are not known."""
        if not self.policies.knows_namespace(name):
            self.notes.add(f"the namespace {quoted(name)} was not given: it is taken to have no labels but its name")
        return self.policies.namespace_labels(name)

    def invocations(self, hooks: Iterable[Hook]) -> Iterator[Invocation]:
        """List the policies that are asked, in their order."""
        if is_exempt(self.request):
            return
        policies, request = self.policies, self.request
        for hook in hooks:
            matched = match(hook.policy.match, request, policies.kinds, self.namespace_labels)
            if matched is None:
                continue
            try:
                check_param_kind(hook.policy, policies)
            except ConfigurationError as error:
                yield Invocation(hook, None, error=str(error))
                continue
            for binding in hook.bindings:
                yield from self._bound(hook, binding, matched)

    def _bound(self, hook: Hook, binding: Binding, matched: Matched) -> Iterator[Invocation]:
        policies, request = self.policies, self.request
        if binding.match and not match(binding.match, request, policies.kinds, self.namespace_labels):
            return
        try:
            for params in collect_params(hook.policy, binding, request.namespace, policies):
                yield Invocation(hook, binding, matched, params)
        except ConfigurationError as error:
            yield Invocation(hook, binding, error=str(error))

    def bindings(self, invocation: Invocation, obj: JSONObject | None, namespace: JSONObject | None) -> dict[str, Any]:
        """Bind what the expressions of a policy may use.

        Args:
            invocation: The policy, without an error.
            obj: The object, in the version that the policy wants.
            namespace: The object's namespace.

        Raises:
            ConfigurationError: The stored object cannot be had in that version.
        """
        matched = invocation.matched
        assert matched is not None  # noqa: S101 - it has matched
        if self._authorizer_bindings is None:
            self._authorizer_bindings = self.authorizer.bindings(self.request, self.notes)
        if namespace is not None and invocation.hook.sees_namespace:
            self.namespace_labels(self.request.namespace)
        if (request := self._requests.get(matched)) is None:
            request = self._requests[matched] = request_value(self.request, matched)
        return bindings_of(
            request,
            obj=obj,
            old=convert(self.request.old_object, matched.kind),
            params=invocation.params,
            namespace=namespace,
            authorizer=self._authorizer_bindings,
        )
