from __future__ import annotations

from tests.cel.authorizer import ADMIN, BINDINGS
from tests.cel.judging import outcome
from tests.rows import each_row
from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User


@each_row(
    ("expression", "expected"),
    [
        ('authorizer.path("/healthz").check("get").allowed()', True),
        ('authorizer.path("/healthz").check("get").reason()', "by path"),
        ('authorizer.path(" ")', "error: path must not be empty"),
        ('authorizer.group("").resource("pods").check("get").allowed()', True),
        ('authorizer.group("").resource("secrets").check("get").allowed()', False),
        ('authorizer.group("").resource("")', "error: resource must not be empty"),
        ('authorizer.requestResource.check("get").allowed()', True),
        ('authorizer.serviceAccount("ns", "sa").group("").resource("pods").check("get").allowed()', False),
        ('authorizer.serviceAccount("ns", "not@valid")', "error: Invalid service account name"),
        ('authorizer.serviceAccount("not.valid", "sa")', "error: Invalid service account namespace"),
        ('authorizer.requestResource.check("broken").errored()', True),
        ('authorizer.requestResource.check("broken").error()', "out of order"),
        ('authorizer.requestResource.check("get").errored()', False),
        ('authorizer.requestResource.check("get").error()', ""),
        ("authorizer == authorizer", "error: no such overload"),
        ("authorizer != authorizer", True),
        ('authorizer.path("/x") == authorizer.path("/x")', "error: no such overload"),
        ('authorizer.path("/x").check("get") == null', False),
    ],
)
def test_questions_come_to(expression: str, expected: object) -> None:
    assert outcome(expression, BINDINGS) == expected


def test_a_question_says_all_that_it_was_given() -> None:
    asked: list[PathCheck | ResourceCheck] = []

    def remember(question: PathCheck | ResourceCheck) -> Decision:
        asked.append(question)
        return Decision(allowed=True)

    authorizer = AuthorizerValue(ADMIN, remember)
    expression = (
        'authorizer.serviceAccount("ns", "sa").group("apps").resource("deployments").subresource("scale")'
        '.namespace("n").name("x").fieldSelector("a=b").labelSelector("c=d").check("list").allowed()'
    )
    assert outcome(expression, {"authorizer": authorizer}) is True
    account = User("system:serviceaccount:ns:sa", ("system:serviceaccounts", "system:serviceaccounts:ns"))
    assert asked == [
        ResourceCheck(authorizer._replace(user=account), "apps", "deployments", "scale", "n", "x", "a=b", "c=d", "list")
    ]
