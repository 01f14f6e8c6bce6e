"""The results of a kube-apiserver 1.36 for expressions that need only cel-go's own libraries."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.rows import each_row
from webhook.cel.checker.declarations import EnvironmentOptions
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError, CompileError, EvaluationError, ProgramError
from webhook.cel.ext.comprehensions import TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.lists import LISTS, SETS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.strings import strings
from webhook.cel.ext.validators import EXTENDED_VALIDATIONS
from webhook.cel.types.base import DYN

LINES = [json.loads(line) for line in (Path(__file__).parent / "kubernetes-1.36.jsonl").read_text().splitlines()]
POD = LINES[0]["object"]
ENVIRONMENT = Environment(
    (OPTIONALS, TWO_VARIABLE_COMPREHENSIONS, LISTS, SETS, strings(2), EXTENDED_VALIDATIONS),
    variables={"object": DYN},
    options=EnvironmentOptions(presence_test_cost=0),
)
# "text" is refused by the policy for its type; find and findAll are Kubernetes' own.
BEYOND = re.compile(r'^"text"$|\.find(All)?\(')
CASES = [line for line in LINES[1:] if line["group"] in {"core", "strings"} and not BEYOND.search(line["expression"])]
MARKS = ("resulted in error: ", "compilation failed: ", "program instantiation failed: ")


def verdict_of(expression: str) -> tuple[str, str]:
    try:
        return str(ENVIRONMENT.compile(expression).evaluate({"object": POD})).lower(), ""
    except (CompileError, ProgramError) as error:
        return "compile-error", str(error)
    except EvaluationError as error:
        return "error", str(error)


def recorded_text(case: dict[str, Any]) -> str:
    text: str = case.get("message", "")
    for mark in MARKS:
        text = text.partition(mark)[2] or text
    return text


@each_row("case", CASES)
def test_verdict_and_text_are_the_servers(case: dict[str, Any]) -> None:
    assert verdict_of(case["expression"]) == (case["verdict"], recorded_text(case))


def test_all_errors_are_of_one_kind() -> None:
    assert {CompileError, ProgramError, EvaluationError} <= set(CelError.__subclasses__())
