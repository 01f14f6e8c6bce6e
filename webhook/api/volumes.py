"""Volumes, which draguard does not judge.

Facts of k8s.io/api ``core/v1/types.go``, with the fields of all releases. Read when the first of them is needed.
"""

from __future__ import annotations

from typing import Final

from webhook.api.compact import (
    BOOL,
    INT32,
    OPTIONAL_BOOL,
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    QUANTITIES,
    STRING,
    STRING_MAP,
    STRINGS,
    WRITTEN,
    atomic,
    many,
    one,
    struct,
)
from webhook.api.labelselector import LabelSelector
from webhook.api.meta import ObjectMeta
from webhook.api.values import Quantity, alike
from webhook.schema import Bool, Int, Nested, Text

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
ConfigMapProjection = struct("ConfigMapProjection", name=STRING, items=ITEMS, optional=OPTIONAL_BOOL)
SecretProjection = struct("SecretProjection", name=STRING, items=ITEMS, optional=OPTIONAL_BOOL)
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
        struct("ConfigMapVolumeSource", name=STRING, items=ITEMS, defaultMode=FILE_MODE, optional=OPTIONAL_BOOL)
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
