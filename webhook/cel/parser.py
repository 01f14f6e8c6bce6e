"""Tokens into a tree, with cel-go's grammar, limits and error texts (cel-go parser/parser.go, gen/CEL.g4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel import ast, limits, literals
from webhook.cel.errors import NOWHERE, Issues
from webhook.cel.lexer import END, tokenize
from webhook.cel.macros import ANY_ARITY, Builder, MacroError, TooManyCopiesError
from webhook.cel.tokens import StopParsingError, TokenStream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.cel.ast import Expression
    from webhook.cel.macros import Macro

RESERVED: Final = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_NUMBERS: Final = frozenset({"NUM_INT", "NUM_FLOAT"})
_OPERAND: Final = frozenset(
    {"[", "{", "(", ".", "-", "!", *_CONSTANTS, *_NUMBERS, "NUM_UINT", "STRING", "BYTES", "IDENTIFIER"}
)
_OPENING: Final = frozenset({"(", "[", "{"})
_FIELD: Final = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
_RELATIONS: Final = {
    "<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in",
}  # fmt: skip
_CALCULATIONS: Final = {
    "*": ("_*_", 2), "/": ("_/_", 2), "%": ("_%_", 2), "+": ("_+_", 1), "-": ("_-_", 1),
}  # fmt: skip
_END: Final = frozenset({END})
_IN_ARGUMENTS: Final = frozenset({",", ")"})
_IN_LIST: Final = frozenset({",", "]"})
_IN_MAP: Final = frozenset({",", "}"})
_COLON: Final = frozenset({":"})


def parse(text: str, macros: Mapping[tuple[str, int, bool], Macro], *, optional_syntax: bool) -> Expression:
    """Parses an expression and expands its macros.

    Args:
        text: The expression.
        macros: Macros by name, number of arguments and whether they are called on a target.
        optional_syntax: Whether `a.?b`, `a[?b]`, `[?a]` and `{?k: v}` are allowed.

    Raises:
        CompileError: The text is not an expression, or one beyond the limits.
    """
    issues = Issues(text)
    if len(text) > limits.MAX_CODE_POINTS:
        issues.report(
            NOWHERE,
            f"expression code point size exceeds limit: size: {len(text)}, limit {limits.MAX_CODE_POINTS}",
        )
        issues.raise_if_any()
    tokens = TokenStream(tokenize(text, issues), issues)
    root = _Parser(tokens, issues, macros, optional_syntax=optional_syntax).start()
    issues.raise_if_any()
    return root


class _Parser:
    def __init__(
        self,
        tokens: TokenStream,
        issues: Issues,
        macros: Mapping[tuple[str, int, bool], Macro],
        *,
        optional_syntax: bool,
    ) -> None:
        self._tokens = tokens
        self._issues = issues
        self._macros = macros
        self._optional_syntax = optional_syntax
        self._expression_depth = 0
        self._relation_depth = 0
        self._calculation_depth = 0
        self._opening: tuple[int, frozenset[str]] = (-1, frozenset())
        self._copied = [0]

    def start(self) -> Expression:
        try:
            root = self._expression()
            if self._tokens.kind != END and not self._tokens.drop_extraneous(_END):
                self._tokens.mismatched(_END)
        except StopParsingError:
            return ast.Failed(0)
        except TooManyCopiesError:
            return self._report(NOWHERE, "expression is too large once its macros are expanded")
        return root

    def _report(self, offset: int, message: str) -> ast.Failed:
        self._issues.report(offset, message)
        return ast.Failed(offset)

    def _too_deep(self) -> StopParsingError:
        self._issues.report(NOWHERE, f"expression recursion limit exceeded: {limits.MAX_DEPTH}")
        return StopParsingError()

    def _raised(self, node: Expression, *parts: Expression, by: int = 1) -> Expression:
        """The node, higher than its parts."""
        height = 0
        for part in parts:
            height = max(height, part.height)
        node.height = height + by
        if node.height > limits.MAX_DEPTH:
            self._issues.report(NOWHERE, "max recursion depth exceeded")
            raise StopParsingError
        return node

    def _within(self, follow: frozenset[str]) -> Expression:
        """An expression inside a construct in which one of these tokens comes next."""
        self._tokens.follow.append(follow)
        node = self._expression()
        self._tokens.follow.pop()
        return node

    # -- operators, from the loosest to the tightest

    def _expression(self) -> Expression:
        self._expression_depth += 1
        if self._expression_depth > limits.MAX_DEPTH:
            raise self._too_deep()
        node = self._or()
        if self._tokens.kind == "?":
            offset = self._tokens.advance()
            self._tokens.follow.append(_COLON)
            then = self._or()
            self._tokens.follow.pop()
            self._tokens.expect(":")
            otherwise = self._expression()
            node = self._raised(ast.Call(offset, "_?_:_", [node, then, otherwise]), node, then, otherwise)
        self._expression_depth -= 1
        return node

    def _or(self) -> Expression:
        node = self._and()
        if self._tokens.kind != "||":
            return node
        offset = self._tokens.offset
        terms = [node]
        while self._tokens.kind == "||":
            self._tokens.advance()
            terms.append(self._and())
        return self._raised(ast.Call(offset, "_||_", terms), *terms, by=0)

    def _and(self) -> Expression:
        node = self._relation()
        if self._tokens.kind != "&&":
            return node
        offset = self._tokens.offset
        terms = [node]
        while self._tokens.kind == "&&":
            self._tokens.advance()
            terms.append(self._relation())
        return self._raised(ast.Call(offset, "_&&_", terms), *terms, by=0)

    def _relation(self) -> Expression:
        self._enter_relation()
        node = self._calculation(1)
        while self._tokens.kind in _RELATIONS:
            function = _RELATIONS[self._tokens.kind]
            offset = self._tokens.advance()
            self._enter_relation()
            right = self._calculation(1)
            self._relation_depth -= 1
            node = self._raised(ast.Call(offset, function, [node, right]), node, right)
        self._relation_depth -= 1
        return node

    def _enter_relation(self) -> None:
        self._relation_depth += 1
        if self._relation_depth > limits.MAX_DEPTH:
            raise self._too_deep()

    def _calculation(self, level: int) -> Expression:
        self._calculation_depth += 1
        if self._calculation_depth > limits.MAX_DEPTH:
            raise self._too_deep()
        node = self._unary()
        while self._tokens.kind in _CALCULATIONS:
            function, own_level = _CALCULATIONS[self._tokens.kind]
            if own_level < level:
                break
            offset = self._tokens.advance()
            right = self._calculation(own_level + 1)
            node = self._raised(ast.Call(offset, function, [node, right]), node, right)
        self._calculation_depth -= 1
        return node

    def _unary(self) -> Expression:
        mark = self._tokens.kind
        if mark not in {"!", "-"} or (mark == "-" and self._tokens.ahead(1) in _NUMBERS):
            return self._member(self._primary())
        offset = self._tokens.offset
        odd = False
        while self._tokens.kind == mark:
            self._tokens.advance()
            odd = not odd
        operand = self._member(self._primary())
        if not odd:
            return operand
        return self._raised(ast.Call(offset, "!_" if mark == "!" else "-_", [operand]), operand, by=0)

    # -- operands

    def _primary(self) -> Expression:  # one return for each kind of operand
        kind = self._tokens.kind
        if kind in {"IDENTIFIER", "."}:
            return self._name()
        if kind in _NUMBERS or (kind == "-" and self._tokens.ahead(1) in _NUMBERS):
            return self._number()
        if kind not in _OPERAND or kind in {"-", "!"}:
            return self._no_operand()
        if kind not in _OPENING:
            return self._constant()
        offset = self._tokens.advance()
        if kind == "(":
            node = self._within(frozenset({")"}))
            self._tokens.expect(")")
            return node
        return self._list(offset) if kind == "[" else self._map(offset)

    def _no_operand(self) -> Expression:
        at, also = self._opening
        expected = _OPERAND | also if at == self._tokens.at else _OPERAND
        if self._tokens.drop_extraneous(expected) and self._tokens.kind in _OPERAND:
            return self._unary()
        self._tokens.mismatched(expected)
        return ast.Failed(self._tokens.offset)

    def _number(self) -> Expression:
        offset = self._tokens.offset
        sign = self._tokens.take() if self._tokens.kind == "-" else ""
        if self._tokens.kind == "NUM_FLOAT":
            double = literals.parse_double(sign + self._tokens.take())
            return self._report(offset, "invalid double literal") if double is None else ast.Literal(offset, double)
        number = literals.parse_int(sign + self._tokens.take())
        return self._report(offset, "invalid int literal") if number is None else ast.Literal(offset, number)

    def _constant(self) -> Expression:
        kind, offset = self._tokens.kind, self._tokens.offset
        text = self._tokens.take()
        if kind in _CONSTANTS:
            return ast.Literal(offset, _CONSTANTS[kind])
        if kind == "NUM_UINT":
            number = literals.parse_uint(text)
            return self._report(offset, "invalid uint literal") if number is None else ast.Literal(offset, number)
        try:
            decode = literals.parse_string if kind == "STRING" else literals.parse_bytes
            return ast.Literal(offset, decode(text))
        except ValueError as error:
            return self._report(offset, str(error))

    def _name(self) -> Expression:
        start = self._tokens.offset
        dot = ""
        if self._tokens.kind == ".":
            self._tokens.advance()
            dot = "."
            if self._tokens.kind != "IDENTIFIER":
                self._tokens.no_field()
                return ast.Failed(start)
        offset = self._tokens.offset
        text = self._tokens.take()
        name = dot + text
        if self._tokens.has_braces:
            struct = self._struct(name)
            if struct is not None:
                return struct
        is_call = self._tokens.kind == "("
        if text in RESERVED:
            if is_call:
                self._tokens.advance()
                self._arguments()
            return self._report(start, f"reserved identifier: {text}")
        if not is_call:
            return ast.Ident(offset, name)
        return self._call(self._tokens.advance(), name, self._arguments())

    def _struct(self, name: str) -> Expression | None:
        """`a.b.C{…}`, if a brace ends this chain of names."""
        ahead = 0
        while self._tokens.ahead(ahead) == "." and self._tokens.ahead(ahead + 1) == "IDENTIFIER":
            ahead += 2
        if self._tokens.ahead(ahead) != "{":
            return None
        while self._tokens.kind == ".":
            self._tokens.advance()
            name += f".{self._tokens.take()}"
        offset = self._tokens.advance()
        entries = []
        while self._tokens.kind != "}":
            entry = self._field()
            if entry is not None:
                entries.append(entry)
            if self._tokens.kind != ",":
                break
            self._tokens.advance()
        self._tokens.expect("}", ",")
        node = ast.StructExpression(offset, name, entries)
        return self._raised(node, *node.children(), by=0)

    def _field(self) -> ast.Entry | None:
        optional = self._optional_mark()
        if self._tokens.kind not in _FIELD:
            expected = _FIELD.union("},?")
            if not self._tokens.drop_extraneous(expected):
                self._tokens.mismatched(expected)
            if self._tokens.kind not in _FIELD:
                return None
        field = self._tokens.take().strip("`")
        colon = self._tokens.expect(":")
        value = self._within(_IN_MAP)
        return ast.Entry(value.offset if colon is None else colon, field, value, optional=optional)

    def _optional_mark(self) -> bool:
        if self._tokens.kind != "?":
            return False
        offset = self._tokens.advance()
        if not self._optional_syntax:
            self._report(offset, "unsupported syntax '?'")
        return True

    def _list(self, offset: int) -> Expression:
        elements: list[Expression] = []
        optional = set()
        self._opening = (self._tokens.at, frozenset("],?"))
        if self._tokens.kind == ",":
            self._tokens.advance()
        else:
            while self._tokens.kind != "]":
                if self._optional_mark():
                    optional.add(len(elements))
                elements.append(self._within(_IN_LIST))
                if self._tokens.kind != ",":
                    break
                self._tokens.advance()
        self._tokens.expect("]", ",")
        return self._raised(ast.ListExpression(offset, elements, frozenset(optional)), *elements, by=0)

    def _map(self, offset: int) -> Expression:
        entries: list[ast.Entry] = []
        self._opening = (self._tokens.at, frozenset("},?"))
        if self._tokens.kind == ",":
            self._tokens.advance()
        else:
            while self._tokens.kind != "}":
                optional = self._optional_mark()
                key = self._within(_COLON)
                colon = self._tokens.expect(":")
                value = self._within(_IN_MAP)
                entries.append(ast.Entry(key.offset if colon is None else colon, key, value, optional=optional))
                if self._tokens.kind != ",":
                    break
                self._tokens.advance()
        self._tokens.expect("}", ",")
        node = ast.MapExpression(offset, entries)
        return self._raised(node, *node.children(), by=0)

    def _arguments(self) -> list[Expression]:
        arguments: list[Expression] = []
        if self._tokens.kind != ")":
            arguments.append(self._within(_IN_ARGUMENTS))
            while self._tokens.kind == ",":
                self._tokens.advance()
                arguments.append(self._within(_IN_ARGUMENTS))
        self._tokens.expect(")")
        return arguments

    # -- what follows an operand

    def _member(self, node: Expression) -> Expression:
        while True:
            if self._tokens.kind == ".":
                node = self._dot(node)
            elif self._tokens.kind == "[":
                node = self._index(node)
            else:
                return node

    def _index(self, operand: Expression) -> Expression:
        offset = self._tokens.advance()
        optional = self._tokens.kind == "?"
        if optional:
            self._tokens.advance()
        index = self._within(frozenset({"]"}))
        self._tokens.expect("]")
        if optional and not self._optional_syntax:
            return self._report(offset, "unsupported syntax '[?'")
        return self._raised(ast.Call(offset, "_[?_]" if optional else "_[_]", [operand, index]), operand, index)

    def _dot(self, operand: Expression) -> Expression:
        dot = self._tokens.advance()
        optional = self._tokens.kind == "?"
        if optional:
            self._tokens.advance()
        if self._tokens.kind not in _FIELD:
            self._tokens.no_field()
            return ast.Failed(dot)
        kind, at = self._tokens.kind, self._tokens.offset
        field = self._tokens.take()
        if kind == "ESC_IDENTIFIER":
            field = field[1:-1]
        if optional:
            if not self._optional_syntax:
                return self._report(dot, "unsupported syntax '.?'")
            return self._raised(ast.Call(dot, "_?._", [operand, ast.Literal(at, field)]), operand)
        if self._tokens.kind == "(" and kind == "IDENTIFIER":
            offset = self._tokens.advance()
            arguments = self._arguments()
            return self._raised(self._call(offset, field, arguments, operand), operand, *arguments)
        return self._raised(ast.Select(dot, operand, field), operand)

    def _call(
        self, offset: int, function: str, arguments: list[Expression], target: Expression | None = None
    ) -> Expression:
        member = target is not None
        macro = self._macros.get((function, len(arguments), member)) or self._macros.get((function, ANY_ARITY, member))
        if macro is not None:
            try:
                expanded = macro.expand(Builder(offset, self._copied), target, arguments)
            except MacroError as error:
                return self._report(error.offset, error.message)
            if expanded is not None:
                return self._raised(expanded, *arguments, by=0)
        return self._raised(ast.Call(offset, function, arguments, target), *arguments, by=0)
