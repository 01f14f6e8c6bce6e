"""Runs test suites of policies.

A suite is a document beside the policies::

    kubernetes: "1.36"                # the release, if not the newest
    policies: [../policies]           # the tested policies, if not those beside the suite
    context: [...]                    # objects that policies read: Namespaces, parameters
    objects: {claim: {...}}           # objects that several cases share
    cases:
      - name: refuses admin access
        object: claim                 # or the object itself
        patch: [...]                  # the differences, as a JSON Patch
        oldObject: claim              # for UPDATE and DELETE
        operation: UPDATE             # if not clear from the objects
        subresource: status           # or deployments/scale, for an object of another kind such as Scale
        user: {username: jane, groups: [dev]}
        context: [...]                # further objects for this case
        authorizer: {rules: [...]}    # what users may do
        expect:
          allowed: false
          message: no admin access    # the policy's own message, or the API server's whole message
          reason: Forbidden
          warnings: [...]
          auditAnnotations: {...}
          changes: [...]              # the changes by mutating policies, as a JSON Patch of the object
          object: {...}               # or the whole changed object
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from webhook.api.versions import DEFAULT
from webhook.engine.acceptance import made_invalid
from webhook.engine.cases import (
    CASE_FIELDS,
    CASES,
    OBJECTS,
    SUITE_FIELDS,
    Sent,
    SuiteError,
    SuiteErrors,
    expect_known,
    expected_of,
    map_of,
    objects_of,
    patched,
    release_of_suite,
)
from webhook.engine.offline import evaluate
from webhook.objects import JSONObject, text
from webhook.policy.change.patch import difference
from webhook.policy.evaluation.policyset import PolicyFinding, PolicySet
from webhook.policy.evaluation.verdict import Decision, Verdict
from webhook.policy.load import load
from webhook.policy.manifest.model import Given, Policy, Validation
from webhook.policy.manifest.policies import is_policy
from webhook.policy.tools.coverage import Covered, coverage_of
from webhook.problem import ERROR, Path, shown, value_at
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.spelling import nearest

_SHOWN: Final = 5
_NOT_ASKED: Final = "does not match the request, or has no binding that does"


def _why_allowed(verdict: Verdict, policies: PolicySet, message: str | None) -> str:
    """Explain which validation was expected to refuse a request, and why it did not.

    Args:
        verdict: The verdict of the policies.
        message: The expected message; None for any message.
    """
    every = [(policy, validation) for policy in policies.policies for validation in policy.validations]
    if not every:
        return "no policy has validations"
    expected = [each for each in every if each[1].message == message]
    if message is not None and not expected:
        expected = [each for each in every if each[1].message_expression]
    reasons = [_reason(policy, validation, verdict, policies) for policy, validation in expected or every]
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    return f"{'; '.join(dict.fromkeys(reasons[:_SHOWN]))}{more}"


def _reason(policy: Policy, validation: Validation, verdict: Verdict, policies: PolicySet) -> str:
    path = validation.expression.path
    decision = next((each for each in verdict.decisions if each.policy == policy and each.path == path), None)
    if decision is None:
        return f"{policy.name} {_unbound(policy, policies) or _NOT_ASKED}"
    return f"{path} of {policy.name} {_outcome(decision)}"


def _unbound(policy: Policy, policies: PolicySet) -> str:
    """Explain that no binding names a policy, and which one was probably meant to; empty if one does."""
    found = {(id(each.given), each.problem.rule) for each in policies.findings}
    if (id(policy.given), "policy-without-binding") not in found:
        return ""
    for each in policies.findings:
        named = value_at(each.given.object, each.problem.path)
        if each.problem.rule == "binding-without-policy" and nearest(str(named), [policy.name]):
            name = text(each.given.object, "metadata", "name")
            return f'has no binding: binding "{name}" names "{named}" (did you mean "{policy.name}"?)'
    return "has no binding"


def _outcome(decision: Decision) -> str:
    if decision.is_error:
        return f"could not be evaluated, which its failurePolicy ignores: {decision.message}"
    if decision.denied:
        return f"is false, but its binding only does {', '.join(decision.actions)}"
    return "is true"


class Failure(NamedTuple):
    """A difference between a verdict and the expected one, or why there is no verdict.

    Args:
        path: The path in the suite.
    """

    path: Path
    text: str


class CaseResult(NamedTuple):
    """The result of one case.

    Args:
        found: The differences between the verdict and the expected one.
        verdict: The verdict of the policies; None if the case is malformed.
        place: Its place among the cases of its suite.
        unmatched: The request, if no policy matches it, and it is expected to be allowed; otherwise empty.
    """

    name: str
    found: tuple[Failure, ...]
    verdict: Verdict | None = None
    place: int = 0
    unmatched: str = ""

    @property
    def failures(self) -> tuple[str, ...]:
        """The texts of the failures; those of a malformed case with paths."""
        return tuple(each.text if self.verdict else f"{each.path}: {each.text}" for each in self.found)

    @property
    def passed(self) -> bool:
        """Whether the verdict was the expected one."""
        return not self.found


class SuiteResult(NamedTuple):
    """The result of a suite.

    Args:
        cases: Its cases, in their order; none if the API server would refuse a policy or binding.
        coverage: The coverage of the policies by the cases.
        findings: Problems of the policies themselves.
    """

    cases: tuple[CaseResult, ...]
    coverage: tuple[Covered, ...]
    findings: tuple[PolicyFinding, ...]

    @property
    def passed(self) -> bool:
        """Whether all cases passed and the API server would accept all policies."""
        return all(case.passed for case in self.cases) and all(each.problem.level != ERROR for each in self.findings)


def run_suite(
    suite: object,
    given: Iterable[Given | JSONObject],
    release: Release | None = None,
    select: Callable[[str], bool] = lambda _name: True,
    guard: Callable[[Path], AbstractContextManager[None]] = lambda _path: nullcontext(),
) -> SuiteResult:
    """Run a suite.

    Args:
        suite: The suite, as read from its file.
        given: The objects of the policies' files.
        release: The Kubernetes release, as the minor of 1.x; None for the suite's, or the newest.
        select: Tells whether a case, given by name, is run.
        guard: Makes the context in which the case at a path is run; it may report an unexpected error.

    Raises:
        SuiteError: The suite is malformed, or tests no policy. A malformed case only fails itself.
    """
    release, base, templates, cases = _read(suite, given, release)
    policies = load(base, release)
    if any(each.problem.level == ERROR for each in policies.findings):
        return SuiteResult((), (), policies.findings)
    results = []
    for index, case in enumerate(cases):
        if not select(_name_of(case, CASES / index)):
            continue
        with guard(CASES / index):
            results.append(_run_case(case, CASES / index, base, policies, templates)._replace(place=index))
    decisions = (decision for each in results if each.verdict for decision in each.verdict.decisions)
    return SuiteResult(tuple(results), tuple(coverage_of(policies, decisions)), policies.findings)


def _read(
    suite: object, given: Iterable[Given | JSONObject], release: Release | None
) -> tuple[Release, list[Given | JSONObject], dict[str, Any], list[Any]]:
    """Return a suite's release, the objects of all cases, the named objects, and the cases."""
    document = map_of(suite, Path(), SUITE_FIELDS)
    cases, templates, base = document.get("cases"), document.get("objects") or {}, [*given]
    errors, minor = SuiteErrors(), release or DEFAULT
    with errors.collected():
        expect_known(document, Path(), SUITE_FIELDS)
    with errors.collected():
        minor = release_of_suite(document) if release is None else release
    with errors.collected():
        base += objects_of(document, Path())
    with errors.collected():
        if not isinstance(cases, list):
            raise SuiteError(CASES, "a suite has a list of cases")
        if not cases:
            raise SuiteError(CASES, "the list is empty: write a case")
    with errors.collected():
        if not isinstance(templates, dict):
            raise SuiteError(OBJECTS, "must be a map from names to objects")
    errors.expect_none()
    if not any(is_policy(each) for each in _all_objects(base, cases)):
        text = "no policy to test here: put the suite beside policies, or list their files in its policies"
        raise SuiteError(Path(), text)
    return minor, base, templates, cases


def _all_objects(base: Iterable[Given | JSONObject], cases: Iterable[object]) -> Iterator[object]:
    """Iterate over all objects that may be policies or read by policies."""
    yield from (each.object if isinstance(each, Given) else each for each in base)
    for case in cases:
        context = case.get("context") if isinstance(case, dict) else None
        yield from context if isinstance(context, list) else ()


def _name_of(case: object, where: Path) -> str:
    name = case.get("name") if isinstance(case, dict) else None
    return name if name and isinstance(name, str) else shown(name) if name else str(where)


def _run_case(
    case: object, where: Path, base: Sequence[Given | JSONObject], policies: PolicySet, templates: Mapping[str, Any]
) -> CaseResult:
    name = _name_of(case, where)
    errors = SuiteErrors()
    with errors.collected():
        fields = map_of(case, where, CASE_FIELDS)
        expected: Mapping[str, Any] = {}
        with errors.collected():
            expect_known(fields, where, CASE_FIELDS)
        with errors.collected():
            expected = expected_of(fields.get("expect"), where / "expect")
        with errors.collected():
            if context := objects_of(fields, where):
                policies = load([*context, *base], policies.release)
        sent = Sent.of(fields, where, policies, templates, errors)
        request, verdict = sent.request, evaluate(sent.request, policies, sent.authorizer)
        unmatched = "" if sent.is_matched(policies) else str(sent)
        if unmatched and verdict.allowed and not expected["allowed"]:
            found = [Failure(where / "expect" / "allowed", f"was allowed: no policy matches the {unmatched}")]
            return CaseResult(name, tuple(found), verdict)
        before = request.object or request.old_object
        found = [*_differences(expected, verdict, before, where / "expect", policies)]
        if expected["allowed"] and verdict.allowed:
            refusals = made_invalid(verdict.judged, request, policies.kinds)
            text = "the API server refuses the object as the policies have changed it: "
            found += (Failure(where / "expect" / "allowed", text + each) for each in refusals)
        return CaseResult(name, tuple(found), verdict, unmatched=unmatched if expected["allowed"] else "")
    malformed = dict.fromkeys(Failure(each.path, each.text) for each in errors.found)
    return CaseResult(name, tuple(malformed))


def _differences(
    expected: Mapping[str, Any], verdict: Verdict, before: JSONObject | None, where: Path, policies: PolicySet
) -> Iterator[Failure]:
    """Find the differences between a verdict and the expected one."""
    if verdict.allowed != expected["allowed"]:
        text = f"was refused: {verdict.message}{_refuser(verdict)}{_missing(verdict)}"
        if verdict.allowed:
            text = f"was allowed: {_why_allowed(verdict, policies, expected.get('message'))}"
        yield Failure(where / "allowed", text)
    elif not verdict.allowed:
        yield from _other_refusal(expected, verdict, where)
    if "warnings" in expected and not _same_warnings(expected["warnings"], verdict):
        yield _difference(where, "warnings", expected["warnings"], list(verdict.warnings))
    if "auditAnnotations" in expected and expected["auditAnnotations"] != verdict.audit_annotations:
        yield _difference(where, "auditAnnotations", expected["auditAnnotations"], dict(verdict.audit_annotations))
    if "changes" in expected:
        changed = patched(before or {}, expected["changes"], where / "changes")
        if verdict.object != changed:
            made = None if verdict.object is None else difference(before or {}, verdict.object)
            yield _difference(where, "changes", expected["changes"], made)
    if "object" in expected and expected["object"] != verdict.object:
        yield _difference(where, "object", expected["object"], verdict.object)


def _difference(where: Path, field: str, expected: object, got: object) -> Failure:
    return Failure(where / field, f"{field}: expected {_shown(expected)}, got {_shown(got)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _other_refusal(expected: Mapping[str, Any], verdict: Verdict, where: Path) -> Iterator[Failure]:
    own = next((each.message for each in verdict.decisions if each.denied), "")
    if "message" in expected and expected["message"] not in (own, verdict.message):
        yield _difference(where, "message", expected["message"], own)
    if "reason" in expected and expected["reason"] != verdict.reason:
        yield _difference(where, "reason", expected["reason"], verdict.reason)


def _refuser(verdict: Verdict) -> str:
    """Name the expression that refuses, if the API server's message does not name its policy."""
    last = next((each for each in reversed(verdict.decisions) if each.denied), None)
    if last is None or any(f"{mark}{last.policy.name}{mark}" in verdict.message for mark in "'\""):
        return ""
    return f" ({last.path} of {last.policy.kind} {last.policy.name})"


def _missing(verdict: Verdict) -> str:
    """Name the objects that the suite lacks for the evaluation of policies."""
    missing = next((each.missing for each in verdict.decisions if each.denied), "")
    return f" (add to its context: {missing})" if missing else ""


def _same_warnings(wanted: object, verdict: Verdict) -> bool:
    """Compare warnings, each by the policy's own message or by the API server's whole message."""
    if not isinstance(wanted, list) or len(wanted) != len(verdict.warnings):
        return False
    return all(
        isinstance(text, str) and (text == warning or warning.endswith(f": {text}"))
        for text, warning in zip(wanted, verdict.warnings, strict=True)
    )
