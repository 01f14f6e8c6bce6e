"""What names rules in options, comments, annotations and the configuration file.

A name is that of a rule (``unknown-field``), a pattern of such names (``cel-*``), or ``policy/NAME`` for what a policy
says.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webhook.findings import Finding

POLICY: Final = "policy/"
"""Precedes the name of a policy."""
_MAGIC: Final = frozenset("*?[")


class UnknownRuleError(ValueError):
    """There is no rule of a name; the text says which one was probably meant."""


def names_in(text: str) -> list[str]:
    """Return the names that a text lists, parted by commas."""
    return [name for each in text.split(",") if (name := each.strip())]


def check(names: Iterable[str]) -> None:
    """Check names.

    Raises:
        UnknownRuleError: One of them names nothing.
    """
    from webhook.explain.names import is_rule, rule_names  # noqa: PLC0415 - only who names rules pays for their names

    for name in dict.fromkeys(names):
        if name.startswith(POLICY):
            continue
        if not _MAGIC.isdisjoint(name):
            if any(fnmatchcase(each, name) for each in rule_names()):
                continue
        elif is_rule(name):
            continue
        from difflib import get_close_matches  # noqa: PLC0415 - needed for mistakes only

        near = get_close_matches(name, rule_names(), 1)
        hint = f"did you mean {near[0]}?" if near else "`draguard explain` lists the rules"
        message = f"there is no rule {name}; {hint}"
        raise UnknownRuleError(message)


def called(finding: Finding) -> Iterator[str]:
    """Return the names that a finding can be called by, the most special one first."""
    if finding.origin is not None:
        yield f"{POLICY}{finding.origin.name}"
    yield finding.problem.rule


def names(name: str, finding: Finding) -> bool:
    """Tell whether a name names the rule of a finding."""
    if _MAGIC.isdisjoint(name):
        return name in called(finding)
    return any(fnmatchcase(each, name) for each in called(finding))
