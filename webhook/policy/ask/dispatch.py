"""Dispatches a request to policies, with their bindings and parameters.

Follows apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` and ``validating/dispatcher.go``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.policy.ask.activation import namespace_value, request_value
from webhook.policy.ask.convert import convert
from webhook.policy.ask.matcher import Matched
from webhook.policy.ask.plan import Invocation
from webhook.policy.ask.quick import ask_quickly, is_of
from webhook.problem import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.objects import JSONObject
    from webhook.policy.ask.authorizer import Authorizer
    from webhook.policy.ask.plan import Candidate
    from webhook.policy.ask.policyset import PolicySet
    from webhook.policy.ask.quick import Quick
    from webhook.policy.ask.request import Request
    from webhook.policy.manifest.kinds import Kind


class Session:
    """One request, and what the policies that are evaluated for it share: each part is made on first use.

    Args:
        request: The request.
        policies: The policies.
        authorizer: Who knows what the user may do.
        deadline: When the policies must have answered, by ``time.monotonic`` in seconds; None for no limit.

    Attributes:
        notes: What was assumed.
        meter: Limits each expression, and counts what all of them cost.
    """

    def __init__(
        self, request: Request, policies: PolicySet, authorizer: Authorizer, deadline: float | None = None
    ) -> None:
        self.request = request
        self.policies = policies
        self.notes: set[str] = set()
        self.meter = Meter(CALL_LIMIT, deadline)
        self._quick_bindings: dict[str, Any] = {"oldObject": request.old_object}
        self._seen: object = self
        self._is_plain = False
        self._authorizer = authorizer
        self._namespaces: set[str] = set()
        self._objects: dict[tuple[str, Kind], JSONObject | None] = {}
        self._requests: dict[Matched, JSONObject] = {}

    def after(self, obj: JSONObject) -> Session:
        """Return a session of the same request with what has become of its object."""
        later = Session(self.request._replace(object=obj), self.policies, self._authorizer)
        later.notes, later.meter = self.notes, self.meter
        return later

    @property
    def namespace(self) -> JSONObject | None:
        """The object's namespace; None for objects of the cluster, Namespaces among them."""
        request = self.request
        return self.policies.namespace(request.namespace) if request.namespace and not request.is_namespace else None

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels, and note it if they are not known."""
        self._note_namespace(name)
        return self.policies.namespace_labels(name)

    def _note_namespace(self, name: str) -> None:
        if name in self._namespaces:
            return
        self._namespaces.add(name)
        if not self.policies.knows_namespace(name):
            self.notes.add(f"the namespace {quoted(name)} was not given: it is taken to have no labels but its name")

    def invocations(self, kind: str) -> Iterator[Invocation]:
        """List the policies of a kind that are evaluated, in their order."""
        for step in self.policies.plans[kind].find(self.request):
            if isinstance(step, Invocation):
                yield step
            else:
                yield from self.invocations_of(step)

    def invocations_of(self, candidate: Candidate) -> Iterator[Invocation]:
        """List the evaluations of a policy that may be about the request."""
        return candidate.invocations(self.request, self.policies, self.namespace_labels)

    def object(self, kind: Kind) -> JSONObject | None:
        """Return the object as it was sent, in another version.

        Raises:
            ConfigurationError: It cannot be had in that version.
        """
        return self._converted("object", self.request.object, kind)

    def _converted(self, name: str, obj: JSONObject | None, kind: Kind) -> JSONObject | None:
        if obj is None:
            return None
        key = name, kind
        if key not in self._objects:
            self._objects[key] = convert(obj, kind)
        return self._objects[key]

    def bindings(self, invocation: Invocation, obj: JSONObject | None) -> dict[str, Any]:
        """Bind what the expressions of a policy use.

        Args:
            invocation: The policy, without an error.
            obj: The object, in the version that the policy wants.

        Raises:
            ConfigurationError: The stored object cannot be had in that version.
        """
        matched, uses = invocation.matched, invocation.hook.uses
        assert matched is not None  # noqa: S101 - it has matched
        bindings: dict[str, Any] = {"object": obj, "params": invocation.params, "namespaceObject": None}
        if "request" in uses:
            bindings["request"] = self._request(matched)
        if "namespaceObject" in uses:
            bindings["namespaceObject"] = self._namespace_value
        if "authorizer" in uses or "authorizer.requestResource" in uses:
            bindings |= self._authorizer_bindings
        bindings["oldObject"] = self._converted("oldObject", self.request.old_object, matched.kind)
        return bindings

    def holds_quickly(self, invocation: Invocation, obj: JSONObject | None, *, changes: bool = False) -> bool | None:
        """Tell whether all validations of a policy hold; False if it does not apply, None if it has to be asked.

        Args:
            invocation: The policy, with its parameters.
            obj: The object.
            changes: Whether it is to make changes where it applies, so that its conditions are evaluated again.

        Raises:
            DeadlineExceededError: There is no time left.
        """
        if (quick := invocation.quick) is None or not self._is_as_sent(obj):
            return None
        bindings = self._quick_bindings
        self.bind(bindings, quick)
        bindings["object"] = obj
        return ask_quickly(((quick, invocation.params),), bindings, self.meter, changes=changes)

    def bind(self, bindings: dict[str, Any], quick: Quick) -> None:
        """Bind what the quick way to ask a policy needs beside the objects and parameters."""
        for name in quick.needs:
            if name not in bindings:
                matched = Matched(self.request.resource, self.request.kind)
                bindings[name] = self._request(matched) if name == "request" else self._namespace_value

    def _is_as_sent(self, obj: JSONObject | None) -> bool:
        """Tell whether an object and what is stored of it are of the version in which the request is."""
        if obj is not self._seen:
            kind = self.request.kind.api_version, self.request.kind.kind
            self._seen, self._is_plain = obj, is_of(obj, *kind) and is_of(self.request.old_object, *kind)
        return self._is_plain

    def _request(self, matched: Matched) -> JSONObject:
        if matched not in self._requests:
            self._requests[matched] = request_value(self.request, matched)
        return self._requests[matched]

    @cached_property
    def _namespace_value(self) -> JSONObject | None:
        namespace = self.namespace
        if namespace is not None:
            self._note_namespace(self.request.namespace)
        return namespace_value(namespace)

    @cached_property
    def _authorizer_bindings(self) -> dict[str, Any]:
        return self._authorizer.bindings(self.request, self.notes)
