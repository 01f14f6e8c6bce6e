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
        subresource: status
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
from typing import TYPE_CHECKING, Any, Final

from webhook.api.versions import NEWEST, find, release_of, target
from webhook.engine.allowing import why_allowed
from webhook.engine.offline import evaluate
from webhook.objects import text
from webhook.policy.change.patch import OPERATIONS as PATCH_OPERATIONS
from webhook.policy.change.patch import PatchError, apply_patch
from webhook.policy.evaluation.authorizer import DENY_ALL, AuthorizerError, authorizer_of
from webhook.policy.evaluation.policyset import Finding, Given
from webhook.policy.evaluation.request import OPERATIONS
from webhook.policy.load import load
from webhook.policy.manifest.kinds import kind_of, meant
from webhook.policy.manifest.versions import is_policy
from webhook.policy.tools.coverage import Coverage, Covered
from webhook.problem import ERROR, Path
from webhook.records import NamedTuple
from webhook.schema import CREATE, compile_struct
from webhook.schema.decoding import WRONG_TYPE, apart
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webhook.objects import JSONObject
    from webhook.policy.evaluation.authorizer import Authorizer
    from webhook.policy.evaluation.policyset import PolicySet
    from webhook.policy.evaluation.verdict import Verdict
    from webhook.policy.manifest.kinds import Kind, Kinds
    from webhook.release import Release

_CASES: Final = Path(("cases",))
_OBJECTS: Final = Path(("objects",))
_REASONS: Final = ("Invalid", "Forbidden", "Unauthorized", "RequestEntityTooLarge", "InternalError")
_SUITE_FIELDS: Final = ("kubernetes", "policies", "context", "objects", "cases")
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
    """A suite is malformed.

    Args:
        path: The path in the suite.
        text: The error, and how to fix it.
    """

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path = path
        self.text = text


class Failure(NamedTuple):
    """A difference between a verdict and the expected one, or why there is no verdict.

    Args:
        path: The path in the suite.
        text: The difference.
    """

    path: Path
    text: str


class CaseResult(NamedTuple):
    """The result of one case.

    Args:
        name: The case's name.
        found: The differences between the verdict and the expected one.
        verdict: The verdict of the policies; None if the case is malformed.
        place: Its place among the cases of its suite.
    """

    name: str
    found: tuple[Failure, ...]
    verdict: Verdict | None = None
    place: int = 0

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
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether all cases passed and the API server would accept all policies."""
        return all(case.passed for case in self.cases) and all(each.problem.level != ERROR for each in self.findings)

    @property
    def uncovered(self) -> tuple[Covered, ...]:
        """The expressions that the cases do not fully cover."""
        return tuple(each for each in self.coverage if each.missing)


def run_suite(
    suite: object,
    given: Iterable[Given | JSONObject],
    release: Release | None = None,
    select: Callable[[str], bool] = lambda _name: True,
) -> SuiteResult:
    """Run a suite.

    Args:
        suite: The suite, as read from its file.
        given: The objects of the policies' files.
        release: The Kubernetes release, as the minor of 1.x; None for the suite's, or the newest.
        select: Tells whether a case, given by name, is run.

    Raises:
        SuiteError: The suite is malformed, or tests no policy; a malformed case only fails.
    """
    document = _fields(suite, Path(), _SUITE_FIELDS)
    release = _release(document) if release is None else release
    cases = document.get("cases")
    if not isinstance(cases, list) or not cases:
        raise SuiteError(_CASES, "a suite has a list of cases")
    templates = document.get("objects") or {}
    if not isinstance(templates, dict):
        raise SuiteError(_OBJECTS, "must be a map from names to objects")
    base = [*given, *_objects(document, Path())]
    if not any(is_policy(each) for each in _all_objects(base, cases)):
        text = "there is no policy here to test: put the suite beside policies, or list their files in its policies"
        raise SuiteError(Path(), text)
    policies = load(base, release)
    if any(each.problem.level == ERROR for each in policies.findings):
        return SuiteResult((), (), policies.findings)
    coverage = Coverage(policies)
    results = []
    for index, case in enumerate(cases):
        if not select(_name_of(case, _CASES / index)):
            continue
        result = _run_case(case, _CASES / index, base, policies, templates)._replace(place=index)
        results.append(result)
        if result.verdict:
            coverage.add(result.verdict.decisions)
    return SuiteResult(tuple(results), tuple(coverage.covered()), policies.findings)


def _all_objects(base: Iterable[Given | JSONObject], cases: Iterable[object]) -> Iterator[object]:
    """Iterate over all objects that may be policies or read by policies."""
    yield from (each.object if isinstance(each, Given) else each for each in base)
    for case in cases:
        context = case.get("context") if isinstance(case, dict) else None
        yield from context if isinstance(context, list) else ()


def _name_of(case: object, where: Path) -> str:
    return str(case.get("name") or where) if isinstance(case, dict) else str(where)


def _release(document: Mapping[str, Any]) -> Release:
    stated = document.get("kubernetes")
    if stated is None:
        return NEWEST
    try:
        return release_of(stated)
    except ValueError as error:
        raise SuiteError(Path(("kubernetes",)), str(error)) from None


def _run_case(
    case: object,
    where: Path,
    base: Sequence[Given | JSONObject],
    policies: PolicySet,
    templates: Mapping[str, Any],
) -> CaseResult:
    name = _name_of(case, where)
    try:
        fields = _fields(case, where, _CASE_FIELDS)
        expected = _expected(fields.get("expect"), where / "expect")
        context = _objects(fields, where)
        if context:
            policies = load([*context, *base], policies.release)
        verdict, before = _judge(fields, where, policies, templates)
        return CaseResult(name, tuple(_differences(expected, verdict, before, where / "expect", policies)), verdict)
    except SuiteError as error:
        return CaseResult(name, (Failure(error.path, error.text),))


def _expected(value: object, where: Path) -> dict[str, Any]:
    expected = _fields(value, where, _EXPECT_FIELDS)
    if not isinstance(expected.get("allowed"), bool):
        raise SuiteError(where / "allowed", "must be true or false")
    if not isinstance(expected.get("message", ""), str):
        raise SuiteError(where / "message", "must be a text")
    if "reason" in expected and expected["reason"] not in _REASONS:
        raise SuiteError(where / "reason", f"must be one of {', '.join(_REASONS)}")
    return expected


def _judge(
    fields: Mapping[str, Any], where: Path, policies: PolicySet, templates: Mapping[str, Any]
) -> tuple[Verdict, JSONObject | None]:
    obj, from_obj = _object(fields, "object", where, templates)
    old, from_old = _object(fields, "oldObject", where, templates)
    if obj is None and old is None:
        raise SuiteError(where / "object", "a case has an object, or an oldObject to delete")
    patch = fields.get("patch")
    if patch is not None and obj is not None:
        obj = _patched(obj, patch, where / "patch")
    operation = fields.get("operation") or ""
    if operation and (not isinstance(operation, str) or operation not in OPERATIONS):
        raise SuiteError(where / "operation", f"must be one of {', '.join(sorted(OPERATIONS))}")
    user = fields.get("user")
    if user is not None and not isinstance(user, dict):
        raise SuiteError(where / "user", "must be a map with username and groups")
    for each, path in ((obj, from_obj), (old, from_old)):
        _expect_decodable(each, path, policies)
    verdict = evaluate(
        obj,
        old,
        policies=policies,
        operation=operation,
        subresource=str(fields.get("subresource") or ""),
        user=user,
        authorizer=_authorizer(fields, where / "authorizer"),
    )
    return verdict, obj


def _expect_decodable(obj: JSONObject | None, where: Path, policies: PolicySet) -> None:
    """Make sure that an object is of a kind that is served, and can be decoded, and so reaches a policy."""
    if obj is None:
        return
    for name in ("apiVersion", "kind"):
        if not text(obj, name):
            raise SuiteError(where, f"an object has apiVersion and kind; there is no {name}")
    release = policies.release
    if message := _unserved(kind_of(obj["apiVersion"], obj["kind"]), policies.kinds):
        raise SuiteError(where, message)
    known = find(obj["apiVersion"], obj["kind"])
    if known is None:
        return
    struct = compile_struct(known.type, target(obj["apiVersion"], release, CREATE))
    for misfit in apart(struct.decoding.walk(obj))[0]:
        if misfit.rule == WRONG_TYPE:
            problem = misfit.problem()
            hint = f"; {problem.hint}" if problem.hint else ""
            raise SuiteError(Path((*where, *problem.path)), f"the API server cannot decode it: {problem.message}{hint}")


def _unserved(kind: Kind, kinds: Kinds) -> str:
    """Explain why no client can send an object of a kind; empty if one can, or the kind may be another project's."""
    if kinds.find(kind):
        return ""
    what = f"{kind.kind} of {kind.api_version} is not served"
    if versions := kinds.versions(kind):
        others = ", ".join(kind._replace(version=each).api_version for each in versions)
        return f"{what} by Kubernetes 1.{kinds.release}, which has it in {others}"
    if kinds.is_namespaced(kind) is not None:
        return f"{what} by Kubernetes 1.{kinds.release}"
    near = meant(kind.api_version, kind.kind)
    return f'{what} by any release; did you mean "{near}"?' if near else ""


def _authorizer(fields: Mapping[str, Any], where: Path) -> Authorizer:
    document = fields.get("authorizer")
    try:
        return DENY_ALL if document is None else authorizer_of(document)
    except AuthorizerError as error:
        raise SuiteError(where, str(error)) from None


def _object(
    fields: Mapping[str, Any], field: str, where: Path, templates: Mapping[str, Any]
) -> tuple[JSONObject | None, Path]:
    """Return an object and its path."""
    value, path = fields.get(field), where / field
    if isinstance(value, str):
        if value not in templates:
            raise SuiteError(path, f"the suite's objects have no {value!r}; they have {', '.join(map(str, templates))}")
        value, path = templates[value], _OBJECTS / value
    if value is not None and not isinstance(value, dict):
        raise SuiteError(path, "must be an object, or the name of one of the suite's objects")
    return value, path


def _patched(obj: JSONObject, patch: object, where: Path) -> JSONObject:
    try:
        return apply_patch(obj, _operations(patch, where))
    except PatchError as error:
        raise SuiteError(where, str(error)) from None


def _operations(patch: object, where: Path) -> list[JSONObject]:
    if not isinstance(patch, list):
        raise SuiteError(where, "must be a list of operations, as a JSON Patch is")
    for index, each in enumerate(patch):
        if not isinstance(each, dict) or not isinstance(each.get("op"), str) or not isinstance(each.get("path"), str):
            raise SuiteError(where / index, "an operation has op, path, and value or from")
        if each["op"] not in PATCH_OPERATIONS:
            raise SuiteError(where / index / "op", f"must be one of {', '.join(PATCH_OPERATIONS)}")
    return patch


def _objects(fields: Mapping[str, Any], where: Path) -> list[Given]:
    objects = fields.get("context")
    if objects is None:
        return []
    if not isinstance(objects, list):
        raise SuiteError(where / "context", "must be a list of objects")
    return [Given(each) for each in objects]


def _fields(value: object, where: Path, known: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SuiteError(where, f"must be a map with {', '.join(known)}")
    for name in value:
        if name not in known:
            text = f"there is no field {name!r}"
            near = nearest(name, known) if isinstance(name, str) else ""
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
            raise SuiteError(where / str(name), f"{text}; {hint}")
    return value


def _differences(
    expected: Mapping[str, Any], verdict: Verdict, before: JSONObject | None, where: Path, policies: PolicySet
) -> Iterator[Failure]:
    """Find the differences between a verdict and the expected one."""
    if verdict.allowed != expected["allowed"]:
        text = f"was refused: {verdict.message}{_refuser(verdict)}{_missing(verdict)}"
        if verdict.allowed:
            text = f"was allowed: {why_allowed(verdict, policies, expected.get('message'))}"
        yield Failure(where / "allowed", text)
    elif not verdict.allowed:
        yield from _other_refusal(expected, verdict, where)
    if "warnings" in expected and not _same_warnings(expected["warnings"], verdict):
        yield _difference(where, "warnings", expected["warnings"], list(verdict.warnings))
    if "auditAnnotations" in expected and expected["auditAnnotations"] != verdict.audit_annotations:
        yield _difference(where, "auditAnnotations", expected["auditAnnotations"], dict(verdict.audit_annotations))
    if "changes" in expected:
        changed = _patched(before or {}, expected["changes"], where / "changes")
        if verdict.object != changed:
            yield _difference(where, "changes", changed, verdict.object)
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
