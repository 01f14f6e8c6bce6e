"""Limits on the text of an expression (cel-go parser/parser.go, NewParser)."""

from __future__ import annotations

from typing import Final

MAX_CODE_POINTS: Final = 100_000
MAX_DEPTH: Final = 250
MAX_RECOVERIES: Final = 30
MAX_ELEMENTS: Final = 1 << 22
"""The longest list or text that an expression may build; cel-go has no such bound, but joins lists without copying."""
MAX_BYTES: Final = 64 << 20
"""The bytes of texts, lists and maps that evaluations sharing a meter may build; cel-go has no such bound."""
MAX_RANGE: Final = 1_000_000
"""The longest `lists.range`, whose numbers take ten times the memory; in Kubernetes it costs more than is allowed."""
