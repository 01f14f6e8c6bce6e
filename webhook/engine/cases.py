"""Reads suites of policies and their cases, and says what is wrong with them, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from webhook.api.versions import DEFAULT, NEWEST, release_of
from webhook.objects import JSONObject, text
from webhook.policy.change.patch import OPERATIONS as PATCH_OPERATIONS
from webhook.policy.change.patch import PatchError, apply_patch
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer, AuthorizerError, authorizer_of
from webhook.policy.evaluation.policyset import PolicySet, match, undecodable
from webhook.policy.evaluation.request import CONNECT, CREATE, OPERATIONS, UPDATE, Request, request_of
from webhook.policy.manifest.kinds import CONNECTED, OF_OBJECT, Kind, Kinds, Resource, kind_of, meant
from webhook.policy.manifest.model import EVERYTHING, Given
from webhook.problem import Path
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema.decoding import UNKNOWN_FIELD
from webhook.spelling import nearest

CASES: Final = Path(("cases",))
OBJECTS: Final = Path(("objects",))
REASONS: Final = ("Invalid", "Forbidden", "Unauthorized", "RequestEntityTooLarge", "InternalError")
SUITE_FIELDS: Final = ("kubernetes", "policies", "context", "objects", "cases")
CASE_FIELDS: Final = (
    *("name", "object", "oldObject", "patch", "operation", "resource", "subresource", "user", "context", "authorizer"),
    "expect",
)
EXPECT_FIELDS: Final = ("allowed", "message", "reason", "warnings", "auditAnnotations", "changes", "object")


class SuiteError(ValueError):
    """A suite is malformed at a path; the text says how, and how to fix it."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(f"{path}: {text}" if path else text)
        self.path = path
        self.text = text
        self.others: tuple[SuiteError, ...] = ()
        """Further errors, found at the same time."""


class SuiteErrors:
    """Collects errors of a suite, so that they are reported together."""

    def __init__(self) -> None:
        self.found: list[SuiteError] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect an error of the suite, and go on behind the block."""
        try:
            yield
        except SuiteError as error:
            self.found += (error, *error.others)

    def expect_none(self) -> None:
        """Report the collected errors.

        Raises:
            SuiteError: There are some.
        """
        if self.found:
            first, *others = self.found
            first.others = tuple(others)
            raise first


def expected_of(value: object, where: Path) -> dict[str, Any]:
    """Return what a case expects.

    Raises:
        SuiteError: It is malformed.
    """
    expected = map_of(value, where, EXPECT_FIELDS)
    errors = SuiteErrors()
    with errors.collected():
        expect_known(expected, where, EXPECT_FIELDS)
    with errors.collected():
        is_there = "allowed" in expected or not errors.found  # it may be the unknown field
        if is_there and not isinstance(expected.get("allowed"), bool):
            raise SuiteError(where / "allowed", "must be true or false")
    with errors.collected():
        if not isinstance(expected.get("message", ""), str):
            raise SuiteError(where / "message", "must be a string")
    with errors.collected():
        if "reason" in expected and expected["reason"] not in REASONS:
            raise SuiteError(where / "reason", f"must be one of {', '.join(REASONS)}")
    errors.expect_none()
    return expected


class Sent(NamedTuple):
    """What a case sends to policies: a request, and what its user may do."""

    request: Request
    authorizer: Authorizer

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Any],
        where: Path,
        policies: PolicySet,
        templates: Mapping[str, Any],
        errors: SuiteErrors,
    ) -> Sent:
        """Read the request of a case.

        Raises:
            SuiteError: The case is malformed; ``errors`` has all that is wrong with it.
        """
        obj = old = None
        operation, user, patch = fields.get("operation") or "", fields.get("user"), fields.get("patch")
        authorizer = DENY_ALL
        with errors.collected():
            obj, path = _object(fields, "object", where, templates)
            if obj is not None and patch is not None:
                obj = patched(obj, patch, where / "patch")
            _expect_decodable(obj, path, policies)
        with errors.collected():
            old, path = _object(fields, "oldObject", where, templates)
            _expect_decodable(old, path, policies)
        with errors.collected():
            if fields.get("object") is None and fields.get("oldObject") is None:
                raise SuiteError(where / "object", "a case has an object, or an oldObject to delete")
        with errors.collected():
            if operation and (not isinstance(operation, str) or operation not in OPERATIONS):
                raise SuiteError(where / "operation", f"must be one of {', '.join(sorted(OPERATIONS))}")
        with errors.collected():
            if user is not None and not isinstance(user, dict):
                raise SuiteError(where / "user", "must be a map with username and groups")
        with errors.collected():
            authorizer = _authorizer(fields, where / "authorizer")
        resource, subresource = None, ""
        with errors.collected():
            resource, subresource = _sent_to(fields, obj if obj is not None else old, where, policies)
        errors.expect_none()
        if not operation and obj is not None and policies.kinds.sent_to(_kind(obj)):
            operation = CONNECT if subresource in CONNECTED else UPDATE if subresource == "scale" else CREATE
        request = request_of(
            obj,
            old,
            kinds=policies.kinds,
            operation=operation,
            subresource=subresource,
            user=user,
            resource=resource,
        )
        return cls(request, authorizer)

    def is_matched(self, policies: PolicySet) -> bool:
        """Tell whether a rule of a policy matches, whatever the labels of the object and its namespace are."""
        rules = (
            each.match._replace(namespaces=EVERYTHING, objects=EVERYTHING, exclude=()) for each in policies.policies
        )
        return any(match(each, self.request, policies.kinds, policies.namespace_labels) for each in rules)

    def __str__(self) -> str:
        """Return the operation and the resource, such as ``UPDATE of deployments.apps/scale``."""
        request = self.request
        return f"{request.operation} of {'/'.join(filter(None, (request.resource.qualified, request.subresource)))}"


def _expect_decodable(obj: JSONObject | None, where: Path, policies: PolicySet) -> None:
    """Check that an object can reach a policy: its kind is served, and it can be decoded."""
    if obj is None:
        return
    for name in ("apiVersion", "kind"):
        if not text(obj, name):
            raise SuiteError(where, f"{name} is missing: an object needs apiVersion and kind")
    if message := _unserved(kind_of(obj["apiVersion"], obj["kind"]), policies.kinds):
        raise SuiteError(where, message)
    for kinds, is_unknown, complaint in (
        (policies.kinds, False, "the API server cannot decode it"),
        # Suites are run for other releases, too, which may lack a field.
        (policies.kinds.at(NEWEST), True, "the API server drops or refuses it, so that no policy reads it"),
    ):
        for problem in undecodable(obj, kinds):
            if (problem.rule == UNKNOWN_FIELD) is is_unknown:
                hint = f"; {problem.hint}" if problem.hint else ""
                raise SuiteError(Path((*where, *problem.path)), f"{complaint}: {problem.message}{hint}")


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


def _kind(obj: JSONObject) -> Kind:
    return kind_of(text(obj, "apiVersion"), text(obj, "kind"))


def _sent_to(
    fields: Mapping[str, Any], obj: JSONObject | None, where: Path, policies: PolicySet
) -> tuple[Resource | None, str]:
    """Return the resource to which the object of a case is sent, None for that of its kind, and the subresource.

    Raises:
        SuiteError: The resource does not exist, is not stated, or is not one of the object's kind.
    """
    holder, _, below = str(fields.get("subresource") or "").rpartition("/")
    stated, kinds, kind = str(fields.get("resource") or ""), policies.kinds, _kind(obj or {})
    where, name = where / ("resource" if stated else "subresource"), stated or holder
    resource = kinds.named(name) if name else None
    if name and resource is None:
        raise SuiteError(where, f"Kubernetes 1.{kinds.release} does not serve a resource {name!r}")
    places = kinds.sent_to(kind)
    if not places:
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
            known = (
                f"they have {', '.join(map(str, templates))}" if templates else "write the object here, or add objects"
            )
            raise SuiteError(path, f"the suite's objects have no {value!r}; {known}")
        value, path = templates[value], OBJECTS / value
    if value is not None and not isinstance(value, dict):
        raise SuiteError(path, "must be an object, or the name of one of the suite's objects")
    return value, path


def patched(obj: JSONObject, patch: object, where: Path) -> JSONObject:
    """Apply a JSON Patch of a suite.

    Raises:
        SuiteError: It is malformed, or does not apply.
    """
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


def objects_of(fields: Mapping[str, Any], where: Path) -> list[Given]:
    """Return the objects of a context.

    Raises:
        SuiteError: It is malformed.
    """
    objects = fields.get("context")
    if objects is None:
        return []
    if not isinstance(objects, list):
        raise SuiteError(where / "context", "must be a list of objects")
    return [Given(each) for each in objects]


def map_of(value: object, where: Path, known: Sequence[str]) -> dict[str, Any]:
    """Return a map with some fields.

    Raises:
        SuiteError: The value is not a map.
    """
    if not isinstance(value, dict):
        raise SuiteError(where, f"must be a map with {', '.join(known)}")
    return value


def expect_known(fields: Mapping[str, Any], where: Path, known: Sequence[str]) -> None:
    """Refuse unknown fields.

    Raises:
        SuiteError: A field is unknown.
    """
    errors = SuiteErrors()
    for name in fields:
        with errors.collected():
            if name not in known:
                text = f"unknown field {name!r}"
                near = nearest(name, known) if isinstance(name, str) else ""
                hint = f"did you mean {near!r}?" if near else f"the fields are {', '.join(known)}"
                raise SuiteError(where / str(name), f"{text}; {hint}")
    errors.expect_none()


def release_of_suite(document: Mapping[str, Any]) -> Release:
    """Return the release that a suite states, or the newest.

    Raises:
        SuiteError: It is unknown.
    """
    stated = document.get("kubernetes")
    if stated is None:
        return DEFAULT
    try:
        return release_of(stated)
    except ValueError as error:
        raise SuiteError(Path(("kubernetes",)), str(error)) from None
