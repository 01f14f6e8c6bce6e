"""Surprising results of cel-go 0.26, and with it of Kubernetes up to 1.36.

Each group names the source that decides it in github.com/google/cel-go, or in k8s.io/apiserver (`apiserver/`).
"""

from typing import Any

import pytest

from tests.rows import each_row, each_row_beside
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.environment import Environment
from webhook.cel.errors import CompileError, CostLimitExceededError, EvaluationError, ProgramError
from webhook.cel.kubernetes.environments import environment
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import BOOL, BYTES, DYN, INT, STRING
from webhook.cel.types.values import Optional
from webhook.issues import Issue
from webhook.release import Release

ENVIRONMENT = environment(Release(36), stored=True).extend(
    variables={"object": DYN, "b": BOOL, "s": STRING, "by": BYTES, "i": INT}
)
BINDINGS = {
    "object": {"a": 1, "list": [5, "x"], "map": {"k": "v"}, "str": "text", "nil": None, "deep": {"er": {}}},
    "b": True,
    "s": "text",
    "by": b"ab\xffc",
    "i": 7,
}


def outcome(text: str, environment: Environment = ENVIRONMENT) -> tuple[Any, int]:
    """The value or the error's text, and the cost."""
    meter = Meter(1_000_000)
    try:
        return environment.compile(text).evaluate(BINDINGS, meter=meter), meter.cost
    except (EvaluationError, CostLimitExceededError) as error:
        return f"error: {error}", meter.cost
    except (CompileError, ProgramError) as error:
        return f"refused: {error}".partition("\n")[0], meter.cost


def unwrapped(value: Any) -> Any:
    """A value with its optionals replaced by their contents."""
    while isinstance(value, Optional):
        value = value.value
    return f"error: {value}" if isinstance(value, EvaluationError) else value


REFUSED = "refused: ERROR: <input>:1:{}"
NO_OVERLOAD = "error: no such overload"
UNHASHABLE = "error: internal error: runtime error: hash of unhashable type"
NOT_UTF_8 = (
    'error: error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" '
    "to string"
)
NO_NETWORK = (
    "error: network address parse error during conversion from string: network address parse error during conversion "
    "from string: netip.ParsePrefix(\"bad\"): no '/'"
)
NO_INT = "error: internal error: interface conversion: ref.Val is *types.Err, not types.Int"
NO_LIST = "error: internal error: interface conversion: {} is not traits.Lister: missing method {}"


@each_row(
    ("text", "value"),
    # cel/library.go, StandardMacros: for one variable, there is only `exists_one`.
    ("[1].existsOne(x, true)", f"{REFUSED.format(14)}: undeclared reference to 'existsOne' (in container '')"),
    # common/stdlib/standard.go declares a conversion that common/types/int.go, ConvertToType, lacks.
    ("duration(i)", "error: type conversion error from 'int' to 'google.protobuf.Duration'"),
    # cel/validator.go, newFormatValidator: literals of any type are tried.
    ("duration(1)", f"{REFUSED.format(10)}: invalid duration argument"),
    ("duration(null)", f"{REFUSED.format(10)}: invalid duration argument"),
    ("timestamp(-9223372036854775808)", f"{REFUSED.format(11)}: invalid timestamp argument"),
    # interpreter/interpretable.go, evalBinary.Eval: a receiver gets the call, and does not name the operator.
    ("object.str - 1", NO_OVERLOAD), ("object.nil - 1", f"{NO_OVERLOAD}: _-_"), ("-object.str", NO_OVERLOAD),
    # interpreter/optimizations.go: a call with a constant pattern is another call.
    ("object.a.matches('a')", NO_OVERLOAD), ("object.a.matches(s)", f"{NO_OVERLOAD}: matches"),
    # … which looks at the Go value inside: an optional's value, a type's name.
    ("object.?str.orValue(1).matches('^t')", True), ("dyn(object.?str).matches('^t')", True),
    ("dyn(optional.of(optional.of(s))).find('t$')", "t"), ("dyn(int).matches('^int$')", True),
    ("dyn(s).findAll('t', dyn(optional.of(1)))", ["t"]), ("dyn(object.?str).matches(s)", f"{NO_OVERLOAD}: matches"),
    ("dyn(optional.none()).matches('a')", NO_OVERLOAD), ("dyn(optional.of(optional.none())).matches('a')", NO_OVERLOAD),
    # interpreter/interpretable.go, evalAnd and evalOr: the first term of another type than bool makes the error.
    ("object.list && object.zz", NO_OVERLOAD), ("object.list || object.zz", NO_OVERLOAD),
    ("object.zz && object.list", "error: no such key: zz"), ("b && object.zz", "error: no such key: zz"),
    ("object.list && false", False),
    # evalTestOnly: a choice or an index goes on with the chain, which in an optional is the field itself.
    ("(b ? has(object.?map.k) : b) == true", False), ("(b ? has(object.?map.k) : b) ? 1 : 2", NO_OVERLOAD),
    ("b ? has(object.map.k) : b", True), ("b ? has(object.map.zz) : b", False), ("has(object.?map.k)", True),
    ("{true: 1}[has(object.?map.k)]", "error: invalid qualifier type: *types.Optional"),
    ("{true: 1}[has(object.map.k)]", 1),
    # common/types/types.go, defaultIsAssignableRuntimeType: the first element tells the type of a list.
    ("dyn([1]).join()", f"{NO_OVERLOAD}: join(list)"), ("[object.nil].max()", f"{NO_OVERLOAD}: max(list)"),
    # apiserver/pkg/cel/library/lists.go, cmp: an element that cannot be compared is an error.
    ("[object.list[0], object.nil].min()", NO_OVERLOAD),
    # ext/lists.go, sortListByAssociatedKeys: the first key must compare, even alone.
    ("[1].sortBy(x, object.nil)", "error: list elements must be comparable"),
    ("[object].sortBy(x, i)", [BINDINGS["object"]]),
    # common/stdlib/standard.go: `size` has one implementation, whatever overload the checker has bound a type to.
    ("object.list.slice(1, 2).map(x, size(x))", [1]), ("object.list.distinct()[1].size()", 1),
    ("size(dyn(1))", f"{NO_OVERLOAD}: size"), ("size(dyn(duration('1s')))", NO_OVERLOAD),
    # ext/lists.go: a refusal of `flatten` names the call.
    ("object.str.flatten()", f"{NO_OVERLOAD}: string.flatten()"),
    ("object.map.flatten(1)", f"{NO_OVERLOAD}: map(dyn, dyn).flatten(int)"),
    # ext/lists.go, trackListFlatten: the cost of a depth that is an error panics.
    ("[object.list].flatten(object.nope)", NO_INT),
    # ext/formatting.go, stringFormatChecker.Arg: when a literal is checked, arguments do not run out.
    ("'%s%'.format([1])", f"{REFUSED.format(13)}: unexpected end of string"),
    ("dyn('%').format([])", "error: index 0 out of range"),
    # ext/lists.go, trackListSelfCompare: the cost of another type than list panics, and nothing absorbs that.
    ("object.nope.distinct() == [] || true", NO_LIST.format("*types.Err", "Add")),
    ("[int(s)].sort() == [] || true", NO_LIST.format("*types.Err", "Add")),
    ("dyn(1).distinct() == [] || true", NO_LIST.format("types.Int", "Contains")),
    # interpreter/decorators.go, maybeOptimizeSetMembership: a Go map of constants, which bytes cannot be keys of.
    ("dyn(by) in [1, 2] || true", "error: internal error: runtime error: hash of unhashable type types.Bytes"),
    # interpreter/attributes.go, newQualifier: valid keys; constants are checked beforehand.
    ("object.map[null]", "refused: invalid qualifier type: types.Null"),
    ("object.map[?duration('1s')]", "refused: invalid qualifier type: types.Duration"),
    ("object.map[object.list]", "error: invalid qualifier type: []interface {}"),
    ("object.list[object.map]", "error: invalid qualifier type: map[string]interface {}"),
    ("object.map[object.nil]", "error: invalid qualifier type: <nil>"),
    ("[null].map(x, object.map[x])", "error: invalid qualifier type: types.Null"),
    ("object[optional.of('a')]", "error: invalid qualifier type: *types.Optional"),
    ("object.map[?optional.none()]", "error: invalid qualifier type: *types.Optional"),
    # common/types/list.go, IndexOrError.
    ("object.list[1.5]", "error: unsupported index value 1.5 in list"),
    ("object.list[18446744073709551615u]", "error: unsupported index value 18446744073709551615 in list"),
    ("object.list[double('NaN')]", "error: unsupported index value NaN in list"),
    ("object.list[true]", "error: unsupported index type 'bool' in list"),
    ("object.map[1e100]", "error: no such key: 1e+100"),
    # common/types/timestamp.go: a timestamp keeps the zone that it was written in, and its accessors do not care.
    ("string(timestamp('2020-01-01T2:03:04Z'))", "2020-01-01T02:03:04Z"),
    ("string(timestamp('2020-01-01T00:00:00+05:30'))", "2020-01-01T00:00:00+05:30"),
    ("string(timestamp('2020-01-01T00:00:00.5-08:00') + duration('1h'))", "2020-01-01T01:00:00.5-08:00"),
    ("string(duration('1h') + timestamp('2020-01-01T00:00:00+00:00'))", "2020-01-01T01:00:00Z"),
    ("timestamp('2020-01-01T00:00:00+05:30') == timestamp('2019-12-31T18:30:00Z')", True),
    ("timestamp('2020-01-01T00:00:00+05:30').getHours()", 18),
    ("timestamp('0001-01-01T00:00:00Z').getFullYear('-08:00')", 0),
    ("timestamp('9999-12-31T23:59:59Z').getFullYear('+08:00')", 10000),
    ("timestamp('0001-01-01T00:00:00Z').getHours('America/New_York')", 19),
    ("timestamp('2020-01-01T00:00:00Z').getHours('Local')", 0),
    # ext/formatting.go, FormatString.
    ("'%s'.format([by])", NOT_UTF_8),
    # cel/library.go, optional.ofNonZeroValue: an absent optional does not count as a zero value.
    ("optional.ofNonZeroValue(optional.none()).hasValue()", True),
    # apiserver/pkg/cel/quantity.go and its like, Equal: only with values of the same type.
    ("dyn(quantity('1')) == 'a'", NO_OVERLOAD), ("'a' == dyn(quantity('1'))", False),
    ("quantity('2') == quantity('1').add(1)", NO_OVERLOAD), ("quantity('1').add(1) == quantity('2')", True),
    # interpreter/interpretable.go, evalNe: true unless the values are equal; types/list.go and map.go: lists and
    # maps differ only if some elements are known to differ; types/util.go, Equal: null compares with anything.
    ("dyn(ip('1.2.3.4')) == 1", NO_OVERLOAD), ("dyn(ip('1.2.3.4')) != 1", True), ("dyn(ip('1.2.3.4')) == null", False),
    ("dyn(ip('1.2.3.4')) != null", True), ("[dyn(ip('1.2.3.4'))] == [1]", True),
    ("[[dyn(ip('1.2.3.4'))]] != [[1]]", False), ("{'a': dyn(ip('1.2.3.4'))} == {'a': 1}", True),
    ("{'a': ip('1.2.3.4')} == {'b': ip('1.2.3.4')}", False),
    ("[optional.of(dyn(ip('1.2.3.4')))] == [optional.of(1)]", True),
    ("optional.of(dyn(ip('1.2.3.4'))) == optional.of(1)", NO_OVERLOAD),
    ("dyn(optional.of(dyn(ip('1.2.3.4')))) == 1", False), ("dyn(ip('1.2.3.4')) in [dyn(1)]", False),
    # The range of a loop may be any value, though reading it cannot fail.
    ("{'a': dyn(ip('1.2.3.4'))}.exists(k, v, v == 'x')", NO_OVERLOAD),
    ("{'a': dyn(ip('1.2.3.4'))}.existsOne(k, v, v == 'x')", NO_OVERLOAD),
    # interpreter/interpretable.go, evalSetMembership: Go hashes the value on the left.
    ("dyn(semver('1.2.3')) in ['a', 'b']", f"{UNHASHABLE} cel.Semver"),
    # apiserver/pkg/cel/library/semverlib.go, normalizeAndParse: Go counts bytes.
    ("semver('é.1.2', true)", 'error: Invalid character(s) found in major number "0é"'),
    # apiserver/pkg/cel/library/cidr.go: the error of an invalid address is not shown, that of a network is.
    ("cidr('10.0.0.0/8').containsIP('bad')", NO_OVERLOAD), ("cidr('10.0.0.0/8').containsCIDR('bad')", NO_NETWORK),
    # apimachinery/pkg/api/resource/quantity.go: beyond 64 bits thousand millionths are counted.
    ("quantity('-9669007543229944772e3').asApproximateFloat()", -9.669007543229947e21),
    # net/url, URL.String: no slashes where there were none.
    ("url('h:/a') == url('h:///a')", False),
)  # fmt: skip
def test_what_expressions_come_to(text: str, value: object) -> None:
    found = outcome(text)[0]
    assert type(found) is type(value)
    assert found == value


@each_row_beside("text", "value")
def test_an_optional_that_a_choice_or_variable_holds_is_made_anew(text: str, value: object) -> None:
    """interpreter/attributes.go, Resolve: from the Go value inside it."""
    assert unwrapped(outcome(text)[0]) == value


@each_row_beside("text", "cost")
def test_what_evaluations_cost(text: str, cost: int) -> None:
    assert outcome(text)[1] == cost


UNREADABLE = "Syntax error: token recognition error at: '`'"
NEWER = environment(Release(37), stored=True).extend(variables={"object": DYN, "s": STRING})


@each_row(
    ("text", "value", "newer"),
    # cel/library.go, evalOptionalOr and evalOptionalOrValue: a value of another type counted as present.
    ("object.a.orValue(2)", 1, NO_OVERLOAD),
    ("object.a.or(optional.of(2))", 1, NO_OVERLOAD),
    ("object.nope.orValue(2)", "error: no such key: nope", "error: no such key: nope"),
    ("object.?a.orValue(2)", 1, 1),
    ("object.?nope.orValue(2)", 2, 2),
    ("object.nil.orValue('x') == 'x' || true", True, True),
    # parser/parser.go, normalizeIdent: apiserver/pkg/cel/environment/base.go did not enable it.
    ("object.`str`", f"{REFUSED.format(8)}: unsupported syntax: '`'", "text"),
    ("object.?`str`.orValue(s)", f"{REFUSED.format(9)}: unsupported syntax: '`'", "text"),
)
def test_the_cel_go_of_kubernetes_1_37_differs(text: str, value: object, newer: object) -> None:
    assert (outcome(text)[0], outcome(text, NEWER)[0]) == (value, newer)


@each_row(
    ("text", "errors"),
    ("object.`str`", [f"1:8: {UNREADABLE}", f"1:12: {UNREADABLE}"]),
    ("object.?", ["1:9: Syntax error: missing IDENTIFIER at '<EOF>'"]),
    ("object.?'x' s", ["1:9: Syntax error: extraneous input ''x'' expecting IDENTIFIER"]),
    ("object.?5", ["1:9: Syntax error: mismatched input '5' expecting IDENTIFIER"]),
    ("'`' == s", []),
)
def test_the_cel_go_of_kubernetes_1_32_has_no_backquotes(text: str, errors: list[str]) -> None:
    found: list[Issue] = []
    try:
        environment(Release(32)).extend(variables={"object": DYN, "s": STRING}).parse(text)
    except CompileError as error:
        found = error.issues
    assert [f"{issue.line}:{issue.column + 1}: {issue.message}" for issue in found] == errors


def test_an_estimated_quote_of_a_text_without_bound_overflows() -> None:
    """checker/cost.go, ExtQuoteString."""
    checked = ENVIRONMENT.check("semver(strings.quote(s))")
    assert estimate_cost(checked, ENVIRONMENT).high < 2**63


def test_what_an_expansion_uses_twice_is_reported_one_copy_after_the_other() -> None:
    with pytest.raises(CompileError) as found:
        ENVIRONMENT.check("[3.0].optMap(x, x).optMap(x, x)")
    functions = [issue.message.split("'")[1] for issue in found.value.issues]
    assert functions[:4] == ["hasValue", "value", "hasValue", "value"]


def test_a_parameter_stands_for_the_first_overload_that_fits() -> None:
    """common/stdlib/standard.go declares doubles first."""
    assert str(ENVIRONMENT.check("{}.transformList(k, x, -(dyn(1.0) * x))").type) == "list(double)"
