"""Containers: resources and claims.

Of the fields unrelated to claims, scalars are typed and the others are known by name, with their releases, so that
misspelt fields are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from webhook import formats
from webhook.api.core import amounts
from webhook.api.core.values import Quantity, V1Struct, unjudged
from webhook.formats import LATEST, tag_of
from webhook.problem import Problem, forbidden, invalid
from webhook.schema import Anything, Array, Bool, Int, Map, Nested, Text, View, check, exactly_one

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

    name = Text("The claim, as spec.resourceClaims calls it.", written=True)
    request = Text("One of the claim's requests; all of them if empty.", since=REQUESTS_SINCE)


class ResourceRequirements(V1Struct):
    """The resources that a container requests, and their limits."""

    limits = ResourceList("The most of each resource that it may use.")
    requests = ResourceList("What must be there of each resource.")
    claims = Array(Nested(ResourceClaim), "The claims that it uses.", list_map_keys=["name"])


class ContainerResizePolicy(V1Struct):
    """Whether a container is restarted when one of its resources changes."""

    resourceName = Text("The resource.", go="ResourceName", written=True)
    restartPolicy = Text("NotRequired or RestartContainer.", go="ResourceResizeRestartPolicy", written=True)


_MOST_PORTS: Final = 65535
_OUTSIDE: Final = f"must be between 1 and {_MOST_PORTS}, inclusive"


class ContainerPort(V1Struct):
    """A port that a container listens on."""

    name = Text("What services call the port.")
    hostPort = Int("The port of the node.", go="int32")
    containerPort = Int(
        "The port of the container.",
        go="int32",
        written=True,
        required=True,
        minimum=(1, _OUTSIDE),
        maximum=(_MOST_PORTS, _OUTSIDE),
    )
    protocol = Text("TCP, UDP or SCTP.", go="Protocol", default="TCP")
    hostIP = Text("The address of the node.")


class EnvVar(V1Struct):
    """A variable of a container's environment."""

    name = Text("The variable's name.", written=True, required=True)
    value = Text("Its value.")
    valueFrom = unjudged("EnvVarSource")


class EnvFromSource(V1Struct):
    """An object whose data become variables of a container's environment."""

    prefix = Text("What comes before the names of these.")
    configMapRef = unjudged("ConfigMapEnvSource")
    secretRef = unjudged("SecretEnvSource")


@exactly_one(EnvFromSource, "configMapRef", "secretRef")
def one_env_source(source: View, given: Sequence[str]) -> Iterator[Problem]:
    """Variables of an item of envFrom come from either a ConfigMap or a Secret."""
    at_most_one = "may not have more than one field specified at a time"
    detail = at_most_one if given else "must specify one of: `configMapRef` or `secretRef`"
    yield invalid(source.path, "", detail)


class Container(V1Struct):
    """A container of the pod."""

    opaque: ClassVar = {
        "env": Array(Nested(EnvVar), list_map_keys=["name"]),
        "envFrom": Array(Nested(EnvFromSource)),
        "lifecycle": unjudged("Lifecycle"),
        "livenessProbe": unjudged("Probe"),
        "readinessProbe": unjudged("Probe"),
        "securityContext": unjudged("SecurityContext"),
        "startupProbe": unjudged("Probe"),
        "volumeDevices": Array(unjudged("VolumeDevice", pointer=False), list_map_keys=["devicePath"]),
        "volumeMounts": Array(unjudged("VolumeMount", pointer=False), list_map_keys=["mountPath"]),
    }

    name = Text("The container's name, unique in the pod.", format=formats.dns_label, required=True, written=True)
    image = Text("The image that it runs.", required=True)
    imagePullPolicy = Text("When to pull the image.", go="PullPolicy", one_of=("Always", "IfNotPresent", "Never"))
    command = Array(Text(), "What it runs, in place of the image's entry point.")
    args = Array(Text(), "The arguments of that.")
    workingDir = Text("Where it runs that.")
    ports = Array(Nested(ContainerPort), "The ports that it listens on.", list_map_keys=["containerPort", "protocol"])
    resources = Nested(ResourceRequirements, "What it needs.")
    resizePolicy = Array(Nested(ContainerResizePolicy), "What a change of its resources takes.")
    restartPolicy = Text(
        "When it is restarted, if not as its pod.", go="ContainerRestartPolicy", pointer=True, since=28
    )
    restartPolicyRules = Anything(
        "Which exits it is restarted after.", since=34, shape=Array(unjudged("ContainerRestartRule", pointer=False))
    )
    terminationMessagePath = Text("The file with its last words.", default="/dev/termination-log")
    terminationMessagePolicy = Text(
        "Where its last words come from.",
        go="TerminationMessagePolicy",
        default="File",
        one_of=("File", "FallbackToLogsOnError"),
    )
    stdin = Bool("Whether it gets a standard input.")
    stdinOnce = Bool("Whether its standard input closes with the first client.")
    tty = Bool("Whether it gets a terminal.")

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


@check(Container, given=["resources"])
def amounts_of_resources(container: View) -> Iterator[Problem]:
    """Resources of containers have known or qualified names; of extended resources, requests are their limits.

    A request is at most its limit. Extended resources, such as those of device plugins, are counted in whole numbers,
    and cannot be overcommitted: state the limit alone, which is the request, too.
    """
    yield from amounts.problems(container.resources.submitted or {}, container / "resources", container.release)


class EphemeralContainer(Container):
    """A container that is added to a running pod, for debugging."""

    embedded: ClassVar = dict.fromkeys([*Container.fields, *Container.opaque], "EphemeralContainerCommon")

    targetContainerName = Text("The container whose processes it sees.")


@check(EphemeralContainer, given=["resources"])
def resources_of_ephemeral_container(container: View) -> Iterator[Problem]:
    """An ephemeral container cannot have resources, and so no claims."""
    if any(field in container.resources for field in ResourceRequirements.fields):
        yield forbidden(container / "resources", "cannot be set for an Ephemeral Container")
