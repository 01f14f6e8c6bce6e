"""The type checker: deduced types and cel-go's type errors."""

from __future__ import annotations

import pytest

from tests.cel import EXTENSIONS
from tests.rows import each_row
from webhook.cel import CompileError, Environment, Function, Library, Overload, StructType
from webhook.cel.ext.validators import EXTENDED_VALIDATIONS
from webhook.cel.types import base as types
from webhook.cel.types.base import BOOL, DYN, INT, STRING, list_of, map_of, opaque, parameter, struct

POINT = struct("geo.Point")
BOX = opaque("Box", parameter("T"))
LIBRARY = Library(
    "test",
    functions=(
        Function("box", Overload("box", (parameter("T"),), BOX)),
        Function("pick", Overload("pick", (list_of(parameter("T")), parameter("T")), parameter("T"))),
        Function("geo.here", Overload("here", (), POINT)),
    ),
    structs=(StructType(POINT, {"x": INT, "y": INT, "name": STRING, "next": POINT}),),
)
ENVIRONMENT = Environment(
    (*EXTENSIONS, LIBRARY),
    variables={
        "d": DYN, "i": INT, "s": STRING, "b": BOOL, "l": list_of(INT), "m": map_of(STRING, INT), "p": POINT,
        "o": types.optional_of(map_of(STRING, INT)), "t": types.TIMESTAMP, "a.b": INT,
    },
)  # fmt: skip


def messages(text: str, environment: Environment = ENVIRONMENT) -> list[str]:
    with pytest.raises(CompileError) as caught:
        environment.check(text)
    return [f"{issue.column + 1}: {issue.message}" for issue in caught.value.issues]


@each_row(
    ("text", "type_"),
    [
        ("null", "null"),
        ("[]", "list(dyn)"),
        ("[[]]", "list(list(dyn))"),
        ("[1, 'a']", "list(dyn)"),
        ("[1, d]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("{'a': 1, 'b': 2.0}", "map(string, dyn)"),
        ("m.x", "int"),
        ("m['x']", "int"),
        ("l[0]", "int"),
        ("d.x.y", "dyn"),
        ("d[0]", "dyn"),
        ("o.x", "optional_type(int)"),
        ("o['x']", "optional_type(int)"),
        ("m.?x", "optional_type(int)"),
        ("l[?0].orValue(1)", "int"),
        ("d.?x.orValue(1)", "dyn"),
        ("o.or(optional.none())", "optional_type(map(string, int))"),
        ("[?m.?x]", "list(int)"),
        ("{?'a': m.?x}", "map(string, int)"),
        ("a.b", "int"),
        ("i + 1", "int"),
        ("d + 1", "int"),
        ("d + d", "dyn"),
        ("d.size()", "int"),
        ("b ? i : 2", "int"),
        ("b ? d : 2", "dyn"),
        ("b ? null : t", "null"),
        ("type(1)", "type(int)"),
        ("int", "type(int)"),
        ("geo.Point", "type(geo.Point)"),
        ("geo.Point{x: 1}", "geo.Point"),
        ("geo.Point{?x: m.?x}.next.x", "int"),
        ("geo.here().x", "int"),
        ("has(p.x)", "bool"),
        ("l.map(x, string(x))", "list(string)"),
        ("l.filter(x, x > 1)", "list(int)"),
        ("m.map(k, k)", "list(string)"),
        ("d.map(k, k)", "list(dyn)"),
        ("l.all(x, x > 0)", "bool"),
        ("m.transformMap(k, v, string(v))", "map(string, string)"),
        ("m.transformMapEntry(k, v, {v: k})", "map(int, string)"),
        ("l.transformList(i, v, [i, v])", "list(list(int))"),
        ("cel.bind(x, 1, x + 1)", "int"),
        ("o.optMap(x, x.y)", "optional_type(int)"),
        ("o.optFlatMap(x, x.?y)", "optional_type(int)"),
        ("box(box(1))", "Box(Box(int))"),
        ("[box(1), box(d)]", "list(Box(dyn))"),
        ("pick([], 1)", "int"),
        ("pick([d], 1)", "dyn"),
        ("[].map(x, x)[0].foo", "dyn"),
        ("[[1], [d]]", "list(list(dyn))"),
        ("[{'a': 1}, {'a': d}]", "list(map(string, dyn))"),
        ("[type(1), type('a')]", "list(type(int))"),
        ("math.greatest(1, 2)", "int"),
        ("l.sortBy(x, -x)", "list(int)"),
    ],
)
def test_types_are_deduced(text: str, type_: str) -> None:
    assert str(ENVIRONMENT.check(text).type) == type_


@each_row(
    ("text", "expected"),
    [
        ("x", ["1: undeclared reference to 'x' (in container '')"]),
        ("f(x)", [
            "2: undeclared reference to 'f' (in container '')",
            "3: undeclared reference to 'x' (in container '')",
        ]),
        ("s.f()", ["4: undeclared reference to 'f' (in container '')"]),
        ("cel.bin(x, 1)", [
            "1: undeclared reference to 'cel' (in container '')",
            "8: undeclared reference to 'bin' (in container '')",
            "9: undeclared reference to 'x' (in container '')",
        ]),
        ("1 == 1.0", ["3: found no matching overload for '_==_' applied to '(int, double)'"]),
        ("s.startsWith(1)", ["13: found no matching overload for 'startsWith' applied to 'string.(int)'"]),
        ("size()", ["5: found no matching overload for 'size' applied to '()'"]),
        ("-s", ["1: found no matching overload for '-_' applied to '(string)'"]),
        ("l['a']", ["2: found no matching overload for '_[_]' applied to '(list(int), string)'"]),
        ("[][true ? 'a' : 'b']", ["3: found no matching overload for '_[_]' applied to '(list(dyn), string)'"]),
        ("i && b", ["1: expected type 'bool' but found 'int'"]),
        ("b || i || s", ["6: expected type 'bool' but found 'int'", "11: expected type 'bool' but found 'string'"]),
        ("b ? 1 : 'a'", ["3: found no matching overload for '_?_:_' applied to '(bool, int, string)'"]),
        ("s.x", ["2: type 'string' does not support field selection"]),
        ("has(i.x)", ["4: type 'int' does not support field selection"]),
        ("p.z", ["2: undefined field 'z'"]),
        ("p.?z", ["2: undefined field 'z'"]),
        ("geo.Point{z: 1}", ["12: undefined field 'z'"]),
        ("geo.Point{x: 's'}", ["12: expected type of field 'x' is 'int' but provided type is 'string'"]),
        ("geo.Point{?x: 1}", ["15: expected type 'optional_type(int)' but found 'int'"]),
        ("geo.Line{}", ["9: undeclared reference to 'geo.Line' (in container '')"]),
        ("int{x: y}", ["4: 'int' is not a message type", "8: undeclared reference to 'y' (in container '')"]),
        ("[?1]", ["3: expected type 'optional_type(int)' but found 'int'"]),
        ("{?'a': 1}", ["8: expected type 'optional_type(int)' but found 'int'"]),
        ("s.all(x, true)", [
            "1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"
        ]),
        ("s.transformList(x, y, 1)", [
            "1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)"
        ]),
        ("l.all(x, x)", ["10: expected type 'bool' but found 'int'"]),
        ("l.filter(x, 1)", ["9: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'"]),
        ("pick([1], 'a')", ["5: found no matching overload for 'pick' applied to '(list(int), string)'"]),
        ("[box(1)] == [box('a')]", [
            "10: found no matching overload for '_==_' applied to '(list(Box(int)), list(Box(string)))'"
        ]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


def test_names_resolve_from_the_container_outwards() -> None:
    environment = Environment(variables={"a.b.x": INT, "a.x": STRING, "x": BOOL}).extend(container="a.b")
    assert [str(environment.check(text).type) for text in ("x", ".x", ".a.x", "b.x")] == [
        "int",
        "bool",
        "string",
        "int",
    ]


def test_errors_name_the_container() -> None:
    environment = Environment().extend(container="a.b")
    assert messages("x", environment) == ["1: undeclared reference to 'x' (in container 'a.b')"]


def test_a_local_name_hides_a_qualified_one() -> None:
    environment = Environment(variables={"x.y": INT})
    assert str(environment.check("[{'y': 'a'}].map(x, x.y)").type) == "list(string)"


def test_functions_resolve_in_the_container() -> None:
    environment = Environment((LIBRARY,)).extend(container="geo")
    assert str(environment.check("here()").type) == "geo.Point"
    assert str(environment.check("Point{x: 1}").type) == "geo.Point"


def test_literals_can_be_held_to_one_type() -> None:
    environment = Environment().extend(homogeneous_literals=True)
    assert messages("[1, 'a', {'b': 1, 'c': []}]", environment) == [
        "5: expected type 'int' but found 'string'",
        "24: expected type 'int' but found 'list(_var0)'",
    ]


def test_comparisons_across_types_can_be_off() -> None:
    environment = Environment().extend(cross_type_numeric=False)
    assert messages("1 < 2.0", environment) == ["3: found no matching overload for '_<_' applied to '(int, double)'"]
    assert str(environment.check("1 < 2").type) == "bool"


def test_a_struct_that_is_not_declared_has_no_fields() -> None:
    environment = Environment(variables={"v": struct("Gone")})
    assert messages("v.x", environment) == ["2: unexpected failed resolution of 'Gone'"]


@each_row(
    ("text", "expected"),
    [
        ("duration('x')", ["10: invalid duration argument"]),
        ("timestamp('x')", ["11: invalid timestamp argument"]),
        ("s.matches('(')", ["11: invalid matches argument"]),
        ("[1, 'a', 2.0]", ["5: expected type 'int' but found 'string'"]),
        ("[?l[?0], 'a']", ["10: expected type 'int' but found 'string'"]),
        ("{'a': 1, 2: 'b', ?'c': m.?x}", [
            "10: expected type 'string' but found 'int'", "13: expected type 'int' but found 'string'"
        ]),
        ("'%d'.format(['a'])", [
            "14: error during formatting: decimal clause can only be used on ints, uints, and doubles, was given string"
        ]),
        ("'%s %s'.format([1])", ["15: index 1 out of range"]),
        ("'%s'.format([1, 2])", ["12: too many arguments supplied to string.format (expected 1, got 2)"]),
        ("'%a'.format([1])", ['12: could not parse formatting clause: unrecognized formatting clause "a"']),
        ("'%s'.format([{'a': [box(1)]}])", [
            ("24: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, "
            "maps, lists, types, durations, and timestamps, was given Box")
        ]),
    ],
)  # fmt: skip
def test_constants_are_validated_if_enabled(text: str, expected: list[str]) -> None:
    assert messages(text, ENVIRONMENT.extend(EXTENDED_VALIDATIONS)) == expected


@each_row(
    "text", ["duration(s)", "'%s %d'.format([s, 1])", "[1, 2] == []", "s.format(l)", "[[], []]", "'%s'.format(d)"]
)
def test_valid_constants_pass_validation(text: str) -> None:
    assert ENVIRONMENT.extend(EXTENDED_VALIDATIONS).check(text).is_checked
