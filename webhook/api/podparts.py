"""Parts of containers and pods that draguard does not judge.

Facts of k8s.io/api ``core/v1/types.go``, with the fields of all releases. Read when the first of them is needed.
"""

from __future__ import annotations

from webhook.api.compact import (
    BOOL,
    INT32,
    INT64,
    OPTIONAL_BOOL,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    STRINGS,
    TIME,
    WRITTEN,
    atomic,
    many,
    one,
    struct,
)
from webhook.api.core import Term
from webhook.api.labelselector import LabelSelector
from webhook.api.values import IntOrString, alike
from webhook.api.volumes import ObjectFieldSelector, ResourceFieldSelector
from webhook.schema import Array, Int, Nested, Text

# Environment

ConfigMapKeySelector = atomic("ConfigMapKeySelector", name=STRING, key=WRITTEN, optional=OPTIONAL_BOOL)
SecretKeySelector = atomic("SecretKeySelector", name=STRING, key=WRITTEN, optional=OPTIONAL_BOOL)
FileKeySelector = atomic("FileKeySelector", optional=OPTIONAL_BOOL, **alike(WRITTEN, "volumeName path key"))
EnvVarSource = struct(
    "EnvVarSource",
    fieldRef=one(ObjectFieldSelector),
    resourceFieldRef=one(ResourceFieldSelector),
    configMapKeyRef=one(ConfigMapKeySelector),
    secretKeyRef=one(SecretKeySelector),
    fileKeyRef=one(FileKeySelector),
)
EnvVar = struct("EnvVar", valueFrom=one(EnvVarSource), name=WRITTEN, value=STRING)
ConfigMapEnvSource = struct("ConfigMapEnvSource", name=STRING, optional=OPTIONAL_BOOL)
SecretEnvSource = struct("SecretEnvSource", name=STRING, optional=OPTIONAL_BOOL)
EnvFromSource = struct(
    "EnvFromSource", configMapRef=one(ConfigMapEnvSource), secretRef=one(SecretEnvSource), prefix=STRING
)

# Actions and probes

ExecAction = struct("ExecAction", command=STRINGS)
HTTPHeader = struct("HTTPHeader", **alike(WRITTEN, "name value"))
HTTPGetAction = struct(
    "HTTPGetAction",
    path=Text(default="/"),
    port=IntOrString(),
    scheme=Text(go="URIScheme", default="HTTP"),
    httpHeaders=many(HTTPHeader),
    host=STRING,
)
TCPSocketAction = struct("TCPSocketAction", port=IntOrString(), host=STRING)
GRPCAction = struct("GRPCAction", service=Text(pointer=True, default=""), port=INT32)
SleepAction = struct("SleepAction", seconds=Int(written=True))
LifecycleHandler = struct(
    "LifecycleHandler",
    exec=one(ExecAction),
    httpGet=one(HTTPGetAction),
    tcpSocket=one(TCPSocketAction),
    sleep=one(SleepAction),
)
Lifecycle = struct(
    "Lifecycle", postStart=one(LifecycleHandler), preStop=one(LifecycleHandler), stopSignal=OPTIONAL_STRING
)
Probe = struct(
    "Probe",
    exec=one(ExecAction),
    httpGet=one(HTTPGetAction),
    tcpSocket=one(TCPSocketAction),
    grpc=one(GRPCAction),
    timeoutSeconds=Int(go="int32", default=1),
    periodSeconds=Int(go="int32", default=10),
    successThreshold=Int(go="int32", default=1),
    failureThreshold=Int(go="int32", default=3),
    initialDelaySeconds=INT32,
    terminationGracePeriodSeconds=OPTIONAL_INT64,
)

# Security

Capabilities = struct("Capabilities", **alike(STRINGS, "add drop"))
SELinuxOptions = struct("SELinuxOptions", **alike(STRING, "user role type level"))
WindowsSecurityContextOptions = struct(
    "WindowsSecurityContextOptions",
    hostProcess=OPTIONAL_BOOL,
    **alike(OPTIONAL_STRING, "gmsaCredentialSpecName gmsaCredentialSpec runAsUserName"),
)
SeccompProfile = struct("SeccompProfile", type=WRITTEN, localhostProfile=OPTIONAL_STRING)
AppArmorProfile = struct("AppArmorProfile", type=WRITTEN, localhostProfile=OPTIONAL_STRING)
SecurityContext = struct(
    "SecurityContext",
    capabilities=one(Capabilities),
    seLinuxOptions=one(SELinuxOptions),
    windowsOptions=one(WindowsSecurityContextOptions),
    seccompProfile=one(SeccompProfile),
    appArmorProfile=one(AppArmorProfile),
    procMount=OPTIONAL_STRING,
    **alike(OPTIONAL_BOOL, "privileged runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation"),
    **alike(OPTIONAL_INT64, "runAsUser runAsGroup"),
)
Sysctl = struct("Sysctl", **alike(WRITTEN, "name value"))
PodSecurityContext = struct(
    "PodSecurityContext",
    seLinuxOptions=one(SELinuxOptions),
    windowsOptions=one(WindowsSecurityContextOptions),
    supplementalGroups=Array(INT64),
    sysctls=many(Sysctl),
    seccompProfile=one(SeccompProfile),
    appArmorProfile=one(AppArmorProfile),
    runAsNonRoot=OPTIONAL_BOOL,
    **alike(OPTIONAL_INT64, "runAsUser runAsGroup fsGroup"),
    **alike(OPTIONAL_STRING, "supplementalGroupsPolicy fsGroupChangePolicy seLinuxChangePolicy"),
)

# What else a container has

VolumeDevice = struct("VolumeDevice", **alike(WRITTEN, "name devicePath"))
VolumeMount = struct(
    "VolumeMount",
    readOnly=BOOL,
    **alike(WRITTEN, "name mountPath"),
    **alike(OPTIONAL_STRING, "recursiveReadOnly mountPropagation"),
    **alike(STRING, "subPath subPathExpr"),
)
ContainerRestartRuleOnExitCodes = struct(
    "ContainerRestartRuleOnExitCodes", values=Array(INT32, list_type="set"), operator=WRITTEN
)
ContainerRestartRule = struct("ContainerRestartRule", exitCodes=one(ContainerRestartRuleOnExitCodes), action=STRING)

# What else a pod has

PodDNSConfigOption = struct("PodDNSConfigOption", name=STRING, value=OPTIONAL_STRING)
PodDNSConfig = struct("PodDNSConfig", options=many(PodDNSConfigOption), **alike(STRINGS, "nameservers searches"))
HostAlias = struct("HostAlias", ip=WRITTEN, hostnames=STRINGS)
PodOS = struct("PodOS", name=WRITTEN)
PodReadinessGate = struct("PodReadinessGate", conditionType=WRITTEN)
TopologySpreadConstraint = struct(
    "TopologySpreadConstraint",
    maxSkew=Int(go="int32", written=True),
    labelSelector=one(LabelSelector),
    minDomains=OPTIONAL_INT32,
    matchLabelKeys=STRINGS,
    **alike(WRITTEN, "topologyKey whenUnsatisfiable"),
    **alike(OPTIONAL_STRING, "nodeAffinityPolicy nodeTaintsPolicy"),
)
PreferredSchedulingTerm = struct(
    "PreferredSchedulingTerm", weight=Int(go="int32", written=True), preference=Nested(Term)
)
PodAffinityTerm = struct(
    "PodAffinityTerm",
    labelSelector=one(LabelSelector),
    namespaceSelector=one(LabelSelector),
    topologyKey=WRITTEN,
    **alike(STRINGS, "namespaces matchLabelKeys mismatchLabelKeys"),
)
WeightedPodAffinityTerm = struct(
    "WeightedPodAffinityTerm", weight=Int(go="int32", written=True), podAffinityTerm=Nested(PodAffinityTerm)
)
PodAffinity = struct(
    "PodAffinity",
    requiredDuringSchedulingIgnoredDuringExecution=many(PodAffinityTerm),
    preferredDuringSchedulingIgnoredDuringExecution=many(WeightedPodAffinityTerm),
)
PodAntiAffinity = struct("PodAntiAffinity", **PodAffinity.fields)

# Status

PodCondition = struct(
    "PodCondition",
    observedGeneration=INT64,
    **alike(WRITTEN, "type status"),
    **alike(TIME, "lastProbeTime lastTransitionTime"),
    **alike(STRING, "reason message"),
)
PodIP = struct("PodIP", ip=WRITTEN)
HostIP = struct("HostIP", ip=WRITTEN)
