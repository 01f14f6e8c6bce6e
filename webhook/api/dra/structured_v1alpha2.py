"""The kinds of v1alpha2 that Kubernetes 1.30 added for structured parameters: allocation by the scheduler.

Rules follow ``pkg/apis/resource/validation/validation.go`` and ``pkg/apis/resource/structured/namedresources`` of 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from webhook import formats
from webhook.api.core.meta import Object
from webhook.api.core.values import Quantity
from webhook.api.dra.classic import ResourceClaimParametersReference, ResourceClassParametersReference
from webhook.api.dra.names import driver_name
from webhook.api.dra.selectors import compiled
from webhook.problem import Path, Problem, Verbatim, invalid, quoted, required
from webhook.schema import OLDEST, STORED, Anything, Array, Bool, Int, Nested, Struct, Text, View, check

_SELECTOR = "A CEL expression over attributes; true for suitable instances."
NO_MODEL = "exactly one structured model field must be set"


# ResourceClaimParameters


class NamedResourcesRequest(Struct):
    """Asks for an instance that a selector picks."""

    selector = Text(_SELECTOR, required=True, checked_by=compiled)


class ResourceRequest(Struct):
    """A request for one resource of a driver."""

    vendorParameters = Anything("The driver's own parameters for the request.")
    namedResources = Nested(NamedResourcesRequest, "Asks for a named resource.", pointer=True)


class DriverRequests(Struct):
    """The requests to one driver."""

    driverName = driver_name("The driver that the requests are for.", required=True)
    vendorParameters = Anything("The driver's own parameters for all requests.")
    requests = Array(
        Nested(ResourceRequest),
        "What is requested of the driver.",
        required=True,
        required_detail="empty entries with no requests are not allowed",
    )


class ResourceClaimParameters(Object):
    """The parameters of claims in a form that the scheduler understands."""

    checks_prefix: ClassVar = {OLDEST: True}

    generatedFrom = Nested(ResourceClaimParametersReference, "The driver's parameters it was made from.", pointer=True)
    shareable = Bool("Whether several pods may use the claim at a time.")
    driverRequests = Array(
        Nested(DriverRequests), "The requests, one entry for each driver.", unique="driverName", rechecked={30: STORED}
    )


@check(ResourceRequest)
def no_model_in_request(request: View) -> Iterator[Problem]:
    """A request uses a structured model."""
    if not request.namedResources:
        yield required(request.path, NO_MODEL)


# ResourceClassParameters


class NamedResourcesFilter(Struct):
    """Narrows the instances down by a selector."""

    selector = Text(_SELECTOR, required=True, checked_by=compiled)


class ResourceFilter(Struct):
    """A filter for the resources of one driver."""

    driverName = driver_name("The driver that the filter is for.", required=True)
    namedResources = Nested(NamedResourcesFilter, "Filters named resources.", pointer=True)


class VendorParameters(Struct):
    """The parameters of one driver."""

    driverName = driver_name("The driver that the parameters are for.", required=True)
    parameters = Anything("The driver's own parameters.")


class ResourceClassParameters(Object):
    """The parameters of classes in a form that the scheduler understands."""

    checks_prefix: ClassVar = {OLDEST: True}

    generatedFrom = Nested(ResourceClassParametersReference, "The driver's parameters it was made from.", pointer=True)
    vendorParameters = Array(Nested(VendorParameters), "Parameters for drivers.", unique="driverName")
    filters = Array(Nested(ResourceFilter), "Filters for resources.", unique="driverName")


@check(ResourceFilter)
def no_model_in_filter(each: View) -> Iterator[Problem]:
    """A filter uses a structured model."""
    if not each.namedResources:
        yield required(each.path, NO_MODEL)


# ResourceSlice


class NamedResourcesIntSlice(Struct):
    """A list of numbers."""

    ints = Array(Int(), "The numbers.")


class NamedResourcesStringSlice(Struct):
    """A list of texts."""

    strings = Array(Text(), "The texts.")


class NamedResourcesAttribute(Struct):
    """A property of an instance: a name and one value."""

    name = Text("The attribute's name.", format=formats.dns_subdomain, always=True)
    quantity = Quantity("A quantity.", pointer=True)
    bool = Bool("A boolean.", pointer=True)
    int = Int("A whole number.", pointer=True)
    intSlice = Nested(NamedResourcesIntSlice, "Whole numbers.", pointer=True)
    string = Text("A text.", pointer=True)
    stringSlice = Nested(NamedResourcesStringSlice, "Texts.", pointer=True)
    version = Text("A semantic version.", format=formats.semver, pointer=True)


class NamedResourcesInstance(Struct):
    """One resource that can be allocated."""

    name = Text("The instance's name.", format=formats.dns_subdomain, always=True)
    attributes = Array(Nested(NamedResourcesAttribute), "What selectors can look at.", unique="name")


class NamedResourcesResources(Struct):
    """Resources that have names."""

    instances = Array(Nested(NamedResourcesInstance), "The resources.", unique="name")


class ResourceSlice(Object):
    """The resources that a driver offers on a node."""

    checks_prefix: ClassVar = {OLDEST: True}
    namespaced = False

    nodeName = Text("The node that has the resources.", format=formats.dns_subdomain, immutable=True)
    driverName = driver_name("The driver that offers them.", required=True, always=True, immutable=True)
    namedResources = Nested(NamedResourcesResources, "Resources that have names.", pointer=True)


ATTRIBUTE_VALUES = "bool", "int", "intSlice", "quantity", "string", "stringSlice", "version"


@check(NamedResourcesAttribute)
def one_attribute_value(attribute: View) -> Iterator[Problem]:
    """An attribute has a value, and only one."""
    given = [name for name in ATTRIBUTE_VALUES if name in attribute]
    if not given:
        yield required(attribute.path, "exactly one value must be set")
    elif len(given) > 1:
        value = Verbatim(f"[]string{{{', '.join(quoted(name) for name in given)}}}")
        yield invalid(attribute.path, value, "exactly one field must be set, not several")


@check(ResourceSlice)
def no_model_in_slice(each: View) -> Iterator[Problem]:
    """A slice uses a structured model."""
    if not each.namedResources:
        # The API server has no path for the whole object.
        yield required(Path(), NO_MODEL)._replace(spelled=Path(("<nil>",)))
