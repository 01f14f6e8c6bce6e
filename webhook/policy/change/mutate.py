"""Evaluates mutating policies.

Follows apiserver ``pkg/admission/plugin/policy/mutating`` (dispatcher.go, reinvocationcontext.go, patch/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from webhook.api.conversion import with_defaults
from webhook.api.versions import schema_of
from webhook.budget import BudgetExceededError, current
from webhook.cel.kubernetes.environments import POLICY_LIMIT
from webhook.cel.types.values import Struct
from webhook.objects import JSONObject, metadata_of, text
from webhook.patch import PatchError, TestFailedError, apply_patch
from webhook.policy.change.decoding import DecodingError, MutationError, expect_decodable, with_identity
from webhook.policy.change.merge import apply, expect_whole_numbers, without_nulls
from webhook.policy.change.native import Natives, check_names, configuration_of, expect_no_panic, to_json
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import Invocation, PolicySet
from webhook.policy.evaluation.request import UPDATE, Request
from webhook.policy.evaluation.session import (
    ConfigurationError,
    Evaluation,
    OutOfBudgetError,
    Session,
    convert,
    evaluate_conditions,
)
from webhook.policy.evaluation.verdict import (
    INVALID,
    MUTATION_FAILURE,
    EvaluationFault,
    PolicyDecision,
    Tally,
    Verdict,
    code_of,
    refused,
)
from webhook.policy.manifest.kinds import GroupVersionKind, kind_of
from webhook.policy.manifest.model import DENY, MUTATING, StatedExpression
from webhook.problem import BAD_REQUEST, quoted
from webhook.release import Release

DUPLICATES_SINCE: Final = 35
"""The first release that merges into lists with several items of one key, such as environment variables."""
_OBJECTS_IN_LISTS_SINCE: Final = 37
"""The first release whose JSON Patches surely can have objects in lists and maps (kubernetes/kubernetes#140419)."""
_STEPS: Final = 4
"""How often a mutation walks the whole object: it is copied, decoded and completed, or merged."""
_OF_STORED: Final = frozenset({"name", "uid", "resourceVersion"})
"""The metadata of a stored object that an update may leave out, and not change."""
_MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"
INTERNAL: Final = "InternalError"

Key = tuple[str, str, str, str]
"""A policy, a binding and parameters: the unit of reinvocation."""
Webhooks = Callable[["JSONObject | None"], "JSONObject | None"]
"""Returns an object as webhooks change it; None if they refuse it."""


def mutate(
    request: Request, policies: PolicySet, authorizer: Authorizer = DENY_ALL, webhooks: Webhooks = lambda obj: obj
) -> Verdict:
    """Evaluate the mutating policies for a request, and the webhooks that follow them.

    The verdict's ``object`` is the changed object; the request's own is left as it was. If the object has changed,
    evaluated policies with ``reinvocationPolicy: IfNeeded`` are evaluated again. Only webhooks raise, and the
    end of the budget in force.

    Args:
        authorizer: Decides what the user may do.
        webhooks: Returns the object as webhooks change it; None if they refuse it, so that no policy runs again.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    # Each policy is evaluated once, and once more if something has changed (apiserver pkg/admission/reinvocation.go).
    session = Session(request, policies, authorizer)
    mutator = _Mutator(session)
    tally = mutator.tally
    try:
        mutator.evaluate_all()
        if not tally.refusals:
            mutator.run_webhooks(webhooks)
    except DecodingError as error:
        message, decisions = f"Internal error occurred: {error}", tuple(tally.decisions)
        return refused(INTERNAL, message, causes=(str(error),), decisions=decisions, cost=session.meter.cost)
    verdict = tally.verdict(mutator.object, session.notes, session.meter.cost)
    if verdict.allowed:
        return _refused_if_lost(request, verdict)
    causes = tuple(map(_refusal, tally.refusals))
    code, reason = code_of("Forbidden"), tally.refusals[0].reason  # whatever the reason is
    return verdict._replace(code=code, reason=reason, message=causes[0], causes=causes)


def _refused_if_lost(request: Request, verdict: Verdict) -> Verdict:
    """Return a verdict, or the refusal of an object whose identity differs from that of the request.

    It comes after all mutations, whatever the failure policy is (apiserver ``pkg/registry/rest/create.go``, update.go).
    """
    blamed = next((each for each in reversed(verdict.decisions) if each.changed), None)
    if blamed is None or verdict.object is None or request.subresource:
        return verdict
    if (other := next(_other_identities(request, verdict.object), None)) is None:
        return verdict
    reason, message, value = other
    last = replace(
        blamed, denied=True, is_error=True, changed=False, refuses=True, reason=reason, message=message, value=value
    )
    whole = verdict._replace(allowed=False, code=code_of(reason), decisions=(*verdict.decisions, last))
    return whole._replace(reason=reason, message=message, causes=(message,))


def _other_identities(request: Request, obj: JSONObject) -> Iterator[tuple[str, str, str]]:
    """Yield the reason, message and rejected text of the refusals of a changed kind, namespace, name, version or uid.

    Custom resources may not change their kind either (apiextensions ``registry/customresource/validator.go``).
    """
    for field, own in (("kind", request.kind.kind), ("apiVersion", request.kind.api_version)):
        if (stated := text(obj, field)) not in {"", own}:
            yield INVALID, f"{field}: Invalid value: {quoted(stated)}: must be {own}", stated
    metadata, sent = metadata_of(obj), metadata_of(request.object)  # in a test, what is sent may have no name
    namespace, version = text(metadata, "namespace"), text(metadata, "resourceVersion")
    if request.namespace and not request.is_namespace and namespace not in {"", request.namespace}:
        what = "the namespace of the provided object does not match the namespace sent on the request"
        yield BAD_REQUEST, what, namespace
    if request.operation == UPDATE:
        changed = {
            field: after
            for field, before in metadata_of(request.old_object).items()
            if field in _OF_STORED and before and (after := metadata.get(field)) not in (None, "", before)
        }
        for field in (each for each in ("name", "uid") if each in changed):
            value = str(changed[field])
            yield INVALID, f"metadata.{field}: Invalid value: {quoted(value)}: field is immutable", value
        if "resourceVersion" in changed and version != text(sent, "resourceVersion"):
            what = f"{request.resource.qualified} {quoted(text(metadata, 'name'))}"
            yield "Conflict", f"Operation cannot be fulfilled on {what}: {_MODIFIED}", version
        return
    if version and version != text(sent, "resourceVersion"):
        yield "", "resourceVersion should not be set on objects to be created", version
    if text(sent, "name") and not text(metadata, "name") and not text(metadata, "generateName"):
        yield INVALID, "metadata.name: Required value: name or generateName is required", ""


def _refusal(error: PolicyDecision) -> str:
    if error.binding is None:
        return f'policy "{error.policy.name}" denied request: {error.message}'
    return f"policy '{error.policy.name}' with binding '{error.binding.name}' denied request: {error.message}"


class _Mutator:
    """Applies the mutations of all policies in turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sent = self.object = session.request.object
        self._decoded: tuple[JSONObject | None, JSONObject | None] = None, None
        self.tally = Tally(MUTATION_FAILURE)
        self._invoked: set[Key] = set()
        self._touched = False

    def evaluate_all(self) -> None:
        """Evaluate every policy that matches the request; those that cannot be evaluated come first."""
        for invocation in sorted(self._session.invocations(MUTATING), key=lambda each: not each.fault):
            if invocation.fault:
                self.tally.add(invocation.unconfigured(invocation.fault, reason="Forbidden"))
            else:
                self._evaluate(invocation)

    def run_webhooks(self, webhooks: Webhooks) -> None:
        """Let webhooks change the object, then reinvoke policies that require it.

        A policy that was skipped because its conditions did not hold is not reinvoked, whatever has changed.
        """
        if (obj := webhooks(self.object)) is None:
            return
        due = set(self._invoked) if self._touched or obj != self.object else set()
        self.object = obj
        if not due:
            return
        self._session = self._session.after(obj)
        for invocation in self._session.invocations(MUTATING):
            if not invocation.fault:
                self._evaluate(invocation, due)

    def _evaluate(self, invocation: Invocation, due: AbstractSet[Key] | None = None) -> None:
        """Evaluate a policy; if it is not due, its conditions are evaluated nevertheless, and may fail."""
        policy, matched = invocation.hook.policy, invocation.matched
        seen = self._as_decoded(self.object)
        try:
            obj = convert(self.object, matched.kind)
            bindings = self._session.bindings(invocation, convert(seen, matched.kind))
        except ConfigurationError as error:
            self.tally.add(invocation.unconfigured(str(error), reason="Forbidden"))
            return
        met = evaluate_conditions(policy, bindings, self._session.request, self._session.meter)
        if met.error and not policy.fails_open:
            self.tally.add(invocation.failed(met.error, path=met.path, fault=met.fault, refuses=True))
        if not met.value or (due is not None and _key(invocation) not in due):
            return
        for mutation in policy.mutations:
            if obj is None:
                break
            bindings = bindings | {"object": self._as_decoded(obj)}
            evaluation = Evaluation(bindings, policy.composed, POLICY_LIMIT, self._session.meter)
            try:
                outcome = evaluation.evaluate(mutation)
                if outcome.error:
                    fault = outcome.fault
                    self.tally.add(invocation.failed(outcome.error, path=mutation.path, fault=fault, refuses=True))
                    continue
                changed = _changed(obj, mutation, outcome.value, self._session.policies, bindings)
                self._expect_own_version(matched.kind)
            except (OutOfBudgetError, MutationError, DecodingError) as error:
                self._record(error, invocation, mutation)
                continue
            self._touched = True
            self.tally.add(invocation.decision(denied=False, path=mutation.path, changed=changed != obj))
            self.object = obj = changed
        if policy.reinvoked:
            self._invoked.add(_key(invocation))

    def _as_decoded(self, obj: JSONObject | None) -> JSONObject | None:
        """Return an object as expressions see it: after each change, the API server decodes it and sets defaults."""
        if obj is None or obj is self._sent or schema_of(text(obj, "apiVersion"), text(obj, "kind")) is None:
            return obj  # custom resources are completed whenever they change
        if obj is not self._decoded[0]:
            self._decoded = obj, with_defaults(obj, self._session.policies.release)
        return self._decoded[1]

    def _expect_own_version(self, kind: GroupVersionKind) -> None:
        """Make sure that a policy matches the version in which the object was sent.

        The API server cannot convert a mutated object of its own kinds back from another version (dispatcher.go,
        ConvertToVersion).

        Raises:
            MutationError: It matches another version.
        """
        sent = self._session.request.kind
        if kind != sent and not self._session.policies.kinds.is_custom(kind):
            versions = f"({kind.version}.{kind.kind}) to ({sent.version}.{sent.kind})"
            raise MutationError(f"converting {versions}: unknown conversion")

    def _record(self, error: Exception, invocation: Invocation, mutation: StatedExpression) -> None:
        """Record an error; raise it if it ends the request, whatever the failure policy is."""
        ends = isinstance(error, DecodingError) and invocation.hook.policy.strongest == DENY
        fault = error.fault if isinstance(error, MutationError) else None
        decision = invocation.failed(str(error), path=mutation.path, fault=fault, refuses=True)
        self.tally.add(replace(decision, denied=True, reason=INTERNAL) if ends else decision)
        if ends:
            raise error


def _key(invocation: Invocation) -> Key:
    metadata = metadata_of(invocation.params)
    binding = invocation.binding.name if invocation.binding else ""
    return invocation.hook.policy.name, binding, text(metadata, "namespace"), text(metadata, "name")


def _changed(
    obj: JSONObject, mutation: StatedExpression, value: Any, policies: PolicySet, bindings: Mapping[str, Any]
) -> JSONObject:
    """Return an object with a mutation applied.

    Raises:
        MutationError: The mutation fails.
        DecodingError: The mutated object cannot be decoded.
    """
    api_version, kind = text(obj, "apiVersion"), text(obj, "kind")
    schema = policies.kinds.schema_of(kind_of(api_version, kind))
    custom = policies.kinds.custom(kind_of(api_version, kind))
    natives = Natives((obj, *bindings.values()))
    try:
        if current().is_offline:  # a review has a deadline
            current().spend(_STEPS * _size_of(obj))
        if mutation.name == "JSONPatch":
            operations = [_operation(each, natives, policies.release) for each in value]
            changed = with_identity(_patched(obj, bindings["object"], operations), obj)
            expect_decodable(changed, obj, policies)
        elif schema is None:
            raise MutationError(f"draguard does not know how {kind} of {api_version} is made, and cannot merge into it")
        else:
            check_names(value)
            configuration = configuration_of(value, natives) | {name: obj[name] for name in ("apiVersion", "kind")}
            changed = apply(obj, configuration, schema, duplicates=policies.release >= DUPLICATES_SINCE)
            if not custom:
                expect_whole_numbers(configuration, schema)
    except BudgetExceededError as error:
        if not current().is_offline:
            raise
        raise MutationError(str(error), EvaluationFault(str(error), is_work=True)) from None
    if custom:
        return custom.completed(changed, policies.release)
    return without_nulls(changed, schema) if schema and _has_null(changed) else changed


def _operation(patch: Struct, natives: Natives, release: Release) -> JSONObject:
    """Return an operation of a JSON Patch as plain JSON."""
    value = patch.get("value")
    check_names(value)
    if current().is_offline and release < _OBJECTS_IN_LISTS_SINCE:
        expect_no_panic(value)  # draguard itself does not panic: the webhook does what later releases do
    operation = {name: patch.get(name, "") for name in ("op", "path", "from")}
    return operation | ({"value": to_json(value, natives)} if "value" in patch else {})


def _patched(obj: JSONObject, seen: JSONObject, operations: list[JSONObject]) -> JSONObject:
    """Return an object with a JSON Patch applied: without defaults, unless the patch needs one.

    Whether it applies is decided by the object as decoded, which has defaults, and no empty maps.
    """
    try:
        patched = apply_patch(seen, operations)
    except TestFailedError:
        return obj
    except PatchError as error:
        text = f"JSON Patch: {error}"
        raise MutationError(text, EvaluationFault(text, patch=error.missing)) from None
    if seen is not obj:
        with suppress(PatchError):
            return apply_patch(obj, operations)
    return patched


def _size_of(value: Any) -> int:
    """Return the number of values in a value."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size_of, parts))


def _has_null(value: Any) -> bool:
    """Tell whether a value holds null; a value without nulls stays shared with the object before."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return value is None
    for each in value:  # noqa: SIM110 - `any` would make a generator for every level
        if _has_null(each):
            return True
    return False
