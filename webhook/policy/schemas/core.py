"""The fields of pods, of the workloads that make pods, and of other core objects, with how lists and maps merge.

Facts of the OpenAPI schemas that kube-apiserver publishes (k8s.io/api ``core/v1/types.go``, ``apps``, ``batch``),
with the fields of all releases. See :mod:`webhook.policy.schemas` for the notation.
"""

from typing import Final

TYPES: Final = """
ObjectMeta: name=s generateName=s namespace=s selfLink=s uid=s resourceVersion=s generation=i creationTimestamp=t
  deletionTimestamp=t deletionGracePeriodSeconds=i labels={s} annotations={s} ownerReferences=[OwnerReference]uid
  finalizers=[s]* managedFields=[ManagedFieldsEntry]
OwnerReference!: apiVersion=s kind=s name=s uid=s controller=b blockOwnerDeletion=b
ManagedFieldsEntry: apiVersion=s fieldsType=s fieldsV1=? manager=s operation=s subresource=s time=t
LabelSelector!: matchLabels={s} matchExpressions=[LabelSelectorRequirement]
LabelSelectorRequirement: key=s operator=s values=[s]
Condition: type=s status=s observedGeneration=i lastTransitionTime=t reason=s message=s
LocalObjectReference!: name=s
ObjectReference!: kind=s namespace=s name=s uid=s apiVersion=s resourceVersion=s fieldPath=s
TypedLocalObjectReference!: apiGroup=s kind=s name=s
TypedObjectReference: apiGroup=s kind=s name=s namespace=s
NodeSelector!: nodeSelectorTerms=[NodeSelectorTerm]
NodeSelectorTerm!: matchExpressions=[NodeSelectorRequirement] matchFields=[NodeSelectorRequirement]
NodeSelectorRequirement: key=s operator=s values=[s]

Pod: apiVersion=s kind=s metadata=ObjectMeta spec=PodSpec status=PodStatus
PodTemplate: apiVersion=s kind=s metadata=ObjectMeta template=PodTemplateSpec
PodTemplateSpec: metadata=ObjectMeta spec=PodSpec
PodSpec: activeDeadlineSeconds=i affinity=Affinity automountServiceAccountToken=b containers=[Container]name
  dnsConfig=PodDNSConfig dnsPolicy=s enableServiceLinks=b ephemeralContainers=[EphemeralContainer]name
  hostAliases=[HostAlias]ip hostIPC=b hostNetwork=b hostPID=b hostUsers=b hostname=s hostnameOverride=s
  imagePullSecrets=[LocalObjectReference]name initContainers=[Container]name nodeName=s nodeSelector=!{s} os=PodOS
  overhead={q} preemptionPolicy=s priority=i priorityClassName=s readinessGates=[PodReadinessGate]
  resourceClaims=[PodResourceClaim]name resources=ResourceRequirements restartPolicy=s runtimeClassName=s
  schedulerName=s
  schedulingGates=[PodSchedulingGate]name schedulingGroup=PodSchedulingGroup securityContext=PodSecurityContext
  serviceAccount=s serviceAccountName=s setHostnameAsFQDN=b shareProcessNamespace=b subdomain=s
  terminationGracePeriodSeconds=i tolerations=[Toleration]
  topologySpreadConstraints=[TopologySpreadConstraint]topologyKey,whenUnsatisfiable volumes=[Volume]name
  workloadRef=WorkloadReference
PodResourceClaim: name=s resourceClaimName=s resourceClaimTemplateName=s source=ClaimSource
ClaimSource: resourceClaimName=s resourceClaimTemplateName=s
PodSchedulingGroup: podGroupName=s
WorkloadReference: name=s podGroup=s podGroupReplicaKey=s
PodSchedulingGate: name=s
PodReadinessGate: conditionType=s
PodOS: name=s
HostAlias: ip=s hostnames=[s]
PodDNSConfig: nameservers=[s] searches=[s] options=[PodDNSConfigOption]
PodDNSConfigOption: name=s value=s
Toleration: key=s operator=s value=s effect=s tolerationSeconds=i
TopologySpreadConstraint: labelSelector=LabelSelector matchLabelKeys=[s] maxSkew=i minDomains=i nodeAffinityPolicy=s
  nodeTaintsPolicy=s topologyKey=s whenUnsatisfiable=s
Affinity: nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAffinity
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution=NodeSelector
  preferredDuringSchedulingIgnoredDuringExecution=[PreferredSchedulingTerm]
PreferredSchedulingTerm: weight=i preference=NodeSelectorTerm
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm]
  preferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm]
WeightedPodAffinityTerm: weight=i podAffinityTerm=PodAffinityTerm
PodAffinityTerm: labelSelector=LabelSelector matchLabelKeys=[s] mismatchLabelKeys=[s] namespaceSelector=LabelSelector
  namespaces=[s] topologyKey=s
PodSecurityContext: appArmorProfile=AppArmorProfile fsGroup=i fsGroupChangePolicy=s runAsGroup=i runAsNonRoot=b
  runAsUser=i seLinuxChangePolicy=s seLinuxOptions=SELinuxOptions seccompProfile=SeccompProfile supplementalGroups=[i]
  supplementalGroupsPolicy=s sysctls=[Sysctl] windowsOptions=WindowsSecurityContextOptions
SELinuxOptions: level=s role=s type=s user=s
SeccompProfile: localhostProfile=s type=s
AppArmorProfile: localhostProfile=s type=s
Sysctl: name=s value=s
WindowsSecurityContextOptions: gmsaCredentialSpec=s gmsaCredentialSpecName=s hostProcess=b runAsUserName=s

Container: args=[s] command=[s] env=[EnvVar]name envFrom=[EnvFromSource] image=s imagePullPolicy=s lifecycle=Lifecycle
  livenessProbe=Probe name=s ports=[ContainerPort]containerPort:0,protocol:TCP readinessProbe=Probe
  resizePolicy=[ContainerResizePolicy] resources=ResourceRequirements restartPolicy=s
  restartPolicyRules=[ContainerRestartRule] securityContext=SecurityContext startupProbe=Probe stdin=b stdinOnce=b
  terminationMessagePath=s terminationMessagePolicy=s tty=b volumeDevices=[VolumeDevice]devicePath
  volumeMounts=[VolumeMount]mountPath workingDir=s
EphemeralContainer: args=[s] command=[s] env=[EnvVar]name envFrom=[EnvFromSource] image=s imagePullPolicy=s
  lifecycle=Lifecycle livenessProbe=Probe name=s ports=[ContainerPort]containerPort:0,protocol:TCP readinessProbe=Probe
  resizePolicy=[ContainerResizePolicy] resources=ResourceRequirements restartPolicy=s
  restartPolicyRules=[ContainerRestartRule] securityContext=SecurityContext startupProbe=Probe stdin=b stdinOnce=b
  targetContainerName=s terminationMessagePath=s terminationMessagePolicy=s tty=b
  volumeDevices=[VolumeDevice]devicePath volumeMounts=[VolumeMount]mountPath workingDir=s
ResourceRequirements: claims=[ResourceClaimReference]name limits={q} requests={q}
ResourceClaimReference: name=s request=s
ContainerPort: containerPort=i hostIP=s hostPort=i name=s protocol=s
ContainerResizePolicy: resourceName=s restartPolicy=s
ContainerRestartRule: action=s exitCodes=ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator=s values=[i]*
EnvVar: name=s value=s valueFrom=EnvVarSource
EnvVarSource: configMapKeyRef=KeySelector fieldRef=ObjectFieldSelector fileKeyRef=FileKeySelector
  resourceFieldRef=ResourceFieldSelector secretKeyRef=KeySelector
KeySelector!: key=s name=s optional=b
FileKeySelector!: key=s optional=b path=s volumeName=s
ObjectFieldSelector!: apiVersion=s fieldPath=s
ResourceFieldSelector!: containerName=s divisor=q resource=s
EnvFromSource: configMapRef=EnvSource prefix=s secretRef=EnvSource
EnvSource: name=s optional=b
Lifecycle: postStart=LifecycleHandler preStop=LifecycleHandler stopSignal=s
LifecycleHandler: exec=ExecAction httpGet=HTTPGetAction sleep=SleepAction tcpSocket=TCPSocketAction
ExecAction: command=[s]
HTTPGetAction: host=s httpHeaders=[HTTPHeader] path=s port=x scheme=s
HTTPHeader: name=s value=s
SleepAction: seconds=i
TCPSocketAction: host=s port=x
GRPCAction: port=i service=s
Probe: exec=ExecAction failureThreshold=i grpc=GRPCAction httpGet=HTTPGetAction initialDelaySeconds=i periodSeconds=i
  successThreshold=i tcpSocket=TCPSocketAction terminationGracePeriodSeconds=i timeoutSeconds=i
SecurityContext: allowPrivilegeEscalation=b appArmorProfile=AppArmorProfile capabilities=Capabilities privileged=b
  procMount=s readOnlyRootFilesystem=b runAsGroup=i runAsNonRoot=b runAsUser=i seLinuxOptions=SELinuxOptions
  seccompProfile=SeccompProfile windowsOptions=WindowsSecurityContextOptions
Capabilities: add=[s] drop=[s]
VolumeDevice: devicePath=s name=s
VolumeMount: mountPath=s mountPropagation=s name=s readOnly=b recursiveReadOnly=s subPath=s subPathExpr=s

Volume: name=s awsElasticBlockStore=AWSElasticBlockStore azureDisk=AzureDisk azureFile=AzureFile cephfs=CephFS
  cinder=Cinder configMap=ConfigMapVolumeSource csi=CSIVolumeSource downwardAPI=DownwardAPIVolumeSource
  emptyDir=EmptyDirVolumeSource ephemeral=EphemeralVolumeSource fc=FCVolumeSource flexVolume=FlexVolumeSource
  flocker=Flocker gcePersistentDisk=GCEPersistentDisk gitRepo=GitRepo glusterfs=Glusterfs
  hostPath=HostPathVolumeSource image=ImageVolumeSource iscsi=ISCSIVolumeSource nfs=NFSVolumeSource
  persistentVolumeClaim=PersistentVolumeClaimVolumeSource photonPersistentDisk=PhotonPersistentDisk
  portworxVolume=Portworx projected=ProjectedVolumeSource quobyte=Quobyte rbd=RBD scaleIO=ScaleIO
  secret=SecretVolumeSource storageos=StorageOS vsphereVolume=Vsphere
AWSElasticBlockStore: fsType=s partition=i readOnly=b volumeID=s
AzureDisk: cachingMode=s diskName=s diskURI=s fsType=s kind=s readOnly=b
AzureFile: readOnly=b secretName=s shareName=s
CephFS: monitors=[s] path=s readOnly=b secretFile=s secretRef=LocalObjectReference user=s
Cinder: fsType=s readOnly=b secretRef=LocalObjectReference volumeID=s
ConfigMapVolumeSource: defaultMode=i items=[KeyToPath] name=s optional=b
CSIVolumeSource: driver=s fsType=s nodePublishSecretRef=LocalObjectReference readOnly=b volumeAttributes={s}
DownwardAPIVolumeSource: defaultMode=i items=[DownwardAPIVolumeFile]
DownwardAPIVolumeFile: fieldRef=ObjectFieldSelector mode=i path=s resourceFieldRef=ResourceFieldSelector
EmptyDirVolumeSource: medium=s sizeLimit=q
EphemeralVolumeSource: volumeClaimTemplate=PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata=ObjectMeta spec=PersistentVolumeClaimSpec
PersistentVolumeClaim: apiVersion=s kind=s metadata=ObjectMeta spec=PersistentVolumeClaimSpec status=?
PersistentVolumeClaimSpec: accessModes=[s] dataSource=TypedLocalObjectReference dataSourceRef=TypedObjectReference
  resources=VolumeResourceRequirements selector=LabelSelector storageClassName=s volumeAttributesClassName=s
  volumeMode=s volumeName=s
VolumeResourceRequirements: limits={q} requests={q}
FCVolumeSource: fsType=s lun=i readOnly=b targetWWNs=[s] wwids=[s]
FlexVolumeSource: driver=s fsType=s options={s} readOnly=b secretRef=LocalObjectReference
Flocker: datasetName=s datasetUUID=s
GCEPersistentDisk: fsType=s partition=i pdName=s readOnly=b
GitRepo: directory=s repository=s revision=s
Glusterfs: endpoints=s path=s readOnly=b
HostPathVolumeSource: path=s type=s
ImageVolumeSource: pullPolicy=s reference=s
ISCSIVolumeSource: chapAuthDiscovery=b chapAuthSession=b fsType=s initiatorName=s iqn=s iscsiInterface=s lun=i
  portals=[s] readOnly=b secretRef=LocalObjectReference targetPortal=s
NFSVolumeSource: path=s readOnly=b server=s
PersistentVolumeClaimVolumeSource: claimName=s readOnly=b
PhotonPersistentDisk: fsType=s pdID=s
Portworx: fsType=s readOnly=b volumeID=s
ProjectedVolumeSource: defaultMode=i sources=[VolumeProjection]
VolumeProjection: clusterTrustBundle=ClusterTrustBundleProjection configMap=ConfigMapProjection
  downwardAPI=DownwardAPIProjection podCertificate=PodCertificateProjection secret=ConfigMapProjection
  serviceAccountToken=ServiceAccountTokenProjection
ClusterTrustBundleProjection: labelSelector=LabelSelector name=s optional=b path=s signerName=s
ConfigMapProjection: items=[KeyToPath] name=s optional=b
DownwardAPIProjection: items=[DownwardAPIVolumeFile]
PodCertificateProjection: certificateChainPath=s credentialBundlePath=s keyPath=s keyType=s maxExpirationSeconds=i
  signerName=s userAnnotations={s}
ServiceAccountTokenProjection: audience=s expirationSeconds=i path=s
KeyToPath: key=s mode=i path=s
Quobyte: group=s readOnly=b registry=s tenant=s user=s volume=s
RBD: fsType=s image=s keyring=s monitors=[s] pool=s readOnly=b secretRef=LocalObjectReference user=s
ScaleIO: fsType=s gateway=s protectionDomain=s readOnly=b secretRef=LocalObjectReference sslEnabled=b storageMode=s
  storagePool=s system=s volumeName=s
SecretVolumeSource: defaultMode=i items=[KeyToPath] optional=b secretName=s
StorageOS: fsType=s readOnly=b secretRef=LocalObjectReference volumeName=s volumeNamespace=s
Vsphere: fsType=s storagePolicyID=s storagePolicyName=s volumePath=s

PodStatus: allocatedResources={q} conditions=[PodCondition]type containerStatuses=[?] ephemeralContainerStatuses=[?]
  extendedResourceClaimStatus=? hostIP=s hostIPs=[IP] initContainerStatuses=[?] message=s nominatedNodeName=s
  observedGeneration=i phase=s podIP=s podIPs=[IP]ip qosClass=s reason=s resize=s
  resourceClaimStatuses=[PodResourceClaimStatus]name resources=ResourceRequirements startTime=t
PodCondition: lastProbeTime=t lastTransitionTime=t message=s observedGeneration=i reason=s status=s type=s
IP: ip=s
PodResourceClaimStatus: name=s resourceClaimName=s

Deployment: apiVersion=s kind=s metadata=ObjectMeta spec=DeploymentSpec status=?
DeploymentSpec: minReadySeconds=i paused=b progressDeadlineSeconds=i replicas=i revisionHistoryLimit=i
  selector=LabelSelector strategy=DeploymentStrategy template=PodTemplateSpec
DeploymentStrategy: rollingUpdate=RollingUpdate type=s
RollingUpdate: maxSurge=x maxUnavailable=x
ReplicaSet: apiVersion=s kind=s metadata=ObjectMeta spec=ReplicaSetSpec status=?
ReplicaSetSpec: minReadySeconds=i replicas=i selector=LabelSelector template=PodTemplateSpec
DaemonSet: apiVersion=s kind=s metadata=ObjectMeta spec=DaemonSetSpec status=?
DaemonSetSpec: minReadySeconds=i revisionHistoryLimit=i selector=LabelSelector template=PodTemplateSpec
  updateStrategy=DeploymentStrategy
StatefulSet: apiVersion=s kind=s metadata=ObjectMeta spec=StatefulSetSpec status=?
StatefulSetSpec: minReadySeconds=i ordinals=StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy=StatefulSetRetentionPolicy podManagementPolicy=s replicas=i
  revisionHistoryLimit=i selector=LabelSelector serviceName=s template=PodTemplateSpec
  updateStrategy=StatefulSetUpdateStrategy volumeClaimTemplates=[PersistentVolumeClaim]
StatefulSetOrdinals: start=i
StatefulSetRetentionPolicy: whenDeleted=s whenScaled=s
StatefulSetUpdateStrategy: rollingUpdate=RollingUpdateStatefulSet type=s
RollingUpdateStatefulSet: maxUnavailable=x partition=i
Job: apiVersion=s kind=s metadata=ObjectMeta spec=JobSpec status=?
JobSpec: activeDeadlineSeconds=i backoffLimit=i backoffLimitPerIndex=i completionMode=s completions=i managedBy=s
  manualSelector=b maxFailedIndexes=i parallelism=i podFailurePolicy=? podReplacementPolicy=s selector=LabelSelector
  successPolicy=? suspend=b template=PodTemplateSpec ttlSecondsAfterFinished=i
CronJob: apiVersion=s kind=s metadata=ObjectMeta spec=CronJobSpec status=?
CronJobSpec: concurrencyPolicy=s failedJobsHistoryLimit=i jobTemplate=JobTemplateSpec schedule=s
  startingDeadlineSeconds=i successfulJobsHistoryLimit=i suspend=b timeZone=s
JobTemplateSpec: metadata=ObjectMeta spec=JobSpec

ConfigMap: apiVersion=s kind=s metadata=ObjectMeta binaryData={y} data={s} immutable=b
Secret: apiVersion=s kind=s metadata=ObjectMeta data={y} immutable=b stringData={s} type=s
ServiceAccount: apiVersion=s kind=s metadata=ObjectMeta automountServiceAccountToken=b
  imagePullSecrets=[LocalObjectReference] secrets=[ObjectReference]name
Namespace: apiVersion=s kind=s metadata=ObjectMeta spec=NamespaceSpec status=NamespaceStatus
NamespaceSpec: finalizers=[s]
NamespaceStatus: conditions=[NamespaceCondition]type phase=s
NamespaceCondition: lastTransitionTime=t message=s reason=s status=s type=s
"""

KINDS: Final = {
    "v1": "Pod PodTemplate ConfigMap Secret ServiceAccount Namespace PersistentVolumeClaim",
    "apps/v1": "Deployment ReplicaSet DaemonSet StatefulSet",
    "batch/v1": "Job CronJob",
}
