"""Rules about DeviceTaintRules."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.allocation.features import MISSING_SELECTS_NOTHING_SINCE
from webhook.objects import JSONObject, at, items, mapping, text
from webhook.problem import Problem
from webhook.references.rules import Context, finding, in_place, rule


@rule("taint-rule-selects-all", "DeviceTaintRule")
def taint_rule_selects_all(taint_rule: JSONObject, context: Context) -> Iterator[Problem]:
    """A DeviceTaintRule selects every device of the cluster.

    An empty deviceSelector matches all devices of all drivers, and so does a missing one in the scheduler before
    Kubernetes 1.38. With the effect NoExecute, every pod that uses a device is evicted, at once. State a driver, a pool
    or a device.
    """
    selector = at(taint_rule, "spec", "deviceSelector")
    if selector or (selector is None and context.release >= MISSING_SELECTS_NOTHING_SINCE):
        return
    effect = text(taint_rule, "spec", "taint", "effect")
    what = {"NoExecute": "evicts every pod that uses a device", "NoSchedule": "keeps new pods from every device"}
    present = ("spec",) if selector is None else ("spec", "deviceSelector")
    message = f"the rule selects every device of every driver, and {what.get(effect, 'taints all of them')}"
    yield finding(present, message, "state a driver, pool or device in deviceSelector", "SelectsAll")


@rule("taint-rule-selects-nothing", "DeviceTaintRule", needs=("ResourceSlice",))
def taint_rule_selects_nothing(taint_rule: JSONObject, context: Context) -> Iterator[Problem]:
    """A DeviceTaintRule names a driver, pool or device that no slice publishes, so it taints nothing."""
    if not context.knows_all_slices:
        return
    selector = mapping(taint_rule, "spec", "deviceSelector")
    slices = context.inventory.all("ResourceSlice")
    if driver := text(selector, "driver"):
        known = {text(each, "spec", "driver") for each in slices}
        if driver not in known:
            message = f'no ResourceSlice has driver "{driver}"'
            yield finding(("spec", "deviceSelector", "driver"), message, in_place(driver, sorted(known), "drivers"))
            return
        slices = [each for each in slices if text(each, "spec", "driver") == driver]
    if pool := text(selector, "pool"):
        pools = {text(each, "spec", "pool", "name") for each in slices}
        if pool not in pools:
            message = f'no ResourceSlice has pool "{pool}"'
            yield finding(("spec", "deviceSelector", "pool"), message, in_place(pool, sorted(pools), "pools"))
            return
        slices = [each for each in slices if text(each, "spec", "pool", "name") == pool]
    if device := text(selector, "device"):
        names = {text(one, "name") for each in slices for one in items(each, "spec", "devices")}
        if device not in names:
            message = f'no ResourceSlice has a device "{device}"'
            yield finding(("spec", "deviceSelector", "device"), message, in_place(device, sorted(names), "devices"))
