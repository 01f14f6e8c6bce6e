"""The type checker: deduced types and cel-go's type errors."""

import pytest

from tests.cel import EXTENSIONS
from tests.rows import each_row_beside
from webhook.budget import UNLIMITED, Budget, limited
from webhook.cel.checker.declarations import Library, StructType
from webhook.cel.environment import Environment
from webhook.cel.errors import CompileError
from webhook.cel.ext.validators import EXTENDED_VALIDATIONS
from webhook.cel.functions import Overload
from webhook.cel.types import base as types
from webhook.cel.types.base import BOOL, DYN, INT, STRING, list_of, map_of, opaque, parameter, struct

POINT = struct("geo.Point")
BOX = opaque("Box", parameter("T"))
LIBRARY = Library(
    functions=(
        Overload("box", "box", (parameter("T"),), BOX),
        Overload("pick", "pick", (list_of(parameter("T")), parameter("T")), parameter("T")),
        Overload("geo.here", "here", (), POINT),
    ),
    structs=(StructType(POINT, {"x": INT, "y": INT, "name": STRING, "next": POINT}),),
)
ENVIRONMENT = Environment(
    (*EXTENSIONS, LIBRARY),
    variables={
        "d": DYN, "i": INT, "s": STRING, "b": BOOL, "l": list_of(INT), "m": map_of(STRING, INT), "p": POINT,
        "o": types.optional_of(map_of(STRING, INT)), "t": types.TIMESTAMP, "a.b": INT
    },
)  # fmt: skip


def messages(text: str, environment: Environment = ENVIRONMENT) -> list[str]:
    with pytest.raises(CompileError) as caught:
        environment.check(text)
    return [f"{issue.column + 1}: {issue.message}" for issue in caught.value.issues]


@each_row_beside("text", "type_")
def test_types_are_deduced(text: str, type_: str) -> None:
    assert str(ENVIRONMENT.check(text).type) == type_


@each_row_beside("text", "expected")
def test_what_does_not_fit_is_named(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


def test_names_with_dots_are_names_unless_they_begin_with_a_variable_of_a_macro() -> None:
    environment = Environment((LIBRARY,), variables={"x.y": INT})
    texts = ("x.y", ".x.y", "[{'y': 'a'}].map(x, x.y)", "[{'y': 'a'}].map(x, .x.y)", ".geo.here()", ".geo.Point{x: 1}")
    found = [str(environment.check(text).type) for text in texts]
    assert found == ["int", "int", "list(string)", "list(int)", "geo.Point", "geo.Point"]


def test_a_call_takes_the_same_work_each_time_and_on_types_of_any_size() -> None:
    def spent(depth: int, calls: int) -> int:
        with limited(Budget()) as budget:
            ENVIRONMENT.check(f"[{'[' * depth}1{']' * depth}].all(v, {' && '.join(['v[0] == v[0]'] * calls)})")
        return UNLIMITED - budget.left

    assert spent(5, 9) == spent(5, 9)
    assert spent(5, 9) - spent(5, 4) == spent(70, 9) - spent(70, 4)


def test_type_parameters_are_numbered_in_order_of_calls() -> None:
    strict = Environment().extend(homogeneous_literals=True)
    said = ["34: expected type 'int' but found 'list(_var7)'"]
    assert messages("[size([1]), 1 in {1: 2} ? 1 : 2, []]", strict) == said


def test_what_one_library_declares_does_not_change_calls_of_another() -> None:
    for result in (INT, STRING, list_of(parameter("T"))):
        library = Library(functions=(Overload("make", "make", (parameter("T"),), result),))
        shown = "list(bool)" if result.free else str(result)
        assert [str(Environment((library,)).check("make(true)").type) for _ in range(2)] == [shown] * 2
    for field in (INT, BOOL):
        library = Library(functions=LIBRARY.functions, structs=(StructType(POINT, {"x": field}),))
        environment = Environment((library,), variables={"p": POINT})
        assert str(environment.check("pick([p], p).x").type) == str(field)


def test_an_environment_can_be_stricter() -> None:
    environment = Environment().extend(homogeneous_literals=True)
    assert messages("[1, 'a', {'b': 1, 'c': []}]", environment) == [
        "5: expected type 'int' but found 'string'",
        "24: expected type 'int' but found 'list(_var0)'",
    ]
    environment = Environment().extend(cross_type_numeric=False)
    assert messages("1 < 2.0", environment) == ["3: found no matching overload for '_<_' applied to '(int, double)'"]
    assert str(environment.check("1 < 2").type) == "bool"
    environment = Environment(variables={"v": struct("Gone")})
    assert messages("v.x", environment) == ["2: unexpected failed resolution of 'Gone'"]


VALIDATING = ENVIRONMENT.extend(EXTENDED_VALIDATIONS)


@each_row_beside("text", "expected")
def test_constants_are_validated_if_enabled(text: str, expected: list[str]) -> None:
    assert messages(text, VALIDATING) == expected


def test_valid_constants_pass_validation() -> None:
    texts = "duration(s) == duration(s)", "'%s %d'.format([s, 1]) + s.format(l) == '%s'.format(d)", "[1, 2] == []"
    VALIDATING.check(f"{' && '.join(texts)} && [[], []] == [[]]")
