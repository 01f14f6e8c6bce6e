"""Expressions that a real kube-apiserver 1.36 evaluated, with its results."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.rows import each_row
from webhook.cel.errors import CelError, CompileError, EvaluationError, ProgramError
from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User
from webhook.cel.kubernetes.environments import admission_environment, variable_type, with_variables
from webhook.cel.types.base import BOOL

RELEASE = 36
LINES = [json.loads(line) for line in Path(__file__).with_name("kubernetes-1.36.jsonl").read_text().splitlines()]
GIVEN, CASES = LINES[0], LINES[1:]

ADMIN = {"username": "admin", "groups": ["system:masters", "system:authenticated"]}
KIND, RESOURCE = ({"group": "", "version": "v1", **each} for each in ({"kind": "Pod"}, {"resource": "pods"}))
REQUEST = {
    "kind": KIND, "resource": RESOURCE, "requestKind": KIND, "requestResource": RESOURCE, "name": "probe",
    "namespace": "cel", "operation": "CREATE", "userInfo": ADMIN, "dryRun": True,
    "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
}  # fmt: skip
NAMESPACE = {
    "metadata": {"name": "cel", "labels": {"kubernetes.io/metadata.name": "cel"}},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}


def authorize(question: PathCheck | ResourceCheck) -> Decision:
    return Decision("system:masters" in question.authorizer.user.groups)


class Verdict(NamedTuple):
    kind: str
    message: str


def stored(given: dict[str, Any]) -> dict[str, Any]:
    """The Pod as policies see it: with the server's defaults, and without the fields that it drops."""
    pod: dict[str, Any] = json.loads(json.dumps(given))
    del pod["spec"]["hostNetwork"]
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        toleration = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        pod["spec"]["tolerations"].append(toleration)
    return pod


@cache
def verdict_of(expression: str) -> Verdict:
    known: dict[str, Any] = {}
    environment = with_variables(admission_environment(RELEASE), known)
    programs = {}
    for variable in GIVEN["variables"]:
        checked = environment.check(variable["expression"])
        known[variable["name"]] = variable_type(checked.type)
        programs[variable["name"]] = environment.program(checked)
    authorizer = AuthorizerValue(User("admin", tuple(ADMIN["groups"])), authorize)
    bindings: dict[str, Any] = {
        "object": stored(GIVEN["object"]),
        "oldObject": None,
        "request": REQUEST,
        "namespaceObject": NAMESPACE,
        "authorizer": authorizer,
        "authorizer.requestResource": ResourceCheck(authorizer, "", "pods", namespace="cel", name="probe"),
    }
    bindings["variables"] = {name: program.evaluate(bindings) for name, program in programs.items() if name != "broken"}
    try:
        checked = environment.check(expression)
        if checked.type != BOOL:
            return Verdict("compile-error", f"{shown(expression)}: must evaluate to bool but got {checked.type}")
        result = environment.program(checked).evaluate(bindings)
    except CompileError as error:
        return Verdict("compile-error", f"{shown(expression)}: compilation failed: {error}")
    except ProgramError as error:
        return Verdict("compile-error", f"Internal error: program instantiation failed: {error}")
    except EvaluationError as error:
        return Verdict("error", f"expression '{expression}' resulted in error: {error}")
    except CelError as error:
        return Verdict("cost", str(error))
    return Verdict("true" if result is True else "false", "")


def shown(expression: str) -> str:
    return f"Invalid value: {json.dumps(expression, ensure_ascii=False)}"


def expected(case: dict[str, Any]) -> Verdict:
    message = case.get("message", "")
    if case["verdict"] == "error":
        # The server quotes the expression inside a quoted text.
        message = "expression" + message.partition(": expression")[2].replace('\\"', '"').replace("\\\\", "\\")
    return Verdict(case["verdict"], message)


@pytest.mark.no_cover
@each_row("case", *CASES)
def test_verdicts_and_texts_of_errors_are_the_api_servers(case: dict[str, Any]) -> None:
    verdict = verdict_of(case["expression"])
    assert verdict.kind == case["verdict"]
    assert "message" not in case or verdict == expected(case)
