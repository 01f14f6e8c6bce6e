"""Plans which policies are evaluated, once for every place: an operation on a resource.

If the place alone decides, a plan lists policies with their bindings and parameters. If names, labels or namespaces
matter, too, it lists the policies that may match, and each request is matched against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webhook.objects import JSONObject
from webhook.policy.evaluation.matcher import is_exempt, match
from webhook.policy.evaluation.params import ConfigurationError, PolicyFault, collect_params, no_param_kind
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.verdict import Decision
from webhook.policy.manifest.kinds import Kind, Resource
from webhook.policy.manifest.model import Binding, Policy
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.policy.evaluation.clusterobjects import ClusterObjects
    from webhook.policy.evaluation.matcher import Matched, NamespaceLabels

    RequestPlace = tuple[Resource, Kind, str, str, bool]
    Plan = tuple["Invocation | Candidate", ...]
    _Key = TypeVar("_Key")
    _Value = TypeVar("_Value")

_MAX_PLACES: Final = 500
"""More places than a cluster has; requests with made-up places must not fill the memory."""
_MAX_PLACE: Final = 1000
"""The maximum characters of a place: longer than in any cluster, where names have at most 253, and most of them 63."""


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A policy that has bindings."""

    policy: Policy
    bindings: tuple[Binding, ...]

    def passed(self, binding: Binding, params: JSONObject | None) -> tuple[Decision, ...]:
        """Return the policy's decisions if all its validations hold."""
        stated = (validation.expression for validation in self.policy.validations)
        return tuple(Decision(self.policy, binding, denied=False, path=each.path, params=params) for each in stated)


class Invocation(NamedTuple):
    """A policy to evaluate with a binding and parameters, or the reason why it cannot be.

    Args:
        binding: The binding; None if the policy itself is at fault.
        matched: The version in which the policy sees the object.
        passed: The policy's decisions if all its validations hold.
        fault: Why it cannot be evaluated.
    """

    hook: Hook
    binding: Binding | None
    matched: Matched
    params: JSONObject | None = None
    passed: tuple[Decision, ...] = ()
    fault: PolicyFault | None = None

    def decision(self, *, denied: bool, **facts: Any) -> Decision:
        """Return a decision of the policy."""
        return Decision(self.hook.policy, self.binding, denied, params=self.params, **facts)

    def unconfigured(self, fault: PolicyFault, **facts: Any) -> Decision:
        """Return the decision that the policy or the binding cannot be evaluated."""
        message = f"failed to configure {'binding' if self.binding else 'policy'}: {fault.text}"
        is_of_binding = self.binding is not None
        return self.failed(message, refuses=True, missing=fault.missing, is_of_binding=is_of_binding, **facts)

    def failed(self, message: str, **facts: Any) -> Decision:
        """Return the decision that the evaluation failed, which the failure policy makes."""
        denied = not self.hook.policy.fails_open
        return self.decision(denied=denied, is_error=True, message=message, **facts)


class Candidate(NamedTuple):
    """A policy that may match a request; `matched` is None if its version of the object depends on the request."""

    hook: Hook
    matched: Matched | None

    @property
    def is_about_namespaces(self) -> bool:
        """Whether its match depends on nothing but the namespace and the place."""
        matches = (self.hook.policy.match, *(binding.match for binding in self.hook.bindings))
        return all(match is None or match.is_about_namespaces for match in matches)

    def invocations(self, request: Request, objects: ClusterObjects, labels: NamespaceLabels) -> Iterator[Invocation]:
        """List its evaluations for a request; `labels` returns the labels of a namespace, given by name."""
        hook = self.hook
        matched = self.matched or match(hook.policy.match, request, objects.kinds, labels)
        if matched is None:
            return
        if fault := no_param_kind(hook.policy, objects):
            yield Invocation(hook, None, matched, fault=fault)
            return
        for binding in hook.bindings:
            if binding.match and not match(binding.match, request, objects.kinds, labels):
                continue
            try:
                for params in collect_params(hook.policy, binding, request.namespace, objects):
                    yield Invocation(hook, binding, matched, params, hook.passed(binding, params))
            except ConfigurationError as error:
                yield Invocation(hook, binding, matched, fault=error.fault)


class Plans:
    """Plans which policies are evaluated."""

    def __init__(self, hooks: tuple[Hook, ...], objects: ClusterObjects) -> None:
        self._hooks = hooks
        self._objects = objects
        self._known: dict[RequestPlace, Plan] = {}

    def find(self, request: Request) -> Plan:
        """Return the evaluations for a request, in the policies' order."""
        place = request.resource, request.kind, request.operation, request.subresource, not request.namespace
        found = self._known.get(place)
        if found is None:
            found = tuple(self._planned(request))
            parts = (*request.resource, *request.kind, request.operation, request.subresource)
            keep(self._known, place, found, sum(map(len, parts)))
        return found

    def _planned(self, request: Request) -> Iterator[Invocation | Candidate]:
        if is_exempt(request):
            return
        objects = self._objects
        pair = request.resource.group, request.resource.resource
        for hook in self._hooks:
            criteria = hook.policy.match
            if criteria.named is not None and pair not in criteria.named:
                continue
            if not criteria.is_about_places:
                yield Candidate(hook, None)
                continue
            matched = match(criteria, request, objects.kinds, objects.namespace_labels)
            if matched is None:
                continue
            candidate = Candidate(hook, matched)
            if all(_is_about_places(hook.policy, binding, objects) for binding in hook.bindings):
                yield from candidate.invocations(request, objects, objects.namespace_labels)
            else:
                yield candidate


def _is_about_places(policy: Policy, binding: Binding, objects: ClusterObjects) -> bool:
    """Tell whether a binding matches all requests in one place or none, with the same parameters."""
    if binding.match and not binding.match.is_about_places:
        return False
    kind, ref = policy.param_kind, binding.param_ref
    return kind is None or ref is None or bool(ref.namespace) or not objects.is_namespaced(kind)


def keep(known: dict[_Key, _Value], place: _Key, found: _Value, length: int) -> None:
    """Cache a value for a place, unless the place is too long, in characters, to be real."""
    if length <= _MAX_PLACE:
        if len(known) >= _MAX_PLACES:
            del known[next(iter(known))]  # the oldest: others stay, and memory stays level
        known[place] = found
