"""The conformance suite of CEL's specification, and how far draguard agrees."""

import ast
import json
import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.cel import EXTENSIONS, dynamic
from webhook.cel.checker.declarations import Checked, Library
from webhook.cel.environment import Environment
from webhook.cel.errors import UNDECLARED, CelError, CompileError
from webhook.cel.functions import Overload
from webhook.cel.kubernetes import net
from webhook.cel.runtime.conversions import parse_duration, parse_timestamp
from webhook.cel.runtime.operators import equal
from webhook.cel.syntax.ast import Call, Ident, within
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.cel.types.values import UInt, to_key

REASONS = {
    # cel-go, and with it the API server, answers otherwise than the specification.
    "'tacocat'.indexOf('a', 30) == -1": "cel-go since 0.22: an offset beyond the end finds nothing",
    "'tacocat'.lastIndexOf('a', 30) == -1": "cel-go since 0.22: an offset beyond the end finds nothing",
    "ip('::ffff:c0a8:1') == ip('192.168.0.1')": "Kubernetes refuses IPv4-mapped addresses",
    "ip('::ffff:c0a8:1') == ip('192.168.10.1')": "Kubernetes refuses IPv4-mapped addresses",
    "dyn({0:1,2:2,5:3}[dyn(b'')]) || true": "Kubernetes folds the key, which no program may have",
    "dyn({0:1,2:2,5:3}[dyn(b'')]) && false": "Kubernetes folds the key, which no program may have",
    "[optional.of(1), null][0]": "cel-go joins optional_type(int) and null to null",
    **dict.fromkeys(
        ("{3.3:15.15, 1.0: 5}[1.0]", "{true:1,false:2,true:3}[true]", "{0: 1, 0u: 2}[0.0]"),
        "cel-go has keys of all sorts, and takes the last of equal ones",
    ),
    **dict.fromkeys(
        ("{'null_key': dyn(null)}.?null_key.invalid.hasValue()", "{true: dyn(0)}[?true].absent.hasValue()"),
        "cel-go without EnableErrorOnBadPresenceTest: what has no fields lacks them",
    ),
}
NEWER = re.compile(r"\.(format|reverse)\(")
"""The functions of texts that are those of version 4 in the suite; Kubernetes has version 2."""
# The suite's data was taken from its text form without undoing the escape of the question mark: `\\?`.
ESCAPED_QUESTION_MARK = {"triple_single_quoted_unescaped_punctuation", "triple_double_quoted_unescaped_punctuation"}
SAMPLES: list[dict[str, Any]] = [
    {"expr": "1 + 2 * 3", "expect": {"value": {"k": "int", "v": 7}, "type": "int"}},
    {"expr": "[1, 2u, 3.0]", "expect": {"value": None, "type": "list(dyn)"}, "check_only": True},
    {"expr": "{'a': [b'\\x00']}.a[0]", "expect": {"value": {"k": "bytes", "v": [0]}, "type": "bytes"}},
    {"expr": "x.y", "bindings": {"x.y": {"k": "uint", "v": 3}}, "expect": {"value": {"k": "uint", "v": 3}},
     "type_env": [{"name": "x.y", "kind": "ident", "type": "uint"}]},
    {"expr": "a.y", "bindings": {"a.y": {"k": "double", "v": "NaN"}}, "expect": {"value": {"k": "double", "v": "nan"}},
     "type_env": [{"name": "a.y", "kind": "ident", "type": "double"}]},
    {"expr": "f('a', 1)", "expect": {"value": None, "type": "optional_type(map(string, int))"}, "check_only": True,
     "type_env": [{"name": "f", "kind": "function", "type": [
         {"id": "f", "params": ["param:K", "param:V"], "result": "optional_type(map(param:K, param:V))", "inst": False},
     ]}]},
    {"expr": "type({1: true})", "expect": {"value": {"k": "type", "v": "map"}}},
    {"expr": "duration('90m')", "expect": {"value": {"k": "duration", "v": "5400s"}, "type": "duration"}},
    {"expr": "timestamp('2026-01-02T03:04:05.5Z')",
     "expect": {"value": {"k": "timestamp", "v": "2026-01-02T03:04:05.500Z"}, "type": "timestamp"}},
    {"expr": "{true: null}", "expect": {"value": {"k": "map", "v": [[{"k": "bool", "v": True}, {"k": "null"}]]}}},
    {"expr": "1 / 0", "expect": {"error": ["divide by zero"]}},
    {"expr": "1 + 'a'", "disable_check": True, "expect": {"error": ["no such overload"]}},
    {"expr": "undeclared", "expect": {"error": ["undeclared reference to 'undeclared' (in container '')"]}},
]  # fmt: skip
PRIMITIVES: dict[str, Type] = {
    "int": types.INT, "uint": types.UINT, "double": types.DOUBLE, "string": types.STRING, "bytes": types.BYTES,
    "bool": types.BOOL, "dyn": types.DYN, "null_type": types.NULL, "timestamp": types.TIMESTAMP,
    "duration": types.DURATION,
}  # fmt: skip
GENERIC: dict[str, Callable[..., Type]] = {
    "list": types.list_of,
    "map": types.map_of,
    "optional_type": types.optional_of,
}
VALUES: dict[str, Callable[[Any], Any]] = {
    "double": float,
    "uint": UInt,
    "bytes": bytes,
    "list": lambda each: [value_of(one) for one in each],
    "map": lambda each: {to_key(value_of(key)): value_of(one) for key, one in each},
    "type": types.opaque,
    "timestamp": parse_timestamp,
    "duration": parse_duration,
}
BASE = Environment((*EXTENSIONS, net.LIBRARY))


def suite() -> list[dict[str, Any]]:
    """Read the cases, but for those about libraries, newer functions and containers that Kubernetes does not have."""
    path = Path(os.environ.get("CEL_SPEC") or Path(__file__).parents[3] / "shared" / "cel" / "cel-spec.jsonl")
    cases = map(json.loads, path.read_text().splitlines() if path.is_file() else [])
    unknown = {"math_ext", "encoders_ext"}
    known = (case for case in cases if case["file"] not in unknown and "container" not in case)
    return [case for case in known if case["file"] != "string_ext" or not NEWER.search(case["expr"])]


def parse_type(text: str) -> Type:
    """Read a type, such as `map(string, param:T)`."""
    return type_of(ast.parse(text.replace("param:", "param."), mode="eval").body)


def type_of(node: ast.expr) -> Type:
    if isinstance(node, ast.Attribute):
        return types.parameter(node.attr)
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        return GENERIC.get(name, partial(types.opaque, name))(*map(type_of, node.args))
    return PRIMITIVES[ast.unparse(node)]


def value_of(recorded: dict[str, Any]) -> Any:
    return VALUES.get(recorded["k"], lambda each: each)(recorded.get("v"))


def environment_of(case: dict[str, Any]) -> Environment:
    variables: dict[str, Type] = {}
    functions = []
    for declared in case.get("type_env", ()):
        if declared["kind"] == "ident":
            variables[declared["name"]] = parse_type(declared["type"])
        else:
            for each in declared["type"]:
                parameters, result = tuple(map(parse_type, each["params"])), parse_type(each["result"])
                functions.append(Overload(declared["name"], each["id"], parameters, result, member=each["inst"]))
    if not variables and not functions:
        return BASE
    return BASE.extend(Library(functions=tuple(functions)), variables=variables)


def shown(type_: Type) -> str:
    return (type_.name if type_ is types.NULL else str(type_)).replace(" ", "")


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    return type(found) is type(expected) and equal(found, expected)


def without_checks(text: str, environment: Environment) -> Checked:
    """An expression that was not meant to be checked, as Kubernetes does with all.

    If it has errors, its literals are dynamic, and its names are declared: without values, they are errors, once they
    are evaluated.
    """
    with suppress(CompileError):
        return environment.check(text)
    text = dynamic(text)
    try:
        return environment.check(text)
    except CompileError as error:
        undeclared = {issue.arguments[0] for issue in error.issues if issue.code == UNDECLARED}
    for node in within(environment.parse(text)):
        if isinstance(node, Call) and node.function in undeclared:
            operands = (types.DYN,) * len([*node.children()])
            overload = Overload(node.function, node.function, operands, types.DYN, member=node.target is not None)
            environment = environment.extend(Library(functions=(overload,)))
        elif isinstance(node, Ident) and node.name in undeclared:
            environment = environment.extend(variables={node.name: types.DYN})
    return environment.check(text)


def disagreement(case: dict[str, Any]) -> str:
    """The difference from the case's expectation; empty if there is none."""
    expected = case["expect"]
    environment = environment_of(case)
    try:
        check = partial(without_checks, environment=environment) if case.get("disable_check") else environment.check
        checked = check(case["expr"])
        bindings = {name: value_of(value) for name, value in case.get("bindings", {}).items()}
        found = None if case.get("check_only") else environment.program(checked).evaluate(bindings)
    except CelError as error:
        return "" if "error" in expected else f"error {error}"
    if "error" in expected:
        return f"no error but {found!r}"
    if "type" in expected and shown(checked.type) != expected["type"].replace(" ", ""):
        return f"type {checked.type}"
    if not case.get("check_only") and not same(found, value_of(expected["value"])):
        return f"value {found!r}"
    return ""


def is_explained(case: dict[str, Any]) -> bool:
    escaped = case["expr"].startswith("b") and case.get("name") in ESCAPED_QUESTION_MARK
    return escaped or case["expr"] in REASONS
