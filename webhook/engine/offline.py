"""Evaluates policies for manifests, without a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from webhook.api.judgement import judge
from webhook.api.versions import find, release_of
from webhook.budget import DOCUMENT, Budget, BudgetExceededError, limited
from webhook.engine.mutation import Mutation, mutate_request
from webhook.engine.prescheduled import Rewriting
from webhook.engine.registry import before_mutation, before_validation
from webhook.objects import JSONObject, is_definition, mapping, metadata_of, text
from webhook.policy.change.defaults import completed, defaulted, stated
from webhook.policy.change.plugins import READ, RefusedError, admitted, expect_admissible
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import PolicySet, undecodable
from webhook.policy.evaluation.request import Request, as_stated, in_namespace, request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import Verdict, forbidden, refused
from webhook.policy.load import load
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, kind_in
from webhook.policy.manifest.model import Given
from webhook.problem import BAD_REQUEST, ERROR, Path, Problem
from webhook.schema.decoding import UNKNOWN_FIELD
from webhook.schema.target import STATUS
from webhook.structural import SCHEMA


class MutatedManifest(NamedTuple):
    """A manifest as mutating policies have changed it.

    Args:
        request: The request, with the changed object as in the API server.
        manifest: The changed object, without the fields that only the API server has set.
        judged: The request as the API server's rules judge it: as it was sent, or with the changed object. What was
            set before the change may not fit any more, so the spec is completed, and that of a stored object likewise.
    """

    request: Request
    mutation: Mutation
    manifest: Any
    judged: Request
    policies: PolicySet


def _changed(
    request: Request, policies: PolicySet, authorizer: Authorizer, rewrite: Rewriting, budget: Budget | None = None
) -> MutatedManifest:
    sent = before_mutation(completed(in_namespace(request), policies.kinds), policies.kinds)
    plugged: list[tuple[JSONObject | None, JSONObject | None]] = []

    def complete(obj: JSONObject | None) -> JSONObject | None:
        again = admitted(defaulted(sent._replace(object=obj), policies.kinds), policies).object
        plugged.append((again, obj))
        return again

    try:
        sent = admitted(sent, policies)
        with limited(budget or Budget(DOCUMENT, is_offline=True)):
            done = mutate_request(sent, policies, authorizer, rewrite, complete)
    except RefusedError as error:
        return MutatedManifest(sent, Mutation(_refused(sent, error)), request.object, request, policies)
    written = done.verdict.object
    if written == sent.object or written is None:
        return MutatedManifest(sent, done, request.object, request, policies)
    final = defaulted(sent._replace(object=written), policies.kinds)
    for again, before in plugged:
        written = stated(written, again, before, written)
    submitted = _without_changed_texts(request.object, sent.object, final.object)
    shown: Any = as_stated(stated(final.object, sent.object, submitted, written), request.object)
    old = request.old_object and request.old_object | _spec_of(sent.old_object)
    judged = request._replace(object=shown | _spec_of(final.object), old_object=old)
    return MutatedManifest(final, done, shown, judged, policies)


def _spec_of(obj: JSONObject | None) -> JSONObject:
    return {name: each for name, each in (obj or {}).items() if name == "spec"}


def _without_changed_texts(submitted: Any, before: Any, after: Any) -> Any:
    """Return a Secret without the ``stringData`` whose ``data`` have changed: they would take precedence."""
    texts = mapping(submitted, "stringData")
    if not texts or "stringData" in before:
        return submitted
    old, new = mapping(before, "data"), mapping(after, "data")
    kept = {key: each for key, each in texts.items() if old.get(key) == new.get(key)}
    others = {name: each for name, each in submitted.items() if name != "stringData"}
    return others | {"stringData": kept} if kept else others


def _refused(request: Request, error: RefusedError) -> Verdict:
    """Return the verdict for a request that an admission plugin refuses, so that no further policy is asked."""
    return refused("Forbidden", forbidden(request, str(error)), request.object, is_of_plugin=True)


def _validated(mutated: MutatedManifest, authorizer: Authorizer, budget: Budget | None = None) -> Verdict:
    policies = mutated.policies
    request = before_validation(mutated.request, policies.kinds)
    try:
        expect_admissible(request, policies)
    except RefusedError as error:
        return _refused(request, error)
    with limited(budget or Budget(DOCUMENT, is_offline=True)):
        return validate(request, policies, authorizer)


class Sender:
    """Sends manifests to policies, as kubectl would send them to an API server.

    Args:
        given: The objects from which they were loaded, to load them for other releases.
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
        self._noted: dict[tuple[GroupVersionKind, str, str], JSONObject] = {}

    def note(self, obj: Any) -> None:
        """Note a manifest if it defines a kind, or admission plugins read it; the last one of a name counts."""
        if not isinstance(obj, dict):
            return
        kind = kind_in(obj)
        if is_definition(obj) or kind in READ:
            metadata = metadata_of(obj)
            self._noted[kind, text(metadata, "namespace") or self._namespace, text(metadata, "name")] = obj

    def know(self, namespaces: Sequence[JSONObject]) -> None:
        """Let policies and plugins read what was noted of the manifests, and Namespaces."""
        objects = [*namespaces, *self._noted.values()]
        self._noted.clear()
        self._others += objects
        self._sets = {minor: policies.beside(objects, self._namespace) for minor, policies in self._sets.items()}

    def change(
        self,
        obj: Any,
        old: Any = None,
        subresource: str = "",
        rewrite: Rewriting = lambda _obj: None,
        *,
        kubernetes: str | None = None,
    ) -> MutatedManifest | None:
        """Evaluate the mutating policies; None if the document is not an object.

        Args:
            rewrite: Returns the rewrite of an object that policies have changed.
            kubernetes: The release for which the object is meant; None for that of the policies, or the newest that
                serves the object.
        """
        if not isinstance(obj, dict) or not text(obj, "kind"):
            return None
        policies = self._for(obj, kubernetes)
        stored = old if isinstance(old, dict) else None
        kinds, user, namespace = policies.kinds, self._user, self._namespace
        request = request_of(obj, stored, kinds=kinds, subresource=subresource, user=user, namespace=namespace)
        return _changed(request, policies, self._authorizer, rewrite)

    def undecodable(self, obj: Any, kubernetes: str | None = None) -> list[Problem]:
        """List why the API server cannot decode a manifest, so that no policy is asked about it."""
        return undecodable(obj, self._for(obj, kubernetes).kinds) if isinstance(obj, dict) else []

    def refusals(self, mutated: MutatedManifest) -> list[Problem]:
        """List why the API server does not store a custom resource, so that no validating policy is asked about it."""
        kinds, request = mutated.policies.kinds, mutated.request
        custom = kinds.custom(request.kind)
        if custom is None or request.object is None:
            return []
        request = before_validation(request, kinds)
        try:
            with limited(Budget(DOCUMENT, is_offline=True)):
                return custom.refusals(request.object or {}, request.old_object, kinds.release, request.subresource)
        except BudgetExceededError as error:
            return [Problem(ERROR, SCHEMA, "InternalError", Path(), str(error))]

    def validate(self, mutated: MutatedManifest) -> Verdict:
        """Evaluate the validating policies for an object that mutating policies have admitted."""
        return _validated(mutated, self._authorizer)

    def _for(self, obj: Mapping[str, Any], kubernetes: str | None) -> PolicySet:
        """Return the policies with the kinds of a release; by default of their own, or the newest that has the kind."""
        minor, known = self._set.release, find(obj.get("apiVersion"), obj.get("kind"))
        if kubernetes:
            minor = release_of(kubernetes)
        elif known is not None and not known.since <= minor <= known.until:
            minor = known.default
        if minor not in self._sets:
            served = self._set.kinds.runtime_config
            policies = load(self._manifests, minor, namespace=self._namespace, runtime_config=served)
            self._sets[minor] = policies.beside(self._others, self._namespace)
        return self._sets[minor]


def evaluate(
    request: Request, policies: PolicySet, authorizer: Authorizer = DENY_ALL, budget: Budget | None = None
) -> Verdict:
    """Evaluate policies for the request that a manifest stands for, as the API server would; never raises.

    The API server's own rules do not apply: a test case may state only the fields that the policy reads. The verdict's
    ``object`` is the object as mutating policies changed it, without the fields that only the API server has set.

    Args:
        request: The request, as :func:`webhook.policy.evaluation.request.request_of` makes it.
        budget: The work that it may take; by default, that for a document, for mutations and again for validations.
    """
    found = (each.message for each in undecodable(request.object or {}, policies.kinds) if each.rule != UNKNOWN_FIELD)
    if (message := next(found, None)) is not None:
        return refused(BAD_REQUEST, message, request.object, causes=(message,))
    mutated = _changed(request, policies, authorizer, lambda _obj: None, budget)
    verdict = mutated.mutation.verdict
    if verdict.allowed:
        verdict = _validated(mutated, authorizer, budget).after(verdict)
    return verdict._replace(object=mutated.manifest, judged=mutated.judged)


def made_invalid(changed: Request | None, sent: Request, kinds: Kinds) -> Iterator[Problem]:
    """Yield the API server's refusals of a changed object that do not apply to the object that was sent.

    The object that was sent may be incomplete, as in a test.

    Args:
        changed: The request as :class:`Verdict` has it.
    """
    is_judged = sent.subresource in {"", STATUS}
    if changed is None or sent.object is None or changed == sent or not is_judged:
        return

    def refusals(request: Request) -> list[Problem]:
        obj, old, subresource = request.object or {}, request.old_object, request.subresource
        if custom := kinds.custom(kind_in(obj)):
            problems = custom.refusals(custom.completed(obj, kinds.release), old, kinds.release, subresource)
        else:
            problems = judge(obj, old, kubernetes=f"1.{kinds.release}", subresource=subresource)
        return [problem for problem in problems if problem.level == ERROR]

    # A policy may move items and change other fields.
    before = Counter((each.rule, each.path.names) for each in refusals(sent))
    for each in refusals(changed):
        if before[each.rule, each.path.names]:
            before[each.rule, each.path.names] -= 1
        else:
            yield each
