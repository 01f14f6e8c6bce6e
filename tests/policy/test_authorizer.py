"""The permissions of users, from a list of rules."""

from typing import Any

import pytest

from tests.rows import each_row, each_row_beside
from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User
from webhook.policy.evaluation.authorizer import AuthorizerError, Permission, authorizer_of


def deny_all(question: PathCheck | ResourceCheck) -> Decision:
    del question
    return Decision(allowed=False)


JANE = AuthorizerValue(User("jane", ("dev",)), deny_all)
GET_POD = ResourceCheck(JANE, "", "pods", namespace="default", name="p", verb="get")
RULE: dict[str, Any] = {"api_groups": [""], "resources": ["pods"], "verbs": ["get"]}


def allows(question: PathCheck | ResourceCheck = GET_POD, **fields: Any) -> bool:
    return Permission(**{name: frozenset(values) for name, values in (RULE | fields).items()}).allows(question)


@each_row_beside("fields", "allowed")
def test_rules_allow_what_they_name(fields: dict[str, Any], allowed: bool) -> None:
    assert allows(**fields) is allowed


def test_subresources_are_named_with_their_resource() -> None:
    question = ResourceCheck(JANE, "", "pods", "log", "default", "p", verb="get")
    assert not allows(question)
    assert allows(question, resources=["pods/log"])
    assert allows(question, resources=["*/log"])
    assert allows(question, resources=["*"])


def test_paths_are_named_whole_or_by_their_start() -> None:
    question = PathCheck(JANE, "/healthz/ready", "get")
    assert not allows(question)
    assert allows(question, paths=["/healthz/ready"])
    assert allows(question, paths=["/healthz/*"])
    assert not allows(question, paths=["/healthz"])


@each_row(
    ("document", "text"),
    [
        ([], "an authorizer's file has a list of rules: {rules: "),
        ({"rules": [1]}, "rules[0]: a rule is a map with users, groups, "),
        ({"rules": [{"verb": ["get"]}]}, "rules[0].verb: unknown field; a rule has users, "),
        ({"rules": [{"resources": ["pods"]}]}, "rules[0].verbs: a rule names the verbs that it allows, or *"),
        ({"rules": [{"verbs": "get"}]}, "rules[0].verbs: must be a list of texts"),
    ],
)
def test_a_malformed_list_is_refused(document: object, text: str) -> None:
    with pytest.raises(AuthorizerError) as caught:
        authorizer_of(document)
    assert str(caught.value).startswith(text)
