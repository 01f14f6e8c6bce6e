"""Rewrites comparisons in device selectors that have one possible meaning into their form in CEL."""

from __future__ import annotations

import re
from functools import partial

from webhook.formats.identifiers import near_semver
from webhook.formats.quantities import readable_quantity
from webhook.problem import Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_CAPACITY: Final = r"""(device\.capacity\[["'][^"']+["']\]\.\w+)"""
_ATTRIBUTE: Final = r"""(device\.attributes\[["'][^"']+["']\]\.\w+)"""
TEXT: Final = r"""("[^"\\]*"|'[^'\\]*')"""
"""Matches a text."""
_AMOUNT: Final = r"""(?P<amount>"[^"\\]*"|'[^'\\]*')"""
"""Matches a text that is meant as a quantity."""
_NUMBERS: Final = r"[0-9]+(?:\.[0-9]+){0,2}"
_VERSION: Final = rf"""(?P<version>"{_NUMBERS}"|'{_NUMBERS}'|[0-9]+(?:\.[0-9]+)?)"""
"""Matches a text or number that is meant as a version."""
ORDER: Final = r"(>=|<=|>|<)"
"""Matches an operator of quantities and versions in other languages."""
NO_FURTHER: Final = r"(?!\s*(?:[-=!<>+*/%.\[\w]|in\b))"
"""Matches the end of a side of a comparison."""
_BARE: Final = rf"([0-9]+(?:\.[0-9]+)?(?:[KMGTPE]i|[kMGTPE]))\b{NO_FURTHER}"
"""Matches an amount with a unit, without quotes."""
_NUMBER: Final = rf"([0-9]+(?:\.[0-9]+)?)\b{NO_FURTHER}"
BARE_AMOUNT: Final = re.compile(r"""\bquantity\(\s*([0-9.]+(?:[KMGTPE]i|[kMGTPE]))\s*\)""")
"""Matches a quantity without the quotes around its amount."""
_VERSION_ALONE: Final = re.compile(rf"{_ATTRIBUTE}\.(isGreaterThan|isLessThan|compareTo)\({_VERSION}\)")
_REWRITTEN: Final = (
    (BARE_AMOUNT, r'quantity("\1")'),
    (_VERSION_ALONE, r"\1.\2(semver(\3))"),
    (re.compile(rf"quantity\(\s*{_CAPACITY}\s*\)"), r"\1"),
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*(quantity\({_AMOUNT}\))"), r"\1.compareTo(\3) \2 0"),
    (re.compile(rf"(quantity\({_AMOUNT}\))\s*{ORDER}\s*{_CAPACITY}{NO_FURTHER}"), r"\1.compareTo(\4) \3 0"),
    (re.compile(rf"{_ATTRIBUTE}\s*{ORDER}\s*(semver\({TEXT}\))"), r"\1.compareTo(\3) \2 0"),
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*{_AMOUNT}"), r"\1.compareTo(quantity(\3)) \2 0"),
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*{_BARE}"), r'\1.compareTo(quantity("\3")) \2 0'),
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_AMOUNT}"), r"\1 \2 quantity(\3)"),
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_BARE}"), r'\1 \2 quantity("\3")'),
    (re.compile(rf"{_CAPACITY}\.(isGreaterThan|isLessThan|compareTo)\({_AMOUNT}\)"), r"\1.\2(quantity(\3))"),
    (re.compile(rf"{_CAPACITY}\.value\b(?!\()"), r"\1"),
    (re.compile(r"""device\.(attributes|capacity)\[["']([^"'/]+)/(\w+)["']\]"""), r'device.\1["\2"].\3'),
)
"""Comparisons and reads with one possible meaning, and their form in CEL."""
_UNIT: Final = '; units follow the number, as in "40Gi"'
_SHOWN: Final = (
    (re.compile(rf"{_CAPACITY}\s*{ORDER}\s*{_NUMBER}"), rf'\1.compareTo(quantity("\3")) \2 0{_UNIT}'),
    (re.compile(rf"{_CAPACITY}\s*(==|!=)\s*{_NUMBER}"), rf'\1 \2 quantity("\3"){_UNIT}'),
)
"""Comparisons with a number, whose unit only the author knows, and what is said of them."""


def rewritten(expression: str) -> Fix | None:
    """Rewrite all comparisons of an expression; None if there is none to rewrite."""
    corrected = expression
    for pattern, replacement in _REWRITTEN:
        corrected = pattern.sub(partial(_replacement, replacement), corrected)
    is_safe = not any(near_semver(each["version"].strip("\"'")) for each in _VERSION_ALONE.finditer(expression))
    return Fix("replace", corrected, safe=is_safe) if corrected != expression else None


def rewritten_at(expression: str, place: int) -> str:
    """Rewrite the comparison around an offset in an expression; empty if there is none to rewrite."""
    for pattern, replacement in _REWRITTEN + _SHOWN:
        for match in pattern.finditer(expression):
            if match.start() <= place < match.end() and (form := _replacement(replacement, match)) != match[0]:
                return form
    return ""


def _replacement(replacement: str, match: re.Match[str]) -> str:
    """Return a comparison in the form that CEL requires; unchanged if the text is not a valid quantity."""
    amount, version = (match.groupdict().get(name) for name in ("amount", "version"))
    if amount is not None and readable_quantity(amount[1:-1]) is None:
        return match[0]
    form = match.expand(replacement)
    return form.replace(f"({version})", f"({_versioned(version)})") if version else form


def _versioned(written: str) -> str:
    """Return a text with three numbers for a version that may have fewer, or be a number."""
    numbers = written.strip("\"'")
    quote = '"' if numbers == written else written[0]
    return f"{quote}{near_semver(numbers) or numbers}{quote}"
