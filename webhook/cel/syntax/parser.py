"""The parser, with cel-go's grammar, limits and errors (cel-go parser/parser.go, gen/CEL.g4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from webhook.budget import Budget
from webhook.cel.errors import NOWHERE, RESERVED_NAME, Issues, StopParsingError
from webhook.cel.syntax import ast, literals
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.grammar import (
    AFTER_MEMBER,
    AFTER_PRIMARY,
    AT_END,
    COLON,
    FIELD,
    IN_ARGUMENTS,
    IN_CHOICE,
    IN_INDEX,
    IN_LIST,
    IN_MAP,
    IN_METHOD,
    IN_PARENTHESES,
    NEGATED,
    NUMBERS,
    OPENED_CALL,
    OPENED_INDEX,
    OPENING,
    OPERAND,
    OPERATORS,
    OR,
    RELATION,
    RESERVED,
    Quoting,
)
from webhook.cel.syntax.lexer import END, tokenize
from webhook.cel.syntax.macros import ANY_ARITY, Builder, Macro, MacroError
from webhook.cel.syntax.tokens import MemberEndedError, TokenStream

MAX_CODE_POINTS: Final = 100_000
MAX_DEPTH: Final = 250
"""The limits on the text of an expression (cel-go parser/parser.go, NewParser)."""
_COST_OF_CHARACTERS: Final = 8
"""The number of characters split into tokens for a unit of work."""
_COST_OF_TOKEN: Final = 10
"""The work spent for a token in advance: parsing it, and checking, estimating and compiling its nodes."""
_COST_OF_MACRO: Final = 100
"""The work spent for the nodes that a macro adds."""


def parse(
    issues: Issues,
    macros: Mapping[tuple[str, int, bool], Macro],
    budget: Budget,
    *,
    optional_syntax: bool,
    quoting: Quoting,
) -> Expression:
    """Parses an expression and expands its macros.

    Args:
        issues: Has the expression's text, and takes the errors.
        budget: Pays for the work, including that of all later steps as far as it grows with the text.
        optional_syntax: Whether `a.?b`, `a[?b]`, `[?a]` and `{?k: v}` are allowed.

    Raises:
        CompileError: The text is not an expression, or exceeds the limits.
        BudgetExceededError: Parsing is more work than the budget allows.
    """
    text = issues.text
    if len(text) > MAX_CODE_POINTS:
        issues.report(NOWHERE, f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_CODE_POINTS}")
        issues.raise_if_any()
    budget.spend(len(text) // _COST_OF_CHARACTERS)
    root: Expression = ast.Failed(0)
    with suppress(StopParsingError):
        tokens = tokenize(text, issues, knows_quotes=quoting is not Quoting.UNKNOWN)
        budget.spend(len(tokens.kinds) * _COST_OF_TOKEN + (len(text) if issues.found else 0))
        stream = TokenStream(tokens, issues, text)
        root = _Parser(stream, issues, macros, budget, optional_syntax=optional_syntax, quoting=quoting).start()
    issues.raise_if_any()
    return root


class _Parser:
    def __init__(
        self,
        tokens: TokenStream,
        issues: Issues,
        macros: Mapping[tuple[str, int, bool], Macro],
        budget: Budget,
        *,
        optional_syntax: bool,
        quoting: Quoting,
    ) -> None:
        self._tokens = tokens
        self._issues = issues
        self._macros = macros
        self._budget = budget
        self._optional_syntax = optional_syntax
        self._quoting = quoting
        self._fields = FIELD if quoting is not Quoting.UNKNOWN else frozenset({"IDENTIFIER"})
        self._expression_depth = 0
        self._relation_depth = 0
        self._calculation_depth = 0

    def start(self) -> Expression:
        root = self._expression()
        if self._tokens.kind != END and not self._tokens.drop_extraneous(AT_END):
            self._tokens.mismatched(AT_END)
        return root

    def _report(self, offset: int, code: str, *arguments: object) -> ast.Failed:
        self._issues.report(offset, code, *arguments)
        return ast.Failed(offset)

    def _too_deep(self) -> StopParsingError:
        self._issues.report(NOWHERE, f"expression recursion limit exceeded: {MAX_DEPTH}")
        return StopParsingError()

    def _raised(self, node: Expression, *parts: Expression, by: int = 1) -> Expression:
        """The node, with a height above those of its parts."""
        height = 0
        for part in parts:
            if part.height > height:  # noqa: PLR1730 - a call of `max` would take longer than all the rest
                height = part.height
        node.height = height = height + by
        if height > MAX_DEPTH:
            self._issues.report(NOWHERE, "max recursion depth exceeded")
            raise StopParsingError
        return node

    def _within(self, follow: frozenset[str]) -> Expression:
        """An expression inside a construct that continues with one of these tokens."""
        self._tokens.follow.append(follow)
        node = self._expression()
        self._tokens.follow.pop()
        return node

    # -- operators

    def _expression(self) -> Expression:
        tokens = self._tokens
        self._expression_depth += 1
        if self._expression_depth > MAX_DEPTH:
            raise self._too_deep()
        node = self._operation(OR)
        if tokens.kind == "?":
            offset = tokens.advance()
            tokens.follow.append(IN_CHOICE)
            then = self._operation(OR)
            tokens.follow.pop()
            otherwise = self._expression() if tokens.colon("?") else ast.Failed(offset)
            node = self._raised(ast.Call(offset, "_?_:_", [node, then, otherwise]), node, then, otherwise)
        self._expression_depth -= 1
        return node

    def _operation(self, level: int) -> Expression:
        """An operand, combined with the operators after it that have at least this precedence.

        The depths are those of cel-go's parser, which counts the relations and the calculations that are open.
        """
        tokens = self._tokens
        relations, calculations = self._relation_depth, self._calculation_depth
        self._calculation_depth = calculations + 1
        if level <= RELATION:
            self._relation_depth = relations + 1
        if self._relation_depth > MAX_DEPTH or self._calculation_depth > MAX_DEPTH:
            raise self._too_deep()
        node = self._operand()
        found = OPERATORS.get(tokens.kind)
        while found is not None and found[1] >= level:
            function, own_level = found
            if own_level < RELATION:
                self._relation_depth, self._calculation_depth = relations, calculations
                node = self._terms(node, function, own_level)
            else:
                offset = tokens.advance()
                if own_level == RELATION:
                    self._relation_depth, self._calculation_depth = relations + 2, calculations
                right = self._operation(own_level + 1)
                node = self._raised(ast.Call(offset, function, [node, right]), node, right)
            found = OPERATORS.get(tokens.kind)
        self._relation_depth, self._calculation_depth = relations, calculations
        return node

    def _terms(self, first: Expression, function: str, level: int) -> Expression:
        """A chain of `&&` or of `||`, which is one node."""
        tokens = self._tokens
        mark, offset = tokens.kind, tokens.offset
        terms = [first]
        while tokens.kind == mark:
            tokens.advance()
            terms.append(self._operation(level + 1))
        return self._raised(ast.Call(offset, function, terms), *terms, by=0)

    def _operand(self) -> Expression:
        tokens = self._tokens
        mark = tokens.kind
        if mark == "IDENTIFIER":
            return self._member(self._name())
        if mark not in OPERAND:
            if tokens.is_recovering or not tokens.drop_extraneous(OPERAND):
                tokens.mismatched(OPERAND, AFTER_MEMBER)
                return ast.Failed(tokens.offset)
            mark = tokens.kind
        if mark not in {"!", "-"} or (mark == "-" and tokens.ahead(1) in NUMBERS):
            return self._member(self._primary())
        offset = tokens.offset
        odd = False
        while tokens.kind == mark and (mark == "!" or tokens.ahead(1) in NEGATED):
            tokens.advance()
            odd = not odd
        if tokens.kind == "-" and tokens.ahead(1) not in NUMBERS:
            tokens.no_alternative(AFTER_MEMBER)
            return ast.Failed(offset)
        if mark == "!":
            tokens.unwanted(OPERAND)
        operand = self._member(self._primary())
        if not odd:
            return operand
        return self._raised(ast.Call(offset, "!_" if mark == "!" else "-_", [operand]), operand, by=0)

    # -- operands

    def _primary(self) -> Expression:
        kind = self._tokens.kind
        if kind in {"IDENTIFIER", "."}:
            return self._name()
        if kind not in OPERAND or kind == "!" or (kind == "-" and self._tokens.ahead(1) not in NUMBERS):
            self._tokens.mismatched(OPERAND)  # after a `!`, which has reported it
            return ast.Failed(self._tokens.offset)
        if kind not in OPENING:
            return self._literal()
        offset = self._tokens.advance()
        if kind == "(":
            node = self._within(IN_PARENTHESES)
            self._tokens.expect(")")
            return node
        return self._list(offset) if kind == "[" else self._map(offset)

    def _opens(self, expected: frozenset[str], stop: frozenset[str] = AFTER_PRIMARY) -> bool:
        """Whether the next token fits a construct that has just begun; if not, the construct has ended."""
        if self._tokens.kind in expected or self._tokens.drop_extraneous(expected):
            return True
        self._tokens.mismatched(expected, stop)
        return False

    def _literal(self) -> Expression:
        tokens = self._tokens
        offset, sign = tokens.offset, ""
        if tokens.kind == "-":
            sign = tokens.take()
        kind = tokens.kind
        try:
            return ast.Literal(offset, literals.value_of(kind, sign + tokens.take()))
        except ValueError as error:
            return self._report(offset, str(error))

    def _name(self) -> Expression:
        tokens = self._tokens
        start = tokens.offset
        dot = ""
        if tokens.kind == ".":
            if tokens.ahead(1) != "IDENTIFIER":
                tokens.no_alternative(AFTER_PRIMARY)  # the dot is then read as one after an operand
                return ast.Failed(start)
            tokens.advance()
            dot = "."
        offset = tokens.offset
        text = tokens.take()
        name = dot + text
        if tokens.has_braces:
            struct = self._struct(name)
            if struct is not None:
                return struct
        is_call = tokens.kind == "("
        if text in RESERVED:
            if is_call:
                tokens.advance()
                self._arguments(IN_ARGUMENTS, AFTER_PRIMARY)
            return self._report(start, RESERVED_NAME, text)
        if not is_call:
            return ast.Ident(offset, name)
        return self._call(tokens.advance(), name, self._arguments(IN_ARGUMENTS, AFTER_PRIMARY))

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
        entries: list[ast.Entry] = []
        start = self._tokens.offset

        def read() -> bool:
            optional = self._optional_mark()
            self._tokens.follow.append(COLON)
            field = self._field_name(start, COLON)
            self._tokens.follow.pop()
            colon = self._tokens.offset
            if not self._tokens.colon("entry"):
                return False
            if field is None and self._quoting is not Quoting.UNKNOWN:
                self._report(start, "unsupported ident kind")
            entries.append(ast.Entry(colon, field or "", self._within(IN_MAP), optional=optional))
            return True

        self._inside("}", self._fields, read)
        node = ast.StructExpression(offset, name, entries)
        return self._raised(node, *node.children(), by=0)

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

        def read() -> bool:
            if self._optional_mark():
                optional.add(len(elements))
            elements.append(self._within(IN_LIST))
            return True

        self._inside("]", OPERAND, read)
        return self._raised(ast.ListExpression(offset, elements, frozenset(optional)), *elements, by=0)

    def _map(self, offset: int) -> Expression:
        entries: list[ast.Entry] = []

        def read() -> bool:
            optional = self._optional_mark()
            key = self._within(COLON)
            colon = self._tokens.offset
            if not self._tokens.colon("entry"):
                return False
            entries.append(ast.Entry(colon, key, self._within(IN_MAP), optional=optional))
            return True

        self._inside("}", OPERAND, read)
        node = ast.MapExpression(offset, entries)
        return self._raised(node, *node.children(), by=0)

    def _inside(self, closing: str, starts: frozenset[str], read: Callable[[], bool]) -> None:
        """The entries in brackets, and the closing bracket.

        Args:
            starts: The tokens that an entry starts with, besides a question mark.
            read: Reads an entry; False if that ends early.
        """
        tokens = self._tokens
        if not self._opens(starts.union({closing}, ",?")):
            return
        if tokens.kind == ",":
            tokens.advance()
        elif not self._entries(closing, starts, read):
            return
        tokens.expect(closing)

    def _entries(self, closing: str, starts: frozenset[str], read: Callable[[], bool]) -> bool:
        """The entries in brackets, up to the closing bracket; False if their construct has ended."""
        tokens = self._tokens
        tokens.follow.append(AFTER_PRIMARY | {closing, ","})
        has_ended = False
        while tokens.kind in starts or tokens.kind == "?":
            if not read() or tokens.kind != ",":
                has_ended = True
                break
            tokens.advance()
        tokens.follow.pop()
        return not has_ended or tokens.entry_ended(closing)

    def _arguments(self, follow: frozenset[str], stop: frozenset[str]) -> list[Expression]:
        arguments: list[Expression] = []
        if not self._opens(OPENED_CALL, stop):
            return arguments
        if self._tokens.kind != ")":
            arguments.append(self._within(follow))
            while self._tokens.kind == ",":
                self._tokens.advance()
                arguments.append(self._within(follow))
        self._tokens.expect(")", stop)
        return arguments

    # -- after an operand

    def _member(self, node: Expression) -> Expression:
        tokens = self._tokens
        try:
            while True:
                if tokens.kind == ".":
                    node = self._dot(node)
                elif tokens.kind == "[":
                    node = self._index(node)
                else:
                    return node
        except MemberEndedError as end:
            return end.node

    def _index(self, operand: Expression) -> Expression:
        offset = self._tokens.advance()
        if not self._opens(OPENED_INDEX, AFTER_MEMBER):
            raise MemberEndedError(ast.Failed(offset))
        optional = self._tokens.kind == "?"
        if optional:
            self._tokens.advance()
        index = self._within(IN_INDEX)
        if not self._tokens.expect("]", AFTER_MEMBER):
            raise MemberEndedError(ast.Failed(offset))
        if optional and not self._optional_syntax:
            return self._report(offset, "unsupported syntax '[?'")
        return self._raised(ast.Call(offset, "_[?_]" if optional else "_[_]", [operand, index]), operand, index)

    def _dot(self, operand: Expression) -> Expression:
        tokens = self._tokens
        following = tokens.ahead(1)
        if following != "IDENTIFIER" and following not in self._fields and following != "?":
            tokens.no_field(operand)
        dot = tokens.advance()
        if following != "IDENTIFIER":
            return self._special_field(operand, dot)
        field = tokens.take()
        if tokens.kind == "(":
            offset = tokens.advance()
            arguments = self._arguments(IN_METHOD, AFTER_MEMBER)
            return self._raised(self._call(offset, field, arguments, operand), operand, *arguments)
        return self._raised(ast.Select(dot, operand, field), operand)

    def _special_field(self, operand: Expression, dot: int) -> Expression:
        """The special forms after a dot: a question mark, a name in quotes."""
        tokens = self._tokens
        optional = tokens.kind == "?"
        if optional:
            tokens.advance()
        at = tokens.offset
        field = self._field_name(at, tokens.can_follow())
        if field is None:
            return ast.Failed(at) if self._quoting is Quoting.UNKNOWN else self._report(at, "unsupported ident kind")
        if not optional:
            return self._raised(ast.Select(dot, operand, field), operand)
        if not self._optional_syntax:
            return self._report(dot, "unsupported syntax '.?'")
        return self._raised(ast.Call(dot, "_?._", [operand, ast.Literal(at, field)]), operand)

    def _field_name(self, offset: int, following: frozenset[str]) -> str | None:
        """The name of a field, empty if it is missing; None if its construct has ended."""
        if self._quoting is Quoting.UNKNOWN:
            return self._tokens.takes("IDENTIFIER", following)
        if not self._opens(FIELD):
            return None
        name = self._tokens.take()
        if name[0] != "`":
            return name
        if self._quoting is Quoting.REFUSED:
            self._report(offset, "unsupported syntax: '`'")
        return name[1:-1]

    def _call(
        self, offset: int, function: str, arguments: list[Expression], target: Expression | None = None
    ) -> Expression:
        member = target is not None
        macro = self._macros.get((function, len(arguments), member)) or self._macros.get((function, ANY_ARITY, member))
        if macro is not None:
            self._budget.spend(_COST_OF_MACRO)
            try:
                expanded = macro.expand(Builder(offset), arguments if target is None else (target, *arguments))
            except MacroError as error:
                return self._report(error.offset, error.message)
            if expanded is not None:
                return self._raised(expanded, *arguments, by=0)
        return self._raised(ast.Call(offset, function, arguments, target), *arguments, by=0)
