"""Applies every reference rule to an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, Final

from webhook.inventory import CLAIMS, devices_path
from webhook.objects import JSONObject, items, mapping
from webhook.problem import Fix, Path, Problem
from webhook.references.rules import RULES, Context, Rule

Lookup = tuple[str, Path]
"""The kind of an object that is not looked up, and the field that names it."""

_SELECTING: Final = frozenset({*CLAIMS, "DeviceClass"})
"""The kinds that only request devices."""

_ALWAYS: Final = ("claims", "parameters", "constraints")
"""The modules with rules that are imported with this package: they import little else."""
_OF_CAPACITY: Final = ("capacities",)
"""Those about the capacities that few requests ask for; they import the allocator, as do the next."""
_OF_TOLERATIONS: Final = ("taints",)
"""Those about the taints of devices that few requests tolerate."""
_OF_OTHERS: Final[Mapping[str, Sequence[str]]] = {
    "ResourceSlice": ("slices",),
    "Pod": ("pods",),
    "PodGroup": ("pods",),
    "DeviceTaintRule": _OF_TOLERATIONS,
    "Role": ("roles",),
    "ClusterRole": ("roles",),
    "ResourceQuota": ("quotas",),
}
"""Those about the other kinds, which a claim or class does not need."""
_OF_SELECTORS: Final = ("attributes", "selectors", "guards")
"""Those about selectors; they import the CEL engine, which most objects do not need."""
_OF_DEVICES: Final = ("devices", "allocation")
"""Those about published devices; they import the allocator."""
_ORDER: Final = (
    *(_ALWAYS + _OF_CAPACITY + _OF_TOLERATIONS),
    *dict.fromkeys(chain.from_iterable(_OF_OTHERS.values())),
    *(_OF_SELECTORS + _OF_DEVICES),
)
"""All modules with rules: those come first that explain more, such as what devices lack, before their number."""


def apply_rules(
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
        context: The context of the rules.
        skipped: Counts the lookups skipped because no object of the kind is known, by kind and field.
        only_of_fields: Whether to apply only rules about single fields, as the object has errors in others.
    """
    _declare_rules(obj, kind, context)
    devices = mapping(obj, "spec") if kind == "DeviceClass" else mapping(obj, *devices_path(obj))
    reported: dict[Path, dict[int | None, Rule]] = {}
    fixed_by: dict[tuple[Path, Fix], Rule] = {}
    for each in rules_for(kind, len(RULES), has_devices=context.fleet is not None):
        if (only_of_fields and not each.of_field) or (each.part and not devices.get(each.part)):
            continue
        for problem in each.check(obj, context):
            if _is_explained(problem, each, reported.get(problem.path, {})):
                continue
            if each.beside_devices or problem.path[-1:] == ("expression",):
                reported.setdefault(problem.path, {})[problem.character] = each
            if each.needs and not any(map(context.inventory.knows, each.needs)):
                if skipped is not None:
                    skipped[each.needs[0], problem.path] += 1
                continue
            if problem.fix and fixed_by.setdefault((problem.path, problem.fix), each) != each:
                continue  # an earlier rule has found the same mistake
            yield problem._replace(rule=each.name, level=each.level)


def _is_explained(problem: Problem, rule: Rule, reported: Mapping[int | None, Rule]) -> bool:
    """Tell whether another rule, which explains more, has found something there: rules are in this order."""
    others = {place: each for place, each in reported.items() if each.name != rule.name}
    if rule.of_reads and all(each.of_reads for each in others.values()):
        return problem.character in others
    return bool(others)


@cache
def rules_for(kind: str, _declared: int, *, has_devices: bool) -> list[Rule]:
    """Return the rules for a kind that are declared so far, in order, whichever was imported first."""
    ordered = sorted(RULES.values(), key=_place)
    return [each for each in ordered if kind in each.kinds and (has_devices or not each.beside_devices)]


def _place(rule: Rule) -> int:
    return _ORDER.index(rule.check.__module__.rpartition(".")[2])


def _declare_rules(obj: JSONObject, kind: str, context: Context) -> None:
    """Declare the rules that may apply to an object."""
    if context.inventory.knows("ResourceSlice"):
        every_rule()
        return
    if kind not in _SELECTING:
        _declare(_OF_OTHERS.get(kind, ()))
        return
    contents = [each.content for each in context.requests(obj)] if kind in CLAIMS else []
    if any(mapping(each, "capacity") for each in contents):
        _declare(_OF_CAPACITY)
    if any(items(each, "tolerations") for each in contents):
        _declare(_OF_TOLERATIONS)
    if _has_selectors(obj.get("spec")):
        _declare(_OF_SELECTORS)


def every_rule() -> dict[str, Rule]:
    """Return all rules, in order, whichever was imported first."""
    _declare(_ORDER)
    return dict(sorted(RULES.items(), key=lambda item: _place(item[1])))


@cache
def _declare(modules: Sequence[str]) -> None:
    """Declare the rules of modules, by importing them."""
    for module in modules:
        import_module(f"webhook.references.{module}")


def _has_selectors(obj: Any) -> bool:
    """Tell whether an object has selectors."""
    if isinstance(obj, dict):
        return bool(obj.get("selectors")) or any(map(_has_selectors, obj.values()))
    return isinstance(obj, list) and any(map(_has_selectors, obj))
