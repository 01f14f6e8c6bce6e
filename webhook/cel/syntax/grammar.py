"""The tokens of CEL's grammar, by what they can begin, follow or end (cel-go parser/gen/CEL.g4)."""

from __future__ import annotations

from enum import Enum
from typing import Final

from webhook.cel.syntax.lexer import END


class Quoting(Enum):
    """What becomes of fields in backquotes."""

    UNKNOWN = "the grammar does not have them"
    REFUSED = "they are parsed and refused"
    ALLOWED = "they are fields"


RESERVED: Final = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
CONSTANTS: Final = {"true": True, "false": False, "null": None}
NUMBERS: Final = frozenset({"NUM_INT", "NUM_FLOAT"})
OPERAND: Final = frozenset(
    {"[", "{", "(", ".", "-", "!", *CONSTANTS, *NUMBERS, "NUM_UINT", "STRING", "BYTES", "IDENTIFIER"}
)
NEGATED: Final = OPERAND - {"!"}
"""What can follow a minus before an operand."""
OPENING: Final = frozenset({"(", "[", "{"})
OPENED_CALL: Final = OPERAND | {")"}
OPENED_INDEX: Final = OPERAND | {"?"}
FIELD: Final = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
OR, AND, RELATION, SUM, PRODUCT = range(5)
"""The precedence of operators."""
OPERATORS: Final = {
    "||": ("_||_", OR), "&&": ("_&&_", AND),
    "<": ("_<_", RELATION), "<=": ("_<=_", RELATION), ">=": ("_>=_", RELATION), ">": ("_>_", RELATION),
    "==": ("_==_", RELATION), "!=": ("_!=_", RELATION), "in": ("@in", RELATION),
    "+": ("_+_", SUM), "-": ("_-_", SUM), "*": ("_*_", PRODUCT), "/": ("_/_", PRODUCT), "%": ("_%_", PRODUCT),
}  # fmt: skip
AT_END: Final = frozenset({END})
COLON: Final = frozenset({":"})
IN_CHOICE: Final = frozenset({":"})
"""A set of its own, for what can follow the choice before a colon: unlike elsewhere, no question mark can."""
# ANTLR's recovery stops at what can follow any rule that is being read: for a member, that is an operator; for a
# primary, also a dot or a bracket.
AFTER_MEMBER: Final = frozenset({*OPERATORS, "?"})
AFTER_PRIMARY: Final = AFTER_MEMBER | {".", "["}
IN_ARGUMENTS: Final = AFTER_PRIMARY | {",", ")"}
IN_METHOD: Final = AFTER_MEMBER | {",", ")"}
IN_INDEX: Final = AFTER_MEMBER | {"]"}
IN_PARENTHESES: Final = AFTER_PRIMARY | {")"}
IN_LIST: Final = AFTER_PRIMARY | {",", "]"}
IN_MAP: Final = AFTER_PRIMARY | {",", "}"}
NOTHING: Final = frozenset[str]()
