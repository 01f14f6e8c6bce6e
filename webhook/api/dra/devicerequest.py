"""Requests for devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from webhook import formats
from webhook.api.core.values import Quantity
from webhook.api.dra.names import TAGGED
from webhook.api.dra.selectors import DeviceDerivedAttribute, selectors
from webhook.api.dra.taints import tolerations
from webhook.problem import Problem, invalid, not_supported, null, required
from webhook.release import Release
from webhook.schema.declarations import ANY, Default, Inlining, Struct, check
from webhook.schema.fields import Array, Bool, Int, Map, Nested, Text, View
from webhook.schema.target import OLDEST

ALL, EXACT_COUNT = "All", "ExactCount"


class CapacityRequirements(Struct):
    """The requested amounts of a device's capacities."""

    requests = Map(Quantity(), "The requested amounts, by the name of the capacity.", key_go="QualifiedName")


class Wanted(Struct):
    """The common part of requests and alternatives: the requested devices, and their number."""

    instead: ClassVar = {"class": "deviceClassName", "mode": "allocationMode"}

    deviceClassName = Text(
        "The DeviceClass that the devices belong to.", format=formats.dns_subdomain, required=True, written=True
    )
    selectors = selectors("The conditions that the devices must meet besides those of their class.")
    allocationMode = Text(
        "How devices are allocated: a number of them (ExactCount), or all that match (All).",
        go="DeviceAllocationMode",
        default=EXACT_COUNT,
        declared=TAGGED,
    )
    count = Int("The number of requested devices.", default=Default(1, {"allocationMode": (EXACT_COUNT,)}))


class Detailed(Struct):
    """Further requirements for devices; messages that show a request show them last."""

    tolerations = tolerations("The taints that the request tolerates.", gate={OLDEST: "", 35: "DRADeviceTaints"})
    capacity = Nested(CapacityRequirements, pointer=True, since=34, gate="DRAConsumableCapacity")
    derivedAttributes = Array(
        Nested(DeviceDerivedAttribute),
        "Attributes computed from others, which constraints can compare.",
        max_items=32,
        size_ends_list=False,
        unique="name",
        at_item=True,
        since=37,
        gate="DRADerivedAttributes",
    )


class Named(Struct):
    """The name of a request or an alternative."""

    name = Text(
        "The name by which constraints, configuration and pods refer to the request.",
        format=formats.dns_label,
        always=True,
        written=True,
    )


class DeviceSubRequest(Detailed, Wanted, Named):
    """One of several alternatives."""

    moved = "the fields of `exactly` are fields of the alternative itself"
    unboxed = "exactly"

    deviceClassName = Wanted.deviceClassName.but(declared={35: {"formats": (formats.long_name,)}})


class Administering(Struct):
    """The access of an administrator, which alternatives do not have."""

    adminAccess = Bool(
        "Whether administrative access is requested, such as for monitoring, to devices that may be in use.",
        pointer=True,
        gate={32: "DRAAdminAccess"},
    )


class ExactDeviceRequest(Detailed, Administering, Wanted):
    """A request for devices of one class."""


_MODE_REQUIRED_SINCE = 37
"""From then on the handwritten rule counts: in declarative ones the mode is optional, as v1beta1 needs none."""


@check(Wanted, before="tolerations")
def count_for_mode(request: View) -> Iterator[Problem]:
    """A request has a count with ExactCount, but not with All."""
    mode, count = request.allocationMode, request.count
    if mode == ALL:
        if count:
            yield invalid(request / "count", count, "must not be specified when allocationMode is 'All'")
    elif mode == EXACT_COUNT:
        if count <= 0:
            yield invalid(request / "count", count, "must be greater than zero")
    elif mode or not request.target.declarative or request.release >= _MODE_REQUIRED_SINCE:
        yield not_supported(request / "allocationMode", mode, (ALL, EXACT_COUNT), request.release)


_EXACT_FIELDS = ", ".join(ExactDeviceRequest.fields)


class DeviceRequest(Named):
    """A request for devices: exactly these, or the first available of several alternatives."""

    moved = f"{_EXACT_FIELDS} are fields of `exactly`"
    either = ("exactly", "firstAvailable")

    exactly = Nested(ExactDeviceRequest, "The requested devices.", pointer=True)
    firstAvailable = Array(
        Nested(DeviceSubRequest),
        "Alternatives, in the order of preference.",
        max_items=8,
        unique="name",
        declared=TAGGED,
        since=33,
        gate="DRAPrioritizedList",
    )


@check(DeviceRequest, since=33, until=34)
@check(DeviceRequest, since=35, mutes=("exactly", "firstAvailable"))
def exactly_or_first_available(request: View) -> Iterator[Problem]:
    """A request has either `exactly` or `firstAvailable`."""
    exactly, alternatives = "exactly" in request, request.firstAvailable
    if not exactly and not alternatives:
        yield required(request.path, "exactly one of `exactly` or `firstAvailable` is required")
    elif exactly and alternatives:
        detail = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        yield invalid(request.path, null(request.release), detail)


# v1alpha3 and v1beta1: the fields of `exactly` are fields of the request itself

_CONVERTED_SINCE = 33
"""From Kubernetes 1.33 the API server converts such a request to one with ``exactly``."""


class FlatExactDeviceRequest(ExactDeviceRequest):
    """A request for devices of one class, in its first form."""

    go_name = "DeviceRequest"

    allocationMode = Wanted.allocationMode.but(
        default={31: EXACT_COUNT, _CONVERTED_SINCE: Default(EXACT_COUNT, {"deviceClassName": ANY})}
    )
    count = Wanted.count.but(
        default={
            31: Wanted.count.default,
            _CONVERTED_SINCE: Default(1, {"allocationMode": (EXACT_COUNT,), "deviceClassName": ANY}),
        }
    )


def _wants_exactly(request: dict[str, Any], release: Release) -> bool:
    """Tell whether the API server sees an ``exactly`` (``Convert_v1beta1_DeviceRequest_To_resource_DeviceRequest``)."""
    from webhook.schema.derive.conversion import has_any  # needed only for v1beta1

    return release < _CONVERTED_SINCE or has_any(FlatExactDeviceRequest, request)


class FlatDeviceRequest(FlatExactDeviceRequest, Named):
    """A request for devices, whose fields are on the request itself, unless it has alternatives."""

    moved = "the fields of `exactly`, such as deviceClassName, are fields of the request itself"
    unboxed = "exactly"
    inlining = Inlining(
        FlatExactDeviceRequest,
        present=_wants_exactly,
        hollow={"selectors": []},
        last=Detailed.fields,
        spelled_since=_CONVERTED_SINCE,
    )
    instead: ClassVar = {"firstAvailable": "write the fields of one alternative in its place, such as the first"}

    firstAvailable = DeviceRequest.firstAvailable


check(FlatDeviceRequest, since=33, until=34)(exactly_or_first_available)
check(FlatDeviceRequest, since=35, mutes=FlatDeviceRequest.fields.keys() - {"name"})(exactly_or_first_available)
