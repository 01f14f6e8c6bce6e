"""Whether a single device matches selectors, for :func:`webhook.matches`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from webhook.allocation.devices import Catalog
from webhook.api import gates
from webhook.api.judgement import judge
from webhook.api.versions import DEFAULT, release_of
from webhook.deviceselectors.fleet import ERROR, TRUE, Fleet
from webhook.objects import JSONObject
from webhook.problem import ERROR as REFUSED
from webhook.records import NamedTuple

_DEVICE: Final = ("spec", "devices", 0)
_POOL: Final = {"name": "pool", "generation": 1, "resourceSliceCount": 1}


class Match(NamedTuple):
    """The result of matching selectors against a device; true if they match.

    Args:
        reason: The reason why they do not, such as ``memory is 40Gi, wanted >= 80Gi``; empty if it is unknown.
    """

    matched: bool
    reason: str = ""

    def __bool__(self) -> bool:
        """Tell whether the device matches."""
        return self.matched


def match(
    selectors: Sequence[str | JSONObject],
    device: JSONObject,
    driver: str = "",
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> Match:
    """Match selectors against a device, as the scheduler does.

    Args:
        selectors: Expressions, or selectors as in a request.
        device: The device, as in a ResourceSlice of v1, or of v1beta1 with its ``basic``.
        driver: Its driver; empty if the device names it as ``driver``.
        kubernetes: The Kubernetes release; None for the newest.
        feature_gates: Gates that differ from the release's defaults.

    Raises:
        ValueError: A selector cannot be compiled, or cannot be evaluated for this device; the device is malformed; the
            release or a gate is unknown.
    """
    release = release_of(kubernetes) if kubernetes else DEFAULT
    on = gates.enabled(release, feature_gates)
    if not (driver := driver or str(device.get("driver") or "")):
        raise ValueError(
            "the device's driver is not known, and names without a domain are in the driver's: give driver"
        )
    # It is published as its driver would.
    content = {name: value for name, value in device.items() if name not in {"driver", "basic"}}
    basic = device.get("basic")
    content = {"name": "device", **content, **(basic if isinstance(basic, dict) else {})}
    spec = {"driver": driver, "nodeName": "node", "pool": _POOL, "devices": [content]}
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "slice"},
        "spec": spec,
    }
    for problem in judge(published, feature_gates=feature_gates):
        if problem.level == REFUSED:
            is_of_device = problem.path[: len(_DEVICE)] == _DEVICE
            where = str(type(problem.path)(problem.path[len(_DEVICE) :])) if is_of_device else problem.field
            raise ValueError(f"device: {where}: {problem.message}")
    fleet = Fleet(Catalog([published]), release, on)
    (seen,) = fleet.contents
    choice = fleet.choose((), [_selector(each) for each in selectors], seen)
    if choice.outcome == ERROR:
        raise ValueError(choice.reason)
    return Match(choice.outcome == TRUE, choice.reason)


def _selector(selector: str | JSONObject) -> JSONObject:
    if isinstance(selector, str):
        return {"cel": {"expression": selector}}
    cel = selector.get("cel")
    if not isinstance(cel, dict) or not isinstance(cel.get("expression"), str):
        raise ValueError(f'a selector is a CEL expression, or {{"cel": {{"expression": ...}}}}, not {selector!r}')
    return selector
