"""The parser's errors about wrong input: cel-go's words, position and layout."""

from __future__ import annotations

import itertools
import textwrap
import time

import pytest

from tests.cel import EVERYTHING, evaluate
from tests.rows import each_row
from webhook.cel import CompileError, Environment, limits
from webhook.cel.errors import Issues
from webhook.cel.syntax.lexer import tokenize

PLAIN = Environment()
OPERAND = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
FIELD = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
ENTRY = OPERAND.replace("'(', '.'", "'}', '(', '.', ','").replace("'!'", "'!', '?'")
ARGUMENT = OPERAND.replace("'.'", "')', '.'")
INDEX = OPERAND.replace("'!'", "'!', '?'")
ELEMENT = OPERAND.replace("'{', '(', '.'", "']', '{', '(', '.', ','").replace("'!'", "'!', '?'")


def report(text: str, environment: Environment = PLAIN) -> str:
    with pytest.raises(CompileError) as caught:
        environment.parse(text)
    return str(caught.value)


def messages(text: str, environment: Environment = PLAIN) -> list[tuple[int, int, str]]:
    with pytest.raises(CompileError) as caught:
        environment.parse(text)
    return [(issue.line, issue.column + 1, issue.message) for issue in caught.value.issues]


@each_row(
    ("text", "expected"),
    [
        ("a.b ==", [(1, 7, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}")]),
        (
            "*@a | b",
            [
                (1, 1, f"Syntax error: extraneous input '*' expecting {OPERAND}"),
                (1, 2, "Syntax error: token recognition error at: '@'"),
                (1, 5, "Syntax error: token recognition error at: '| '"),
                (1, 7, "Syntax error: extraneous input 'b' expecting <EOF>"),
            ],
        ),
        (
            "1 + +",
            [
                (1, 5, f"Syntax error: mismatched input '+' expecting {OPERAND}"),
                (1, 6, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
            ],
        ),
        (
            "in",
            [
                (1, 1, f"Syntax error: mismatched input 'in' expecting {OPERAND}"),
                (1, 3, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
            ],
        ),
        ("1 + 2\n3 +", [(2, 1, "Syntax error: mismatched input '3' expecting <EOF>")]),
        ("T(){}", [(1, 4, "Syntax error: mismatched input '{' expecting <EOF>")]),
        ("T{}()", [(1, 4, "Syntax error: mismatched input '(' expecting <EOF>")]),
        ("a.`b.c`()", [(1, 8, "Syntax error: mismatched input '(' expecting <EOF>")]),
        ("{a}", [(1, 3, "Syntax error: mismatched input '}' expecting ':'")]),
        ("{", [(1, 2, f"Syntax error: mismatched input '<EOF>' expecting {ENTRY}")]),
        ("[", [(1, 2, f"Syntax error: mismatched input '<EOF>' expecting {ELEMENT}")]),
        (
            "{:a}",
            [
                (1, 2, f"Syntax error: extraneous input ':' expecting {ENTRY}"),
                (1, 4, "Syntax error: mismatched input '}' expecting ':'"),
            ],
        ),
        (
            "msg{:a}",
            [
                (1, 5, f"Syntax error: extraneous input ':' expecting {FIELD}"),
                (1, 7, "Syntax error: mismatched input '}' expecting ':'"),
            ],
        ),
        ("msg{", [(1, 5, f"Syntax error: mismatched input '<EOF>' expecting {FIELD}")]),
        ("ind[a{b}]", [(1, 8, "Syntax error: mismatched input '}' expecting ':'")]),
        ("(1", [(1, 3, "Syntax error: missing ')' at '<EOF>'")]),
        ("((1", [(1, 4, "Syntax error: mismatched input '<EOF>' expecting ')'")]),
        ("(1 2)", [(1, 4, "Syntax error: extraneous input '2' expecting ')'")]),
        ("[1 2]", [(1, 4, "Syntax error: extraneous input '2' expecting {']', ','}")]),
        ("f('a", [
            (1, 3, "Syntax error: token recognition error at: ''a'"),
            (1, 5, f"Syntax error: mismatched input '<EOF>' expecting {ARGUMENT}"),
        ]),
        ("f(%1)", [(1, 3, f"Syntax error: extraneous input '%' expecting {ARGUMENT}")]),
        ("1.f(", [(1, 5, f"Syntax error: mismatched input '<EOF>' expecting {ARGUMENT}")]),
        ("a[", [(1, 3, f"Syntax error: mismatched input '<EOF>' expecting {INDEX}")]),
        ("a ? 1", [(1, 6, "Syntax error: mismatched input '<EOF>' expecting ':'")]),
        ("f(true ? false ? 1 : 2 : 3)", [
            (1, 16, "Syntax error: mismatched input '?' expecting ':'"),
            (1, 24, "Syntax error: mismatched input ':' expecting <EOF>"),
        ]),
        ("has(a?b.c)", [
            (1, 6, "invalid argument to has() macro"),
            (1, 10, "Syntax error: mismatched input ')' expecting ':'"),
        ]),
        ("['a', 'b',", [(1, 11, "Syntax error: missing ']' at '<EOF>'")]),
        ("['a' 'b', 'c']", [
            (1, 6, "Syntax error: extraneous input ''b'' expecting {']', ','}"),
            (1, 11, "Syntax error: extraneous input ''c'' expecting ']'"),
        ]),
        ("[1a, 2b]", [
            (1, 3, "Syntax error: extraneous input 'a' expecting {']', ','}"),
            (1, 6, "Syntax error: mismatched input '2' expecting ']'"),
        ]),
        ("type(['a',", [(1, 11, "Syntax error: mismatched input '<EOF>' expecting ']'")]),
        ("{'a': 1,+ 2}", [
            (1, 9, "Syntax error: missing '}' at '+'"),
            (1, 12, "Syntax error: extraneous input '}' expecting <EOF>"),
        ]),
        ("T{(a: 1)}", [
            (1, 3, f"Syntax error: extraneous input '(' expecting {FIELD}"),
            (1, 8, "Syntax error: extraneous input ')' expecting {'}', ','}"),
        ]),
        ("uint(double(1 size(2)))", [
            (1, 15, "Syntax error: mismatched input 'size' expecting ')'"),
            (1, 22, "Syntax error: mismatched input ')' expecting <EOF>"),
        ]),
        ('{"a": 1}."a"', [(1, 10, "Syntax error: no viable alternative at input '.\"a\"'")]),
        ("a.", [(1, 3, "Syntax error: no viable alternative at input '.'")]),
        (".1a", [(1, 3, "Syntax error: extraneous input 'a' expecting <EOF>")]),
        (". b.", [(1, 5, "Syntax error: no viable alternative at input '.'")]),
        (".+", [
            (1, 2, "Syntax error: no viable alternative at input '.+'"),
            (1, 3, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ]),
        ("a . [", [(1, 5, "Syntax error: no viable alternative at input '. ['")]),
        (". true", [(1, 3, "Syntax error: no viable alternative at input '. true'")]),
        ("! -null", [(1, 4, "Syntax error: mismatched input 'null' expecting IDENTIFIER")]),
        (". $1 & ", [
            (1, 3, "Syntax error: token recognition error at: '$'"),
            (1, 4, "Syntax error: no viable alternative at input '. 1'"),
            (1, 6, "Syntax error: token recognition error at: '& '"),
        ]),
        ("has(a.!b)", [
            (1, 5, "invalid argument to has() macro"),
            (1, 7, "Syntax error: no viable alternative at input '.!'"),
        ]),
        ("{b, c: d}", [
            (1, 3, "Syntax error: mismatched input ',' expecting ':'"),
            (1, 5, "Syntax error: mismatched input 'c' expecting '}'"),
        ]),
        ("{a: b, c} d}", [
            (1, 9, "Syntax error: mismatched input '}' expecting ':'"),
            (1, 11, "Syntax error: mismatched input 'd' expecting <EOF>"),
        ]),
        (". ?", [
            (1, 3, "Syntax error: no viable alternative at input '. ?'"),
            (1, 4, "Syntax error: mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}"),
            (1, 4, "unsupported ident kind"),
        ]),
        ("a.?1", [
            (1, 4, "Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}"),
            (1, 4, "unsupported ident kind"),
        ]),
        ("! ) a", [(1, 3, f"Syntax error: extraneous input ')' expecting {OPERAND}")]),
        ("! - a", [(1, 5, "Syntax error: no viable alternative at input '- a'")]),
        ("-", [
            (1, 2, "Syntax error: no viable alternative at input '-'"),
            (1, 2, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ]),
        ("1 - -  )", [
            (1, 8, "Syntax error: no viable alternative at input '-  )'"),
            (1, 8, f"Syntax error: mismatched input ')' expecting {OPERAND}"),
        ]),
        ("1 - )", [(1, 5, f"Syntax error: mismatched input ')' expecting {OPERAND}")]),
        ("self.true == 1", [(1, 6, "Syntax error: mismatched input 'true' expecting IDENTIFIER")]),
        ('"\\xFh"', [
            (1, 1, "Syntax error: token recognition error at: '\"\\xFh'"),
            (1, 6, "Syntax error: token recognition error at: '\"'"),
            (1, 7, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ]),
        ("'a\nb'", [
            (1, 1, "Syntax error: token recognition error at: ''a\n'"),
            (2, 2, "Syntax error: token recognition error at: '''"),
        ]),
        ("(().()", [
            (1, 3, f"Syntax error: extraneous input ')' expecting {OPERAND}"),
            (1, 5, "Syntax error: no viable alternative at input '.('"),
        ]),
        ("[((..a", [
            (1, 5, "Syntax error: no viable alternative at input '..'"),
            (1, 7, "Syntax error: mismatched input '<EOF>' expecting {']', ','}"),
        ]),
        ("[a.+ 1]", [
            (1, 4, "Syntax error: no viable alternative at input '.+'"),
            (1, 7, "Syntax error: extraneous input ']' expecting <EOF>"),
        ]),
        ("f(a.+ 1) + )", [
            (1, 5, "Syntax error: no viable alternative at input '.+'"),
            (1, 8, "Syntax error: mismatched input ')' expecting <EOF>"),
        ]),
        ("a.f(b.+ 1)", [(1, 7, "Syntax error: no viable alternative at input '.+'")]),
        ("a[b.+ 1]", [(1, 5, "Syntax error: no viable alternative at input '.+'")]),
        ("a[[1, 2, {3: [4]}]", [(1, 19, "Syntax error: missing ']' at '<EOF>'")]),
        ("a[1, [2, 3]]", [(1, 4, "Syntax error: mismatched input ',' expecting ']'")]),
        ("- ))  [", [
            (1, 3, "Syntax error: no viable alternative at input '- )'"),
            (1, 3, f"Syntax error: mismatched input ')' expecting {OPERAND}"),
        ]),
        ("! in (", [
            (1, 3, f"Syntax error: extraneous input 'in' expecting {OPERAND}"),
            (1, 7, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ]),
        ("a ? ?] b ||", [
            (1, 5, f"Syntax error: mismatched input '?' expecting {OPERAND}"),
            (1, 12, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ]),
        ("{a?: b, c: d}", [
            (1, 4, f"Syntax error: extraneous input ':' expecting {OPERAND}"),
            (1, 7, "Syntax error: mismatched input ',' expecting ':'"),
            (1, 9, "Syntax error: mismatched input 'c' expecting '}'"),
        ]),
        ("{a b c: d} ||", [
            (1, 4, "Syntax error: missing ':' at 'b'"),
            (1, 6, "Syntax error: mismatched input 'c' expecting {'}', ','}"),
            (1, 14, f"Syntax error: mismatched input '<EOF>' expecting {OPERAND}"),
        ]),
        ("while", [(1, 1, "reserved identifier: while")]),
        ("as(1)", [(1, 1, "reserved identifier: as")]),
        ("0xFFFFFFFFFFFFFFFFF", [(1, 1, "invalid int literal")]),
        ("9223372036854775808", [(1, 1, "invalid int literal")]),
        ("--9223372036854775808", [(1, 3, "invalid int literal")]),
        ("1111111111111111111111111111", [(1, 1, "invalid int literal")]),
        ("18446744073709551616u", [(1, 1, "invalid uint literal")]),
        ("1.99e90000009", [(1, 1, "invalid double literal")]),
        ("'\\ud800'", [(1, 1, "invalid unicode code point")]),
        ("b'\\u0041'", [(1, 1, "unable to unescape string")]),
        ("has(m)", [(1, 5, "invalid argument to has() macro")]),
        ("has(has(m.f))", [(1, 8, "invalid argument to has() macro")]),
        ("1.all(2, 3)", [(1, 7, "argument must be a simple name")]),
        ("m.filter(a.b, false)", [(1, 11, "argument is not an identifier")]),
        ("m.map(__result__, 1)", [(1, 7, "iteration variable overwrites accumulator variable")]),
        (
            "[1].map(var, var)",
            [
                (1, 9, "reserved identifier: var"),
                (1, 9, "argument is not an identifier"),
                (1, 14, "reserved identifier: var"),
            ],
        ),
        ("a.?b && a[?b]", [(1, 2, "unsupported syntax '.?'"), (1, 10, "unsupported syntax '[?'")]),
        ("[?a, ?b]", [(1, 2, "unsupported syntax '?'"), (1, 6, "unsupported syntax '?'")]),
        ("Msg{?f: 1} && {?'k': 1}", [(1, 5, "unsupported syntax '?'"), (1, 16, "unsupported syntax '?'")]),
    ],
)  # fmt: skip
def test_invalid_input_has_cel_gos_message(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert messages(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("cel.bind(a.b, 1, 2)", "cel.bind() variable names must be simple identifiers"),
        ("x.optMap(1, 2)", "optMap() variable name must be a simple identifier"),
        ("x.optFlatMap(1, 2)", "optFlatMap() variable name must be a simple identifier"),
        ("x.all(a, a, true)", "duplicate variable name: a"),
        ("x.transformMap(1, a, true)", "argument must be a simple name"),
        ("math.least()", "math.least() requires at least one argument"),
        ("math.greatest('a')", "math.greatest() invalid single argument value"),
        ("math.greatest([])", "math.greatest() invalid single argument value"),
        ("math.least(1, 'a')", "math.least() simple literal arguments must be numeric"),
        (
            "{}.sortBy(x, x)",
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        ),
    ],
)
def test_macros_of_extensions_name_what_is_wrong(text: str, expected: str) -> None:
    assert [message for _, _, message in messages(text, EVERYTHING)] == [expected]


def test_a_field_without_a_name_is_reported_twice() -> None:
    assert messages("T{?: 1}", EVERYTHING) == [
        (1, 3, "unsupported ident kind"),
        (1, 4, "Syntax error: mismatched input ':' expecting {IDENTIFIER, ESC_IDENTIFIER}"),
    ]


@each_row("text", ["math.least", "x.math().least(1)", "x.bind(a, 1, a)"])
def test_a_macro_is_left_alone_on_another_target(text: str) -> None:
    assert EVERYTHING.parse(text).text == text


def test_the_report_shows_line_and_caret() -> None:
    assert report("1 ==\n\t in 2") == textwrap.dedent(f"""\
        ERROR: <input>:2:3: Syntax error: extraneous input 'in' expecting {OPERAND}
         |   in 2
         | ..^""")


def test_wide_characters_move_the_caret() -> None:
    assert report("'é' é") == "ERROR: <input>:1:5: Syntax error: token recognition error at: 'é'\n | 'é' é\n | .．..＾"  # noqa: RUF001  # as cel-go


def test_a_very_long_line_is_not_shown() -> None:
    assert report("a b" + " " * 20_000) == "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>"


def test_parsing_ends_after_a_hundred_errors() -> None:
    lines = report("$" * 150).splitlines()
    assert lines[-1] == "1 more errors were truncated"
    assert sum("token recognition error" in line for line in lines) == 100


def test_recovery_is_given_up_after_many_attempts() -> None:
    assert "error recovery attempt limit exceeded: 30" in report("+ ".join("[" * 40))


@each_row(
    ("text", "expected"),
    [
        ("[" * 300, "expression recursion limit exceeded: 250"),
        ("(" * 251 + "1" + ")" * 251, "expression recursion limit exceeded: 250"),
        ("f(" * 251 + ")" * 251, "expression recursion limit exceeded: 250"),
        ("1+1*(" * 100 + "1" + ")" * 100, "expression recursion limit exceeded: 250"),
        ("1 < (" * 126 + "1" + ")" * 126, "expression recursion limit exceeded: 250"),
        ("1" + "+1" * 251, "max recursion depth exceeded"),
        ("a" + ".b" * 251, "max recursion depth exceeded"),
        ("a" + "[0]" * 251, "max recursion depth exceeded"),
        ("a" + " < 1" * 251, "max recursion depth exceeded"),
        ("a?b:" * 251 + "c", "expression recursion limit exceeded: 250"),
    ],
)
def test_nesting_is_bounded(text: str, expected: str) -> None:
    assert report(text) == f"ERROR: <input>:-1:0: {expected}"


@each_row(
    "text", ["(" * 249 + "1" + ")" * 249, "1" + "+1" * 250, "a" + ".b" * 250, "!" * 9999 + "a", "a" + "&&a" * 5000]
)
def test_nesting_within_bounds_is_fine(text: str) -> None:
    assert PLAIN.parse(text).text == text


def test_size_is_bounded() -> None:
    size = limits.MAX_CODE_POINTS + 1
    expected = f"expression code point size exceeds limit: size: {size}, limit {limits.MAX_CODE_POINTS}"
    assert report(" " * size).startswith(f"ERROR: <input>:-1:0: {expected}")


@each_row(
    ("text", "value"),
    [
        ("--1", 1),
        ("---1", -1),
        ("-9223372036854775808", -(2**63)),
        ("0x1F", 31),
        ("-0x1F", -31),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("00012", 12),
        ('r"\\n"', "\\n"),
        ("'''a\n'b'''", "a\n'b"),
        ('"""a\r\nb"""', "a\nb"),
        (r'"\a\b\f\n\r\t\v\\\'\"\`\?"', "\a\b\f\n\r\t\v\\'\"`?"),
        (r'"\x41\u00e9\U0001F600\101"', "Aé😀A"),
        (r'b"\xff\377é"', b"\xff\xff\xc3\xa9"),
        ("rb'x'", None),
        ("bR'\\n'", b"\\n"),
        ("true // comment", True),
        ("!!true", True),
        ("!-1 == 1", None),
        ("true ? 1 : 2", 1),
        ("[1, 2,]", [1, 2]),
        ("[,]", []),
        ("{,}", {}),
        ("{'a': 1,}", {"a": 1}),
        ("{'a b': {'c-d/e.f': 1}}.`a b`.`c-d/e.f`", 1),
        ("1 in [1]", True),
        ("2 - 1 - 1", 0),
        ("2 * 3 + 4 * 5 % 6", 8),
        ("1 < 2 == true", True),
    ],
)
def test_literals_and_precedence(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(CompileError):
            evaluate(text)
    else:
        assert evaluate(text) == value


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


@pytest.mark.parametrize("mark", "\"'")
def test_unfinished_strings_take_linear_time(mark: str) -> None:
    text, began = mark + rf"\{mark}" * 15_000, time.process_time()
    with pytest.raises(CompileError, match="token recognition error"):
        PLAIN.parse(text)
    assert time.process_time() - began < 1, "it takes some milliseconds; quadratic time would be six seconds"
