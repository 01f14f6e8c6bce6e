"""Decides about requests by the API server's rules and policies, and rewrites pre-scheduled pods."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, get_args

from webhook.admission.enforcement import AUDIT, DENY, WARN, Enforcement, Mode, milder
from webhook.admission.record import ALLOWED, DENIED, EXEMPT, FAILED, Call, Endpoint, Record, RecordedFinding
from webhook.admission.responses import (
    PatchTooLargeError,
    annotations_of,
    assumed,
    denied,
    noted,
    patch,
    refusal,
    refused,
    with_remarks,
    worded,
)
from webhook.api.judgement import judge_admitted
from webhook.budget import INLINE, REVIEW, Budget, BudgetExceededError, DeadlineExceededError, enter, leave
from webhook.engine import prescheduled
from webhook.engine.prescheduled import bypassing, rewritten
from webhook.later import cached_property
from webhook.problem import BAD_REQUEST, ERROR, Problem

if TYPE_CHECKING:
    from webhook.engine.mutation import Evaluator
    from webhook.policy.evaluation.authorizer import Authorizer
    from webhook.policy.evaluation.policyset import PolicySet
    from webhook.policy.evaluation.verdict import Verdict
    from webhook.references.lookup import Surroundings

    Response = dict[str, Any]

    Passes = Callable[[Mapping[str, Any]], tuple[int, Sequence[str]] | None]
    """Tells that no policy refuses or changes a request: the cost, and the assumptions; None if it does not know."""


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReviewOptions:
    """Options for answering reviews.

    Args:
        kubernetes: The cluster's release, such as ``"1.30"``; None for the newest that knows the object's fields.
        fail_open: Whether a request is admitted, not refused, when answering it fails unexpectedly.
        prescheduled: Which pre-scheduled pods are rewritten, and how.
        policies: The policies, with the objects that they read; None for no policies.
        authorizer: Decides what users may do, for policies that check this; None if unknown.
        feature_gates: The cluster's feature gates that differ from its release's defaults, by name; None if they
            are unknown, so that every gate may be on.
        enforcement: The modes of enforcement, and the exemptions.
        surroundings: The cluster's objects, to which reviewed objects may refer; None if unknown.
    """

    kubernetes: str | None = None
    fail_open: bool = False
    prescheduled: prescheduled.RewriteOptions = field(default_factory=prescheduled.RewriteOptions)
    policies: PolicySet | None = None
    authorizer: Authorizer | None = None
    feature_gates: Mapping[str, bool] | None = None
    enforcement: Enforcement = field(default_factory=Enforcement)
    surroundings: Surroundings | None = None
    passing: ClassVar[Callable[[PolicySet, Endpoint], Passes] | None] = None
    """Makes what is asked about the policies of an endpoint before they are evaluated."""

    @cached_property
    def passes(self) -> Mapping[Endpoint, Passes]:
        """What is asked first, by endpoint."""
        make, policies = type(self).passing, self.policies
        return {each: make(policies, each) for each in get_args(Endpoint)} if make and policies is not None else {}


def decide(
    request: Mapping[str, Any], call: Call, options: ReviewOptions, record: Record, *, is_late: bool = False
) -> Response:
    """Decide about a request.

    This is the only place that turns errors into the decision of the failure policy.

    Args:
        request: The request of an AdmissionReview.
        call: How the webhook was called.
        record: Receives the decision and its reasons.
        is_late: Whether its deadline has passed, so that the failure policy decides at once.

    Raises:
        BudgetExceededError: The call is inline, and too much work for that; nothing else is ever raised.
    """
    try:
        if options.enforcement.exempts(request):
            record.decision = EXEMPT
            return {"allowed": True}
        if is_late:
            raise TimeoutError  # noqa: TRY301 - handled like all other errors
        before = enter(Budget(INLINE if call.is_inline else REVIEW, call.deadline))
        try:
            response = _ENDPOINTS[call.endpoint](_Case(request, options, record))
        finally:
            leave(before)
    except Exception as error:  # noqa: BLE001 - whatever the error, the API server waits for a decision
        return _failed(error, request, call, options, record)
    record.decision = ALLOWED if response["allowed"] else DENIED
    if len(response) > 1:  # few have more than the verdict
        if not response["allowed"]:
            record.message = response["status"]["message"]
        record.warnings = len(response.get("warnings", ()))
        record.patched = "patch" in response
    return response


def _failed(
    error: Exception, request: Mapping[str, Any], call: Call, options: ReviewOptions, record: Record
) -> Response:
    if call.is_inline and isinstance(error, BudgetExceededError):
        raise error
    uid = request["uid"]
    message = f"draguard could not answer; its log says why, under {uid}"
    for sort, reason in {
        DeadlineExceededError: "the expressions took longer than the webhook's timeout allows",
        BudgetExceededError: "the expressions take more work than a review may",
        TimeoutError: "there was no time left of the webhook's timeout",
        RecursionError: "the object is nested too deeply",
        MemoryError: "the object takes more memory than a review may",
        PatchTooLargeError: "the patch would be longer than an answer may be",
    }.items():
        if isinstance(error, sort):
            message = f"draguard could not answer: {reason}"
            _log.error("review %s could not be answered: %s", uid, reason)
            break
    else:
        _log.error("review %s could not be answered", uid, exc_info=error)
    record.decision, record.message = FAILED, message
    if options.fail_open if call.fail_open is None else call.fail_open:
        return {"allowed": True, "warnings": [message]}
    return refusal(500, "InternalError", message)


class _Case(NamedTuple):
    """A request to decide about.

    Args:
        request: The request of an AdmissionReview.
    """

    request: Mapping[str, Any]
    options: ReviewOptions
    record: Record


def _judged(request: Mapping[str, Any], options: ReviewOptions) -> Sequence[Problem]:
    """Judge the object of a request by the API server's own rules, if they apply to it."""
    operation, subresource = request["operation"], request.get("subResource") or ""
    if operation not in {"CREATE", "UPDATE"} or subresource not in {"", "status"}:
        return ()
    return judge_admitted(
        request.get("object"),
        request.get("oldObject") if operation == "UPDATE" else None,
        kubernetes=options.kubernetes,
        subresource=subresource,
        feature_gates=options.feature_gates,
    )


def _validated(case: _Case) -> Response:
    request, options, record = case
    found = _judged(request, options)
    if options.surroundings is not None:
        found = [*found, *_around(request, options.surroundings, found)]
    if prescheduled.RULE in options.enforcement.rules and (bypass := bypassing(request, options.prescheduled)):
        found = [*found, bypass]  # without a mode of its own, the mutating webhook is trusted to have rewritten it
    refusals, warned, audited = _enforced(found, case) if found else _NOTHING
    if refusals:
        return with_remarks(refused(refusals, request, request.get("object")), warned, audited)
    policies = options.policies
    notes: Sequence[str] = ()
    if policies is not None:
        passed = _passed(case)
        if passed is None:
            return _answered(_evaluator(case, policies).validate(request), case, warned, audited)
        cost, notes = passed
        record.cost += cost
    if not found and not notes:
        return {"allowed": True}
    return with_remarks({"allowed": True}, warned, {**assumed(notes), **audited})


def _passed(case: _Case) -> tuple[int, Sequence[str]] | None:
    """Return the cost and the assumptions of policies that do nothing; None if they must be evaluated."""
    passes = case.options.passes.get(case.record.endpoint)
    return passes(case.request) if passes else None


def _evaluator(case: _Case, policies: PolicySet) -> Evaluator:
    from webhook.engine.mutation import Evaluator  # needed only with policies

    return Evaluator(policies, case.options.authorizer)


def _around(request: Mapping[str, Any], surroundings: Surroundings, found: Sequence[Problem]) -> Sequence[Problem]:
    """Look up the objects to which a well-formed object refers; existing pods are left alone."""
    if request["operation"] != "CREATE" or request.get("subResource"):
        return ()
    if any(problem.level == ERROR and problem.reason == BAD_REQUEST for problem in found):
        return ()
    return surroundings.warnings(request.get("object"), request.get("namespace") or "")


_Effects = tuple["Sequence[Problem]", "Sequence[str]", "Mapping[str, str]"]
"""Reasons for a refusal, warnings for the user, and annotations for the audit log."""
_NOTHING: Final[_Effects] = (), (), {}


def _enforced(problems: Sequence[Problem], case: _Case) -> _Effects:
    """Sort findings by their effects."""
    refusals: list[Problem] = []
    warned: list[Problem] = []
    audited: list[Problem] = []
    enforcement = case.options.enforcement
    usual = enforcement.of_rules(case.request, case.request.get("object"))
    for problem in problems:
        mode = enforcement.rules.get(problem.rule, usual)
        if problem.level != ERROR and not (problem.rule in enforcement.rules and _is_about_others(problem.rule)):
            mode = milder(mode, WARN)
        case.record.found.append(RecordedFinding(problem.rule, "", mode))
        if problem.level == ERROR:
            case.record.message = case.record.message or str(problem)
        if mode == DENY:
            refusals.append(problem)
        elif mode == AUDIT:
            audited.append(problem)
        else:
            warned.append(problem)
    return refusals, worded(warned, case.request.get("object")) if warned else (), noted(audited) if audited else {}


def _is_about_others(rule: str) -> bool:
    """Tell whether a rule checks references; such a rule can be set to refuse objects that the API server accepts."""
    from webhook.references.rules import RULES  # needed only with a snapshot

    return rule in RULES


def _mutated(case: _Case) -> Response:
    policies, request = case.options.policies, case.request
    if policies is not None:
        passed = _passed(case)
        if passed is None or rewritten(request, request.get("object"), case.options.prescheduled) is not None:
            done, operations = _evaluator(case, policies).mutate(case.request, lambda obj: _rewrite(obj, case))
            if isinstance(done.rewrite, Problem):
                return refused([done.rewrite], case.request, done.verdict.object)
            done_by = done.rewrite or prescheduled.Rewrite([], (), {})
            return _answered(done.verdict, case, done_by.warnings, done_by.annotations) | patch(operations)
        cost, notes = passed
        case.record.cost += cost
        return with_remarks({"allowed": True}, (), assumed(notes))
    obj = case.request.get("object")
    change = _rewrite(obj, case)
    if change is None:
        return {"allowed": True}
    if isinstance(change, Problem):
        return refused([change], case.request, obj)
    return with_remarks({"allowed": True, **patch(change.patch)}, change.warnings, change.annotations)


def _rewrite(obj: Any, case: _Case) -> prescheduled.Rewrite | Problem | None:
    """Return the change to a pre-scheduled pod, or the reason to refuse it."""
    change = rewritten(case.request, obj, case.options.prescheduled)
    if not isinstance(change, Problem):
        return change
    refusals, warned, audited = _enforced([change], case)
    return refusals[0] if refusals else prescheduled.Rewrite([], tuple(warned), audited)


def _answered(verdict: Verdict, case: _Case, warned: Sequence[str], audited: Mapping[str, str]) -> Response:
    """Respond with the verdict of policies; their warnings follow other warnings."""
    case.record.cost += verdict.cost
    for decision in verdict.decisions:
        for action in decision.actions if decision.denied else ():
            case.record.found.append(RecordedFinding("", decision.policy.name, _MODES[action], decision.is_error))
            case.record.message = case.record.message or decision.message
    response = {"allowed": True} if verdict.allowed else denied(verdict, case.request)
    return with_remarks(response, [*warned, *verdict.warnings], {**annotations_of(verdict), **audited})


_MODES: Mapping[str, Mode] = {"Deny": DENY, "Warn": WARN, "Audit": AUDIT}
_ENDPOINTS: Mapping[Endpoint, Callable[[_Case], Response]] = {"validate": _validated, "mutate": _mutated}
