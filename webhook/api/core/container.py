"""Containers: resources and claims.

Of the fields unrelated to claims, scalars are typed and the others are known by name, with their releases, so that
misspelt fields are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from webhook import formats
from webhook.api.core.values import Others, Quantity, V1Struct, unjudged
from webhook.formats import LATEST, tag_of
from webhook.formats.quantities import Quantity as Amount
from webhook.formats.quantities import parse_quantity, readable_quantity
from webhook.problem import WARNING, Key, Path, Problem, Verbatim, forbidden, invalid, malformed, quoted, required
from webhook.release import Release
from webhook.schema.declarations import check, exactly_one
from webhook.schema.fields import Array, Bool, Int, Map, Nested, Text, View

REQUESTS_SINCE: Final = 31
"""The release from which on a container may use one request of a claim."""


class ResourceList(Map):
    """Quantities by the name of a resource."""

    def __init__(self, doc: str = "", **common: Any) -> None:
        super().__init__(Quantity(), doc, **common)

    def type_name(self, package: str) -> str:
        """Name the Go type."""
        return f"{package}.ResourceList"


class ResourceClaim(V1Struct):
    """A claim of the pod that the container uses."""

    shorthand: ClassVar = {str: ("name",)}

    name = Text("The name of the claim in spec.resourceClaims.", written=True)
    request = Text("One of the claim's requests; all if empty.", since=REQUESTS_SINCE)


class ResourceRequirements(V1Struct):
    """The resources that a container requests, and their limits."""

    limits = ResourceList("The maximum amount of each resource.")
    requests = ResourceList("The minimum amount of each resource.")
    claims = Array(Nested(ResourceClaim), "The claims that are used.", list_map_keys=["name"])


_MOST_PORTS: Final = 65535
_OUTSIDE: Final = f"must be between 1 and {_MOST_PORTS}, inclusive"


class ContainerResizePolicy(V1Struct):
    """Whether a container is restarted when one of its resources changes."""

    resourceName = Text("The resource.", go="ResourceName", written=True)
    restartPolicy = Text("NotRequired or RestartContainer.", go="ResourceResizeRestartPolicy", written=True)


class ContainerPort(V1Struct):
    """A port that a container listens on."""

    name = Text("The name by which services refer to the port.")
    hostPort = Int("The port on the node.", go="int32")
    containerPort = Int(
        "The port that the container listens on.",
        go="int32",
        written=True,
        required=True,
        minimum=(1, _OUTSIDE),
        maximum=(_MOST_PORTS, _OUTSIDE),
    )
    protocol = Text("TCP, UDP or SCTP.", go="Protocol", default="TCP")
    hostIP = Text("The address on the node.")


class EnvFromSource(V1Struct):
    """An object whose data become variables of a container's environment."""

    prefix = Text("A prefix for the names of the variables.")
    configMapRef = Nested(partial(unjudged, "ConfigMapEnvSource"), pointer=True)
    secretRef = Nested(partial(unjudged, "SecretEnvSource"), pointer=True)


@exactly_one(EnvFromSource, "configMapRef", "secretRef")
def one_env_source(source: View, given: Sequence[str]) -> Iterator[Problem]:
    """Variables of an item of envFrom come from either a ConfigMap or a Secret."""
    at_most_one = "may not have more than one field specified at a time"
    detail = at_most_one if given else "must specify one of: `configMapRef` or `secretRef`"
    yield invalid(source.path, "", detail)


class Container(V1Struct):
    """A container of the pod."""

    opaque: ClassVar = Others("Container")

    name = Text("The container's name, unique in the pod.", format=formats.dns_label, required=True, written=True)
    image = Text("The container image.", required=True)
    imagePullPolicy = Text("When to pull the image.", go="PullPolicy", one_of=("Always", "IfNotPresent", "Never"))
    command = Array(Text(), "The command, in place of the image's entry point.")
    args = Array(Text(), "The arguments of the command.")
    workingDir = Text("The working directory of the command.")
    ports = Array(
        Nested(ContainerPort), "The ports that the container listens on.", list_map_keys=["containerPort", "protocol"]
    )
    resources = Nested(ResourceRequirements)
    resizePolicy = Array(
        Nested(ContainerResizePolicy), "Whether a change of resources restarts the container, by resource."
    )
    restartPolicy = Text(
        "When the container is restarted, in place of the pod's policy.",
        go="ContainerRestartPolicy",
        pointer=True,
        since=28,
    )
    terminationMessagePath = Text("The file with the container's termination message.", default="/dev/termination-log")
    terminationMessagePolicy = Text(
        "The source of the container's termination message.",
        go="TerminationMessagePolicy",
        default="File",
        one_of=("File", "FallbackToLogsOnError"),
    )
    stdin = Bool("Whether the container has a standard input.")
    stdinOnce = Bool("Whether the standard input closes with the first client.")
    tty = Bool("Whether the container has a terminal.")

    @staticmethod
    def complete(value: dict[str, Any]) -> dict[str, Any]:
        """Set the pull policy: Always for the latest image (``SetDefaults_Container``)."""
        image = value.get("image", "")
        if "imagePullPolicy" in value or not isinstance(image, str):
            return value
        return value | {"imagePullPolicy": pull_policy(image)}


def pull_policy(image: str) -> str:
    """Return the default pull policy of an image."""
    return "Always" if tag_of(image) == LATEST else "IfNotPresent"


# The amounts of resources (``pkg/apis/core/validation/validation.go``, ``validateResourceRequirements``)

COMPUTE: Final = frozenset({"cpu", "memory"})
"""The resources that have amounts for a whole pod, apart from huge pages."""
_IN_BYTES: Final = ("memory", "ephemeral-storage")
_OF_CONTAINERS: Final = COMPUTE.union(_IN_BYTES)
_COUNTED: Final = frozenset(
    [
        *("pods", "services", "services.loadbalancers", "services.nodeports", "replicationcontrollers"),
        *("configmaps", "secrets", "persistentvolumeclaims", "resourcequotas"),
    ]
)
_STANDARD: Final = _OF_CONTAINERS | _COUNTED | {f"requests.{name}" for name in (*_OF_CONTAINERS, "storage")}
_ALL_STANDARD: Final = _STANDARD | {f"limits.{name}" for name in _OF_CONTAINERS} | {"storage"}
HUGE: Final = "hugepages-"
_HUGE_OF_QUOTAS: Final = (HUGE, f"requests.{HUGE}")
_MILLI: Final = -3
TYPED: Final = range(29, 34)
"""The releases that show a resource's name as Go writes it: without quotes."""
_JSON_SINCE: Final = Release(34)
"""From Kubernetes 1.34 rejected values are shown as JSON, not as Go writes them."""
_LIMITS_ALONE: Final = "write limits alone: requests are the same, as such resources are not overcommitted"
_IN_MILLIONS: Final = "m means thousandths: write Mi or M for millions, as in 400Mi"
_UNKNOWN: Final = "write a domain, as in example.com/gpu; a claim requests devices of a class: name it in claims"


@check(Container, given=["resources"])
def amounts_of_resources(container: View) -> Iterator[Problem]:
    """Resources of containers have known or qualified names; of extended resources, requests are their limits.

    A request is at most its limit. Extended resources, such as those of device plugins, are counted in whole numbers,
    and cannot be overcommitted: state the limit alone, which is the request, too.
    """
    resources = container.resources
    limits, requests = _settled(resources.limits), _settled(resources.requests)
    yield from _of_each(container, "limits", limits)
    yield from _of_each(container, "requests", requests)
    for name, amount in requests.items():
        may_differ = ("/" not in name or "kubernetes.io/" in name) and not name.startswith(HUGE)
        limit = limits.get(name)
        if limit is None:
            if not may_differ:
                yield required(resources / "limits", "Limit must be set for non overcommitable resources")
        elif not may_differ and amount != limit:
            problem = invalid(resources / "requests", str(amount), f"must be equal to {name} limit of {limit}")
            yield problem._replace(hint=_LIMITS_ALONE)
        elif limit < amount:
            yield invalid(resources / "requests", str(amount), f"must be less than or equal to {name} limit of {limit}")
    names = limits.keys() | requests.keys()
    if names.isdisjoint(COMPUTE) and any(name.startswith(HUGE) for name in names):
        yield forbidden(resources.path, "HugePages require cpu or memory")


def _of_each(container: View, kind: str, amounts: Mapping[str, Amount]) -> Iterator[Problem]:
    for name, amount in amounts.items():
        for problem in of_resource(name, amount, container.release):
            yield problem._replace(path=container.resources / kind / Key(name))
        if amount.power < 0 and name in _IN_BYTES:  # pkg/api/pod/warnings.go
            message = f"fractional byte value {quoted(str(amount))} is invalid, must be an integer"
            is_in_thousandths = str(container.submitted["resources"][kind][name]).endswith("m")
            hint = _IN_MILLIONS if is_in_thousandths else _in_bytes(amount)
            yield Problem(WARNING, "whole-bytes", "Warning", container.resources / kind / Key(name), message, hint)


def _in_bytes(amount: Amount) -> str:
    """Suggest whole bytes near an amount, or a larger unit if it has less than 1 KiB."""
    number = amount.value()
    texts = ((20, ", such as {}Mi"), (10, ", such as {}Ki"), (0, ", or a larger unit, as in 512Mi"))
    near = (text.format(round(number / (1 << bits))) for bits, text in texts if number >> bits > 0)
    return f"write whole bytes{next(near, '')}"


def of_resource(name: str, amount: Amount, release: Release) -> Iterator[Problem]:
    """Yield the findings about one resource of a container, without their place."""
    path, shown, standard = Path(), Verbatim(name) if release in TYPED else name, "/" not in name
    if name not in _ALL_STANDARD:
        faults = formats.label_key(name, release)
        yield from malformed(path, shown, faults)
        if standard and not faults and not name.startswith(_HUGE_OF_QUOTAS):
            yield invalid(path, shown, "must be a standard resource type or fully qualified")._replace(hint=_UNKNOWN)
    if standard and not (name in _OF_CONTAINERS or name.startswith(HUGE)):
        yield invalid(path, shown, "must be a standard resource for containers")
    if not standard and "kubernetes.io/" not in name and formats.extended_resource_name(name, release):
        yield invalid(path, shown, "doesn't follow extended resource name standard")
    yield from of_amount(name, amount, release)
    if name.startswith(HUGE) and not _is_multiple(amount, name.removeprefix(HUGE)):
        yield invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def of_amount(name: str, amount: Amount, release: Release) -> Iterator[Problem]:
    """Yield the findings about the amount of a resource, also in a quota, without their place."""
    if amount.sign < 0:
        yield invalid(Path(), str(amount), "must be greater than or equal to 0")
    is_extended = "/" in name and not formats.extended_resource_name(name, release)
    if amount.power < 0 and (is_extended or name in _COUNTED):
        yield invalid(Path(), str(amount) if release >= _JSON_SINCE else _in_go(amount), "must be an integer")


def _settled(amounts: Mapping[str, Amount]) -> dict[str, Amount]:
    return {name: in_thousandths(amount) for name, amount in amounts.items()}


def in_thousandths(amount: Amount) -> Amount:
    """Round a quantity up to thousandths, as defaults do (``SetDefaults_ResourceList``)."""
    if amount.power >= _MILLI:
        return amount
    number = int(amount.digits[: amount.power - _MILLI] or "0") + 1
    found = parse_quantity(f"{'-' if amount.sign < 0 else ''}{number}m")
    return Amount(found.sign, found.digits, found.power, amount.notation, scale=found.scale)


def _is_multiple(amount: Amount, size: str) -> bool:
    page = readable_quantity(size)
    return page is not None and page.sign > 0 and page.power >= 0 and amount.value() % page.value() == 0


def _in_go(amount: Amount) -> Verbatim:
    """Write a quantity as Go writes the fields of its struct."""
    scale = amount.power if amount.scale is None else amount.scale
    number = amount.counted(scale)
    return Verbatim(
        f"resource.Quantity{{i:resource.int64Amount{{value:{number}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{amount.spelled}", Format:"{amount.notation}"}}'
    )


class EphemeralContainer(Container):
    """A container that is added to a running pod, for debugging."""

    embedded: ClassVar = {"": "EphemeralContainerCommon", "targetContainerName": ""}

    targetContainerName = Text("The container whose processes are visible.")


@check(EphemeralContainer, given=["resources"])
def resources_of_ephemeral_container(container: View) -> Iterator[Problem]:
    """An ephemeral container cannot have resources, and so no claims."""
    if any(field in container.resources for field in ResourceRequirements.fields):
        yield forbidden(container / "resources", "cannot be set for an Ephemeral Container")
