"""Names of rules in options, comments, annotations and the configuration file.

A name is that of a rule (``unknown-field``), a pattern of such names (``cel-*``), or ``policy/NAME`` for findings of a
policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from webhook.findings import Finding
from webhook.spelling import did_you_mean

POLICY: Final = "policy/"
"""Precedes the name of a policy."""
_MAGIC: Final = frozenset("*?[")
_MAX: Final = 300
"""The most characters of a name: policies' names have at most 253."""
_LONGEST: Final = 100
"""The most characters of a name that is shown, and for which suggestions are made."""


class UnknownRuleError(ValueError):
    """A rule does not exist; the message suggests the intended one."""


def names_in(text: str) -> list[str]:
    """Return the names in a comma-separated text."""
    return [name for each in text.split(",") if (name := each.strip())]


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Tell whether a name can name a rule; names of policies are not checked."""
    from webhook.explain.names import has_match, is_rule  # needed only to name rules

    if len(name) > _MAX:
        return False
    return name.startswith(POLICY) or (has_match if _MAGIC.intersection(name) else is_rule)(name)


def suggestion(name: str) -> str:
    """Suggest the intended rule for an unknown name."""
    from webhook.explain.names import rule_names  # needed for mistakes only

    return did_you_mean(name, rule_names() if len(name) <= _LONGEST else (), "`draguard explain` lists the rules")


def check(names: Iterable[str]) -> None:
    """Check names.

    Raises:
        UnknownRuleError: One of them matches no rule.
    """
    for name in names:
        if not is_known(name):
            raise UnknownRuleError(f"unknown rule {name[:_LONGEST]}; {suggestion(name)}")


def called(finding: Finding) -> Iterator[str]:
    """Return the names that match a finding, the most specific one first."""
    if finding.origin is not None:
        yield f"{POLICY}{finding.origin.name}"
    yield finding.problem.rule


def names(name: str, finding: Finding) -> bool:
    """Tell whether a name matches the rule of a finding."""
    return any(each == name or fnmatchcase(each, name) for each in called(finding))


def any_names(rules: Iterable[str], finding: Finding, used: set[str]) -> bool:
    """Tell whether any of some names matches the rule of a finding.

    Args:
        used: Receives the names that do.
    """
    matching = [name for name in rules if names(name, finding)]
    used.update(matching)
    return bool(matching)
