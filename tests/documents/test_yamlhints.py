"""YAML misreads some expressions: the hint explains it, and shows how to write them."""

from tests.command import draguard, findings
from tests.rows import each_row, each_row_beside

CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec:\n  selectors:\n  - cel:\n"


@each_row_beside("written", "help_")
def test_an_expression_that_yaml_takes_for_something_else(written: str, help_: str) -> None:
    done = draguard("validate", "-", stdin=f"{CLASS}      expression: {written}\n".encode())
    assert done.code == 1
    assert help_ in done.out


def test_a_comment_behind_a_whole_expression_is_none_of_its_mistakes() -> None:
    (found,) = findings("validate", "-", stdin=f"{CLASS}      expression: device.driver = 'a'  # ours\n")
    assert "takes what follows #" not in found["hint"]
    assert found["fix"]


@each_row_beside("line", "help_")
def test_other_values_are_put_in_quotes(line: str, help_: str) -> None:
    assert help_ in draguard("validate", "-", stdin=f"kind: x\n{line}\nb: c\n".encode()).out


def test_a_missing_comma_of_json_belongs_to_the_line_before_and_a_text_indented_too_little_to_its_start() -> None:
    done = draguard("validate", "-", stdin=b'{\n"apiVersion": "v1"\n"kind": "x"\n}\n')
    assert "a }, a comma or a quotation mark is missing before this: the { is still open\n" in done.out
    done = draguard("validate", "-", stdin=f"{CLASS}      expression: |\n      device.driver\n".encode())
    assert done.out.startswith("<stdin>:8:7: error unreadable: could not find expected ':'")


@each_row(
    ("written", "at"),
    (">\n        device.driver == 'a' // all\n        && true", (8, 30)),
    (">\n        device.driver != 'a//b' // all\n        || true", (8, 33)),
    ("|\n        device.driver == 'a' // all\n        && true", None),
    ("device.driver == 'a // && b'", None),
    ("device.driver == 'a' // the driver", None),
)
def test_a_comment_that_takes_in_joined_lines_is_found(written: str, at: tuple[int, int] | None) -> None:
    judged = findings("validate", "-", stdin=f"{CLASS}      expression: {written}\n")
    found = [each for each in judged if each["rule"] == "selector-comment"]
    assert [(each["line"], each["column"]) for each in found] == ([at] if at else [])
