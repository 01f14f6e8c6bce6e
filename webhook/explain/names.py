"""Names of rules, at the price of what is needed to know them: to collect all takes longer than to judge a file."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from webhook.explain.general import EVERY_FIELD, EVERY_OBJECT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def is_rule(name: str) -> bool:
    """Tell whether there is a rule of this name."""
    return any(name in names for names in _groups())


def has_match(pattern: str) -> bool:
    """Tell whether there is a rule that a pattern such as ``cel-*`` is about."""
    return any(fnmatchcase(each, pattern) for names in _groups() for each in names)


def rule_names() -> list[str]:
    """List the names of all rules."""
    return sorted({name for names in _groups() for name in names})


def needs(name: str) -> str:
    """Return what a run must know for a rule to find anything: ``policies``, ``old`` or ``others``; else nothing."""
    from webhook.explain.places import names_of_types  # noqa: PLC0415 - see the module

    if name in _OF_POLICIES:
        return "policies"
    if name in _OF_UPDATES or (name in names_of_types("transitions") and name not in names_of_types("checks")):
        return "old"
    from webhook.references import every_rule  # noqa: PLC0415 - as above

    return "others" if name in every_rule() or name in _OF_NAMESPACES else ""


_OF_POLICIES: Final = frozenset({"policy", "policy-error", "assumed"})
_OF_UPDATES: Final = frozenset(
    {"immutable", "old-object", "old-version", "name", "uid", "resource-version", "spec-ignored", "status-ignored"}
)
_OF_NAMESPACES: Final = frozenset({"admin-access", "admin-access-of-template", "admin-access-allocated"})


def _groups() -> Iterator[Collection[str]]:
    """Go through the names, those first that are known at once."""
    yield EVERY_OBJECT
    yield EVERY_FIELD
    from webhook.explain.places import names_of_types  # noqa: PLC0415 - see the module

    yield names_of_types()
    from webhook.references import RULES, every_rule  # noqa: PLC0415 - as above

    yield RULES
    yield every_rule()  # those about selectors come with the CEL engine
    from webhook.explain.places import rules_of_policies  # noqa: PLC0415 - as above

    yield rules_of_policies()
