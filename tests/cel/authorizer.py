"""An authorizer that allows administrators everything."""

from typing import Any

from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User

ADMIN = User("admin", ("system:masters",))


def authorize(question: PathCheck | ResourceCheck) -> Decision:
    if question.verb == "broken":
        return Decision(allowed=False, error="out of order")
    if isinstance(question, PathCheck):
        return Decision(question.path == "/healthz", "by path")
    return Decision(question.authorizer.user.name == "admin" and question.resource == "pods", "by resource")


AUTHORIZER = AuthorizerValue(ADMIN, authorize)
BINDINGS: dict[str, Any] = {
    "authorizer": AUTHORIZER,
    "authorizer.requestResource": ResourceCheck(AUTHORIZER, "", "pods", namespace="team"),
}
