"""Tests of the CEL engine, and their shared helpers."""

from collections.abc import Mapping
from typing import Any

from tests.cel.encoders import ENCODERS
from tests.cel.mathematics import MATH
from webhook.cel.environment import Environment
from webhook.cel.ext.comprehensions import BINDINGS, TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.lists import LISTS, SETS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.strings import strings
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import DYN

EXTENSIONS = (OPTIONALS, BINDINGS, TWO_VARIABLE_COMPREHENSIONS, ENCODERS, LISTS, MATH, SETS, strings(4))
EVERYTHING = Environment(EXTENSIONS)


def evaluate(text: str, environment: Environment = EVERYTHING, **bindings: Any) -> Any:
    """The value of an expression whose variables are dynamic."""
    environment = environment.extend(variables=dict.fromkeys(bindings, DYN)) if bindings else environment
    return environment.compile(text).evaluate(bindings)


def cost_of(text: str, environment: Environment, bindings: Mapping[str, Any] | None = None) -> int:
    """The cost of evaluating an expression."""
    meter = Meter()
    environment.compile(text).evaluate(bindings or {}, meter=meter)
    return meter.cost
