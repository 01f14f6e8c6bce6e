"""Which policies may be about a request: found once for every place, that is a resource with an operation on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.policy.ask.matcher import is_exempt, match
from webhook.policy.ask.params import ConfigurationError, Fault, check_param_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.policy.ask.clusterobjects import ClusterObjects
    from webhook.policy.ask.matcher import Matched
    from webhook.policy.ask.request import Request
    from webhook.policy.ask.verdict import Decision
    from webhook.policy.manifest.kinds import Kind, Resource
    from webhook.policy.manifest.model import Binding, Policy
    from webhook.policy.manifest.programs import Programs

    Place = tuple[Resource, Kind, str, str, bool]

_MAX_PLACES: Final = 1000
"""More than a cluster has; whoever makes places up shall not fill the memory."""
_MAX_PLACE: Final = 1000
"""Characters of a place, more than there are in a cluster, where a name has 253 at most and most have 63."""


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A policy that has bindings.

    Args:
        policy: The policy.
        programs: Its compiled expressions.
        bindings: What puts it to work.
        uses: The names of what its expressions use, such as ``namespaceObject``.
        passed: What a binding without parameters says if all validations hold.
    """

    policy: Policy
    programs: Programs
    bindings: tuple[Binding, ...]
    uses: frozenset[str]
    passed: Mapping[Binding, tuple[Decision, ...]]


class Candidate(NamedTuple):
    """A policy that may be about a request.

    Args:
        hook: The policy.
        matched: The version in which it sees the object; None if it takes a look at the request to tell.
        fault: Why it cannot be asked.
    """

    hook: Hook
    matched: Matched | None
    fault: Fault | None


class Index:
    """Finds the policies that may be about a request.

    Args:
        hooks: The policies, in their order.
        objects: The objects that they look at.
    """

    def __init__(self, hooks: tuple[Hook, ...], objects: ClusterObjects) -> None:
        self._hooks = hooks
        self._objects = objects
        self._known: dict[Place, tuple[Candidate, ...]] = {}

    def find(self, request: Request) -> tuple[Candidate, ...]:
        """List the policies that may be about a request, in their order."""
        place = request.resource, request.kind, request.operation, request.subresource, not request.namespace
        found = self._known.get(place)
        if found is None:
            found = tuple(self._candidates(request))
            if _length(request) <= _MAX_PLACE:
                if len(self._known) >= _MAX_PLACES:
                    self._known.clear()
                self._known[place] = found
        return found

    def _candidates(self, request: Request) -> Iterator[Candidate]:
        if is_exempt(request):
            return
        pair = request.resource.group, request.resource.resource
        for hook in self._hooks:
            criteria = hook.policy.match
            if criteria.named is not None and pair not in criteria.named:
                continue
            matched = None
            if criteria.is_about_places:
                matched = match(criteria, request, self._objects.kinds, self._objects.namespace_labels)
                if matched is None:
                    continue
            yield Candidate(hook, matched, self._fault(hook))

    def _fault(self, hook: Hook) -> Fault | None:
        try:
            check_param_kind(hook.policy, self._objects)
        except ConfigurationError as error:
            return error.fault
        return None


def _length(request: Request) -> int:
    return sum(map(len, (*request.resource, *request.kind, request.operation, request.subresource)))
