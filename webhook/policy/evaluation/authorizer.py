"""An offline authorizer: decides by a list of rules, and denies by default.

The rules are those of a Role: ``apiGroups``, ``resources`` (with subresources as ``pods/log``), ``resourceNames``,
``verbs``, or ``nonResourceURLs`` with ``verbs``; each may name the ``users``, ``groups`` and ``namespaces`` that it
is for. An action that no rule allows is denied, except to members of ``system:masters``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User
from webhook.objects import text
from webhook.policy.evaluation.request import Request
from webhook.policy.manifest.model import has
from webhook.problem import Path

_FIELDS: Final = (
    *("users", "groups", "namespaces"),
    *("apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"),
)
SUPERUSERS: Final = "system:masters"
"""The group whose members may do everything (apiserver ``options/authorization.go``)."""
NOTE: Final = (
    "a policy asks what the user may do; without a cluster only the given rules allow anything, and what they do not "
    "is denied"
)


class AuthorizerError(ValueError):
    """A list of rules is malformed; the text says where and how."""


class Permission(NamedTuple):
    """Actions that users may take; an empty set of users, groups, namespaces or names stands for all of them."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    api_groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()

    def allows(self, question: PathCheck | ResourceCheck) -> bool:
        """Tell whether the rule allows an action."""
        user = question.authorizer.user
        if (self.users or self.groups) and user.name not in self.users and not self.groups.intersection(user.groups):
            return False
        if not has(self.verbs, question.verb):
            return False
        if isinstance(question, PathCheck):
            paths = (
                each[:-1] == question.path[: len(each) - 1] if each.endswith("*") else each == question.path
                for each in self.paths
            )
            return any(paths)
        resource = f"{question.resource}/{question.subresource}" if question.subresource else question.resource
        return (
            has(self.api_groups, question.group)
            and (has(self.resources, resource) or f"*/{question.subresource}" in self.resources)
            and (not self.namespaces or has(self.namespaces, question.namespace))
            and (not self.names or question.name in self.names)
        )


class Authorizer:
    """Authorizes requests by rules that allow verbs on resources; all else is denied."""

    def __init__(self, rules: Iterable[Permission] = ()) -> None:
        self._rules = tuple(rules)

    def bindings(self, request: Request, noted: set[str]) -> dict[str, Any]:
        """Return the variables ``authorizer`` and ``authorizer.requestResource`` for expressions.

        Args:
            noted: Takes a note if an action is denied that no rule allows.
        """

        def answer(question: PathCheck | ResourceCheck) -> Decision:
            if SUPERUSERS in question.authorizer.user.groups:
                return Decision(allowed=True)
            allowed = any(rule.allows(question) for rule in self._rules)
            if not allowed:
                noted.add(NOTE)
            return Decision(allowed=allowed)

        groups = request.user.get("groups")
        names = tuple(each for each in groups if isinstance(each, str)) if isinstance(groups, list) else ()
        user = User(text(request.user, "username"), names, text(request.user, "uid"))
        value = AuthorizerValue(user, answer)
        group, _, resource = request.resource
        check = ResourceCheck(value, group, resource, request.subresource, request.namespace, request.name)
        return {"authorizer": value, "authorizer.requestResource": check}


DENY_ALL: Final = Authorizer()


_NAMES: Final = {"type": "array", "items": {"type": "string"}}
_RULE: Final = {
    "type": "object",
    "properties": dict.fromkeys(_FIELDS, _NAMES | {"type": ["array", "null"]}) | {"verbs": _NAMES | {"minItems": 1}},
    "required": ["verbs"],
    "additionalProperties": False,
    "examples": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
_SCHEMA: Final = {
    "type": "object",
    "properties": {"rules": {"type": "array", "items": _RULE, "examples": [_RULE["examples"]]}},
    "required": ["rules"],
    "additionalProperties": True,
    "examples": [{"rules": _RULE["examples"]}],
}
"""What an authorizer's file holds."""


def authorizer_of(document: object) -> Authorizer:
    """Read a list of rules: ``{"rules": [{"verbs": […], …}, …]}``.

    Raises:
        AuthorizerError: The value is not such a list.
    """
    from webhook.structural.keywords import Walk  # few policies ask what a user may do

    for path, message, hint, *_ in Walk({}, is_own=True).check(_SCHEMA, document, ()):
        raise AuthorizerError(": ".join(filter(None, (str(Path(path)), "; ".join(filter(None, (message, hint)))))))
    rules = document["rules"] if isinstance(document, dict) else ()
    return Authorizer(Permission(*(frozenset(rule.get(name) or ()) for name in _FIELDS)) for rule in rules)
