"""Reads and runs test suites of policies, and says what is wrong with them, all at once.

A suite is a document beside the policies::

    kubernetes: "1.36"                # the release, if not the default one
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
import os.path
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from typing import Any, Final, NamedTuple

from webhook.api.versions import DEFAULT, NEWEST, release_of
from webhook.engine.offline import evaluate, made_invalid
from webhook.objects import JSONObject, text
from webhook.patch import PatchError, apply_patch, difference, steps_of
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer, authorizer_of
from webhook.policy.evaluation.policyset import PolicyFinding, PolicySet, match, undecodable
from webhook.policy.evaluation.request import CREATE, Request, request_of
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import (
    EVERY_VERSION,
    OF_OBJECT,
    SUBRESOURCES,
    GroupVersionKind,
    Kinds,
    Resource,
    kind_in,
    meant,
    runtime_config_of,
)
from webhook.policy.manifest.model import EVERYTHING, CompiledValidation, Given, Policy
from webhook.policy.manifest.policies import is_policy
from webhook.policy.tools.coverage import Covered, coverage_of
from webhook.problem import ERROR, Path, shown, value_at
from webhook.release import Release
from webhook.schema.decoding import UNKNOWN_FIELD
from webhook.spelling import nearest, some_of
from webhook.structural.keywords import Walk, own_schema

CASES: Final = Path(("cases",))
OBJECTS: Final = Path(("objects",))
_SCHEMA: Final = os.path.join(os.path.dirname(__file__), "suite.schema.json")
_OR_NAME: Final = "write an object, or the name of one of the suite's objects"


class CaseFailure(NamedTuple):
    """What is wrong with a suite, or how a verdict differs from the expected one.

    Args:
        path: The path in the suite.
    """

    path: Path
    text: str


class SuiteError(ValueError):
    """A suite is malformed at a path; the text says how, and how to fix it.

    Args:
        others: What else is wrong with it.
    """

    def __init__(self, path: Path, text: str, others: Iterable[CaseFailure] = ()) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.found = (CaseFailure(path, text), *others)


class SuiteErrors:
    """Collects errors of a suite, so that they are reported together."""

    def __init__(self, found: Iterable[CaseFailure] = ()) -> None:
        self.found = [*found]

    @contextmanager
    def collected(self, *where: str | int) -> Iterator[None]:
        """Collect an error of the suite, or of the value at a path, and go on behind the block."""
        try:
            yield
        except SuiteError as error:
            self.found += error.found
        except ValueError as error:
            if not where:
                raise
            self.found.append(CaseFailure(Path(where), str(error)))

    def expect_none(self) -> None:
        """Report the collected errors.

        Raises:
            SuiteError: There are some.
        """
        if self.found:
            raise SuiteError(*self.found[0], self.found[1:])


class Sent(NamedTuple):
    """The request that a case sends to policies, and the permissions of its user."""

    request: Request
    authorizer: Authorizer

    @classmethod
    def of(
        cls, fields: JSONObject, where: Path, policies: PolicySet, templates: JSONObject, errors: SuiteErrors
    ) -> Sent:
        """Read the request of a case.

        Raises:
            SuiteError: The case is malformed; ``errors`` has all that is wrong with it.
        """
        obj = old = None
        operation, authorizer = fields.get("operation", ""), DENY_ALL
        with errors.collected():
            obj, path = _object(fields, "object", where, templates)
            parts: list[tuple[tuple[str, ...], Path]] = [((), path)]
            if obj is not None and "patch" in fields:
                obj = patched(obj, fields["patch"], where / "patch")
                made = enumerate(fields["patch"])
                parts += ((tuple(steps_of(each["path"])), where / "patch" / at / "value") for at, each in made)
            _expect_decodable(obj, parts, policies)
        with errors.collected():
            old, path = _object(fields, "oldObject", where, templates)
            _expect_decodable(old, [((), path)], policies)
        if fields.keys().isdisjoint(("object", "oldObject")):
            errors.found.append(CaseFailure(where / "object", "a case has an object, or an oldObject to delete"))
        with errors.collected(*where, "authorizer"):
            if "authorizer" in fields:
                authorizer = authorizer_of(fields["authorizer"])
        resource, subresource = None, ""
        with errors.collected():
            resource, subresource = _sent_to(fields, obj if obj is not None else old, where, policies)
        errors.expect_none()
        if not operation and obj is not None and policies.kinds.sent_to(kind_in(obj)):
            operation, *_ = SUBRESOURCES.get(subresource) or (CREATE,)
        kinds, user = policies.kinds, fields.get("user")
        request = request_of(
            obj, old, kinds=kinds, operation=operation, subresource=subresource, user=user, resource=resource
        )
        return cls(request, authorizer)

    def is_matched(self, policies: PolicySet) -> bool:
        """Tell whether a rule of a policy matches, whatever the labels of the object and its namespace are."""
        matches = (each.match for each in policies.policies)
        rules = (each._replace(namespaces=EVERYTHING, objects=EVERYTHING, exclude=()) for each in matches)
        return any(match(each, self.request, policies.kinds, policies.namespace_labels) for each in rules)

    def __str__(self) -> str:
        """Return the operation and the resource, such as ``UPDATE of deployments.apps/scale``."""
        request = self.request
        return f"{request.operation} of {'/'.join(filter(None, (request.resource.qualified, request.subresource)))}"


def _expect_decodable(obj: JSONObject | None, parts: list[tuple[tuple[str, ...], Path]], policies: PolicySet) -> None:
    """Check that an object can reach a policy: its kind is served, and it can be decoded.

    Args:
        parts: The paths in the object, each with the place of its value in the suite; the last one that fits counts.
    """
    where = parts[0][1]
    if obj is None:
        return
    for name in ("apiVersion", "kind"):
        if not text(obj, name):
            raise SuiteError(where, f"{name} is missing: an object needs apiVersion and kind")
    if message := _unserved(kind_in(obj), policies.kinds):
        raise SuiteError(where, message)
    for kinds, is_unknown, complaint in (
        (policies.kinds, False, "the API server cannot decode it"),
        # Suites are run for other releases, too, which may lack a field.
        (policies.kinds.at(NEWEST), True, "the API server drops or refuses it, so that no policy reads it"),
    ):
        for problem in undecodable(obj, kinds):
            if (problem.rule == UNKNOWN_FIELD) is is_unknown:
                hint = f"; {problem.hint}" if problem.hint else ""
                steps = tuple(map(str, problem.path))
                above, place = next(each for each in reversed(parts) if each[0] == steps[: len(each[0])])
                path = Path((*place, *problem.path[len(above) :]))
                raise SuiteError(path, f"{complaint}: {problem.message}{hint}")


def _unserved(kind: GroupVersionKind, kinds: Kinds) -> str:
    """Explain why no client can send an object of a kind; empty if one can, or the kind may be another project's."""
    what = f"{kind.kind} of {kind.api_version} is not served"
    if kinds.find(kind):
        is_on = kind.version in kinds.versions_on(kind)
        return "" if is_on else f"{what}: write {kind.api_version}: true in runtimeConfig"
    if versions := kinds.versions(kind):
        others = ", ".join(kind._replace(version=each).api_version for each in versions)
        return f"{what} by Kubernetes 1.{kinds.release}, which has it in {others}"
    if kinds.is_namespaced(kind) is not None:
        return f"{what} by Kubernetes 1.{kinds.release}"
    near = meant(kind.api_version, kind.kind)
    return f'{what} by any release; did you mean "{near}"?' if near else ""


def _sent_to(
    fields: JSONObject, obj: JSONObject | None, where: Path, policies: PolicySet
) -> tuple[Resource | None, str]:
    """Return the resource to which the object of a case is sent, None for that of its kind, and the subresource.

    Raises:
        SuiteError: The resource does not exist, is not stated, or is not one of the object's kind.
    """
    holder, _, below = fields.get("subresource", "").rpartition("/")
    stated, kinds, kind = fields.get("resource", ""), policies.kinds, kind_in(obj or {})
    where, name = where / ("resource" if stated else "subresource"), stated or holder
    resource = kinds.named(name) if name else None
    if name and resource is None:
        raise SuiteError(where, f"Kubernetes 1.{kinds.release} does not serve a resource {name!r}")
    if not (places := kinds.sent_to(kind)):
        if below and below not in OF_OBJECT and kinds.find(kind) and not kinds.is_custom(kind):
            raise SuiteError(where, f"objects of kind {kind.kind} are not sent to a subresource {below!r}")
        return resource, below
    below = below or places[0].partition("/")[2]
    fitting = [each for each in places if each.endswith(f"/{below}")]
    if resource is None:
        found = fitting if len(fitting) == 1 else _ruled(below, policies)
        resource = kinds.named(found[0].partition("/")[0]) if len(found) == 1 else None
    elif f"{resource.resource}/{below}" not in fitting and kinds.has_group(resource.group):
        resource = None
    if resource is None:
        raise SuiteError(where, f"objects of kind {kind.kind} are sent to one of {', '.join(places)}: write which")
    return resource, below


def _ruled(subresource: str, policies: PolicySet) -> list[str]:
    """List the resources whose subresource the rules of policies name."""
    found = {
        ".".join(filter(None, (name, group)))
        for policy in policies.policies
        for rule in policy.match.rules
        for name, below in rule.resources
        for group in rule.groups
        if below == subresource and "*" not in {name, group}
    }
    return sorted(found)


def _object(fields: JSONObject, field: str, where: Path, templates: JSONObject) -> tuple[JSONObject | None, Path]:
    """Return an object and its path."""
    value, path = fields.get(field), where / field
    if isinstance(value, str):
        if value not in templates:
            known = f"they have {', '.join(map(str, templates))}" if templates else ""
            known = known or "write the object here, or add objects"
            raise SuiteError(path, f"the suite's objects have no {value!r}; {known}")
        value, path = templates[value], OBJECTS / value
    return value, path


def patched(obj: JSONObject, patch: list[JSONObject], where: Path) -> JSONObject:
    """Apply a JSON Patch of a suite.

    Raises:
        SuiteError: It does not apply.
    """
    try:
        return apply_patch(obj, patch)
    except PatchError as error:
        raise SuiteError(where, str(error)) from None


Read = Callable[[str, Path], list[Given]]
"""Reads the objects of a file, by its name, which stands at a path in a suite; may raise SuiteError."""


def _context(fields: Mapping[str, Any], where: Path, read: Read) -> list[Given]:
    """Return the objects of a context."""
    found: list[Given] = []
    for index, each in enumerate(fields.get("context", ())):
        path = where / "context" / index
        given = read(each, path) if isinstance(each, str) else [Given(each)]
        found += (one._replace(place=path) for one in given)
    return found


def _template(stated: JSONObject | str, where: Path, read: Read) -> JSONObject:
    """Return one of the named objects of a suite."""
    if not isinstance(stated, str):
        return stated
    found = read(stated, where)
    if len(found) != 1 or not isinstance(found[0].object, dict):
        raise SuiteError(where, f"{stated} holds {len(found)} objects: name a file with one")
    return found[0].object


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
    return "; ".join(dict.fromkeys(some_of(reasons, 5, "and {} more")))


def _reason(policy: Policy, validation: CompiledValidation, verdict: Verdict, policies: PolicySet) -> str:
    path = validation.expression.path
    decision = next((each for each in verdict.decisions if each.policy == policy and each.path == path), None)
    if decision is None:
        return f"{policy.name} {_unbound(policy, policies) or _NOT_ASKED}"
    outcome = "is true"
    if decision.is_error:
        outcome = f"could not be evaluated, which its failurePolicy ignores: {decision.message}"
    elif decision.denied:
        outcome = f"is false, but its binding only does {', '.join(decision.actions)}"
    return f"{path} of {policy.name} {outcome}"


def _unbound(policy: Policy, policies: PolicySet) -> str:
    """Explain that no binding names a policy, and which one was probably meant to; empty if one does."""
    if any(hook.policy is policy for hook in (*policies.validating, *policies.mutating)):
        return ""
    for each in policies.findings:
        named = value_at(each.given.object, each.problem.path)
        if each.problem.rule == "binding-without-policy" and nearest(str(named), [policy.name]):
            name = text(each.given.object, "metadata", "name")
            return f'has no binding: binding "{name}" names "{named}" (did you mean "{policy.name}"?)'
    return "has no binding"


class CaseResult(NamedTuple):
    """The result of one case.

    Args:
        found: The differences between the verdict and the expected one.
        verdict: The verdict of the policies; None if the case is malformed.
        place: Its place among the cases of its suite.
        unmatched: The request, if no policy matches it, and it is expected to be allowed; otherwise empty.
    """

    name: str
    found: tuple[CaseFailure, ...]
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


class _Case(NamedTuple):
    """A case, with the objects of its context, or with what is wrong with it."""

    name: str
    where: Path
    fields: JSONObject
    context: Sequence[Given]
    wrong: Sequence[CaseFailure]


class _Suite(NamedTuple):
    """A suite that was read.

    Args:
        served: The API versions that its cluster serves.
        base: The objects of all cases: policies, bindings, and those that they read.
        templates: Its named objects.
    """

    release: Release
    served: Mapping[str, bool]
    base: Sequence[Given | JSONObject]
    templates: JSONObject
    cases: Sequence[_Case]


def _no_file(name: str, where: Path) -> list[Given]:
    raise SuiteError(where, f"file {name} does not exist")


def run_suite(
    suite: object,
    beside: Iterable[Given | JSONObject],
    release: Release | None = None,
    select: Callable[[str], bool] = lambda _name: True,
    guard: Callable[[Path], AbstractContextManager[None]] = lambda _path: nullcontext(),
    *,
    read: Read = _no_file,
) -> SuiteResult:
    """Run a suite.

    Args:
        suite: The suite, as read from its file.
        beside: The policies to test, and objects, if the suite names no files of policies.
        release: The Kubernetes release, as the minor of 1.x; None for the suite's, or the default one.
        select: Tells whether a case, given by name, is run.
        guard: Makes the context in which the case at a path is run; it may report an unexpected error.
        read: Reads the files that the suite names.

    Raises:
        SuiteError: The suite is malformed, or tests no policy. A malformed case only fails itself.
    """
    found = _read(suite, beside, release, read)
    policies = load(found.base, found.release, runtime_config=found.served)
    if any(each.problem.level == ERROR for each in policies.findings):
        return SuiteResult((), (), policies.findings)
    results = []
    for index, case in enumerate(found.cases):
        if select(case.name):
            with guard(case.where):
                results.append(_run_case(case, found, policies)._replace(place=index))
    decisions = (decision for each in results if each.verdict for decision in each.verdict.decisions)
    return SuiteResult(tuple(results), tuple(coverage_of(policies, decisions)), policies.findings)


def _stated(fields: Any) -> Any:
    """Return a map without its null fields, which are as good as absent."""
    return {name: each for name, each in fields.items() if each is not None} if isinstance(fields, dict) else fields


def _read(suite: object, beside: Iterable[Given | JSONObject], release: Release | None, read: Read) -> _Suite:
    document = _stated(suite)
    if isinstance(document, dict) and isinstance(document.get("cases"), list):
        document["cases"] = [*map(_stated, document["cases"])]
    errors, of_cases = SuiteErrors(), dict[Any, list[CaseFailure]]()
    for path, message, hint, *_ in Walk({}, is_own=True).check(own_schema(_SCHEMA), document, ()):
        if path != ("kubernetes",):  # whose own error says more
            found = of_cases.setdefault(path[1], []) if path[:1] == CASES and path[1:] else errors.found
            advice = hint or (_OR_NAME if path[2:] in {("object",), ("oldObject",)} else "")
            found.append(CaseFailure(Path(path), f"{message}; {advice}" if advice else message))
    errors.expect_none()
    minor, served, templates = release or DEFAULT, EVERY_VERSION, dict[str, JSONObject]()
    with errors.collected("kubernetes"):
        minor = minor if release or "kubernetes" not in document else release_of(document["kubernetes"])
    with errors.collected("runtimeConfig"):
        if "runtimeConfig" in document:
            served = runtime_config_of(f"{key}={json.dumps(on)}" for key, on in document["runtimeConfig"].items())
    base = list[Given | JSONObject](() if "policies" in document else beside)
    for index, name in enumerate(document.get("policies", ())):
        with errors.collected():
            base += read(name, Path(("policies", index)))
    with errors.collected():
        base += _context(document, Path(), read)
    for name, each in document.get("objects", {}).items():
        with errors.collected():
            templates[name] = _template(each, OBJECTS / name, read)
    errors.expect_none()
    cases = []
    for index, fields in enumerate(document["cases"]):
        own, context, where = SuiteErrors(of_cases.get(index, ())), list[Given](), CASES / index
        with own.collected():
            context = [] if own.found else _context(fields, where, read)
        cases.append(_Case(_name_of(fields, where), where, fields, context, own.found))
    every = chain(base, *(case.context for case in cases))
    if not any(is_policy(each.object if isinstance(each, Given) else each) for each in every):
        text = "no policy to test here: put the suite beside policies, or list their files in its policies"
        raise SuiteError(Path(), text)
    return _Suite(minor, served, base, templates, cases)


def _name_of(case: object, where: Path) -> str:
    name = case.get("name") if isinstance(case, dict) else None
    return name if name and isinstance(name, str) else shown(name) if name else str(where)


def _run_case(case: _Case, suite: _Suite, policies: PolicySet) -> CaseResult:
    name, where, fields, context, wrong = case
    errors = SuiteErrors(wrong)
    with errors.collected():
        errors.expect_none()
        expected = fields["expect"]
        if context:
            policies = load([*context, *suite.base], suite.release, runtime_config=suite.served)
            errors.found += (_unusable(each, where / "context") for each in policies.errors)
        sent = Sent.of(fields, where, policies, suite.templates, errors)
        request, verdict = sent.request, evaluate(sent.request, policies, sent.authorizer)
        unmatched = "" if sent.is_matched(policies) else str(sent)
        if unmatched and verdict.allowed and not expected["allowed"]:
            found = [CaseFailure(where / "expect" / "allowed", f"was allowed: no policy matches the {unmatched}")]
            return CaseResult(name, tuple(found), verdict)
        before = request.object or request.old_object
        found = [*_differences(expected, verdict, before, where / "expect", policies)]
        if expected["allowed"] and verdict.allowed:
            refusals = made_invalid(verdict.judged, request, policies.kinds)
            text = "the API server refuses the object as the policies have changed it: "
            found += (CaseFailure(where / "expect" / "allowed", f"{text}{each}") for each in refusals)
        return CaseResult(name, tuple(found), verdict, unmatched=unmatched if expected["allowed"] else "")
    return CaseResult(name, tuple(dict.fromkeys(errors.found)))


def _unusable(finding: PolicyFinding, context: Path) -> CaseFailure:
    """Return the error of an object that cannot be used with the context of a case."""
    given, problem = finding
    if given.at:
        return CaseFailure(problem.below(given.at, given.at).path, problem.message)
    return CaseFailure(
        given.place or context, f"{given.manifest.source}: {problem}" if given.manifest else str(problem)
    )


def _differences(
    expected: Mapping[str, Any], verdict: Verdict, before: JSONObject | None, where: Path, policies: PolicySet
) -> Iterator[CaseFailure]:
    """Find the differences between a verdict and the expected one."""
    if verdict.allowed != expected["allowed"]:
        text = f"was allowed: {_why_allowed(verdict, policies, expected.get('message'))}"
        if not verdict.allowed:
            # What the suite lacks for the evaluation of policies.
            missing = next((each.missing for each in verdict.decisions if each.denied), "")
            lacks = f" (add to its context: {missing})" if missing else ""
            text = f"was refused: {verdict.message}{_refuser(verdict)}{lacks}"
        yield CaseFailure(where / "allowed", text)
    found: dict[str, object] = {}
    if not verdict.allowed and not expected["allowed"]:
        own = next((each.message for each in verdict.decisions if each.denied), "")
        found["message"] = verdict.message if expected.get("message") == verdict.message else own
        found["reason"] = verdict.reason
    is_same = "warnings" in expected and _same_warnings(expected["warnings"], verdict)
    found["warnings"] = expected["warnings"] if is_same else list(verdict.warnings)
    found["auditAnnotations"] = dict(verdict.audit_annotations)
    if "changes" in expected:
        made = None if verdict.object is None else difference(before or {}, verdict.object)
        is_same = verdict.object == patched(before or {}, expected["changes"], where / "changes")
        found["changes"] = expected["changes"] if is_same else made
    found["object"] = verdict.object
    for field, got in found.items():
        if field in expected and expected[field] != got:
            yield CaseFailure(where / field, f"{field}: expected {_shown(expected[field])}, got {_shown(got)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _refuser(verdict: Verdict) -> str:
    """Name the expression that refuses, if the API server's message does not name its policy."""
    last = next((each for each in reversed(verdict.decisions) if each.denied), None)
    if last is None or any(f"{mark}{last.policy.name}{mark}" in verdict.message for mark in "'\""):
        return ""
    return f" ({last.path} of {last.policy.kind} {last.policy.name})"


def _same_warnings(wanted: Sequence[str], verdict: Verdict) -> bool:
    """Compare warnings, each by the policy's own message or by the API server's whole message."""
    return len(wanted) == len(verdict.warnings) and all(
        text == warning or warning.endswith(f": {text}") for text, warning in zip(wanted, verdict.warnings, strict=True)
    )
