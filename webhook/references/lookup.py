"""Applies every reference rule to an object."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from webhook.inventory import CLAIMS, devices_path
from webhook.objects import items
from webhook.references.rules import RULES, Context, Rule

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

    from webhook.objects import JSONObject
    from webhook.problem import Path, Problem

    Lookup = tuple[str, Path]
    """The kind of an object that is not looked up, and the field that names it."""

_SELECTING: Final = frozenset({*CLAIMS, "DeviceClass"})
"""The kinds that only request devices."""


def look(
    obj: JSONObject,
    kind: str,
    context: Context,
    skipped: Counter[Lookup] | None = None,
    *,
    only_of_fields: bool = False,
) -> Iterator[Problem]:
    """Apply all rules for a kind.

    Args:
        obj: The object, in the newest version; a pod for a pod template.
        kind: Its kind.
        context: The context of the rules.
        skipped: Counts the lookups skipped because no object of the kind is known, by kind and field.
        only_of_fields: Whether to apply only rules about single fields, as the object has errors in others.
    """
    _declare_rules(obj, kind, context)
    said: dict[Path, dict[int | None, Rule]] = {}
    for each in _rules(kind, len(RULES), has_devices=context.fleet is not None):
        if only_of_fields and not each.of_field:
            continue
        for problem in each.check(obj, context):
            if _is_explained(problem, each, said.get(problem.path, {})):
                continue
            if each.beside_devices or problem.path[-1:] == ("expression",):
                said.setdefault(problem.path, {})[problem.character] = each
            if each.needs and not any(map(context.inventory.knows, each.needs)):
                if skipped is not None:
                    skipped[each.needs[0], problem.path] += 1
                continue
            yield problem._replace(rule=each.name, level=each.level)


def _is_explained(problem: Problem, rule: Rule, said: Mapping[int | None, Rule]) -> bool:
    """Tell whether another rule, which explains more, has found something there: rules are in this order."""
    others = {place: each for place, each in said.items() if each.name != rule.name}
    if rule.of_reads and all(each.of_reads for each in others.values()):
        return problem.character in others
    return bool(others)


@cache
def _rules(kind: str, _declared: int, *, has_devices: bool) -> list[Rule]:
    """Return the rules for a kind that are declared so far."""
    return [each for each in RULES.values() if kind in each.kinds and (has_devices or not each.beside_devices)]


def _declare_rules(obj: JSONObject, kind: str, context: Context) -> None:
    """Declare the rules that may apply to an object."""
    if context.inventory.knows("ResourceSlice"):
        every_rule()
        return
    if kind not in _SELECTING:
        _rules_of_others()
        return
    if items(obj, *devices_path(obj), "constraints"):
        _rules_of_constraints()
    if _has_selectors(obj.get("spec")):
        _rules_of_selectors()


def every_rule() -> dict[str, Rule]:
    """Return all rules; those about devices import the allocator, which is needed only where devices are known."""
    _rules_of_constraints()
    _rules_of_others()
    _rules_of_selectors()
    for module in ("devices", "allocation"):  # in this order: what devices lack explains more than their number
        import_module(f"webhook.references.{module}")
    return RULES


def _rules_of_others() -> None:
    """Declare the rules about pods, slices and taints, which a claim or class does not need."""
    from webhook.references import counters, pods, slices, taints  # noqa: F401, PLC0415 - declare their rules


def _rules_of_constraints() -> None:
    """Declare the rules about constraints, which few claims have."""
    from webhook.references import constraints  # noqa: F401, PLC0415 - declares its rules


def _rules_of_selectors() -> None:
    """Declare the rules about selectors; they import the CEL engine, which most objects do not need."""
    from webhook.references import attributes, selectors  # noqa: F401, PLC0415 - declare their rules


def _has_selectors(obj: Any) -> bool:
    """Tell whether an object has selectors."""
    if isinstance(obj, dict):
        return bool(obj.get("selectors")) or any(map(_has_selectors, obj.values()))
    return isinstance(obj, list) and any(map(_has_selectors, obj))
