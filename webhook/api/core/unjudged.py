"""Parts of pods and workloads that are not validated, only merged, defaulted and typed for policies.

Facts of k8s.io/api ``core/v1/types.go`` and ``apps/v1/types.go``, with the fields of all releases; declared compactly,
and loaded on first use.
"""

from __future__ import annotations

from webhook.api.core.labelselector import LabelSelector
from webhook.api.core.meta import ObjectMeta
from webhook.api.core.values import IntOrString, Quantity, Time, V1Struct, alike
from webhook.schema import Array, Bool, Default, Field, Int, Map, Nested, Struct, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final


STRING: Final = Text()
WRITTEN: Final = Text(written=True)
OPTIONAL_STRING: Final = Text(pointer=True)
INT32: Final = Int(go="int32")
OPTIONAL_INT32: Final = Int(go="int32", pointer=True)
INT64: Final = Int()
OPTIONAL_INT64: Final = Int(pointer=True)
BOOL: Final = Bool()
OPTIONAL_BOOL: Final = Bool(pointer=True)
STRINGS: Final = Array(STRING)
STRING_MAP: Final = Map(STRING)
QUANTITIES: Final = Map(Quantity())
TIME: Final = Time()


def struct(name: str, /, **fields: Field) -> type[Struct]:
    """Declare a type by its name and fields."""
    return type(name, (V1Struct,), dict(fields))


def atomic(name: str, /, **fields: Field) -> type[Struct]:
    """Declare a type that server-side apply replaces as a whole."""
    return type(name, (V1Struct,), {"atomic": True, **fields})


def one(type_: type[Struct], **common: Any) -> Nested:
    """Declare a field that may hold a struct."""
    return Nested(type_, pointer=True, **common)


def many(type_: type[Struct], *keys: str) -> Array:
    """Declare a list of structs, merged by keys if there are any."""
    return Array(Nested(type_), list_map_keys=keys)


def naming(type_: type[Struct]) -> type[Struct]:
    """Declare that Go embeds a LocalObjectReference."""
    type_.embedded = {"name": "LocalObjectReference"}
    return type_


# References

LocalObjectReference = atomic("LocalObjectReference", name=STRING)
ObjectReference = atomic(
    "ObjectReference",
    uid=Text(go="types.UID"),
    **alike(STRING, "kind namespace name apiVersion resourceVersion fieldPath"),
)
TypedLocalObjectReference = atomic("TypedLocalObjectReference", apiGroup=OPTIONAL_STRING, **alike(WRITTEN, "kind name"))
TypedObjectReference = struct(
    "TypedObjectReference", **alike(OPTIONAL_STRING, "apiGroup namespace"), **alike(WRITTEN, "kind name")
)
ObjectFieldSelector = atomic("ObjectFieldSelector", apiVersion=Text(default="v1"), fieldPath=WRITTEN)
ResourceFieldSelector = atomic(
    "ResourceFieldSelector", divisor=Quantity(default="0"), containerName=STRING, resource=WRITTEN
)

# Environment

ConfigMapKeySelector = naming(atomic("ConfigMapKeySelector", name=STRING, key=WRITTEN, optional=OPTIONAL_BOOL))
SecretKeySelector = naming(atomic("SecretKeySelector", name=STRING, key=WRITTEN, optional=OPTIONAL_BOOL))
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
ConfigMapEnvSource = naming(struct("ConfigMapEnvSource", name=STRING, optional=OPTIONAL_BOOL))
SecretEnvSource = naming(struct("SecretEnvSource", name=STRING, optional=OPTIONAL_BOOL))
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
GRPCAction = struct("GRPCAction", service=Text(pointer=True, default=""), port=Int(go="int32", written=True))
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
Probe.embedded = dict.fromkeys(["exec", "httpGet", "tcpSocket", "grpc"], "ProbeHandler")

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
    "ContainerRestartRuleOnExitCodes", values=Array(INT32, list_type="set"), operator=STRING
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

# Volumes

FILE_MODE: Final = Int(go="int32", pointer=True, default=0o644)
KeyToPath = struct("KeyToPath", mode=OPTIONAL_INT32, **alike(WRITTEN, "key path"))
ITEMS: Final = many(KeyToPath)
SECRET_REF: Final = one(LocalObjectReference)
DownwardAPIVolumeFile = struct(
    "DownwardAPIVolumeFile",
    fieldRef=one(ObjectFieldSelector),
    resourceFieldRef=one(ResourceFieldSelector),
    path=WRITTEN,
    mode=OPTIONAL_INT32,
)
VolumeResourceRequirements = struct("VolumeResourceRequirements", **alike(QUANTITIES, "limits requests"))
PersistentVolumeClaimSpec = struct(
    "PersistentVolumeClaimSpec",
    selector=one(LabelSelector),
    resources=Nested(VolumeResourceRequirements),
    volumeMode=Text(pointer=True, default="Filesystem"),
    dataSource=one(TypedLocalObjectReference),
    dataSourceRef=one(TypedObjectReference),
    accessModes=STRINGS,
    volumeName=STRING,
    **alike(OPTIONAL_STRING, "storageClassName volumeAttributesClassName"),
)
PersistentVolumeClaimTemplate = struct(
    "PersistentVolumeClaimTemplate", metadata=Nested(ObjectMeta), spec=Nested(PersistentVolumeClaimSpec)
)
ClusterTrustBundleProjection = struct(
    "ClusterTrustBundleProjection",
    labelSelector=one(LabelSelector),
    optional=OPTIONAL_BOOL,
    path=WRITTEN,
    **alike(OPTIONAL_STRING, "name signerName"),
)
ConfigMapProjection = naming(struct("ConfigMapProjection", name=STRING, items=ITEMS, optional=OPTIONAL_BOOL))
SecretProjection = naming(struct("SecretProjection", name=STRING, items=ITEMS, optional=OPTIONAL_BOOL))
PodCertificateProjection = struct(
    "PodCertificateProjection",
    maxExpirationSeconds=OPTIONAL_INT32,
    userAnnotations=STRING_MAP,
    **alike(STRING, "signerName keyType credentialBundlePath keyPath certificateChainPath"),
)
ServiceAccountTokenProjection = struct(
    "ServiceAccountTokenProjection", expirationSeconds=Int(pointer=True, default=3600), audience=STRING, path=WRITTEN
)
VolumeProjection = struct(
    "VolumeProjection",
    secret=one(SecretProjection),
    downwardAPI=one(struct("DownwardAPIProjection", items=many(DownwardAPIVolumeFile))),
    configMap=one(ConfigMapProjection),
    serviceAccountToken=one(ServiceAccountTokenProjection),
    clusterTrustBundle=one(ClusterTrustBundleProjection),
    podCertificate=one(PodCertificateProjection),
)
Volume = struct(
    "Volume",
    hostPath=one(struct("HostPathVolumeSource", type=Text(pointer=True, default=""), path=WRITTEN)),
    emptyDir=one(struct("EmptyDirVolumeSource", sizeLimit=Quantity(pointer=True), medium=STRING)),
    gcePersistentDisk=one(
        struct("GCEPersistentDiskVolumeSource", pdName=WRITTEN, fsType=STRING, partition=INT32, readOnly=BOOL)
    ),
    awsElasticBlockStore=one(
        struct("AWSElasticBlockStoreVolumeSource", volumeID=WRITTEN, fsType=STRING, partition=INT32, readOnly=BOOL)
    ),
    gitRepo=one(struct("GitRepoVolumeSource", repository=WRITTEN, **alike(STRING, "revision directory"))),
    secret=one(
        struct("SecretVolumeSource", secretName=STRING, items=ITEMS, defaultMode=FILE_MODE, optional=OPTIONAL_BOOL)
    ),
    nfs=one(struct("NFSVolumeSource", readOnly=BOOL, **alike(WRITTEN, "server path"))),
    iscsi=one(
        struct(
            "ISCSIVolumeSource",
            lun=Int(go="int32", written=True),
            iscsiInterface=Text(default="default"),
            fsType=STRING,
            portals=STRINGS,
            secretRef=SECRET_REF,
            initiatorName=OPTIONAL_STRING,
            **alike(WRITTEN, "targetPortal iqn"),
            **alike(BOOL, "readOnly chapAuthDiscovery chapAuthSession"),
        )
    ),
    glusterfs=one(struct("GlusterfsVolumeSource", readOnly=BOOL, **alike(WRITTEN, "endpoints path"))),
    persistentVolumeClaim=one(struct("PersistentVolumeClaimVolumeSource", claimName=WRITTEN, readOnly=BOOL)),
    rbd=one(
        struct(
            "RBDVolumeSource",
            pool=Text(default="rbd"),
            user=Text(default="admin"),
            keyring=Text(default="/etc/ceph/keyring"),
            monitors=STRINGS,
            image=WRITTEN,
            fsType=STRING,
            secretRef=SECRET_REF,
            readOnly=BOOL,
        )
    ),
    flexVolume=one(
        struct(
            "FlexVolumeSource", driver=WRITTEN, fsType=STRING, secretRef=SECRET_REF, readOnly=BOOL, options=STRING_MAP
        )
    ),
    cinder=one(struct("CinderVolumeSource", volumeID=WRITTEN, fsType=STRING, readOnly=BOOL, secretRef=SECRET_REF)),
    cephfs=one(
        struct(
            "CephFSVolumeSource",
            monitors=STRINGS,
            secretRef=SECRET_REF,
            readOnly=BOOL,
            **alike(STRING, "path user secretFile"),
        )
    ),
    flocker=one(struct("FlockerVolumeSource", **alike(STRING, "datasetName datasetUUID"))),
    downwardAPI=one(struct("DownwardAPIVolumeSource", items=many(DownwardAPIVolumeFile), defaultMode=FILE_MODE)),
    fc=one(
        struct("FCVolumeSource", lun=OPTIONAL_INT32, fsType=STRING, readOnly=BOOL, **alike(STRINGS, "targetWWNs wwids"))
    ),
    azureFile=one(struct("AzureFileVolumeSource", readOnly=BOOL, **alike(WRITTEN, "secretName shareName"))),
    configMap=one(
        naming(struct("ConfigMapVolumeSource", name=STRING, items=ITEMS, defaultMode=FILE_MODE, optional=OPTIONAL_BOOL))
    ),
    vsphereVolume=one(
        struct(
            "VsphereVirtualDiskVolumeSource",
            volumePath=WRITTEN,
            **alike(STRING, "fsType storagePolicyName storagePolicyID"),
        )
    ),
    quobyte=one(
        struct(
            "QuobyteVolumeSource",
            readOnly=BOOL,
            **alike(WRITTEN, "registry volume"),
            **alike(STRING, "user group tenant"),
        )
    ),
    azureDisk=one(
        struct(
            "AzureDiskVolumeSource",
            cachingMode=Text(pointer=True, default="ReadWrite"),
            fsType=Text(pointer=True, default="ext4"),
            readOnly=Bool(pointer=True, default=False),
            kind=Text(pointer=True, default="Shared"),
            **alike(WRITTEN, "diskName diskURI"),
        )
    ),
    photonPersistentDisk=one(struct("PhotonPersistentDiskVolumeSource", pdID=WRITTEN, fsType=STRING)),
    projected=one(struct("ProjectedVolumeSource", sources=many(VolumeProjection), defaultMode=FILE_MODE)),
    portworxVolume=one(struct("PortworxVolumeSource", volumeID=WRITTEN, fsType=STRING, readOnly=BOOL)),
    scaleIO=one(
        struct(
            "ScaleIOVolumeSource",
            storageMode=Text(default="ThinProvisioned"),
            fsType=Text(default="xfs"),
            secretRef=SECRET_REF,
            **alike(WRITTEN, "gateway system"),
            **alike(BOOL, "sslEnabled readOnly"),
            **alike(STRING, "protectionDomain storagePool volumeName"),
        )
    ),
    storageos=one(
        struct(
            "StorageOSVolumeSource",
            readOnly=BOOL,
            secretRef=SECRET_REF,
            **alike(STRING, "volumeName volumeNamespace fsType"),
        )
    ),
    csi=one(
        struct(
            "CSIVolumeSource",
            driver=WRITTEN,
            readOnly=OPTIONAL_BOOL,
            fsType=OPTIONAL_STRING,
            volumeAttributes=STRING_MAP,
            nodePublishSecretRef=SECRET_REF,
        )
    ),
    ephemeral=one(struct("EphemeralVolumeSource", volumeClaimTemplate=one(PersistentVolumeClaimTemplate))),
    image=one(struct("ImageVolumeSource", **alike(STRING, "reference pullPolicy"))),
    name=WRITTEN,
)
Volume.embedded = dict.fromkeys(Volume.fields.keys() - {"name"}, "VolumeSource")

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

# How workloads replace their pods

_ROLLING = Text(default="RollingUpdate")
_IF_ROLLING = Default({}, {"type": ("RollingUpdate",)})

DeploymentStrategy = struct(
    "DeploymentStrategy",
    type=_ROLLING,
    rollingUpdate=Nested(
        struct(
            "RollingUpdateDeployment",
            maxUnavailable=IntOrString(pointer=True, default="25%"),
            maxSurge=IntOrString(pointer=True, default="25%"),
        ),
        pointer=True,
        default=_IF_ROLLING,
    ),
)
DaemonSetUpdateStrategy = struct(
    "DaemonSetUpdateStrategy",
    type=_ROLLING,
    rollingUpdate=Nested(
        struct(
            "RollingUpdateDaemonSet",
            maxUnavailable=IntOrString(pointer=True, default=1),
            maxSurge=IntOrString(pointer=True, default=0),
        ),
        pointer=True,
        default=_IF_ROLLING,
    ),
)
StatefulSetUpdateStrategy = struct(
    "StatefulSetUpdateStrategy",
    type=_ROLLING,
    rollingUpdate=Nested(
        struct(
            "RollingUpdateStatefulSetStrategy",
            partition=Int(go="int32", pointer=True, default=0),
            maxUnavailable=IntOrString(pointer=True),
        ),
        pointer=True,
        default=_IF_ROLLING,
    ),
)
StatefulSetPersistentVolumeClaimRetentionPolicy = struct(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    whenDeleted=Text(default="Retain"),
    whenScaled=Text(default="Retain"),
)
StatefulSetOrdinals = struct("StatefulSetOrdinals", start=Int(go="int32", written=True))
