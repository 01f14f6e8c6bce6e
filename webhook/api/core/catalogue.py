"""The types of kinds, and of parts of pods and workloads, that draguard hardly judges: mostly policies read them.

Their fields, and those that judged types do not declare (:class:`webhook.api.core.values.Others`), in the words of Go,
are in ``kinds.txt``, which ``upstream/generate.py`` writes from upstream's types. A type is made when an object first
needs it. A line is a struct; ``*`` marks a kind, ``!`` one that server-side apply replaces as a whole, ``+`` an
embedded struct. A field has ``?`` for a pointer, ``!`` if Go writes it even if it is empty, ``:TYPE`` if it is not a
string, ``@28-33`` for the releases that have it, ``=`` for its default. ``[name]`` is a list that is merged by a key,
``~Phase`` a string with a type of its own.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from webhook import formats
from webhook.api.core.container import ResourceList, pull_policy
from webhook.api.core.values import Bytes, IntOrString, MicroTime, Quantity, Time
from webhook.objects import mapping
from webhook.problem import Path, Problem, required
from webhook.schema.declarations import Default, Field, Struct
from webhook.schema.fields import Anything, Array, Bool, Int, Map, Nested, Text

if TYPE_CHECKING:
    from webhook.api.core.meta import Object
    from webhook.schema.target import Target

# -- Defaults that depend on several fields of kinds that are not judged


Complete = Callable[[dict[str, Any]], dict[str, Any]]

_CLIENT_IP: Final = {"clientIP": {"timeoutSeconds": 10800}}
_EXTERNAL: Final = frozenset({"NodePort", "LoadBalancer"})
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CPU_PERCENT: Final = 80


def _volume(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Volume (``pkg/apis/core/v1/defaults.go``)."""
    if value.keys() <= {"name"}:
        return {**value, "emptyDir": {}}
    image = value.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        reference = image.get("reference")
        policy = pull_policy(reference if isinstance(reference, str) else "")
        return {**value, "image": {**image, "pullPolicy": policy}}
    return value


def _secret(value: dict[str, Any]) -> dict[str, Any]:
    """Follow Convert_v1_Secret_To_core_Secret (``pkg/apis/core/v1/conversion.go``)."""
    from base64 import b64encode  # few objects are Secrets

    stated = value.get("stringData")
    if not isinstance(stated, dict):
        return value
    written = {
        key: b64encode(each.encode("utf-8", "replace")).decode() if isinstance(each, str) else each
        for key, each in stated.items()
    }
    kept = {name: each for name, each in value.items() if name != "stringData"}
    return {**kept, "data": {**mapping(value, "data"), **written}}


def _service_port(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Service (``pkg/apis/core/v1/defaults.go``)."""
    return value if value.get("targetPort") or not value.get("port") else {**value, "targetPort": value["port"]}


def _service_spec(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Service (``pkg/apis/core/v1/defaults.go``)."""
    type_, found = value.get("type"), dict(value)
    if value.get("sessionAffinity") == "None":
        found.pop("sessionAffinityConfig", None)
    elif value.get("sessionAffinity") == "ClientIP" and not mapping(value, "sessionAffinityConfig", "clientIP"):
        found["sessionAffinityConfig"] = _CLIENT_IP
    if type_ in _EXTERNAL or (type_ == "ClusterIP" and value.get("externalIPs")):
        found.setdefault("externalTrafficPolicy", "Cluster")
    return found


def _namespace(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Namespace (``pkg/apis/core/v1/defaults.go``)."""
    metadata = mapping(value, "metadata")
    if not (name := metadata.get("name")):
        return value
    labels = {**mapping(metadata, "labels"), "kubernetes.io/metadata.name": name}
    return {**value, "metadata": {**metadata, "labels": labels}}


def _limit_range_item(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_LimitRangeItem (``pkg/apis/core/v1/defaults.go``)."""
    if value.get("type") != "Container":
        return value
    limits = {**mapping(value, "max"), **mapping(value, "default")}
    requests = {**mapping(value, "min"), **limits, **mapping(value, "defaultRequest")}
    return {**value, **{name: each for name, each in (("default", limits), ("defaultRequest", requests)) if each}}


def _network_policy_spec(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_NetworkPolicy (``pkg/apis/networking/v1/defaults.go``)."""
    if value.get("policyTypes"):
        return value
    return {**value, "policyTypes": ["Ingress", *(["Egress"] if value.get("egress") else [])]}


def _autoscaler_behavior(value: dict[str, Any]) -> dict[str, Any]:
    """Follow GenerateHPAScaleUpRules and GenerateHPAScaleDownRules (``pkg/apis/autoscaling/v2/defaults.go``)."""
    all_ = {"type": "Percent", "value": 100, "periodSeconds": 15}
    some = {"type": "Pods", "value": 4, "periodSeconds": 15}
    up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [some, all_]}
    down = {"selectPolicy": "Max", "policies": [all_]}
    return {
        **value,
        "scaleUp": {**up, **mapping(value, "scaleUp")},
        "scaleDown": {**down, **mapping(value, "scaleDown")},
    }


def _autoscaler_v1(value: dict[str, Any]) -> dict[str, Any]:
    """Follow Convert_v1_HorizontalPodAutoscaler_To_autoscaling_… (``pkg/apis/autoscaling/v1/conversion.go``)."""
    spec = mapping(value, "spec")
    if _METRICS in mapping(value, "metadata", "annotations") or "targetCPUUtilizationPercentage" in spec:
        return value
    return {**value, "spec": {**spec, "targetCPUUtilizationPercentage": _CPU_PERCENT}}


def _node_status(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_NodeStatus (``pkg/apis/core/v1/defaults.go``)."""
    capacity = mapping(value, "capacity")
    return {"allocatable": capacity, **value} if capacity else value


def _definition(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_CustomResourceDefinition (apiextensions-apiserver)."""
    status, versions = mapping(value, "status"), mapping(value, "spec").get("versions")
    if status.get("storedVersions") or not isinstance(versions, list):
        return value
    stored = [each.get("name") for each in versions if isinstance(each, dict) and each.get("storage") is True]
    return {**value, "status": {**status, "storedVersions": stored[:1] or None}}


def _definition_names(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_CustomResourceDefinitionSpec (apiextensions-apiserver)."""
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind:
        return value
    named = {"singular": kind.lower(), "listKind": f"{kind}List"}
    return {**value, **{name: each for name, each in named.items() if not value.get(name)}}


FUNCTIONS: Final[Mapping[str, Complete]] = {
    "v1.LimitRangeItem": _limit_range_item,
    "v1.Namespace": _namespace,
    "v1.NodeStatus": _node_status,
    "v1.Secret": _secret,
    "v1.ServicePort": _service_port,
    "v1.ServiceSpec": _service_spec,
    "v1.Volume": _volume,
    "apiextensions.k8s.io/v1.CustomResourceDefinition": _definition,
    "apiextensions.k8s.io/v1.CustomResourceDefinitionNames": _definition_names,
    "autoscaling/v1.HorizontalPodAutoscaler": _autoscaler_v1,
    "autoscaling/v2.HorizontalPodAutoscalerBehavior": _autoscaler_behavior,
    "networking.k8s.io/v1.NetworkPolicySpec": _network_policy_spec,
}
"""The functions that complete values, by their type."""


META: Final = "meta/v1"
WRITTEN: Final[Mapping[str, str]] = {
    f"{META}.ObjectMeta": "meta:ObjectMeta",
    f"{META}.Condition": "meta:Condition",
    f"{META}.LabelSelector": "meta:LabelSelector",
    "v1.EnvFromSource": "container:EnvFromSource",
    "v1.ResourceRequirements": "container:ResourceRequirements",
    "v1.PodTemplateSpec": "workloads:PodTemplateSpec",
    "v1.Toleration": "placement:Toleration",
    "v1.NodeSelector": "nodeselector:NodeSelector",
}
"""The types that are declared in Python, as they are judged elsewhere."""


def _topology_key(key: str, _target: Target) -> Iterator[Problem]:
    """A constraint names a label of nodes."""
    if not key:
        yield required(Path(), "can not be empty")


_POLICIES: Final = tuple(f"admissionregistration.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
"""The versions of policies, the newest first."""
_Judged = Mapping[str, Mapping[str, Any]]
"""What is judged of the fields of a type, in the order of their findings."""
_REQUIRED: Final = {"required": True}
_OF_POLICY: Final[_Judged] = {
    "failurePolicy": {"one_of": ("Fail", "Ignore")},
    "paramKind": {},
    "matchConstraints": _REQUIRED,
}
_OF_BINDING: Final[_Judged] = {"policyName": {"required": True, "format": formats.dns_subdomain}}


def _between(least: int, most: int, detail: str) -> dict[str, Any]:
    return {"minimum": (least, detail), "maximum": (most, detail)}


_OF_WEBHOOK: Final[_Judged] = {
    "failurePolicy": _OF_POLICY["failurePolicy"],
    "matchPolicy": {"one_of": ("Equivalent", "Exact")},
    "sideEffects": {"one_of": ("None", "NoneOnDryRun")},
    "timeoutSeconds": _between(1, 30, "the timeout value must be between 1 and 30 seconds"),
}
_OF_POLICIES: Final[Mapping[str, _Judged]] = {
    "MatchResources": {"matchPolicy": _OF_WEBHOOK["matchPolicy"]},
    "MutatingWebhook": {**_OF_WEBHOOK, "reinvocationPolicy": {"one_of": ("IfNeeded", "Never")}},
    "ServiceReference": {
        "path": {"format": formats.url_path},
        "port": _between(1, 65535, "port is not valid: must be between 1 and 65535, inclusive"),
    },
    "ValidatingWebhook": _OF_WEBHOOK,
    "MutatingAdmissionPolicyBindingSpec": _OF_BINDING,
    "MutatingAdmissionPolicySpec": _OF_POLICY,
    "ValidatingAdmissionPolicyBindingSpec": _OF_BINDING,
    "ValidatingAdmissionPolicySpec": _OF_POLICY,
}
_JUDGED: Final[Mapping[str, _Judged]] = {
    "v1.EnvVar": {"name": _REQUIRED},
    "v1.PodReadinessGate": {"conditionType": {"always": True, "format": formats.label_key}},
    "v1.PodSpec": {"volumes": {"unique": "name"}},
    "v1.Sysctl": {"name": _REQUIRED},
    "v1.Taint": {"effect": {"one_of": ("NoExecute", "NoSchedule", "PreferNoSchedule")}},
    "v1.TopologySpreadConstraint": {
        "maxSkew": {"minimum": (1, "must be greater than zero")},
        "topologyKey": {"always": True, "checked_by": _topology_key},
        "whenUnsatisfiable": {"always": True, "one_of": ("DoNotSchedule", "ScheduleAnyway")},
    },
    "v1.Volume": {"name": {"required": True, "format": formats.dns_label}},
    "v1.VolumeDevice": {"name": _REQUIRED, "devicePath": _REQUIRED},
    "v1.VolumeMount": {"name": _REQUIRED, "mountPath": _REQUIRED},
    **{f"{version}.{name}": fields for version in _POLICIES for name, fields in _OF_POLICIES.items()},
}
"""What the items of lists in pods need, which null does not have (Go decodes it as an item without fields); of taints,
what the inventory of a cluster refuses; and of policies and webhooks, what the API server refuses, in its order."""
_COUNTED: Final = frozenset(
    {
        *("CSIDriver", "CustomResourceDefinition", "EndpointSlice", "FlowSchema", "Ingress", "IngressClass"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration"),
        *("NetworkPolicy", "PodDisruptionBudget", "PriorityClass", "PriorityLevelConfiguration"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"),
    }
)
"""The kinds whose generations the API server counts (``PrepareForCreate`` in ``pkg/registry/*/*/strategy.go``)."""
_FIELD: Final = re.compile(r"(\w+)([?!]?)(?::([^@=\s]+))?(?:@([0-9]*)-?([0-9]*))?(?:=(\S+))?")
_SCALARS: Final[Mapping[str, Callable[..., Field]]] = {
    "bool": Bool,
    "int32": lambda **common: Int(go="int32", **common),
    "int64": Int,
    "string": Text,
    "Time": Time,
    "MicroTime": MicroTime,
    "Quantity": Quantity,
    "ResourceList": ResourceList,
    "IntOrString": IntOrString,
    "bytes": Bytes,
    "any": Anything,
}

_PARSED: Final = frozenset({"Time", "MicroTime", "Quantity", "IntOrString", "bytes", "any"})
"""Scalars that are written only if they are set."""


def kind(api_version: str, name: str) -> type[Object] | None:
    """Return the type of a kind; None if it is not known."""
    line = _lines(api_version).get(name, "") if api_version in _sections() else ""
    found: Any = type_of(api_version, name) if line.startswith("*") else None
    return found  # type: ignore[no-any-return]


@cache
def type_of(api_version: str, name: str) -> type[Struct]:
    """Return a type by its name in an API version."""
    if place := WRITTEN.get(f"{api_version}.{name}"):
        module, _, declared = place.partition(":")
        found: type[Struct] = getattr(import_module(f"webhook.api.core.{module}"), declared)
        return found
    head, *tokens = _lines(api_version)[name].split(" ")
    judged = _JUDGED.get(f"{api_version}.{name}", {})
    fields = dict[str, Any].fromkeys(judged)  # in the order of their findings
    embedded: dict[str, str] = {}
    for token in tokens:
        if token.startswith("+"):
            version, _, part = token[1:].rpartition(".")
            inner = type_of(version or api_version, part)
            fields |= {each: _qualified(field, inner.package) for each, field in inner.fields.items()}
            embedded |= {each: ".".join(filter(None, (part, inner.embedded.get(each)))) for each in inner.fields}
        else:
            fields |= [_field(token, api_version, judged)]
    bases: tuple[type[Struct], ...] = (Struct,)
    if head.startswith("*"):
        from webhook.api.core.meta import Object, PlainObject  # parts of pods need no kinds

        bases = (PlainObject if name in _COUNTED else Object,)
    attributes: dict[str, Any] = {
        "package": api_version.rpartition("/")[2],
        "go_name": name,
        "atomic": head.endswith("!"),
        "embedded": embedded,
        "__module__": __name__,
        # A field must not shadow an attribute of the class.
        **{f"{field}_": each for field, each in fields.items()},
    }
    if complete := FUNCTIONS.get(f"{api_version}.{name}"):
        attributes["complete"] = staticmethod(complete)
    return type(name, bases, attributes)


def of_policies(name: str) -> list[type[Struct]]:
    """Return a type of policies in all versions that have it, the newest first."""
    return [type_of(version, name) for version in _POLICIES if name in _lines(version)]


@cache
def _sections() -> Mapping[str, str]:
    with open(os.path.join(os.path.dirname(__file__), "kinds.txt"), encoding="utf-8") as file:
        text = file.read()
    sections = (section.partition("\n") for section in text.removeprefix("# ").split("\n# "))
    return {api_version: lines for api_version, _, lines in sections}


@cache
def _lines(api_version: str) -> Mapping[str, str]:
    """Return the lines of the structs of an API version, by their names."""
    lines = _sections()[api_version].splitlines()
    return {line.partition(" ")[0].strip("*!"): line for line in lines}


def _field(token: str, api_version: str, judged: _Judged) -> tuple[str, Field]:
    match = _FIELD.fullmatch(token)
    assert match is not None, token  # noqa: S101 - the file is our own
    name, flag, type_, since, until, default = match.groups()
    common: dict[str, Any] = {"pointer": flag == "?", "written": flag == "!"}
    common |= judged.get(name, {})
    common |= {"since": int(since)} if since else {}
    common |= {"until": int(until)} if until else {}
    if default:
        from json import loads  # few fields have defaults

        value = loads(default)
        is_conditional = isinstance(value, dict)
        common["default"] = Default(value.get("value", {}), value.get("when", {})) if is_conditional else value
    return name, _typed(type_ or "string", api_version, common)


def _qualified(field: Field, package: str) -> Field:
    """Return a field that a struct embeds, perhaps of another package: the name of its type has its own."""
    if isinstance(field, Array):
        return field.but(item=_qualified(field.item, package))
    return field.but(go=field.type_name(package)) if isinstance(field, Text) else field


def _typed(type_: str, api_version: str, common: dict[str, Any]) -> Field:
    if type_.startswith("["):
        merging, _, item = type_[1:].partition("]")
        how = {"list_type": "set"} if merging == "set" else {"list_map_keys": merging.split(",")} if merging else {}
        return Array(_typed(item, api_version, {}), **how, **common)
    if type_.startswith("{"):
        flag, _, item = type_[1:].partition("}")
        return Map(_typed(item, api_version, {}), is_atomic=bool(flag), **common)
    if type_.startswith("~"):
        return Text(go=type_[1:], **common)
    if make := _SCALARS.get(type_):
        return make(**common | ({"written": False} if type_ in _PARSED else {}))
    version, _, name = type_.rpartition(".")
    return Nested(partial(type_of, version or api_version, name), **common)
