from tests.cel.judging import NEWEST, outcome
from tests.rows import each_row, each_row_beside
from webhook.cel.kubernetes.environments import admission_environment, environment, variable_type, with_variables
from webhook.cel.kubernetes.quantity import QUANTITY
from webhook.cel.types import base as types

RELEASES = range(25, NEWEST + 1)


def compiles(expression: str, release: int, *, stored: bool = False) -> bool:
    return not str(outcome(expression, {}, environment(release, stored=stored))).startswith("refused: ")


@each_row_beside("expression", "first")
def test_a_library_comes_with_its_release_and_serves_new_expressions_one_later(expression: str, first: int) -> None:
    stored = [release for release in RELEASES if compiles(expression, release, stored=True)]
    new = [release for release in RELEASES if compiles(expression, release)]
    assert stored == list(range(first, NEWEST + 1))
    assert new == list(range(first + 1 if first >= 28 else first, NEWEST + 1))


def test_what_a_later_version_of_a_library_has_is_not_there() -> None:
    for expression in ("'abc'.reverse() == 'cba'", "math.abs(1) == 1", "cel.bind(x, 1, x) == 1"):
        assert not compiles(expression, NEWEST, stored=True)
    assert "undeclared reference" in outcome("namespaceObject", {}, admission_environment(27))


@each_row("release", 27, 28, 29, 30, NEWEST)
def test_lists_hold_one_type_and_constants_are_checked_beforehand_from_1_30_on(release: int) -> None:
    known, column = environment(release), "refused: ERROR: <input>:1:"
    assert outcome("[1, 'a']", {}, known) == f"{column}5: expected type 'int' but found 'string'"
    found = outcome("duration('x') == duration('1s')", {}, known)
    assert found.startswith(f"{column}10: invalid duration argument") is (release >= 30)


def test_authorizer_came_with_1_27_and_its_selectors_with_1_31() -> None:
    def knows(expression: str, release: int, *, stored: bool = False) -> bool:
        return not outcome(expression, {}, admission_environment(release, stored=stored)).startswith("refused: ")

    assert [knows("authorizer.group('')", release) for release in (26, 27)] == [False, True]
    selector = "authorizer.group('').resource('x').labelSelector('a=b')"
    assert [knows(selector, 31), knows(selector, 31, stored=True), knows(selector, 32)] == [False, True, True]


@each_row(
    ("expression", "type_"),
    ("object", types.DYN),
    ("oldObject.metadata", types.DYN),
    ("request.kind.group", types.STRING),
    ("request.requestResource.resource", types.STRING),
    ("request.userInfo.extra", types.map_of(types.STRING, types.list_of(types.STRING))),
    ("request.namespace", types.STRING),
    ("request.options", types.DYN),
    ("namespaceObject.metadata.labels", types.map_of(types.STRING, types.STRING)),
    ("namespaceObject.metadata.creationTimestamp", types.TIMESTAMP),
    ("namespaceObject.status.conditions[0].reason", types.STRING),
    ("params.data", types.DYN),
)
def test_variables_are_typed(expression: str, type_: types.Type) -> None:
    assert admission_environment(NEWEST, params=True).check(expression).type == type_


@each_row(
    ("expression", "message"),
    ("params", "undeclared reference to 'params'"),
    ("authorizer", "undeclared reference to 'authorizer'"),
    ("Object{}", "undeclared reference to 'Object'"),
    ("request.uid", "undefined field 'uid'"),
    ("namespaceObject.metadata.uid", "undefined field 'uid'"),
)
def test_what_is_not_declared_is_refused(expression: str, message: str) -> None:
    assert message in outcome(expression, {}, admission_environment(NEWEST, authorizer=False))


@each_row_beside("expression", "expected")
def test_mutations_are_written_as_objects_and_patches(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


def test_variables_of_a_policy_are_known_as_they_are_added() -> None:
    variables: dict[str, types.Type] = {}
    known = with_variables(admission_environment(NEWEST), variables)
    assert outcome("variables.x", {}, known) == "refused: ERROR: <input>:1:10: undefined field 'x'"
    variables["x"] = types.INT
    assert known.check("variables.x").type == types.INT


@each_row(
    ("type_", "known_as"),
    (None, types.DYN),
    (types.STRING, types.STRING),
    (types.list_of(QUANTITY), types.list_of(types.DYN)),
    (types.map_of(types.STRING, types.list_of(types.INT)), types.map_of(types.STRING, types.list_of(types.INT))),
    (QUANTITY, types.DYN),
    (types.optional_of(types.INT), types.DYN),
)
def test_a_variable_keeps_only_types_that_the_api_server_can_declare(
    type_: types.Type | None, known_as: types.Type
) -> None:
    assert variable_type(type_) == known_as
