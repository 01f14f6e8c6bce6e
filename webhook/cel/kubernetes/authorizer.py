"""The authorizer library: `authorizer.group("").resource("pods").check("get")` (library/authz.go)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import Overload, member
from webhook.cel.types.base import BOOL, STRING, struct
from webhook.cel.types.values import only_class
from webhook.escapes import GO_SPACE
from webhook.formats import dns_label, dns_subdomain

_PREFIX: Final = "kubernetes.authorization."
AUTHORIZER: Final = struct(f"{_PREFIX}Authorizer")
PATH_CHECK: Final = struct(f"{_PREFIX}PathCheck")
GROUP_CHECK: Final = struct(f"{_PREFIX}GroupCheck")
RESOURCE_CHECK: Final = struct(f"{_PREFIX}ResourceCheck")
DECISION: Final = struct(f"{_PREFIX}Decision")
_receiver: Final = partial(only_class, cel_takes=lambda *_: False)
"""Values can only be called on: `==` with any value is an error (library/authz.go, receiverOnlyObjectVal)."""


class User(NamedTuple):
    """The user of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


@_receiver(DECISION)
class Decision(NamedTuple):
    """A decision of the authorizer; the reason and the error are empty if there are none."""

    allowed: bool
    reason: str = ""
    error: str = ""


@_receiver(PATH_CHECK)
class PathCheck(NamedTuple):
    """A check of a path that is not a resource, `/healthz`."""

    authorizer: AuthorizerValue
    path: str
    verb: str = ""


@_receiver(RESOURCE_CHECK)
class ResourceCheck(NamedTuple):
    """A check of resources of an API group."""

    authorizer: AuthorizerValue
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    verb: str = ""


@_receiver(AUTHORIZER)
class AuthorizerValue(NamedTuple):
    """The value of `authorizer`, which checks what a user may do.

    Args:
        authorize: Decides checks, which include the user and the verb.
    """

    user: User
    authorize: Callable[[PathCheck | ResourceCheck], Decision]


@_receiver(GROUP_CHECK)
class _GroupCheck(NamedTuple):
    authorizer: AuthorizerValue
    group: str


def _path(authorizer: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip(GO_SPACE):
        raise EvaluationError("path must not be empty")
    return PathCheck(authorizer, path)


def _account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    # All releases agree on well-formed names, only the messages differ.
    if dns_subdomain(name, 0):
        raise EvaluationError("Invalid service account name")
    if dns_label(namespace, 0):
        raise EvaluationError("Invalid service account namespace")
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return authorizer._replace(user=User(f"system:serviceaccount:{namespace}:{name}", groups))


def _resource(group: _GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip(GO_SPACE):
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(group.authorizer, group.group, resource)


def _check(question: PathCheck | ResourceCheck, verb: str) -> Decision:
    return question.authorizer.authorize(question._replace(verb=verb))


def _narrowing(name: str, id_: str, field: str) -> Overload:
    def narrow(question: ResourceCheck, value: str) -> ResourceCheck:
        return question._replace(**{field: value})  # type: ignore[arg-type]  # all of these fields are texts

    return member(name, id_, (RESOURCE_CHECK, STRING), RESOURCE_CHECK, narrow)


LIBRARY: Final = Library(
    functions=(
        member("path", "authorizer_path", (AUTHORIZER, STRING), PATH_CHECK, _path),
        member("group", "authorizer_group", (AUTHORIZER, STRING), GROUP_CHECK, _GroupCheck),
        member("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _account),
        member("resource", "groupcheck_resource", (GROUP_CHECK, STRING), RESOURCE_CHECK, _resource),
        _narrowing("subresource", "resourcecheck_subresource", "subresource"),
        _narrowing("namespace", "resourcecheck_namespace", "namespace"),
        _narrowing("name", "resourcecheck_name", "name"),
        member("check", "pathcheck_check", (PATH_CHECK, STRING), DECISION, _check),
        member("check", "resourcecheck_check", (RESOURCE_CHECK, STRING), DECISION, _check),
        member("errored", "decision_errored", (DECISION,), BOOL, lambda decision: bool(decision.error)),
        member("error", "decision_error", (DECISION,), STRING, lambda decision: decision.error),
        member("allowed", "decision_allowed", (DECISION,), BOOL, lambda decision: decision.allowed),
        member("reason", "decision_reason", (DECISION,), STRING, lambda decision: decision.reason),
    ),
)

SELECTORS: Final = Library(
    functions=(
        _narrowing("fieldSelector", "authorizer_fieldselector", "field_selector"),
        _narrowing("labelSelector", "authorizer_labelselector", "label_selector"),
    ),
)

VARIABLES: Final = {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
"""The variables that the functions start from."""
