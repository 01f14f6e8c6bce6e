"""Names of rules, collected lazily: collecting all takes longer than judging a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Final

from webhook.explain.general import EVERY_FIELD, EVERY_OBJECT, OF_EVALUATION, OF_POLICIES, OF_SUITES, OF_UPDATES
from webhook.references.lookup import FIRST, every_rule, rules_of


def is_rule(name: str) -> bool:
    """Tell whether there is a rule of this name."""
    return any(name in names for _, names in _groups())


def has_match(pattern: str) -> bool:
    """Tell whether a pattern such as ``cel-*`` matches a rule."""
    return any(fnmatchcase(each, pattern) for _, names in _groups() for each in names)


@cache
def rule_names() -> tuple[str, ...]:
    """List the names of all rules."""
    return tuple(sorted({name for _, names in _groups() for name in names}))


@lru_cache(maxsize=1024)
def needs(pattern: str) -> Collection[str]:
    """Return what a run must do or know for each rule of a pattern to find anything; empty if nothing special.

    Returns:
        ``policies`` (evaluate policies), ``check`` or ``test`` (check policies themselves), ``old`` (know earlier
        states), ``others`` (know the objects referred to), ``scan`` (look at a cluster).
    """
    of_pattern = (name for name in rule_names() if fnmatchcase(name, pattern))
    return {next((need for need, names in _groups() if name in names), "") for name in of_pattern}


def _groups() -> Iterator[tuple[str, Collection[str]]]:
    """Yield the names, the quickly known ones first, each group with what they need."""
    yield "policies", OF_EVALUATION
    yield "old", {*OF_UPDATES, "immutable"}
    yield "others", {"admin-access", "admin-access-of-template", "admin-access-allocated"}
    yield "check", OF_POLICIES
    yield "test", OF_SUITES
    yield "others", {each.name for module in FIRST for each in rules_of(module)}
    yield "", {**EVERY_OBJECT, **EVERY_FIELD}
    from webhook.explain.places import names_of_types, rules_of_policies  # see the module

    yield "old", names_of_types(compares=True) - names_of_types(compares=False)
    yield "", names_of_types()
    yield "others", every_rule()  # those about selectors import the CEL engine
    from webhook.scan import every_rule as rules_of_clusters

    yield "scan", rules_of_clusters()
    yield "check", rules_of_policies()


def texts(names: Iterable[str]) -> dict[str, str]:
    """Return the texts of rules, by name; paragraphs are separated by empty lines."""
    known = _texts()
    return {name: known.get(name, name) for name in names}


@cache
def _texts() -> Mapping[str, str]:
    from webhook.explain.places import kinds, rules  # takes longer than judging a file

    return {name: rule.doc for name, rule in rules(kinds(), None).items()}


HOME: Final = "https://github.com/draguard/draguard"
"""The address of the project."""


def page(rule: str) -> str:
    """Return the address of a rule in the index of rules, where its example is one step away."""
    return f"{HOME}/blob/main/docs/rules/README.md#{rule}"
