"""Dispatches a request to policies, with their bindings and parameters.

Follows apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` and ``validating/dispatcher.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from webhook.cel import Meter
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.later import cached_property
from webhook.objects import JSONObject
from webhook.policy.evaluation.convert import convert
from webhook.policy.evaluation.plan import Invocation
from webhook.policy.evaluation.quick import evaluate_quickly, is_of
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.setting import Setting
from webhook.policy.manifest.kinds import Kind

if TYPE_CHECKING:
    from webhook.policy.evaluation.authorizer import Authorizer
    from webhook.policy.evaluation.policyset import PolicySet


_NOTHING: Final = object()
"""Marks an object that has not been looked up yet."""


class Session(Setting):
    """One request, and the values that its policies share, each made on first use.

    Args:
        request: The request.
        policies: The policies.
        authorizer: Decides what the user may do.
        deadline: When evaluation must be finished, by ``time.monotonic`` in seconds; None for no limit.

    Attributes:
        meter: Limits the cost of each expression, and counts the cost of all.
    """

    def __init__(
        self, request: Request, policies: PolicySet, authorizer: Authorizer, deadline: float | None = None
    ) -> None:
        super().__init__(request, policies)
        self.policies = policies
        self.meter = Meter(CALL_LIMIT, deadline)
        self._quick_bindings: dict[str, Any] = {"oldObject": request.old_object}
        self._seen: object = _NOTHING
        self._is_plain = False
        self._authorizer = authorizer
        self._objects: dict[tuple[str, Kind], JSONObject | None] = {}

    def after(self, obj: JSONObject) -> Session:
        """Return a session of the same request with its changed object."""
        later = Session(self.request._replace(object=obj), self.policies, self._authorizer)
        later.notes, later.meter = self.notes, self.meter
        return later

    def invocations(self, kind: str) -> Iterator[Invocation]:
        """List the policies of a kind to evaluate, in their order."""
        return self.invocations_in(self.policies.plans[kind].find(self.request))

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
        """Return the variables that a policy's expressions use.

        Args:
            invocation: The policy, without an error.
            obj: The object, in the version that the policy wants.

        Raises:
            ConfigurationError: The stored object cannot be converted to that version.
        """
        matched, uses = invocation.matched, invocation.hook.uses
        bindings: dict[str, Any] = {"object": obj, "params": invocation.params, "namespaceObject": None}
        if "request" in uses:
            bindings["request"] = self.request_value(matched)
        if "namespaceObject" in uses:
            bindings["namespaceObject"] = self.namespace_value
        if "authorizer" in uses or "authorizer.requestResource" in uses:
            bindings |= self._authorizer_bindings
        bindings["oldObject"] = self._converted("oldObject", self.request.old_object, matched.kind)
        return bindings

    def holds_quickly(self, invocation: Invocation, obj: JSONObject | None, *, changes: bool = False) -> bool | None:
        """Tell whether all validations of a policy hold; False if it does not apply, None if it must be evaluated.

        Args:
            invocation: The policy, with its parameters.
            obj: The object.
            changes: Whether it changes objects to which it applies, so that its conditions are evaluated again.

        Raises:
            DeadlineExceededError: The deadline has passed.
        """
        if (quick := invocation.quick) is None or not self._is_as_sent(obj):
            return None
        bindings = self._quick_bindings
        self.bind(bindings, quick)
        bindings["object"] = obj
        return evaluate_quickly(((quick, invocation.params),), bindings, self.meter, changes=changes)

    def _is_as_sent(self, obj: JSONObject | None) -> bool:
        """Tell whether an object and its stored state are in the request's version."""
        if obj is not self._seen:
            kind = self.request.kind.api_version, self.request.kind.kind
            self._seen, self._is_plain = obj, is_of(obj, *kind) and is_of(self.request.old_object, *kind)
        return self._is_plain

    @cached_property
    def _authorizer_bindings(self) -> dict[str, Any]:
        return self._authorizer.bindings(self.request, self.notes)
