"""Rules about DeviceTaintRules, and about what requests tolerate of devices; those of pods are the API server's own."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.allocation.features import tainting
from webhook.hints.names import in_place
from webhook.inventory import CLAIMS
from webhook.objects import JSONObject, at, items, mapping, placed, text
from webhook.problem import NOTE, Problem, Steps
from webhook.references.rules import Context, finding, rule


@rule(*CLAIMS, of_field=True)
def toleration_without_key(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request tolerates taints by their value only, whatever their keys.

    An empty key stands for all keys, and belongs with the operator Exists, which tolerates every taint. The API server
    refuses other operators without a key for pods, and accepts them in requests.
    """
    for path, each in _tolerations(claim, context):
        if not text(each, "key") and text(each, "operator") in {"", "Equal"}:
            value = text(each, "value")
            which = f'with the value "{value}"' if value else "without a value"
            hint = "add the key of the taint, or write operator: Exists without a value for all taints"
            yield finding(path, f"without a key, it tolerates taints of every key {which}", hint, "WithoutKey")


@rule(*CLAIMS, of_field=True)
def toleration_seconds_ignored(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request says for how long it tolerates taints, without the effect that evicts pods, so the time is ignored.

    The controller that evicts pods (kubernetes pkg/controller/devicetainteviction) looks only at tolerations that state
    the effect NoExecute: those without an effect do not keep it from that. The API server refuses such a time for pods,
    and accepts it in requests.
    """
    for path, each in _tolerations(claim, context):
        effect = text(each, "effect")
        if at(each, "tolerationSeconds") is not None and effect != "NoExecute":
            message = f"ignored: taints with effect {effect} evict no pods"
            if not effect:
                message = "ignored: pods are evicted unless the toleration states the effect NoExecute"
            hint = "leave out tolerationSeconds, or write effect: NoExecute"
            yield finding((*path, "tolerationSeconds"), message, hint, "Ignored")


@rule(*CLAIMS, level=NOTE, of_field=True)
def toleration_of_no_value(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request tolerates only taints without a value, as it states neither a value nor an operator.

    The operator is Equal by default, and taints of devices may have values. Exists tolerates all values of a key.
    """
    for path, each in _tolerations(claim, context):
        if (key := text(each, "key")) and not text(each, "operator") and not text(each, "value"):
            message = f'tolerates taints "{key}" without a value only, as the operator is Equal by default'
            yield finding(path, message, "write operator: Exists to tolerate all values", "NoValue")


def _tolerations(claim: JSONObject, context: Context) -> Iterator[tuple[Steps, JSONObject]]:
    for request in context.requests(claim):
        yield from (((*request.path, *path), each) for path, each in placed(request.content, "tolerations"))


@rule("DeviceTaintRule")
def taint_rule_selects_all(taint_rule: JSONObject, context: Context) -> Iterator[Problem]:
    """A DeviceTaintRule selects every device of the cluster.

    An empty deviceSelector matches all devices of all drivers. With the effect NoExecute, every pod that uses a device
    is evicted, at once. To the scheduler before Kubernetes 1.38, a missing one matches all devices, too, but to the
    controller that evicts pods it matches none. State a driver, a pool or a device.
    """
    selector = at(taint_rule, "spec", "deviceSelector")
    if selector or not tainting([taint_rule], context.release):
        return
    effect = text(taint_rule, "spec", "taint", "effect")
    keeps = "keeps new pods from every device"
    what = {"NoExecute": "evicts every pod that uses a device", "NoSchedule": keeps}
    present: Steps = ("spec", "deviceSelector")
    if selector is None:
        what, present = {"NoExecute": f"{keeps}, but evicts no pod", "NoSchedule": keeps}, ("spec",)
    message = f"the rule selects every device of every driver, and {what.get(effect, 'taints all of them')}"
    yield finding(present, message, "state a driver, pool or device in deviceSelector", "SelectsAll")


@rule("DeviceTaintRule", needs=("ResourceSlice",))
def taint_rule_selects_nothing(taint_rule: JSONObject, context: Context) -> Iterator[Problem]:
    """A DeviceTaintRule names a driver, pool or device that no slice publishes, so it taints nothing."""
    if not context.knows_all_slices:
        return
    selector, slices = mapping(taint_rule, "spec", "deviceSelector"), context.inventory.all("ResourceSlice")
    for field, what in (("driver", "driver"), ("pool", "pool"), ("device", "a device")):
        if wanted := text(selector, field):
            known = sorted({name for each in slices for name in _names(each, field)})
            if wanted not in known:
                message = f'no ResourceSlice has {what} "{wanted}"'
                yield finding(("spec", "deviceSelector", field), message, in_place(wanted, known, f"{field}s"))
                return
            slices = [each for each in slices if wanted in _names(each, field)]


def _names(each: JSONObject, field: str) -> list[str]:
    """Return the driver or the pool of a slice, or its devices."""
    if field == "device":
        return [text(device, "name") for device in items(each, "spec", "devices")]
    return [text(each, "spec", field) or text(each, "spec", field, "name")]
