"""The values and errors of expressions."""

import math
from typing import Any, ClassVar

import pytest

from tests.cel import EVERYTHING, EXTENSIONS, error_of, evaluate
from tests.cel.judging import outcome
from tests.rows import each_row, each_row_beside
from webhook.cel.checker.declarations import Library, StructType
from webhook.cel.environment import Environment
from webhook.cel.errors import EvaluationError, ProgramError
from webhook.cel.functions import Overload, member
from webhook.cel.types import base as types
from webhook.cel.types.base import DYN, INT, STRING, Type, opaque, struct
from webhook.cel.types.values import BoolKey, Duration, Optional, Struct, Timestamp, UInt, to_key

DATA = {"n": 1, "s": "text", "l": [1, 2, 3], "m": {"a": 1, "b": {"c": [True]}}, "none": None, "f": 1.5, "t": True}


@each_row(
    ("text", "value"),
    # fields and presence
    ("o.n", 1), ("o.m.b.c[0]", True), ("o['m']['b'].c", [True]), ("o.l[o.n]", 2), ("o.l[1.0]", 2), ("o.l[1u]", 2),
    ("o.m[o.t ? 'a' : 'b']", 1), ("o[o.s == 'text' ? 'n' : 'f']", 1), ("(o.t ? o.m : o).a", 1),
    ("(o.t ? o.m : o.n).a", 1), ("has(o.n)", True), ("has(o.m.b.c)", True), ("has(o.x)", False), ("has(o.n.x)", False),
    ("has(o.none.x)", False), ("has({'a': 1}.a)", True),
    # optionals and bindings
    ("o.?n.hasValue()", True), ("o.?x.hasValue()", False), ("o.?x.y.z.hasValue()", False),
    ("o.?m.b.c[0].value()", True), ("o.?m.?x.orValue('none')", "none"), ("o.?m.a.or(optional.of(5)).value()", 1),
    ("o.l[?7].orValue(0)", 0), ("o.l[?0].value()", 1), ("o.n.?x.hasValue()", False), ("has(o.?m.a)", True),
    ("has(o.?m.x)", False), ("[?o.?n, ?o.?x, 3]", [1, 3]), ("{?'a': o.?n, ?'b': o.?x}", {"a": 1}),
    ("o.?s.optMap(x, x + '!').value()", "text!"), ("o.?x.optMap(x, x + '!').hasValue()", False),
    ("o.?m.optFlatMap(x, x.?a).value()", 1), ("cel.bind(x, o.n + 1, x * x)", 4), ("cel.bind(x, 1 / 0, 5)", 5),
    ("cel.bind(x, [1, 2], cel.bind(y, x[0], x.map(z, z + y)))", [2, 3]),
    # equality and membership
    ("o.none == null", True), ("o.l == [1u, 2.0, 3]", True), ("o.m == {'b': {'c': [true]}, 'a': 1.0}", True),
    ("o.m != {'a': 1}", True), ("o.m == {'a': 1, 'c': 2}", False),
    ("[o.m, {'b': {'c': [1]}, 'a': 1}] == [o.m, o.m]", False), ("o.m == [o.m]", False),
    ("o.m in [o.l, [], {}, 1, o.m]", True), ("o.m in dyn([o.l, [], {}, 1])", False), ("o.s == 1", False),
    ("o.n == '1'", False), ("o.none == 0", False), ("0.0 / 0.0 == 0.0 / 0.0", False),
    ("{1: 'a', 2u: 'b'}[dyn(2)]", "b"), ("2.0 in o.l && !(true in o.l)", True), ("has(o.none) && dyn(1) || true", True),
    ("o.n == 1.0 && o.f != 1", True), ("dyn(1) == true", False), ("dyn(true) in {1: 2}", False),
    ("true in {true: 2}", True), ("{true: 'a', dyn(1): 'b'}[true]", "a"), ("dyn([1]) in o.m", False),
    ("2 in o.l", True), ("'a' in o.m", True), ("o.n in {1: 2}", True), ("o.s in ['text', 'other']", True),
    ("o.n in ['text', 1]", True), ("o.none in [null]", True), ("o.f in [b'a', 1.5]", True),
    ("o.l in [[1, 2, 3]]", True), ("o.n in []", False), ("optional.of(1) == optional.of(dyn(1.0))", True),
    ("optional.of(1) == optional.none()", False), ("type(o.l) == list", True), ("type(o.none) == null_type", True),
    ("type(type(1)) == type", True), ("type(optional.of(1)) == optional_type", True),
    # loops
    ("o.l.all(x, x > 0)", True), ("o.l.all(x, x > 1)", False), ("o.l.exists(x, x == 3)", True),
    ("o.l.exists(x, x == 4)", False), ("o.l.exists_one(x, x > 2)", True), ("o.l.filter(x, x != 2)", [1, 3]),
    ("o.l.map(x, x > 1, x * 2)", [4, 6]), ("o.m.map(k, k)", ["a", "b"]), ("{true: 1, 2: 3}.map(k, k)", [True, 2]),
    ("o.l.all(i, v, v == i + 1)", True), ("o.m.exists(k, v, k == 'a' && v == 1)", True),
    ("o.l.existsOne(i, v, i == v)", False), ("o.l.transformList(i, v, i != 1, v)", [1, 3]),
    ("o.l.transformMap(i, v, v > 1, v * v)", {1: 4, 2: 9}), ("{'a': 1}.transformMapEntry(k, v, {v: k})", {1: "a"}),
    ("o.l.map(x, o.l.filter(y, y < x).size())", [0, 1, 2]),
    # logic, of errors, too
    ("false || o.t || 1 / 0 == 1", True), ("1 / 0 == 1 || o.t", True), ("1 / 0 == 1 || false || o.t", True),
    ("1 / 0 == 1 && false", False), ("o.t && o.n == 1 && o.s == 'text'", True), ("o.t && 1 / 0 == 1 && false", False),
    ("false || false || false", False), ("[1, 0].exists(x, 1 / x == 1)", True), ("[0, 1].exists(x, 1 / x == 1)", True),
    ("[0, 2].all(x, 1 / x == 1)", False),
    # order, numbers and texts
    ("o.n < 1.5", True), ("o.f >= 1u", True), ("9223372036854775807 == dyn(9223372036854775807.0)", True),
    ("b'a' < b'b' && 'a' <= 'b' && false < true", True),
    ("timestamp(0) < timestamp(1) && duration('1s') > duration('1ms')", True),
    ("'ä'.size() == 1 && b'ä'.size() == 2 && size('😀') == 1", True), ("'a' + 'b' + \"c\"", "abc"),
    ("[1] + [2]", [1, 2]), ("b'a' + b'b'", b"ab"), ("7 / 2", 3), ("-7 / 2", -3), ("-7 % 2", -1), ("7u % 4u", UInt(3)),
    ("6u / 4u * 2u - 1u + 3u", UInt(4)), ("1.0 / 0.0", math.inf), ("-1.0 / 0.0", -math.inf),
    ("2.0 * 3.0 - 1.0 + 0.5", 5.5), ("-(-5)", 5), ("-(1.5)", -1.5), ("-dyn(duration('1s')) == duration('-1s')", True),
    ("'abc'.contains('b') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc')", True),
    ("'abc'.matches('^a.c$') && matches('abc', 'b')", True), ("o.s.matches('t' + 'e')", True),
    # conversions
    ("int('42') + int(3.9) + int(4u) + int(timestamp('1970-01-01T00:01:00Z')) + int(duration('1ns'))", 110),
    ("uint('1') + uint(2.9) + uint(3)", UInt(6)), ("double('1e3') + double(1) + double(2u)", 1003.0),
    ("double('0x1p4')", 16.0), ("double('1_0.2_5e1_0') + double('0x_1p1_0')", 10.25e10 + 1024),
    ("double('-inf')", -math.inf), ("bool('t') && !bool('False')", True),
    ("string(1) + string(2u) + string(1.0) + string(true) + string(b'x') + string('y')", "121truexy"),
    (
        "string(1e6) + ' ' + string(-1.5e-7) + ' ' + string(1e21) + ' ' + string(123456.0)",
        "1e+06 -1.5e-07 1e+21 123456"
    ),
    ("string(double('nan')) + string(double('inf')) + string(-double('inf'))", "NaN+Inf-Inf"),
    ("bytes('é') == b'é'", True),
    # literals and precedence
    ("--1", 1), ("---1", -1), ("-9223372036854775808", -(2**63)), ("0x1F", 31), ("-0x1F", -31), ("1.5e3", 1500.0),
    (".5", 0.5), ("00012", 12), ('r"\\n"', "\\n"), ("'''a\n'b'''", "a\n'b"), ('"""a\r\nb"""', "a\nb"),
    (r'"\a\b\f\n\r\t\v\\\'\"\`\?"', "\a\b\f\n\r\t\v\\'\"`?"), (r'"\x41\u00e9\U0001F600\101"', "Aé😀A"),
    (r'b"\xff\377é"', b"\xff\xff\xc3\xa9"), ("bR'\\n'", b"\\n"), ("true // comment", True), ("!!true", True),
    ("true ? 1 : 2", 1), ("[1, 2,]", [1, 2]), ("[,]", []), ("{,}", {}), ("{'a': 1,}", {"a": 1}),
    ("{'a b': {'c-d/e.f': 1}}.`a b`.`c-d/e.f`", 1), ("2 - 1 - 1", 0), ("2 * 3 + 4 * 5 % 6", 8), ("1 < 2 == true", True),
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    found = evaluate(text, o=DATA)
    assert found == value
    assert type(found) is type(value)


@each_row_beside("text", "message")
def test_errors(text: str, message: str) -> None:
    assert error_of(text, o=DATA) == message


@each_row(
    ("text", "message"),
    ("int('x')", "type conversion error from 'string' to 'int'"),
    ("[int(9.3e18)]", "integer overflow"),
    ("'a'.matches('(')", "error parsing regexp: missing closing ): `(`"),
)
def test_constants_that_always_fail_make_no_program(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        EVERYTHING.compile(text)
    assert str(caught.value) == message


def test_of_several_errors_the_first_counts_in_all_and_the_last_in_exists_one() -> None:
    assert error_of("['a', 'b'].all(k, o[k])", o={}) == "no such key: a"
    assert error_of("['a', 'b'].exists_one(k, o[k])", o={}) == "no such key: b"
    assert error_of("['a', 'b'].filter(k, o[k])", o={}) == "no such key: b"
    assert error_of("['a', 'b'].map(k, o[k])", o={}) == "no such key: a"
    assert error_of("type(o)", o=object()).startswith("unsupported conversion to ref.Val: (object)")


def test_a_variable_without_value_is_an_error() -> None:
    environment = Environment(variables={"v": DYN, "w": DYN})
    for text in ("v", "v.a", "v[0]", "has(v.a)", "v.a.b.c"):
        with pytest.raises(EvaluationError, match=r"^no such attribute\(s\): v$"):
            environment.compile(text).evaluate({})
    assert environment.compile("v || w").evaluate({"w": True}) is True
    assert list(environment.compile("v || w").variables) == ["v", "w"]


def test_bindings_are_not_changed_may_be_beyond_doubles_and_only_some_are_keys() -> None:
    value = {"a": [1]}
    assert evaluate("o.a + [2]", o=value) == [1, 2]
    assert value == {"a": [1]}
    assert evaluate("o > 1.5 && o == p && o != 1.5", o=10**400, p=math.inf) is True
    assert evaluate("o < 1.5", o=-(10**400)) is True
    assert to_key(UInt(1)) == 1
    with pytest.raises(EvaluationError, match="unsupported key type: list"):
        to_key([])


class Version:
    """A type of a library's own."""

    cel_type: ClassVar[Type] = opaque("test.Version")

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def cel_size(self) -> int:
        return len(self.text)

    def cel_has(self, field: str) -> bool:
        return field == "major"

    def cel_select(self, field: str) -> Any:
        if field != "major":
            raise EvaluationError(f"no such key: {field}")
        return int(self.text.partition(".")[0])


POINT = struct("Point")
OWN = Library(
    functions=(
        Overload("version", "version", (STRING,), Version.cel_type, Version),
        member("later", "later", (Version.cel_type,) * 2, types.BOOL, lambda a, b: a.text > b.text),
        Overload("three", "three", (INT, INT, INT), INT, lambda a, b, c: a + b + c),
    ),
    types=(Version.cel_type,),
    structs=(
        StructType(POINT, {"x": INT, "y": INT}),
        StructType(struct("Pair"), {"a": INT}, make=lambda fields: fields.get("a", 0)),
    ),
)
WITH_OWN = Environment((*EXTENSIONS, OWN), variables={"p": POINT, "d": DYN, "q": Version.cel_type})


@each_row_beside("text", "value")
def test_types_of_libraries_take_part(text: str, value: Any) -> None:
    bindings = {"p": Struct(POINT, {"x": 1}), "d": Version("1.0"), "q": Version("0.9")}
    assert WITH_OWN.compile(text).evaluate(bindings) == value


@each_row(
    ("text", "message"),
    ("d.minor", "no such key: minor"),
    ("p.y", "no such key: y"),
    ("dyn(p)[1]", "no such key: 1"),
    ("d.later(dyn(1))", "no such overload: later(test.Version, int)"),
    ("three(d, 1, 2)", "no such overload: three(test.Version, int, int)"),
    ("Pair{?a: d}", "cannot initialize optional entry 'a' from non-optional value"),
)
def test_types_of_libraries_fail_in_cels_words(text: str, message: str) -> None:
    bindings = {"p": Struct(POINT, {"x": 1}), "d": Version("1.0"), "q": Version("0.9")}
    with pytest.raises(EvaluationError) as caught:
        WITH_OWN.compile(text).evaluate(bindings)
    assert str(caught.value).startswith(message)


def test_keys_may_be_repeated_and_what_has_no_fields_lacks_them() -> None:
    assert evaluate("{1.5: 2, 'a': 1, 'a': 2}") == {1.5: 2, "a": 2}
    for text in ("has(o.n.x)", "o.n.?x.hasValue()", "o.?n.x.hasValue()", "has(o.?n.x)"):
        assert evaluate(text, o={"n": 1}) is False


def test_the_key_of_an_optional_entry_is_written_as_in_cel() -> None:
    assert error_of("{?true: dyn(1)}") == "cannot initialize optional entry 'true' from non-optional value 1"


def test_values_print_as_themselves() -> None:
    assert repr(UInt(3)) == "3u"
    assert hash(Timestamp(5)) == hash(Timestamp(5))
    assert hash(Duration(5)) == hash(Duration(5))
    assert Timestamp(5) != Duration(5)
    assert isinstance(evaluate("{true: 1}").popitem()[0], BoolKey)
    assert isinstance(evaluate("optional.of(1)"), Optional)


@each_row(("value", "shown"), ("optional.of(1)", "optional(1)"), ("optional.none()", "optional.none()"))
def test_errors_show_optionals_by_their_values(value: str, shown: str) -> None:
    assert f"join: invalid input: {shown}" in error_of(f"['a', dyn({value})].join()")


def test_the_first_element_tells_the_overload_each_time() -> None:
    overloads = tuple(
        Overload("sort_of", f"sort_of_{type_.name}", (types.list_of(type_),), STRING, lambda _, name=type_.name: name)
        for type_ in (INT, STRING, types.list_of(INT), DYN)
    )
    environment = Environment([Library(functions=overloads)], variables={"o": DYN})
    program = environment.compile("sort_of(o)")
    values: list[list[Any]] = [[1], ["a"], [[1]], [["a"]], [None], []]
    found = {str(value): [program.evaluate({"o": value}) for _ in range(3)] for value in values}
    expected = ["int", "string", "list", "dyn", "dyn", "int"]
    assert found == {str(value): [sort] * 3 for value, sort in zip(values, expected, strict=True)}
    assert [program.evaluate({"o": value}) for value in reversed(values)] == [*reversed(expected)]


@each_row_beside("expression", "expected")
def test_messages_come_to_what_they_stand_for(expression: str, expected: object) -> None:
    assert outcome(expression) == expected
