from tests.cel.authorizer import ADMIN, BINDINGS
from tests.cel.judging import outcome
from tests.rows import each_row_beside
from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User


@each_row_beside("expression", "expected")
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
