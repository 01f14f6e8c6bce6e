"""The types of policies and bindings, their API versions, and the validation of one on create.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go``. Errors of CEL expressions are reported
among the others, in the API server's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from webhook import formats
from webhook.api.core.catalogue import of_policies, type_of
from webhook.api.core.meta import created_name
from webhook.api.versions import DEFAULT
from webhook.cel.kubernetes.url import URLPart, parse, unescape
from webhook.cel.syntax.lexer import KEYWORDS
from webhook.escapes import GO_SPACE
from webhook.grouping import repeated
from webhook.objects import text
from webhook.patterns import Pattern
from webhook.policy.manifest.expressions import (
    ANNOTATION,
    CONDITION,
    MESSAGE,
    MUTATIONS,
    VALIDATION,
    Compiler,
    Role,
    complaints,
)
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds
from webhook.policy.manifest.matchresources import OPERATIONS
from webhook.policy.manifest.model import MUTATING, PATCHES, VALIDATING
from webhook.problem import Path, Problem, duplicate, forbidden, invalid, malformed, not_supported, required, too_many
from webhook.release import Release
from webhook.schema.declarations import IN_PLACE, check
from webhook.schema.decoding import apart
from webhook.schema.fields import CompiledStruct, View, compile_struct
from webhook.schema.target import CREATE, Target

MAX_MATCH_CONDITIONS: Final = 64
_IDENTIFIER: Final = Pattern("[_a-zA-Z][_a-zA-Z0-9]*")
SHORT_TEXTS: Final = 34
"""From Kubernetes 1.34, some messages no longer repeat the name of their field."""

GROUP: Final = "admissionregistration.k8s.io"


@check(*of_policies("ParamKind"))
def param_kind(kind: View) -> Iterator[Problem]:
    """A param kind has an API version and a kind."""
    path, value = kind / "apiVersion", kind.apiVersion
    if not value:
        yield required(path)
    elif value.count("/") > 1:
        yield invalid(path, value, f"unexpected GroupVersion string: {value}")
    else:
        group, _, version = ("", "", "") if value == "/" else value.rpartition("/")
        if group and (details := formats.dns_subdomain(group, kind.release)):
            yield invalid(path, group, ",".join(details))
        if not version:
            yield invalid(path, value, "version must be specified")
        elif details := formats.dns1035_label(version):
            yield invalid(path, version, ",".join(details))
    if not kind.kind:
        yield required(kind / "kind")
    elif details := formats.dns1035_label(formats.go_lower(kind.kind)):
        detail = "may have mixed case, but should otherwise match: " + ",".join(details)
        yield invalid(kind / "kind", kind.kind, detail)


@check(*of_policies(f"{VALIDATING}Spec"), *of_policies(f"{MUTATING}Spec"))
def no_rules(spec: View) -> Iterator[Problem]:
    """A policy names at least one resource."""
    if spec.matchConstraints and not spec.matchConstraints.resourceRules:
        yield required(spec.matchConstraints / "resourceRules")


def _expression(holder: View, compiler: Compiler, role: Role, missing: str = "") -> Iterator[Problem]:
    """Find what is wrong with a required expression; `missing` is said if there is none."""
    if not holder.expression.strip(GO_SPACE):
        yield required(holder / "expression", missing)
    else:
        yield from compiler.complaints(role, holder / "expression", holder.expression)


def _one_of(holder: View, field: str, known: tuple[str, ...]) -> Iterator[Problem]:
    """Find a required value that is missing, or that is none of those that are known."""
    path, value = holder / field, getattr(holder, field)
    if value not in known:
        yield not_supported(path, value, known, holder.release) if value else required(path)


def match_conditions(spec: View, compiler: Compiler) -> Iterator[Problem]:
    """Find what is wrong with the conditions of a policy on requests."""
    path, conditions = spec / "matchConditions", spec.matchConditions
    if len(conditions) > MAX_MATCH_CONDITIONS:
        yield too_many(path, len(conditions), MAX_MATCH_CONDITIONS, spec.release)
    again = {index for index, _ in repeated(conditions, lambda condition: condition.name)}
    for index, condition in enumerate(conditions):
        yield from _expression(condition, compiler, CONDITION)
        if not condition.name:
            yield required(condition / "name")
            continue
        yield from malformed(condition / "name", condition.name, formats.label_key(condition.name, spec.release))
        if index in again:
            yield duplicate(condition / "name", condition.name)


def variables(spec: View, compiler: Compiler) -> Iterator[Problem]:
    """Find what is wrong with the variables of a policy."""
    for variable in spec.variables or ():  # 1.27 has none
        if not variable.name.strip(GO_SPACE):
            yield required(variable / "name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(variable.name) or variable.name in KEYWORDS:
            short = spec.release >= SHORT_TEXTS
            detail = "must be a valid CEL identifier" if short else "name is not a valid CEL identifier"
            yield invalid(variable / "name", variable.name, detail)
        if not variable.expression.strip(GO_SPACE):
            yield required(variable / "expression", "expression is not specified")
        else:
            result = compiler.variable(variable.name, variable.expression)
            yield from complaints(result, variable / "expression", variable.expression)


# ValidatingAdmissionPolicy


MAX_AUDIT_ANNOTATIONS: Final = 20
MAX_VALUE_EXPRESSION_BYTES: Final = 5 * 1024
REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")


@check(*of_policies(VALIDATING))
def validating_expressions(policy: View) -> Iterator[Problem]:
    """Conditions, variables, validations and audit annotations are well formed, and their expressions compile."""
    spec = policy.spec
    compiler = Compiler(spec.release, params=bool(spec.paramKind), composed=bool(spec.variables))
    yield from match_conditions(spec, compiler)
    yield from variables(spec, compiler)
    if not spec.validations and not spec.auditAnnotations:
        detail = "validations or auditAnnotations must contain at least one item"
        yield required(spec / "validations", detail)
        yield required(spec / "auditAnnotations", detail)
    for validation in spec.validations:
        yield from _validation(validation, compiler)
    annotations = spec.auditAnnotations or ()
    if len(annotations) > MAX_AUDIT_ANNOTATIONS:
        # The internal type has no names for JSON, so Go's are shown.
        path = spec / "auditAnnotations"
        shown = [{"Key": each.key, "ValueExpression": each.valueExpression} for each in annotations]
        yield invalid(path, shown, f"must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations")
    again = {index for index, _ in repeated(annotations, lambda annotation: annotation.key)}
    for index, annotation in enumerate(annotations):
        yield from _audit_annotation(annotation, created_name(policy.metadata), compiler)
        if index in again:
            yield duplicate(annotation / "key", annotation.key)


def _validation(validation: View, compiler: Compiler) -> Iterator[Problem]:
    noun = "" if validation.release >= SHORT_TEXTS else "message "
    yield from _expression(validation, compiler, VALIDATION, "expression is not specified")
    text = validation.messageExpression or ""
    if text and not text.strip(GO_SPACE):
        yield invalid(validation / "messageExpression", text, "must be non-empty if specified")
    elif text:
        yield from compiler.complaints(MESSAGE, validation / "messageExpression", text)
    path, message = validation / "message", validation.message
    if message and not message.strip(GO_SPACE):
        yield invalid(path, message, f"{noun}must be non-empty if specified")
    elif {"\n", "\r"} & set(message.strip(GO_SPACE)):
        yield invalid(path, message, f"{noun}must not contain line breaks")
    if validation.reason is not None and validation.reason not in REASONS:
        yield not_supported(validation / "reason", validation.reason, REASONS, validation.release)


def _audit_annotation(annotation: View, policy: str, compiler: Compiler) -> Iterator[Problem]:
    path = annotation / "key"
    if policy:
        name = f"{policy}/{annotation.key}"
        yield from malformed(path, name, formats.label_key(name, annotation.release))
    else:
        yield invalid(path, annotation.key, "requires metadata.name be non-empty")
    path, stated = annotation / "valueExpression", annotation.valueExpression
    if not (expression := stated.strip(GO_SPACE)):
        yield required(path, "valueExpression is not specified")
    elif len(expression.encode(errors="replace")) > MAX_VALUE_EXPRESSION_BYTES:
        yield required(path, f"must not exceed {MAX_VALUE_EXPRESSION_BYTES} bytes in length")
    else:
        yield from compiler.complaints(ANNOTATION, path, stated)


# MutatingAdmissionPolicy


@check(*of_policies(MUTATING))
def mutating_expressions(policy: View) -> Iterator[Problem]:
    """Conditions, variables and mutations are well formed, and their expressions compile."""
    spec = policy.spec
    compiler = Compiler(spec.release, params=bool(spec.paramKind), composed=True, patches=True)
    yield from match_conditions(spec, compiler)
    yield from variables(spec, compiler)
    if not spec.mutations:
        yield required(spec / "mutations", "mutations must contain at least one item")
    for mutation in spec.mutations:
        yield from _mutation(mutation, compiler)
    yield from _one_of(spec, "reinvocationPolicy", ("IfNeeded", "Never"))


def _mutation(mutation: View, compiler: Compiler) -> Iterator[Problem]:
    kind = mutation.patchType
    yield from _one_of(mutation, "patchType", tuple(PATCHES))
    if kind not in PATCHES:
        return
    field = PATCHES[kind]
    patch: View = getattr(mutation, field)
    if not patch:
        yield required(mutation / field, f"must be specified when patchType is {kind}")
    else:
        yield from _expression(patch, compiler, MUTATIONS[kind])
    for other in PATCHES.values():
        if other != field and other in mutation:
            yield invalid(mutation / other, f"{{{other}}}", f"must not be specified when patchType is {kind}")


# Webhooks


_REVIEWS: Final = ("v1", "v1beta1")

WEBHOOKS: Final = (*of_policies("MutatingWebhookConfiguration"), *of_policies("ValidatingWebhookConfiguration"))


@check(*WEBHOOKS)
def webhook_names(configuration: View) -> Iterator[Problem]:
    """The webhooks of a configuration have different names."""
    for _, hook in repeated(configuration.webhooks, lambda hook: hook.name):
        if hook.name:
            yield duplicate(hook / "name", hook.name)


@check(*of_policies("MutatingWebhook"), *of_policies("ValidatingWebhook"))
def webhook_fields(hook: View) -> Iterator[Problem]:
    """A webhook has a name of three parts, one address, side effects and versions, and conditions that compile."""
    name, versions = hook.name, hook.admissionReviewVersions
    if not name:
        yield required(hook / "name")
    elif details := formats.dns_subdomain(name, hook.release):
        yield invalid(hook / "name", name, ",".join(details))
    elif name.count(".") < 2:  # noqa: PLR2004 -- three segments
        yield invalid(hook / "name", name, "should be a domain with at least three segments separated by dots")
    if hook.sideEffects is None:
        yield required(hook / "sideEffects", "must specify one of None, NoneOnDryRun")
    yield from _address(hook.clientConfig)
    yield from match_conditions(hook, Compiler(hook.release, params=False, composed=False))
    if not versions:
        yield required(hook / "admissionReviewVersions", f"must specify one of {', '.join(_REVIEWS)}")
    again = {index for index, _ in repeated(versions)}
    for index, version in enumerate(versions):
        for detail in ("duplicate version",) if index in again else formats.dns1035_label(version or ""):
            yield invalid(hook / "admissionReviewVersions" / index, version or "", detail)
    if versions and not {*_REVIEWS}.intersection(versions):
        detail = f"must include at least one of {', '.join(_REVIEWS)}"
        yield invalid(hook / "admissionReviewVersions", versions, detail)


def _address(client: View) -> Iterator[Problem]:
    """Judge the address of a webhook (apiserver ``pkg/util/webhook/validation.go``)."""
    if (client.url is None) != ("service" in client):
        yield required(client.path, "exactly one of url or service is required")
    elif client.url is not None:
        yield from _url(client.url, client / "url")
    else:
        service = client.service
        for missing, told in (("namespace", "name"), ("name", "namespace")):  # the API server confuses them
            if not getattr(service, missing):
                hint = f"the {missing} is missing: the API server confuses the two"
                problem = required(service / missing, f"service {told} is required")
                yield problem._replace(spelled=service / told, hint=hint)


def _url(stated: str, path: Path) -> Iterator[Problem]:
    form = "; desired format: https://host[/path]"
    try:
        url = parse(stated)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{form}")
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{form}")
    if not url.host:
        yield invalid(path, "", f"host must be provided{form}")
    if url.user is not None:
        yield invalid(path, url.user.decode(), "user information is not permitted in the URL")
    fragment = unescape(url.raw_fragment, URLPart.FRAGMENT)
    for part, name in ((fragment, "fragments"), (url.raw_query, "query parameters")):
        if part:
            yield invalid(path, part.decode(errors="replace"), f"{name} are not permitted in the URL")


# Bindings


ACTIONS = ("Audit", "Deny", "Warn")


@check(*of_policies(f"{MUTATING}Spec"), *of_policies(f"{MUTATING}BindingSpec"))
def nothing_to_mutate(spec: View) -> Iterator[Problem]:
    """A mutating policy cannot be about DELETE: it has no object to change."""
    field = "matchConstraints" if "matchConstraints" in spec.type.fields else "matchResources"
    others = tuple(each for each in OPERATIONS if each != "DELETE")
    for rule in getattr(spec, field).resourceRules:
        for index, operation in enumerate(rule.operations):
            if operation not in others:
                problem = not_supported(rule / "operations" / index, operation or "", others, rule.release)
                # The API server names neither the rule nor the operation.
                yield problem._replace(spelled=Path((field, "resourceRules", "operations")))


@check(*of_policies("ParamRef"), before=IN_PLACE)
def name_or_selector(ref: View) -> Iterator[Problem]:
    """Parameters are picked by name or by a selector, not by both, with an action if there are none."""
    selector = bool(ref.selector)
    exclusive = "name and selector are mutually exclusive"
    if ref.name:
        yield from malformed(ref / "name", ref.name, formats.path_segment(ref.name))
        if selector:
            yield forbidden(ref / "name", exclusive)
            yield forbidden(ref / "selector", exclusive)
    elif not selector:
        yield required(ref.path, "one of name or selector must be specified")


@check(*of_policies("ParamRef"), since=28)
def parameter_not_found_action(ref: View) -> Iterator[Problem]:
    """A binding states what happens if its parameters are missing."""
    yield from _one_of(ref, "parameterNotFoundAction", ("Deny", "Allow"))


@check(*of_policies(f"{VALIDATING}BindingSpec"))
def validation_actions(spec: View) -> Iterator[Problem]:
    """Actions are given, each once, and not both Deny and Warn."""
    path, actions = spec / "validationActions", spec.validationActions
    again = {index for index, _ in repeated(actions)}
    for index, action in enumerate(actions):
        if action not in ACTIONS:
            yield not_supported(path / index, action or "", ACTIONS, spec.release)
        if index in again:
            yield duplicate(path / index, action or "")
    if {"Deny", "Warn"}.issubset(actions):
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        yield invalid(path, actions, detail)
    if not actions:
        yield required(path, "at least one validation action is required")


KINDS: Final = {kind: of_policies(kind)[0] for each in (VALIDATING, MUTATING) for kind in (each, f"{each}Binding")}


def is_policy(obj: object) -> bool:
    """Tell whether an object is a policy or a binding, of any version."""
    return isinstance(obj, dict) and text(obj, "apiVersion").partition("/")[0] == GROUP and text(obj, "kind") in KINDS


@cache
def served(kind: str, release: Release) -> list[str]:
    """List the API versions in which a release serves a kind of policy or binding, the oldest first."""
    return [f"{GROUP}/{name}" for name in reversed(Kinds(release).versions(GroupVersionKind(GROUP, "", kind)))]


def serving(obj: Mapping[str, Any], release: Release) -> Release:
    """Return the release nearest to the cluster's that serves a policy or binding in its version.

    The cluster that requests come from need not serve the policies that draguard evaluates.
    """
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    releases = Kinds(release).spans(GroupVersionKind(group, version, str(obj["kind"]))).get(version)
    return min(max(release, releases[0]), releases[1]) if releases else release


def validate_policy(obj: dict[str, Any], release: Release = DEFAULT, *, beyond_decoding: bool = False) -> list[Problem]:
    """Validate a policy or binding as the API server does on create.

    Args:
        beyond_decoding: Whether to validate the rest of an object that cannot be decoded, too.
    """
    kind = str(obj["kind"])
    versions = served(kind, release)
    if obj["apiVersion"] not in versions:
        from webhook.api.unserved import not_served  # most policies are served

        hint = f"Kubernetes 1.{release} serves {kind} in {', '.join(versions) or 'no version'}"
        return [not_served(obj["apiVersion"], kind, hint)]
    struct = _struct(kind, obj["apiVersion"], release)
    misfits, problems = apart(struct.walk(obj))
    if not misfits:
        return list(problems)
    from webhook.api.judgement import advised  # most policies can be decoded

    found = [each._replace(fix=None) for each in advised(misfits, struct, obj)]  # `validate --fix` changes no policies
    if beyond_decoding:
        from webhook.api.beyond import beyond  # as above

        found += beyond(struct, obj, None, misfits, lambda _obj, _misfits, rest: rest)
    return found


@cache
def _struct(kind: str, api_version: str, release: Release) -> CompiledStruct:
    return compile_struct(type_of(api_version, kind), Target(api_version.rpartition("/")[2], release, CREATE))
