"""Tests of the CEL engine, and their shared helpers."""

from collections.abc import Mapping
from typing import Any

from webhook.cel.environment import Environment
from webhook.cel.errors import EvaluationError, Issues
from webhook.cel.ext.comprehensions import BINDINGS, TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.lists import LISTS, SETS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.strings import FORMATS, STRINGS
from webhook.cel.runtime.meter import Meter
from webhook.cel.syntax.lexer import CONSTANTS, tokenize
from webhook.cel.types.base import DYN

EXTENSIONS = (OPTIONALS, BINDINGS, TWO_VARIABLE_COMPREHENSIONS, LISTS, SETS, STRINGS, FORMATS)
EVERYTHING = Environment(EXTENSIONS)


LITERALS = {"NUM_INT", "NUM_UINT", "NUM_FLOAT", "STRING", "BYTES", *CONSTANTS}


def dynamic(text: str) -> str:
    """An expression with each literal as `dyn(…)`: the checker lets mixed types pass, and its evaluation decides."""
    tokens = tokenize(text, Issues(text))
    for kind, word, offset in reversed([*zip(tokens.kinds, tokens.texts, tokens.offsets, strict=False)]):
        if kind in LITERALS:
            text = f"{text[:offset]}dyn({word}){text[offset + len(word) :]}"
    return text


def evaluate(text: str, environment: Environment = EVERYTHING, **bindings: Any) -> Any:
    """The value of an expression whose variables are dynamic."""
    environment = environment.extend(variables=dict.fromkeys(bindings, DYN)) if bindings else environment
    return environment.compile(text).evaluate(bindings)


def error_of(text: str, environment: Environment = EVERYTHING, **bindings: Any) -> str:
    """The error of an evaluation."""
    try:
        return f"no error but {evaluate(text, environment, **bindings)}"
    except EvaluationError as error:
        return str(error)


def cost_of(text: str, environment: Environment, bindings: Mapping[str, Any] | None = None) -> int:
    """The cost of evaluating an expression."""
    meter = Meter()
    environment.compile(text).evaluate(bindings or {}, meter=meter)
    return meter.cost
