"""The parser's errors about wrong input: cel-go's words, position and layout."""

import itertools
import textwrap
import time

import pytest

from tests.cel import EVERYTHING
from tests.rows import each_row, each_row_beside
from webhook.cel.environment import Environment
from webhook.cel.errors import CompileError, Issues
from webhook.cel.syntax.ast import Call, Select
from webhook.cel.syntax.lexer import tokenize
from webhook.cel.syntax.parser import MAX_CODE_POINTS

PLAIN = Environment()
OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def report(text: str, environment: Environment = PLAIN) -> str:
    with pytest.raises(CompileError) as caught:
        environment.parse(text)
    return str(caught.value)


def messages(text: str, environment: Environment = PLAIN) -> list[str]:
    with pytest.raises(CompileError) as caught:
        environment.parse(text)
    return [f"{issue.line}:{issue.column + 1}: {issue.message}" for issue in caught.value.issues]


@each_row_beside("text", "expected")
def test_invalid_input_has_cel_gos_message(text: str, expected: list[str]) -> None:
    assert messages(text) == expected


@each_row_beside("text", "expected")
def test_macros_of_extensions_name_what_is_wrong(text: str, expected: str) -> None:
    assert [each.partition(": ")[2] for each in messages(text, EVERYTHING)] == [expected]


def test_a_field_without_a_name_is_reported_twice() -> None:
    expecting = "Syntax error: mismatched input ':' expecting {IDENTIFIER, ESC_IDENTIFIER}"
    assert messages("T{?: 1}", EVERYTHING) == ["1:3: unsupported ident kind", f"1:4: {expecting}"]


@each_row(("text", "name"), ("cel.bind", "bind"), ("x.cel().bind(a, 1, a)", "bind"), ("x.bind(a, 1, a)", "bind"))
def test_a_macro_is_left_alone_on_another_target(text: str, name: str) -> None:
    root = EVERYTHING.parse(text)
    assert (root.field if isinstance(root, Select) else isinstance(root, Call) and root.function) == name


def test_the_report_shows_line_and_caret_but_no_very_long_line() -> None:
    assert report("1 ==\n\t in 2") == textwrap.dedent(f"""\
        ERROR: <input>:2:3: Syntax error: extraneous input 'in' expecting {OPERAND}
         |   in 2
         | ..^""")
    assert report("'é' é") == "ERROR: <input>:1:5: Syntax error: token recognition error at: 'é'\n | 'é' é\n | .．..＾"  # noqa: RUF001  # as cel-go
    assert report("a b" + " " * 20_000) == "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>"


def test_errors_recoveries_and_size_are_bounded() -> None:
    lines = report("$" * 150).splitlines()
    assert lines[-1] == "1 more errors were truncated"
    assert sum("token recognition error" in line for line in lines) == 100
    assert "error recovery attempt limit exceeded: 30" in report("+ ".join("[" * 40))
    size = MAX_CODE_POINTS + 1
    expected = f"expression code point size exceeds limit: size: {size}, limit {MAX_CODE_POINTS}"
    assert report(" " * size).startswith(f"ERROR: <input>:-1:0: {expected}")


NESTED = (
    "[" * 300, "(" * 251 + "1" + ")" * 251, "f(" * 251 + ")" * 251, "1+1*(" * 100 + "1" + ")" * 100,
    "1 < (" * 126 + "1" + ")" * 126, "a?b:" * 251 + "c",
)  # fmt: skip
CHAINED = "1" + "+1" * 251, "a" + ".b" * 251, "a" + "[0]" * 251, "a" + " < 1" * 251


def test_nesting_is_bounded() -> None:
    assert {report(each) for each in NESTED} == {"ERROR: <input>:-1:0: expression recursion limit exceeded: 250"}
    assert {report(each) for each in CHAINED} == {"ERROR: <input>:-1:0: max recursion depth exceeded"}
    for text in "(" * 249 + "1" + ")" * 249, *(each[:-2] for each in CHAINED[:2]), "!" * 9999 + "a", "a" + "&&a" * 5000:
        PLAIN.parse(text)


PIECES = (*"arb .1eEuU\"'\\`/=!<|", "bR", "_x", "0x", '""', "''", "&&")
"""What tokens begin and end with."""


def test_a_comment_changes_no_token() -> None:
    """Texts without comments, escapes and the like are split in a quicker way."""
    for pieces in itertools.product(PIECES, repeat=3):
        text = "".join(pieces)
        issues = Issues(text)
        plain, commented = (tokenize(each, issues) for each in (text, f"{text}\n//"))
        if not issues.found:
            assert (plain.kinds, plain.texts) == (commented.kinds, commented.texts), text


@each_row("mark", *"\"'")
def test_unfinished_strings_take_linear_time(mark: str) -> None:
    text, began = mark + rf"\{mark}" * 15_000, time.process_time()
    with pytest.raises(CompileError, match="token recognition error"):
        PLAIN.parse(text)
    assert time.process_time() - began < 1, "it takes some milliseconds; quadratic time would be six seconds"
