"""The setting of a request: the variables of policies beside the objects and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from webhook.later import cached_property
from webhook.objects import JSONObject
from webhook.policy.evaluation.activation import namespace_value, request_value
from webhook.policy.evaluation.matcher import Matched
from webhook.policy.evaluation.plan import Invocation
from webhook.policy.evaluation.request import Request
from webhook.problem import quoted

if TYPE_CHECKING:
    from webhook.policy.evaluation.clusterobjects import ClusterObjects
    from webhook.policy.evaluation.plan import Plan
    from webhook.policy.evaluation.quick import Quick


class Setting:
    """One request, and the namespace around its object: each part is made on first use.

    Args:
        request: The request.
        cluster: The objects that policies read.

    Attributes:
        notes: The assumptions made.
    """

    def __init__(self, request: Request, cluster: ClusterObjects) -> None:
        self.request = request
        self.notes: set[str] = set()
        self._cluster = cluster
        self._namespaces: set[str] = set()
        self._requests: dict[Matched, JSONObject] = {}

    @property
    def namespace(self) -> JSONObject | None:
        """The object's namespace; None for cluster-scoped objects, including Namespaces."""
        request = self.request
        return self._cluster.namespace(request.namespace) if request.namespace and not request.is_namespace else None

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels; if they are unknown, note that."""
        self._note_namespace(name)
        return self._cluster.namespace_labels(name)

    def _note_namespace(self, name: str) -> None:
        if name in self._namespaces:
            return
        self._namespaces.add(name)
        if not self._cluster.knows_namespace(name):
            self.notes.add(f"the namespace {quoted(name)} was not given: it is taken to have no labels but its name")

    def invocations_in(self, plan: Plan) -> Iterator[Invocation]:
        """List the policies of a plan to evaluate, in their order."""
        for step in plan:
            if isinstance(step, Invocation):
                yield step
            else:
                yield from step.invocations(self.request, self._cluster, self.namespace_labels)

    def bind(self, bindings: dict[str, Any], quick: Quick) -> None:
        """Add the variables that a quick evaluation needs beside the objects and parameters."""
        for name in quick.needs:
            if name not in bindings:
                matched = Matched(self.request.resource, self.request.kind)
                bindings[name] = self.request_value(matched) if name == "request" else self.namespace_value

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
