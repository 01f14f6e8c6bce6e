"""Rules about opaque parameters, by the profile of their driver."""

from __future__ import annotations

from itertools import islice

from webhook.budget import BudgetExceededError, limited
from webhook.inventory import CLAIMS, devices_path
from webhook.objects import at, items, text
from webhook.problem import Advice
from webhook.references.rules import finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Final

    from webhook.drivers import Profile
    from webhook.drivers.parameters import ParameterFault
    from webhook.objects import JSONObject
    from webhook.problem import Problem
    from webhook.references.rules import Context

_MOST: Final = 100
"""How many errors of one configuration are reported: suggestions for unknown fields take time."""
_SMALLER: Final = "validate fewer files at a time, or simplify the schemas"
_CONFIGURED = (*CLAIMS, "DeviceClass")


@rule("wrong-parameters", *_CONFIGURED, of_field=True)
def wrong_parameters(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """Opaque parameters have a kind, field or value that their driver does not know.

    The API server does not look into them. The driver refuses them when it prepares the devices: the pod is scheduled,
    and stays in ContainerCreating. `draguard driver show NAME` prints the parameters that a driver accepts, and their
    source. If your version accepts others, pass its profile with --driver-profile.
    """
    for fault, path in _faults(obj, context):
        if not fault.gate:
            yield finding(path, fault.message, Advice(fault.hint, fault.fix), "Refused")


@rule("driver-gate", *_CONFIGURED, of_field=True)
def driver_gate(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """Opaque parameters need a feature gate of the driver that is off by default.

    The driver refuses them unless its installation enables the gate. If yours does, set the rule to off.
    """
    for fault, path in _faults(obj, context):
        if fault.gate:
            yield finding(path, fault.message, fault.hint, "Refused")


def _faults(obj: JSONObject, context: Context) -> Iterator[tuple[ParameterFault, tuple[str | int, ...]]]:
    where: tuple[str, ...] = ("spec",) if obj.get("kind") == "DeviceClass" else devices_path(obj)
    for index, each in enumerate(items(obj, *where, "config")):
        profile = context.profile(text(each, "opaque", "driver"))
        if profile:
            path: tuple[str | int, ...] = (*where, "config", index, "opaque", "parameters")
            for fault in _checked(profile, at(each, "opaque", "parameters"), context):
                yield fault, (*path, *fault.path)


def _checked(profile: Profile, parameters: Any, context: Context) -> Sequence[ParameterFault]:
    """Check parameters; where the user's profiles have taken too much work, report that instead."""
    from webhook.drivers.parameters import ParameterFault, check_parameters  # most objects have no parameters

    faults = islice(check_parameters(profile, parameters), _MOST)
    if context.checking is None:
        return list(faults)
    try:
        with limited(context.checking):
            return list(faults)
    except BudgetExceededError:
        return [ParameterFault((), "not checked: the profiles' schemas take more work than draguard allows", _SMALLER)]
