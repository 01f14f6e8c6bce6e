"""``draguard policy test``: cases that say what policies make of objects.

A suite is a document beside the policies::

    kubernetes: "1.36"                # the release, if not the newest
    context: [...]                    # objects that policies look at: Namespaces, parameters
    objects: {claim: {...}}           # objects that several cases start from
    cases:
      - name: refuses admin access
        object: claim                 # or the object itself
        patch: [...]                  # what differs, as a JSON Patch
        oldObject: claim              # for UPDATE and DELETE
        operation: UPDATE             # if the objects do not tell
        subresource: status
        user: {username: jane, groups: [dev]}
        context: [...]                # further objects for this case
        authorizer: {rules: [...]}    # what users may do
        expect:
          allowed: false
          message: no admin access    # the policy's own words, or all that the API server says
          reason: Forbidden
          warnings: [...]
          auditAnnotations: {...}
          changes: [...]              # what mutating policies do, as a JSON Patch of the object
          object: {...}               # or all of what becomes of it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.versions import NEWEST, release_of
from webhook.policy.authorizer import DENY_ALL, AuthorizerError, authorizer_of
from webhook.policy.coverage import Coverage, Covered
from webhook.policy.load import Finding, Given, load
from webhook.policy.offline import judge
from webhook.policy.patch import PatchError, apply_patch
from webhook.policy.request import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from webhook.policy.authorizer import Authorizer
    from webhook.policy.load import PolicySet
    from webhook.policy.request import JSONObject
    from webhook.policy.verdict import Verdict

_SUITE_FIELDS: Final = ("kubernetes", "context", "objects", "cases")
_CASE_FIELDS: Final = (
    "name",
    "object",
    "oldObject",
    "patch",
    "operation",
    "subresource",
    "user",
    "context",
    "authorizer",
    "expect",
)
_EXPECT_FIELDS: Final = ("allowed", "message", "reason", "warnings", "auditAnnotations", "changes", "object")


class SuiteError(ValueError):
    """A suite is malformed; the text says where and how to mend it."""


class CaseResult(NamedTuple):
    """What became of one case.

    Args:
        name: The case's name.
        failures: How the verdict differs from what was expected.
        verdict: What the policies said; None if the case is malformed.
    """

    name: str
    failures: tuple[str, ...]
    verdict: Verdict | None = None

    @property
    def passed(self) -> bool:
        """Whether the policies said what was expected."""
        return not self.failures


class SuiteResult(NamedTuple):
    """What became of a suite.

    Args:
        cases: Its cases, in their order.
        coverage: What the cases have seen of the policies.
        findings: What is wrong with the policies themselves.
    """

    cases: tuple[CaseResult, ...]
    coverage: tuple[Covered, ...]
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether all cases passed and the API server would take all policies."""
        return all(case.passed for case in self.cases) and all(each.problem.level != "error" for each in self.findings)

    @property
    def uncovered(self) -> tuple[Covered, ...]:
        """The expressions of which the cases have not seen all."""
        return tuple(each for each in self.coverage if each.missing)


def run_suite(suite: object, given: Iterable[Given | JSONObject], release: int | None = None) -> SuiteResult:
    """Run a suite.

    Args:
        suite: The suite, as read from its file.
        given: The objects of the policies' files.
        release: The Kubernetes release, as the minor of 1.x; what the suite says, or the newest, if None.

    Raises:
        SuiteError: The suite itself is malformed; a malformed case only fails.
    """
    document = _fields(suite, "the suite", _SUITE_FIELDS)
    release = _release(document) if release is None else release
    cases = document.get("cases")
    if not isinstance(cases, list) or not cases:
        msg = "cases: a suite has a list of cases"
        raise SuiteError(msg)
    templates = document.get("objects") or {}
    if not isinstance(templates, dict):
        msg = "objects: must be a map from names to objects"
        raise SuiteError(msg)
    base = [*given, *_objects(document, "context")]
    policies = load(base, release)
    coverage = Coverage(policies)
    results = []
    for index, case in enumerate(cases):
        result = _run_case(case, f"cases[{index}]", base, policies, templates)
        results.append(result)
        if result.verdict:
            coverage.add(result.verdict.decisions)
    return SuiteResult(tuple(results), tuple(coverage.covered()), policies.findings)


def _release(document: Mapping[str, Any]) -> int:
    stated = document.get("kubernetes")
    if stated is None:
        return NEWEST
    try:
        return release_of(str(stated))
    except ValueError as error:
        msg = f"kubernetes: {error}"
        raise SuiteError(msg) from None


def _run_case(
    case: object,
    where: str,
    base: Sequence[Given | JSONObject],
    policies: PolicySet,
    templates: Mapping[str, Any],
) -> CaseResult:
    name = str(case.get("name") or where) if isinstance(case, dict) else where
    try:
        fields = _fields(case, where, _CASE_FIELDS)
        expected = _fields(fields.get("expect"), f"{where}.expect", _EXPECT_FIELDS)
        context = _objects(fields, "context")
        if context:
            policies = load([*context, *base], policies.release)
        verdict, before = _judge(fields, where, policies, templates)
        return CaseResult(name, tuple(_differences(expected, verdict, before, where)), verdict)
    except (SuiteError, AuthorizerError, PatchError) as error:
        return CaseResult(name, (str(error),))


def _judge(
    fields: Mapping[str, Any], where: str, policies: PolicySet, templates: Mapping[str, Any]
) -> tuple[Verdict, JSONObject | None]:
    obj = _object(fields, "object", where, templates)
    old = _object(fields, "oldObject", where, templates)
    if obj is None and old is None:
        msg = f"{where}.object: a case has an object, or an oldObject to delete"
        raise SuiteError(msg)
    patch = fields.get("patch")
    if patch is not None and obj is not None:
        obj = apply_patch(obj, _operations(patch, f"{where}.patch"))
    operation = fields.get("operation") or ""
    if operation and (not isinstance(operation, str) or operation not in OPERATIONS):
        msg = f"{where}.operation: must be one of {', '.join(sorted(OPERATIONS))}"
        raise SuiteError(msg)
    user = fields.get("user")
    if user is not None and not isinstance(user, dict):
        msg = f"{where}.user: must be a map with username and groups"
        raise SuiteError(msg)
    verdict = judge(
        obj,
        old,
        policies=policies,
        operation=operation,
        subresource=str(fields.get("subresource") or ""),
        user=user,
        authorizer=_authorizer(fields),
    )
    return verdict, obj


def _authorizer(fields: Mapping[str, Any]) -> Authorizer:
    document = fields.get("authorizer")
    return DENY_ALL if document is None else authorizer_of(document)


def _object(fields: Mapping[str, Any], field: str, where: str, templates: Mapping[str, Any]) -> JSONObject | None:
    value = fields.get(field)
    if isinstance(value, str):
        if value not in templates:
            msg = f"{where}.{field}: the suite's objects have no {value!r}; they have {', '.join(map(str, templates))}"
            raise SuiteError(msg)
        value = templates[value]
    if value is not None and not isinstance(value, dict):
        msg = f"{where}.{field}: must be an object, or the name of one of the suite's objects"
        raise SuiteError(msg)
    return value


def _operations(patch: object, where: str) -> list[JSONObject]:
    if not isinstance(patch, list):
        msg = f"{where}: must be a list of operations, as a JSON Patch is"
        raise SuiteError(msg)
    for index, each in enumerate(patch):
        if not isinstance(each, dict) or not isinstance(each.get("op"), str) or not isinstance(each.get("path"), str):
            msg = f"{where}[{index}]: an operation has op, path, and value or from"
            raise SuiteError(msg)
    return patch


def _objects(fields: Mapping[str, Any], field: str) -> list[Given]:
    objects = fields.get(field)
    if objects is None:
        return []
    if not isinstance(objects, list):
        msg = f"{field}: must be a list of objects"
        raise SuiteError(msg)
    return [Given(each) for each in objects]


def _fields(value: object, where: str, known: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        msg = f"{where}: must be a map with {', '.join(known)}"
        raise SuiteError(msg)
    for name in value:
        if name not in known:
            msg = f"{where}: there is no field {name!r}; there are {', '.join(known)}"
            raise SuiteError(msg)
    return value


def _differences(expected: Mapping[str, Any], verdict: Verdict, before: JSONObject | None, where: str) -> Iterator[str]:
    """Say how a verdict differs from what was expected."""
    if not isinstance(expected.get("allowed"), bool):
        msg = f"{where}.expect.allowed: must be true or false"
        raise SuiteError(msg)
    if verdict.allowed != expected["allowed"]:
        yield "was allowed" if verdict.allowed else f"was refused: {verdict.message}{_missing(verdict)}"
    elif not verdict.allowed:
        yield from _other_refusal(expected, verdict)
    if "warnings" in expected and not _same_warnings(expected["warnings"], verdict):
        yield f"warnings: expected {expected['warnings']!r}, got {list(verdict.warnings)!r}"
    if "auditAnnotations" in expected and expected["auditAnnotations"] != verdict.audit_annotations:
        yield f"auditAnnotations: expected {expected['auditAnnotations']!r}, got {dict(verdict.audit_annotations)!r}"
    if "changes" in expected:
        operations = _operations(expected["changes"], f"{where}.expect.changes")
        changed = apply_patch(before or {}, operations)
        if verdict.object != changed:
            yield f"changes: expected {changed!r}, got {verdict.object!r}"
    if "object" in expected and expected["object"] != verdict.object:
        yield f"object: expected {expected['object']!r}, got {verdict.object!r}"


def _other_refusal(expected: Mapping[str, Any], verdict: Verdict) -> Iterator[str]:
    own = next((each.message for each in verdict.decisions if each.denied), "")
    if "message" in expected and expected["message"] not in (own, verdict.message):
        yield f"message: expected {expected['message']!r}, got {own!r}"
    if "reason" in expected and expected["reason"] != verdict.reason:
        yield f"reason: expected {expected['reason']!r}, got {verdict.reason!r}"


def _missing(verdict: Verdict) -> str:
    """Say what the suite would have to give so that a policy can be asked."""
    missing = next((each.missing for each in verdict.decisions if each.denied), "")
    return f" (add to its context: {missing})" if missing else ""


def _same_warnings(wanted: object, verdict: Verdict) -> bool:
    """Compare warnings, each by the policy's own words or by all that the API server says."""
    if not isinstance(wanted, list) or len(wanted) != len(verdict.warnings):
        return False
    return all(
        isinstance(text, str) and (text == warning or warning.endswith(f": {text}"))
        for text, warning in zip(wanted, verdict.warnings, strict=True)
    )
