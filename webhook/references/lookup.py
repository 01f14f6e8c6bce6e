"""Applies every reference rule to an object."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from webhook.api.gates import enabled, settable
from webhook.api.versions import DEFAULT, find, release_of
from webhook.budget import INLINE, Budget, BudgetExceededError, current, limited
from webhook.inventory import Inventory, devices_path
from webhook.objects import JSONObject, mapping
from webhook.problem import WARNING, Fix, Path, Problem
from webhook.references.rules import RULES, SELECTING, WEBHOOKS, Context, Lookup, ReferenceRule, view_of

_OF_OTHERS: Final[Mapping[str, Sequence[str]]] = {
    "ResourceSlice": ("slices",),
    "Pod": ("pods",),
    "PodGroup": ("pods",),
    "DeviceTaintRule": ("taints",),
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), ("roles",)),
    "ResourceQuota": ("quotas",),
    **dict.fromkeys(WEBHOOKS, ("webhooks",)),
}
"""The modules with rules about the other kinds, which a claim or class does not need."""
_OF_FIELDS: Final = {"capacity": "capacities", "tolerations": "taints", "selectors": "selectors"}
"""The modules with rules about fields that few requests have."""
FIRST: Final = ("claims", "parameters")
"""The modules of most rules about claims: they import little else."""
_ORDER: Final = (
    *(*FIRST, "capacities", "taints"),  # the last two, and the last of all, import the allocator
    *("slices", "pods", "roles", "quotas", "webhooks"),
    "selectors",  # imports the CEL engine, which most objects do not need
    "devices",
)
"""All modules with rules: those come first that explain more, such as what devices lack, before their number."""


def apply_rules(
    obj: JSONObject,
    kind: str,
    context: Context,
    skipped: list[Lookup] | None = None,
    *,
    only_of_fields: bool = False,
    names: Collection[str] | None = None,
) -> Iterator[Problem]:
    """Apply all rules for a kind, or some of them.

    Args:
        obj: The object, in the newest version; a pod for a pod template.
        context: The context of the rules.
        skipped: Receives the lookups skipped because no object of the kind is known.
        only_of_fields: Whether to apply only rules about single fields, as the object has errors in others.
        names: The rules to apply; None for all.
    """
    devices = mapping(obj, *devices_path(obj))
    reported: dict[Path, dict[int | None, ReferenceRule]] = {}
    fixed_by: dict[tuple[Path, Fix], ReferenceRule] = {}
    for each in _rules_for(obj, kind, context):
        if (only_of_fields and not each.of_field) or (each.part and not devices.get(each.part)):
            continue
        if names is not None and each.name not in names:
            continue
        for problem in each.check(obj, context):
            if _is_explained(problem, each, reported.get(problem.path, {})):
                continue
            if each.beside_devices or problem.path[-1:] == ("expression",):
                reported.setdefault(problem.path, {})[problem.character] = each
            if each.needs and not any(map(context.inventory.knows, each.needs)):
                if skipped is not None:
                    skipped.append((each.needs[0], problem.path))
                continue
            if problem.fix and fixed_by.setdefault((problem.path, problem.fix), each) != each:
                continue  # an earlier rule has found the same mistake
            yield problem._replace(rule=each.name, level=each.level)


def _is_explained(problem: Problem, rule: ReferenceRule, reported: Mapping[int | None, ReferenceRule]) -> bool:
    """Tell whether another rule, which explains more, has found something there: rules are in this order."""
    others = {place: each for place, each in reported.items() if each.name != rule.name}
    if rule.of_reads and all(each.of_reads for each in others.values()):
        return problem.character in others
    return bool(others)


def _rules_for(obj: JSONObject, kind: str, context: Context) -> Sequence[ReferenceRule]:
    """Return the rules that may find something in an object, in order."""
    if context.inventory.knows("ResourceSlice"):
        return _rules_in(_ORDER, kind, context.fleet is not None)
    modules = _OF_OTHERS.get(kind, ())
    if kind in SELECTING:
        contents = [each.content for each in context.requests(obj)]
        modules = tuple([module for field, module in _OF_FIELDS.items() if any(each.get(field) for each in contents)])
    return _rules_in(modules, kind, False)  # noqa: FBT003 - as below


@cache
def _rules_in(modules: Sequence[str], kind: str, has_devices: bool) -> Sequence[ReferenceRule]:  # noqa: FBT001 - quicker so
    every = [each for module in dict.fromkeys((*FIRST, *modules)) for each in rules_of(module)]
    applying = [each for each in every if not (each.without_devices if has_devices else each.beside_devices)]
    return [each for each in applying if kind in each.kinds]


@cache
def rules_of(module: str) -> Sequence[ReferenceRule]:
    """Return the rules of a module, which is imported for them."""
    imported = import_module(f"webhook.references.{module}")
    return [each for each in RULES.values() if each.check.__module__ == imported.__name__]


@cache
def every_rule() -> Mapping[str, ReferenceRule]:
    """Return all rules, in order, whichever was imported first."""
    return {each.name: each for module in _ORDER for each in rules_of(module)}


def told(problem: Problem) -> str:
    """Write a finding with its hint, on one line."""
    return ": ".join(filter(None, (problem.message, problem.hint)))


class Surroundings:
    """The objects of a cluster, against which requests are checked.

    Args:
        kubernetes: The cluster's release, such as ``"1.36"``; None for the default one.
        feature_gates: Its feature gates that differ from the release's defaults; None if unknown.
    """

    def __init__(
        self, inventory: Inventory, kubernetes: str | None = None, feature_gates: Mapping[str, bool] | None = None
    ) -> None:
        release = release_of(kubernetes) if kubernetes else DEFAULT
        on = enabled(release, settable(feature_gates, release) if feature_gates else None)
        every_rule()
        self._context = Context(inventory, release, on)
        _ = self._context.fleet  # computed now, not at the first request

    def warnings(self, obj: object, namespace: str) -> list[Problem]:
        """Warn of references of an object to missing objects, and of those that cannot work.

        At most a part of the budget is spent: checks that take more are skipped, unless there is more time elsewhere.

        Args:
            obj: The object, as an API server sends it.
            namespace: Its namespace; empty if it has none.

        Raises:
            BudgetExceededError: It takes more work than may be done inline.
        """
        if not isinstance(obj, dict) or not isinstance(kind := obj.get("kind"), str):
            return []
        outer = current()
        try:
            with limited(Budget(max(outer.left, 0) // 2, outer.deadline)):
                return self._warnings(obj, kind, namespace)
        except BudgetExceededError:
            if outer.left <= INLINE:
                raise
            return []

    def _warnings(self, obj: JSONObject, kind: str, namespace: str) -> list[Problem]:
        # Undecoded values may have any type; slices change all the time.
        is_known = kind != "ResourceSlice" and find(obj.get("apiVersion"), kind) is not None
        if not is_known or (viewed := view_of(obj, kind, namespace)) is None:
            return []
        view, name, steps = viewed
        metadata = {**mapping(view, "metadata"), "namespace": namespace or "default"}
        found = apply_rules({**view, "metadata": metadata}, name, self._context)
        warnings = (each.below(steps, steps) for each in found if each.level == WARNING)
        # A warning has only a text.
        return [each._replace(message=f"{each.message} ({each.hint})") if each.hint else each for each in warnings]
