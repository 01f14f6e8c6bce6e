"""Evaluates policies for manifests, without a cluster."""

from __future__ import annotations

from webhook.api.versions import find, release_of
from webhook.budget import DOCUMENT, Budget, limited
from webhook.engine.mutation import mutate_request
from webhook.engine.registry import before_mutation, before_validation
from webhook.objects import text
from webhook.policy.change.defaults import completed, defaulted, without_defaults
from webhook.policy.evaluation.authorizer import DENY_ALL
from webhook.policy.evaluation.request import as_stated, in_namespace, request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from webhook.engine.mutation import Mutation
    from webhook.engine.prescheduled import Rewrite
    from webhook.objects import JSONObject
    from webhook.policy.evaluation.authorizer import Authorizer
    from webhook.policy.evaluation.policyset import Given, PolicySet
    from webhook.policy.evaluation.request import Request
    from webhook.policy.evaluation.verdict import Verdict
    from webhook.problem import Problem
    from webhook.release import Release


class Change(NamedTuple):
    """A manifest as mutating policies have changed it.

    Args:
        request: The request, with the changed object as in the API server.
        mutation: The mutation.
        manifest: The changed object, without the fields that only the API server has set.
        policies: The evaluated policies.
    """

    request: Request
    mutation: Mutation
    manifest: Any
    policies: PolicySet


def _unchanged(_obj: JSONObject | None) -> None:
    return None


def _changed(
    request: Request,
    policies: PolicySet,
    authorizer: Authorizer,
    rewrite: Callable[[Any], Rewrite | Problem | None] = _unchanged,
    budget: Budget | None = None,
) -> Change:
    sent = before_mutation(completed(in_namespace(request), policies.release), policies.kinds)
    with limited(budget or Budget(DOCUMENT, is_offline=True)):
        done = mutate_request(sent, policies, authorizer, rewrite)
    shown = without_defaults(done.object, sent.object, request.object)
    return Change(sent.with_object(done.object), done, as_stated(shown, request.object), policies)


def _validated(change: Change, authorizer: Authorizer, budget: Budget | None = None) -> Verdict:
    policies = change.policies
    request = before_validation(defaulted(change.request, policies.release), policies.kinds)
    with limited(budget or Budget(DOCUMENT, is_offline=True)):
        return validate(request, policies, authorizer)


class Sender:
    """Sends manifests to policies, as kubectl would send them to an API server.

    Args:
        policies: The policies.
        given: The objects from which they were loaded, to load them for other releases.
        authorizer: Decides what the user may do.
        user: The user who sends them.
        namespace: The namespace of namespaced objects that state none.
    """

    def __init__(
        self,
        policies: PolicySet,
        given: Sequence[Given],
        authorizer: Authorizer = DENY_ALL,
        user: Mapping[str, Any] | None = None,
        namespace: str = "default",
    ) -> None:
        self._set, self._manifests, self._authorizer = policies, given, authorizer
        self._user, self._namespace = user, namespace
        self._sets = {policies.release: policies}
        self._others: list[JSONObject] = []

    def know(self, objects: Sequence[JSONObject]) -> None:
        """Add objects for policies to read."""
        self._others += objects
        self._sets = {minor: policies.beside(objects) for minor, policies in self._sets.items()}

    def change(
        self,
        obj: Any,
        old: Any = None,
        subresource: str = "",
        rewrite: Callable[[Any], Rewrite | Problem | None] = _unchanged,
        *,
        kubernetes: str | None = None,
    ) -> Change | None:
        """Evaluate the mutating policies; None if the document is not an object.

        Args:
            obj: The manifest.
            old: The stored object; None for a new one.
            subresource: The updated subresource.
            rewrite: Returns the rewrite of an object that policies have changed.
            kubernetes: The release for which the object is meant; None for that of the policies, or the newest that
                serves the object.
        """
        if not isinstance(obj, dict) or not text(obj, "kind"):
            return None
        policies = self._at(release_of(kubernetes) if kubernetes else self._release(obj))
        request = request_of(
            obj,
            old if isinstance(old, dict) else None,
            kinds=policies.kinds,
            subresource=subresource,
            user=self._user,
            namespace=self._namespace,
        )
        return _changed(request, policies, self._authorizer, rewrite)

    def validate(self, change: Change) -> Verdict:
        """Evaluate the validating policies for an object that mutating policies have admitted."""
        return _validated(change, self._authorizer)

    def _release(self, obj: Mapping[str, Any]) -> Release:
        minor, known = self._set.release, find(obj.get("apiVersion"), obj.get("kind"))
        return minor if known is None or known.since <= minor <= known.until else known.default

    def _at(self, minor: Release) -> PolicySet:
        """Return the policies with the kinds of a release."""
        if minor not in self._sets:
            self._sets[minor] = load(self._manifests, minor).beside(self._others)
        return self._sets[minor]


def evaluate(
    obj: JSONObject | None,
    old: JSONObject | None = None,
    *,
    policies: PolicySet,
    operation: str = "",
    subresource: str = "",
    user: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    namespace: str = "default",
    authorizer: Authorizer = DENY_ALL,
    budget: Budget | None = None,
) -> Verdict:
    """Evaluate policies for the request that a manifest stands for, as the API server would; never raises.

    The API server's own rules do not apply: a test case may state only the fields that the policy reads. The verdict's
    ``object`` is the object as mutating policies changed it, without the fields that only the API server has set.

    Args:
        obj: The object; None to delete ``old``.
        old: The object as it is stored, for an update.
        policies: The policies.
        operation: CREATE, UPDATE, DELETE or CONNECT; if empty, inferred from the objects.
        subresource: The subresource.
        user: The requesting user: ``username``, ``groups``, ``uid``, ``extra``.
        dry_run: Whether nothing will be stored.
        namespace: The namespace of a namespaced object that states none.
        authorizer: Decides what the user may do.
        budget: The work that it may take; by default, that for a document, for mutations and again for validations.
    """
    request = request_of(
        obj,
        old,
        kinds=policies.kinds,
        operation=operation,
        subresource=subresource,
        user=user,
        dry_run=dry_run,
        namespace=namespace,
    )
    change = _changed(request, policies, authorizer, budget=budget)
    verdict = change.mutation.verdict
    if verdict.allowed:
        verdict = _validated(change, authorizer, budget).after(verdict)
    return verdict._replace(object=change.manifest)
