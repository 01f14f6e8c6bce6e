from tests.rows import each_row, each_row_beside
from webhook.api.dra.selectors import cel_selector
from webhook.cel.environment import Program, Refusal
from webhook.cel.errors import EvaluationError
from webhook.cel.kubernetes.devices import (
    CONSUMABLE_CAPACITY,
    LIST_ATTRIBUTES,
    MAX_COST,
    compile_selector,
    cost_of,
    max_cost,
)
from webhook.release import Release
from webhook.schema.target import Target

ALL = frozenset({CONSUMABLE_CAPACITY, LIST_ATTRIBUTES})
NONE: frozenset[str] = frozenset()
UNDECLARED = "compilation failed: ERROR: <input>:1:1: undeclared reference to"
TOO_COMPLEX = "too complex"


def judged(expression: str, release: int, gates: frozenset[str] = ALL, *, stored: bool = False) -> str:
    selector = compile_selector(expression, Release(release), gates, stored=stored)
    if isinstance(selector, Refusal):
        return selector.text.partition("\n")[0]
    return TOO_COMPLEX if max_cost(selector, Release(release)) > MAX_COST else ""


@each_row("release", *range(31, 37))
@each_row(
    "expression",
    'device.driver == "gpu.example.com"',
    'device.attributes["gpu.example.com"].model == "a100"',
    'device.attributes["gpu.example.com"].exclusive',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.0.0"))',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
    'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.a && gpu.b)',
    'device.attributes["gpu.example.com"].?model.orValue("") == "a100"',
    '"gpu.example.com" in device.attributes',
    "device.attributes.exists(domain, device.attributes[domain].size() > 1)",
)
def test_selectors_that_every_release_takes(expression: str, release: int) -> None:
    assert judged(expression, release) == ""


@each_row("release", *range(31, 37))
@each_row(
    ("expression", "reason"),
    ("1 + 1", "must evaluate to bool or the unknown type, not int"),
    ("device", "must evaluate to bool or the unknown type, not kubernetes.DRADevice"),
    ('device.attributes["a"]', "must evaluate to bool or the unknown type, not map(string, "),
    ("device.nope == 1", "compilation failed: ERROR: <input>:1:7: undefined field 'nope'"),
    ("device.driver == 1", "compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_'"),
    ("authorizer.path('/')", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer'"),
    ("int('x') == 1", "program instantiation failed: type conversion error from 'string' to 'int'"),
)
def test_selectors_that_no_release_takes(expression: str, reason: str, release: int) -> None:
    assert judged(expression, release).startswith(reason)


@each_row(("release", "column"), (31, 1), (32, 0), (36, 0))
def test_no_selector_at_all_was_reported_at_a_column_before_1_32(release: int, column: int) -> None:
    assert judged("", release).startswith(f"compilation failed: ERROR: <input>:1:{column}: Syntax error: mismatched")


@each_row(
    ("expression", "releases", "gates"),
    ("device.allowMultipleAllocations", range(34, 37), ALL),
    ("device.allowMultipleAllocations", range(0), NONE),
    ('device.attributes["a"].b.includes("c")', range(36, 37), ALL),
    ('device.attributes["a"].b.includes("c")', range(0), NONE),
    ('device.attributes["a"].b.exists(x, x == "c")', range(36, 37), ALL),
    ('semver("v1", true) == semver("1.0.0")', range(34, 37), NONE),
    ("[1].all(i, v, true)", range(33, 37), NONE),
)
def test_what_came_with_a_release_or_gate(expression: str, releases: range, gates: frozenset[str]) -> None:
    assert [release for release in range(31, 37) if not judged(expression, release, gates)] == list(releases)


def test_a_stored_selector_may_use_what_a_gate_brought_and_what_is_wrong_is_found_once() -> None:
    expression = 'device.attributes["a"].b.includes("c") && device.allowMultipleAllocations'
    assert judged(expression, 36, NONE, stored=True) == ""
    refusals = [cost_of("1 + 1", Release(36), NONE, stored=False, is_derived=False) for _ in range(2)]
    assert refusals[0] is refusals[1]


@each_row(("depth", "reason"), (3, ""), (5, TOO_COMPLEX))
def test_a_selector_costs_no_more_than_a_million(depth: int, reason: str) -> None:
    names = "abcde"[:depth]
    expression = "".join(f"device.attributes.all({name}, " for name in names) + "a == a" + ")" * depth
    assert judged(expression, 32) == judged(expression, 36) == reason
    assert judged(expression, 31) == ""
    selector = compile_selector(expression, Release(36))
    assert isinstance(selector, Program)
    assert (max_cost(selector, Release(36)) > MAX_COST) is bool(reason)


@each_row_beside("expression", "cost")
def test_costs_follow_the_sizes_that_devices_may_have(expression: str, cost: int | None) -> None:
    selector = compile_selector(expression, Release(36), ALL)
    assert (max_cost(selector, Release(36)) if isinstance(selector, Program) else None) == cost


@each_row(
    ("value", "expected"),
    ("c", True), ("d", False), (["a", "c"], True), (["a"], False), ([], False), (["a"] * 48, False), (["c"] * 49, True),
    (["a"] * 49, "'includes' function cannot be applied to lists longer than 48 values"),
)  # fmt: skip
def test_includes_finds_a_value_alone_or_in_a_list_as_long_as_attributes_may_be(
    value: object, expected: object
) -> None:
    selector = compile_selector('device.attributes["a"].b.includes("c")', Release(36), ALL)
    assert isinstance(selector, Program)
    found: object
    try:
        found = selector.evaluate({"device": {"attributes": {"a": {"b": value}}}})
    except EvaluationError as error:
        found = str(error)
    assert found == expected


@each_row(
    ("expression", "reason"),
    ('attributes.string["model"] == "a100" && attributes.quantity["m"].isGreaterThan(quantity("1Gi"))', ""),
    ('attributes.bool["a"] && attributes.int["b"] > 0 && "x" in attributes.stringslice["c"]', ""),
    ('attributes.version["v"].isLessThan(semver("2.0.0")) || 1 in attributes.intslice["d"]', ""),
    ("123", "must evaluate to bool"),
    ('attributes.string["model"]', "must evaluate to bool"),
    ("device.driver == ''", f"{UNDECLARED} 'device' (in container '')"),
    ("attributes.nope['a']", f"{UNDECLARED} 'attributes' (in container '')"),
)
def test_named_resources_of_1_30(expression: str, reason: str) -> None:
    assert judged(expression, 30) == reason


@each_row(
    ("expression", "release", "reason", "message"),
    ("true", 36, "", ""),
    ("1", 36, "FieldValueInvalid", 'Invalid value: "1": must evaluate to bool or the unknown type, not int'),
    ("int('x') == 1", 36, "InternalError", "Internal error: program instantiation failed: type conversion error"),
    ("true || " * 1500 + "true", 32, "FieldValueTooLong", "Too long: may not be more than 10240 bytes"),
    ("true || " * 1500 + "true", 31, "", ""),
)
def test_problems_are_the_api_servers(expression: str, release: int, reason: str, message: str) -> None:
    found = list(cel_selector(expression, Target("v1", Release(release), "create")))
    assert [problem.reason for problem in found] == ([reason] if reason else [])
    assert all(problem.message.startswith(message) for problem in found)


@each_row(
    ("expression", "shown"),
    ("null", "null_type"),
    ('{"a": [null]}', "map(string, list(null_type))"),
    ('timestamp("2020-01-01T00:00:00Z")', "google.protobuf.Timestamp"),
    ('[duration("1h")]', "list(google.protobuf.Duration)"),
    ("google.protobuf.Int64Value{value: 1}", "wrapper(int)"),
    ("type(null)", "type(null_type)"),
)
def test_a_type_that_is_refused_has_its_full_name(expression: str, shown: str) -> None:
    """common/types/types.go, String; errors of the checker have other names."""
    found = compile_selector(expression, Release(36), stored=True)
    assert isinstance(found, Refusal)
    assert found.text == f"must evaluate to bool or the unknown type, not {shown}"
