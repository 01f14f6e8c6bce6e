"""Rules about what requests tolerate of devices; those of pods are the API server's own."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.inventory import CLAIMS
from webhook.objects import JSONObject, at, items, text
from webhook.problem import NOTE, Problem
from webhook.references.requests import requests_of
from webhook.references.rules import Context, finding, rule


@rule("toleration-without-key", *CLAIMS, of_field=True)
def toleration_without_key(claim: JSONObject, _: Context) -> Iterator[Problem]:
    """A request tolerates taints by their value only, whatever their keys.

    An empty key stands for all keys, and belongs with the operator Exists, which tolerates every taint. The API server
    refuses other operators without a key for pods, and accepts them in requests.
    """
    for path, each in _tolerations(claim):
        if not text(each, "key") and _compares(each):
            value = text(each, "value")
            which = f'with the value "{value}"' if value else "without a value"
            hint = "add the key of the taint, or write operator: Exists without a value for all taints"
            yield finding(path, f"without a key, it tolerates taints of every key {which}", hint, "WithoutKey")


@rule("toleration-seconds-ignored", *CLAIMS, of_field=True)
def toleration_seconds_ignored(claim: JSONObject, _: Context) -> Iterator[Problem]:
    """A request says for how long it tolerates taints that evict no pods, so the time is ignored.

    Only the effect NoExecute evicts pods. The API server refuses such a time for pods, and accepts it in requests.
    """
    for path, each in _tolerations(claim):
        effect = text(each, "effect")
        if at(each, "tolerationSeconds") is not None and effect not in {"", "NoExecute"}:
            message = f"ignored: taints with effect {effect} evict no pods"
            hint = "leave out tolerationSeconds, or write effect: NoExecute"
            yield finding((*path, "tolerationSeconds"), message, hint, "Ignored")


@rule("toleration-of-no-value", *CLAIMS, level=NOTE, of_field=True)
def toleration_of_no_value(claim: JSONObject, _: Context) -> Iterator[Problem]:
    """A request tolerates only taints without a value, as it states neither a value nor an operator.

    The operator is Equal by default, and taints of devices may have values. Exists tolerates all values of a key.
    """
    for path, each in _tolerations(claim):
        if (key := text(each, "key")) and not text(each, "operator") and not text(each, "value"):
            message = f'tolerates taints "{key}" without a value only, as the operator is Equal by default'
            yield finding(path, message, "write operator: Exists to tolerate all values", "NoValue")


def _tolerations(claim: JSONObject) -> Iterator[tuple[tuple[str | int, ...], JSONObject]]:
    for request in requests_of(claim):
        for index, each in enumerate(items(request.content, "tolerations")):
            yield (*request.path, "tolerations", index), each


def _compares(toleration: JSONObject) -> bool:
    return text(toleration, "operator") in {"", "Equal"}
