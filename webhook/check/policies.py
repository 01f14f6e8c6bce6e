"""``--policies``, ``--authorizer`` and ``--as``; findings of policies, and their places."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import Any, Final, NamedTuple

from webhook.api.versions import DEFAULT, release_of
from webhook.check.expressions import located, position
from webhook.check.target import POLICY_HINT, runtime_config
from webhook.documents import STDIN, Document, Unreadable, read
from webhook.engine.offline import MutatedManifest, Sender
from webhook.findings import Finding, Origin, by_place, code_of, found, unread
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, metadata_of, text
from webhook.policy.evaluation import policyset
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer, AuthorizerError, authorizer_of
from webhook.policy.evaluation.authorizer import NOTE as USERS_NOT_KNOWN
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import DEFAULT_USER, SERVICE_ACCOUNT
from webhook.policy.evaluation.verdict import PolicyDecision, Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import EVERY_VERSION
from webhook.policy.manifest.model import DENY, Given
from webhook.problem import ERROR, NOTE, WARNING, Path, Problem
from webhook.release import Release
from webhook.report.text import as_text, counted
from webhook.spelling import nearest
from webhook.usage import UsageError

DENIED = "policy"
"""The rule name of a policy's decisions."""
PLUGIN = "admission-plugin"
"""The rule name of refusals by other admission plugins."""

_HINTS = {USERS_NOT_KNOWN: "--authorizer names a file that says what users may do"}
"""How to replace an assumption by facts, other than for a namespace."""
_AUTHENTICATED = "system:authenticated"
_UNAUTHENTICATED = "system:unauthenticated"


class Policies(NamedTuple):
    """The loaded policies, and their problems.

    Args:
        given: The objects of the policies' files, after the Namespaces that take precedence.
        set: The policies, with the objects that they read.
        authorizer: Decides what users may do.
        findings: Problems of the policies' files.
    """

    given: Sequence[Given]
    set: PolicySet
    authorizer: Authorizer
    findings: list[Finding]


def is_suite(obj: object) -> bool:
    """Tell whether a document is a suite of ``draguard policy test``, which stands beside policies.

    So is one whose cases are called tests, or misspelt: what is wrong is reported when it is run. Other tools' files,
    which have such lists, too, do not say what they expect of an object.
    """
    if not isinstance(obj, dict) or "apiVersion" in obj:
        return False
    return "cases" in obj or ("kind" not in obj and any(starmap(_holds_cases, obj.items())))


_OBJECTS: Final = frozenset(("object", "oldObject"))
"""The fields of a case that hold what it is about."""


def _holds_cases(name: object, value: object) -> bool:
    return (
        isinstance(name, str)
        and isinstance(value, list)
        and any(isinstance(each, dict) and "expect" in each and not _OBJECTS.isdisjoint(each) for each in value)
        and bool(nearest(name, ("cases", "tests")))
    )


def release(stated: str | None) -> Release:
    """Return the release that policies are judged for, as the minor of 1.x: the stated one, or the default one."""
    return release_of(stated) if stated else DEFAULT


def load_policies(
    arguments: Namespace,
    stated: str | None,
    strongest: Callable[[str], str] = lambda _name: DENY,
    namespaces: Iterable[JSONObject] = (),
    level: str = ERROR,
) -> Policies:
    """Load the files of ``--policies`` and ``--authorizer``.

    Args:
        strongest: Returns the strongest action that a policy, given by name, may lead to.
        namespaces: Namespaces that take precedence over those in the files.
        level: The level of findings about objects that cannot be decoded; those in parameters are errors.

    Raises:
        UsageError: No policies are found, the authorizer's file is malformed, or standard input is named twice.
    """
    others = (getattr(arguments, name, ()) for name in ("paths", "old", "cluster"))
    inputs = [*arguments.policies, *chain.from_iterable(others)]
    if STDIN in arguments.policies and inputs.count(STDIN) > 1:
        raise UsageError("standard input (-) cannot be both the policies and something else: give one of them as files")
    given = [Given(namespace) for namespace in namespaces]
    findings: list[Finding] = []
    files: dict[str, None] = {}
    for document in read(arguments.policies):
        files[document.source] = None
        if isinstance(document, Unreadable):
            findings.append(unread(document))
        elif not is_suite(document.data):
            given.append(Given(document.data, document))
    namespace = getattr(arguments, "namespace", DEFAULT_NAMESPACE)
    served = runtime_config(arguments) if hasattr(arguments, "runtime_config") else EVERY_VERSION
    policies = load(given, release(stated), strongest, namespace=namespace, level=level, runtime_config=served)
    findings = by_place((*findings, *placed(policies.findings, policies.release)), files)
    if not policies.policies and not any(finding.problem.level == ERROR for finding in findings):
        raise UsageError(f"no policies found in {', '.join(arguments.policies)}", "--policies")
    return Policies(given, policies, _authorizer(arguments.authorizer), findings)


def sound_policies(
    arguments: Namespace,
    stated: str | None,
    tell: Callable[[str], None],
    strongest: Callable[[str], str] = lambda _name: DENY,
    level: str = ERROR,
) -> Policies:
    """Load policies for a command that needs all of them to be valid.

    Args:
        tell: Receives the lines of the error report.
        strongest: Returns the strongest action that a policy, given by name, may lead to.
        level: As for :func:`load_policies`.

    Raises:
        UsageError: A policy is invalid or cannot work.
    """
    policies = load_policies(arguments, stated, strongest, level=level)
    for line in as_text(policies.findings):
        tell(line)
    errors = sum(finding.problem.level == ERROR for finding in policies.findings)
    if errors:
        raise UsageError(
            f"{counted(errors, 'error')}: `draguard policy check` has the details",
            "--policies",
            code=code_of(policies.findings),
        )
    return policies


def _authorizer(path: str | None) -> Authorizer:
    if path is None:
        return DENY_ALL
    documents = list(read([path]))
    try:
        match documents:
            case [Document() as only]:
                return authorizer_of(only.data)
            case [Unreadable() as fault, *_]:
                message = f"{path}:{fault.line}: {fault.message}" if fault.line else f"{path}: {fault.message}"
            case _:
                message = f"{path} must hold one document with rules; it holds {len(documents)}"
    except AuthorizerError as error:
        message = f"{path}: {error}"
    raise UsageError(message, "--authorizer")


def user(arguments: Namespace) -> Mapping[str, Any]:
    """Return the requesting user: ``--as`` and its like, with the groups that the API server adds.

    Follows apiserver ``pkg/endpoints/filters/impersonation.go``.

    Raises:
        UsageError: There are groups or extra values without a user, or an extra value has no key.
    """
    name, groups, extra = arguments.as_user, list(arguments.as_group), dict[str, list[str]]()
    for each in arguments.as_user_extra:
        key, equals, value = each.partition("=")
        if not (key and equals):
            raise UsageError(f"{each!r} is not KEY=VALUE", "--as-user-extra")
        extra.setdefault(key.lower(), []).append(value)  # lower case as in a request's headers
    if name is None:
        if groups:
            raise UsageError("groups go with a user: add --as", "--as-group")
        if extra:
            raise UsageError("extra values go with a user: add --as", "--as-user-extra")
        return DEFAULT_USER
    if name.startswith(SERVICE_ACCOUNT) and not groups:
        namespace = name.removeprefix(SERVICE_ACCOUNT).partition(":")[0]
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    if not {_AUTHENTICATED, _UNAUTHENTICATED}.intersection(groups):
        groups.append(_UNAUTHENTICATED if name == "system:anonymous" else _AUTHENTICATED)
    return {"username": name, "groups": groups, **({"extra": extra} if extra else {})}


def sender(policies: Policies, arguments: Namespace) -> Sender:
    """Make the sender of manifests to policies: ``--as`` and ``--namespace``.

    Raises:
        UsageError: There are groups without a user.
    """
    return Sender(policies.set, policies.given, policies.authorizer, user(arguments), arguments.namespace)


def found_by_mutating(mutated: MutatedManifest, document: Document) -> list[Finding]:
    """Report the refusals by mutating policies, and the policies that could not be evaluated."""
    policies, verdict = mutated.policies, mutated.mutation.verdict
    denied = [decision for decision in verdict.decisions if decision.denied]
    # An object that cannot be decoded ends the request: that is then the only cause, and the last decision.
    causes = dict(zip(map(id, denied[len(denied) - len(verdict.causes) :]), verdict.causes, strict=True))
    findings = [
        _found(decision, document, policies, ERROR, causes[id(decision)]) if id(decision) in causes else each
        for decision in verdict.decisions
        for each in _findings(decision, document, policies)
    ]
    return [*_of_plugin(verdict, document, policies), *findings]


def found_by_validating(mutated: MutatedManifest, verdict: Verdict, document: Document) -> list[Finding]:
    """Report the findings of validating policies in a document, and the assumptions made."""
    policies = mutated.policies
    findings = [each for decision in verdict.decisions for each in _findings(decision, document, policies)]
    findings += _of_plugin(verdict, document, policies)
    problems = (
        Problem(NOTE, "assumed", "Assumed", Path(), note, _HINTS.get(note, POLICY_HINT))
        for note in dict.fromkeys(mutated.mutation.verdict.notes + verdict.notes)
    )
    findings += (found(problem, document, f"1.{policies.release}") for problem in problems)
    return list(dict.fromkeys(findings))


def each_once(findings: Iterable[Finding]) -> list[Finding]:
    """Report each assumption once, with the number of objects."""
    kept, times = dict[Hashable, Finding](), Counter[Hashable]()
    for finding in findings:
        key: Hashable = finding.problem.message if finding.problem.rule == "assumed" else finding
        kept.setdefault(key, finding)
        times[key] += finding.problem.rule == "assumed"
    for message, number in times.items():
        if number > 1:
            finding, said = kept[message], f"{message} (and of {counted(number - 1, 'more object')})"
            kept[message] = finding._replace(problem=finding.problem._replace(message=said))
    return [*kept.values()]


def _findings(decision: PolicyDecision, document: Document, policies: PolicySet) -> Iterator[Finding]:
    who = decision.who
    if not decision.denied and decision.is_error:
        text = f"{who} lets this pass, as its failurePolicy is Ignore: {decision.message}"
        yield _found(decision, document, policies, NOTE, text)
    if "Deny" in decision.actions:
        yield _found(decision, document, policies, ERROR, decision.refusal)
    elif "Warn" in decision.actions:
        yield _found(decision, document, policies, WARNING, decision.warning)
    elif "Audit" in decision.actions:
        text = f"{who} lets this pass and notes in the audit log: {decision.message}"
        yield _found(decision, document, policies, NOTE, text)


def _of_plugin(verdict: Verdict, document: Document, policies: PolicySet) -> Iterator[Finding]:
    """Report the refusal by an admission plugin, after which no policy decides."""
    if verdict.is_of_plugin:
        yield found(Problem(ERROR, PLUGIN, verdict.reason, Path(), verdict.message), document, f"1.{policies.release}")


def _found(decision: PolicyDecision, document: Document, policies: PolicySet, level: str, text: str) -> Finding:
    rule = "policy-error" if decision.is_error else DENIED
    hint = decision.missing and f"add to what --policies names: {decision.missing}"
    problem = Problem(level, rule, decision.reason, Path(), text, hint)
    return found(problem, document, f"1.{policies.release}")._replace(origin=_origin(decision))


def _origin(decision: PolicyDecision) -> Origin:
    """Return the policy and expression of a decision."""
    policy, binding, params = decision.policy, decision.binding, metadata_of(decision.params)
    names = [text(params, name) for name in ("namespace", "name")]
    origin = Origin(
        policy.kind,
        policy.name,
        binding.name if binding else "",
        "/".join(filter(None, names)),
        str(decision.path or ""),
    )
    if binding and decision.is_of_binding:
        manifest, path = binding.given.manifest, Path(("spec", "paramRef"))
    else:
        manifest, path = policy.given.manifest, decision.path or Path()
    if not path:
        return origin._replace(file=manifest.source, line=manifest.position().line, column=1)
    place = position(manifest, path)
    return origin._replace(
        file=manifest.source, line=place.line, column=place.column, text=manifest.file.excerpt(place.line)
    )


def placed(findings: Iterable[policyset.PolicyFinding], minor: Release, suite: Document | None = None) -> list[Finding]:
    """Locate the problems of policies and bindings in their files.

    Args:
        minor: The Kubernetes release, as the minor of 1.x.
        suite: The suite that holds the other objects.
    """
    located_ones = []
    for each in findings:
        problem, document = each.problem, each.given.manifest or suite
        if problem.level == ERROR and not problem.hint:
            from webhook.hints.fields import hinted  # most policies are valid

            problem = hinted(problem, each.given.object)
        if document is not None:
            at = each.given.at
            located_ones.append(located(problem.below(at, at), document, f"1.{minor}"))
    return located_ones
