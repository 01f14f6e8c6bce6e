"""YAML misreads some expressions: the hint explains it, and shows how to write them."""

from tests.command import draguard, findings
from tests.rows import each_row

CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec:\n  selectors:\n  - cel:\n"
BELOW = "write it on the line below `expression: |`, indented"


@each_row(
    ("written", "help_"),
    [
        ('"a" == device.driver', f'what begins with " for a text that ends at the next ": {BELOW}'),
        ("'device.driver == 'a''", f"what begins with ' for a text that ends at the next ': {BELOW}"),
        ('"device.driver == "a""', f'what begins with " for a text that ends at the next ": {BELOW}'),
        ('["a"].exists(x, x == device.driver)', f"what begins with [ for a list: {BELOW}"),
        ('{"a": 1}[device.driver] == 1', f"what begins with {{ for a map: {BELOW}"),
        ('device.driver == "a" ? true : false', f'YAML takes ": " for the end of a key: {BELOW}'),
        ('device.driver == "a: b"', f'YAML takes ": " for the end of a key: {BELOW}'),
        ("`device`.driver", f"what begins with ` for something else: {BELOW}"),
        ("* 2", f"what begins with * for an alias: {BELOW}"),
        ('device.driver == "a #b"', f"YAML takes what follows # for a comment: {BELOW}"),
        ('| device.driver == "a"', "a text begins on the line below | or >, indented"),
        ("- device.driver", "a list begins on the line below its key"),
        ('|\n      device.driver == "a"', "give the key a colon, and indent what goes on from the line before"),
        (r'"device.driver.matches(\"a\.b\")"', "in double quotes a backslash is written twice; or use single quotes"),
        ('!(device.driver == "a")', "quote the expression: YAML takes a leading ! for a tag"),
        ("!device.allowMultipleAllocations", "quote the expression: YAML takes a leading ! for a tag"),
    ],
)
def test_an_expression_that_yaml_takes_for_something_else(written: str, help_: str) -> None:
    done = draguard("validate", "-", stdin=f"{CLASS}      expression: {written}\n".encode())
    assert done.code == 1
    assert help_ in done.out


@each_row(
    ("line", "help_"),
    [
        ("name: 'a' b", 'for a text that ends at the next \': put all of it between " and "'),
        (
            "cel: {expression: a[b] == c, d}",
            "inside { }, quotes, brackets and commas end a plain value: put all of it between ' and '",
        ),
        ("a b", "give the key a colon"),
        ("spec:\n  devices\n\n    requests: []", 'did you mean "devices:" above?'),
        ("metadata:\n  name gpu\n  namespace: a", 'did you mean "name: gpu" above?'),
        ("a: {b: @c}", "YAML takes what begins with @ for something else: put all of it between ' and '"),
        ("\u2013--", "three hyphens separate documents: write ---"),
        ("--", "three hyphens separate documents: write ---"),
        ("x: y: z", 'quote a text that holds ": ", and check the indentation'),
        ("\tdevices: {}", "help: indent with spaces, not tabs\n"),
        ('a:\n- b\n\t- name: "{a"', "help: indent with spaces, not tabs\n"),
        ("a: [b, c", "a ], a comma or a quotation mark is missing before this: the [ of `a: [b, c` is still open\n"),
        ("- {b: c\n  d: e}", "help: check the indentation"),
        ("a: {b: c\n  d: e}", "a }, a comma or a quotation mark is missing before this: the { of `a: {b: c` is still"),
        ("a: 'b", "a ' is missing before this: the ' of `a: 'b` is still open\n"),
    ],
)
def test_other_values_are_put_in_quotes(line: str, help_: str) -> None:
    assert help_ in draguard("validate", "-", stdin=f"kind: x\n{line}\nb: c\n".encode()).out


def test_a_comma_that_json_lacks_is_missing_after_the_line_before() -> None:
    done = draguard("validate", "-", stdin=b'{\n"apiVersion": "v1"\n"kind": "x"\n}\n')
    assert "a }, a comma or a quotation mark is missing before this: the { is still open\n" in done.out


def test_a_text_that_is_indented_too_little_is_shown_where_it_begins() -> None:
    done = draguard("validate", "-", stdin=f"{CLASS}      expression: |\n      device.driver\n".encode())
    assert done.out.startswith("<stdin>:8:7: error unreadable: could not find expected ':'")


@each_row(
    ("written", "at"),
    [
        (">\n        device.driver == 'a' // all\n        && true", (8, 30)),
        (">\n        device.driver == 'a//b' // all\n        || true", (8, 33)),
        ("|\n        device.driver == 'a' // all\n        && true", None),
        ("device.driver == 'a // && b'", None),
        ("device.driver == 'a' // the driver", None),
    ],
)
def test_a_comment_that_takes_in_joined_lines_is_found(written: str, at: tuple[int, int] | None) -> None:
    judged = findings("validate", "-", stdin=f"{CLASS}      expression: {written}\n")
    found = [each for each in judged if each["rule"] == "selector-comment"]
    assert [(each["line"], each["column"]) for each in found] == ([at] if at else [])
