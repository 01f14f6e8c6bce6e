"""Dispatches a request to policies, with their bindings and parameters.

Follows apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` and ``validating/dispatcher.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from webhook.api import conversion
from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.later import cached_property
from webhook.objects import JSONObject, text
from webhook.policy.evaluation.activation import namespace_value, request_value
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.matcher import Matched
from webhook.policy.evaluation.params import ConfigurationError
from webhook.policy.evaluation.plan import Invocation
from webhook.policy.evaluation.request import Request
from webhook.policy.manifest.kinds import Kind, kind_of
from webhook.problem import quoted

if TYPE_CHECKING:
    from webhook.policy.evaluation.plan import Plan
    from webhook.policy.evaluation.policyset import PolicySet

# -- Converts objects to the API version that a policy matches


def convert(obj: JSONObject | None, kind: Kind) -> JSONObject | None:
    """Return an object in another version of its kind; None stays None.

    Raises:
        ConfigurationError: draguard does not know how the two versions differ.
    """
    if obj is None:
        return None
    if obj.get("kind") == kind.kind and obj.get("apiVersion") == kind.api_version:  # as nearly always
        return obj
    own = kind_of(text(obj, "apiVersion"), text(obj, "kind"))
    if own == kind or own.kind != kind.kind:  # a Scale, or the options of a DELETE, is of a kind of its own
        return obj
    try:
        return conversion.convert(obj, kind.api_version)
    except conversion.ConversionError:
        raise ConfigurationError(f"draguard cannot convert {own} to {kind.api_version}") from None


class Session:
    """One request, and the values that its policies share, each made on first use.

    Args:
        authorizer: Decides what the user may do.
        deadline: When evaluation must be finished, by ``time.monotonic`` in seconds; None for no limit.

    Attributes:
        meter: Limits the cost of each expression, and counts the cost of all.
        notes: The assumptions made.
    """

    def __init__(
        self, request: Request, policies: PolicySet, authorizer: Authorizer = DENY_ALL, deadline: float | None = None
    ) -> None:
        self.request = request
        self.notes: set[str] = set()
        self.policies = policies
        self.meter = Meter(CALL_LIMIT, deadline)
        self._authorizer = authorizer
        self._objects: dict[tuple[str, Kind], JSONObject | None] = {}
        self._requests: dict[Matched, JSONObject] = {}

    def after(self, obj: JSONObject) -> Session:
        """Return a session of the same request with its changed object."""
        later = Session(self.request._replace(object=obj), self.policies, self._authorizer)
        later.notes, later.meter = self.notes, self.meter
        return later

    def invocations(self, kind: str) -> Iterator[Invocation]:
        """List the policies of a kind to evaluate, in their order."""
        return self.invocations_in(self.policies.plans[kind].find(self.request))

    @property
    def namespace(self) -> JSONObject | None:
        """The object's namespace; None for cluster-scoped objects, including Namespaces."""
        request = self.request
        return self.policies.namespace(request.namespace) if request.namespace and not request.is_namespace else None

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; if they are unknown, note that."""
        self._note_namespace(name)
        return self.policies.namespace_labels(name)

    def _note_namespace(self, name: str) -> None:
        if not self.policies.knows_namespace(name):
            self.notes.add(f"the namespace {quoted(name)} was not given: it is taken to have no labels but its name")

    def invocations_in(self, plan: Plan) -> Iterator[Invocation]:
        """List the policies of a plan to evaluate, in their order."""
        for step in plan:
            if isinstance(step, Invocation):
                yield step
            else:
                yield from step.invocations(self.request, self.policies, self.namespace_labels)

    def request_value(self, matched: Matched) -> JSONObject:
        """Return the request as the expressions of a policy see it."""
        if matched not in self._requests:
            self._requests[matched] = request_value(self.request, matched)
        return self._requests[matched]

    @cached_property
    def namespace_value(self) -> JSONObject | None:
        """The object's namespace as expressions see it."""
        namespace = self.namespace
        if namespace is not None:
            self._note_namespace(self.request.namespace)
        return namespace_value(namespace)

    def object(self, kind: Kind) -> JSONObject | None:
        """Return the object as it was sent, in another version.

        Raises:
            ConfigurationError: It cannot be converted to that version.
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
        """Return the variables that a policy's expressions use; the object is in the version that the policy wants.

        Raises:
            ConfigurationError: The stored object cannot be converted to that version.
        """
        matched, uses = invocation.matched, invocation.hook.policy.uses
        bindings: dict[str, Any] = {"object": obj, "params": invocation.params, "namespaceObject": None}
        if "request" in uses:
            bindings["request"] = self.request_value(matched)
        if "namespaceObject" in uses:
            bindings["namespaceObject"] = self.namespace_value
        if "authorizer" in uses or "authorizer.requestResource" in uses:
            bindings |= self._authorizer.bindings(self.request, self.notes)
        bindings["oldObject"] = self._converted("oldObject", self.request.old_object, matched.kind)
        return bindings
