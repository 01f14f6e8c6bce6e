"""Names of rules, collected lazily: collecting all takes longer than judging a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from webhook.explain.general import EVERY_FIELD, EVERY_OBJECT, OF_EVALUATION, OF_POLICIES, OF_SUITES, OF_UPDATES
from webhook.references import RULES, every_rule


def is_rule(name: str) -> bool:
    """Tell whether there is a rule of this name."""
    return any(name in names for names in _groups())


def has_match(pattern: str) -> bool:
    """Tell whether a pattern such as ``cel-*`` matches a rule."""
    return any(fnmatchcase(each, pattern) for names in _groups() for each in names)


@cache
def rule_names() -> tuple[str, ...]:
    """List the names of all rules."""
    return tuple(sorted({name for names in _groups() for name in names}))


def needs(name: str) -> str:
    """Return what a run must do or know for a rule to find anything; empty if nothing special.

    Returns:
        ``policies`` (evaluate policies), ``check`` or ``test`` (check policies themselves), ``old`` (know earlier
        states), ``others`` (know the objects referred to), ``scan`` (look at a cluster).
    """
    for need, names in _NEEDS.items():
        if name in names:
            return need
    from webhook.explain.places import names_of_types  # see the module

    if name in names_of_types("transitions") and name not in names_of_types("checks"):
        return "old"
    if name in every_rule():
        return "others"
    from webhook.scan import every_rule as rules_of_clusters

    if name in rules_of_clusters():
        return "scan"
    from webhook.explain.places import rules_of_policies

    is_of_objects = name in EVERY_OBJECT or name in EVERY_FIELD or name in names_of_types()
    return "check" if not is_of_objects and name in rules_of_policies() else ""


_NEEDS: Final[Mapping[str, Collection[str]]] = {
    "policies": OF_EVALUATION,
    "old": {*OF_UPDATES, "immutable"},
    "others": {"admin-access", "admin-access-of-template", "admin-access-allocated"},
    "check": OF_POLICIES,
    "test": OF_SUITES,
}


def _groups() -> Iterator[Collection[str]]:
    """Yield the names, the quickly known ones first."""
    yield EVERY_OBJECT
    yield EVERY_FIELD
    from webhook.explain.places import names_of_types  # see the module

    yield names_of_types()
    yield RULES
    yield every_rule()  # those about selectors import the CEL engine
    from webhook.scan import every_rule as rules_of_clusters

    yield rules_of_clusters()
    from webhook.explain.places import rules_of_policies

    yield rules_of_policies()


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
