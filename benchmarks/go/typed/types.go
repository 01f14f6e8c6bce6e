package main

import "encoding/json"

// The types that a webhook for pods needs, shaped as those of Kubernetes: the review, and most of what a pod has.

type typeMeta struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
}

type admissionReview struct {
	typeMeta
	Request  *admissionRequest  `json:"request,omitempty"`
	Response *admissionResponse `json:"response,omitempty"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type groupVersionResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

type userInfo struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

type admissionRequest struct {
	UID         string               `json:"uid"`
	Kind        groupVersionKind     `json:"kind"`
	Resource    groupVersionResource `json:"resource"`
	SubResource string               `json:"subResource,omitempty"`
	Name        string               `json:"name,omitempty"`
	Namespace   string               `json:"namespace,omitempty"`
	Operation   string               `json:"operation"`
	UserInfo    userInfo             `json:"userInfo"`
	Object      json.RawMessage      `json:"object,omitempty"`
	OldObject   json.RawMessage      `json:"oldObject,omitempty"`
	DryRun      *bool                `json:"dryRun,omitempty"`
	Options     json.RawMessage      `json:"options,omitempty"`
}

type admissionResponse struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Result           *status           `json:"status,omitempty"`
	Patch            []byte            `json:"patch,omitempty"`
	PatchType        *string           `json:"patchType,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
}

type status struct {
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Code    int32  `json:"code,omitempty"`
}

type ownerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

type objectMeta struct {
	Name              string            `json:"name,omitempty"`
	GenerateName      string            `json:"generateName,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	CreationTimestamp *string           `json:"creationTimestamp,omitempty"`
	DeletionTimestamp *string           `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	OwnerReferences   []ownerReference  `json:"ownerReferences,omitempty"`
	Finalizers        []string          `json:"finalizers,omitempty"`
	ManagedFields     []json.RawMessage `json:"managedFields,omitempty"`
}

type pod struct {
	typeMeta
	Metadata objectMeta `json:"metadata,omitempty"`
	Spec     podSpec    `json:"spec,omitempty"`
}

type podSpec struct {
	Volumes                       []volume           `json:"volumes,omitempty"`
	InitContainers                []container        `json:"initContainers,omitempty"`
	Containers                    []container        `json:"containers"`
	EphemeralContainers           []container        `json:"ephemeralContainers,omitempty"`
	RestartPolicy                 string             `json:"restartPolicy,omitempty"`
	TerminationGracePeriodSeconds *int64             `json:"terminationGracePeriodSeconds,omitempty"`
	ActiveDeadlineSeconds         *int64             `json:"activeDeadlineSeconds,omitempty"`
	DNSPolicy                     string             `json:"dnsPolicy,omitempty"`
	NodeSelector                  map[string]string  `json:"nodeSelector,omitempty"`
	ServiceAccountName            string             `json:"serviceAccountName,omitempty"`
	AutomountServiceAccountToken  *bool              `json:"automountServiceAccountToken,omitempty"`
	NodeName                      string             `json:"nodeName,omitempty"`
	HostNetwork                   bool               `json:"hostNetwork,omitempty"`
	HostPID                       bool               `json:"hostPID,omitempty"`
	HostIPC                       bool               `json:"hostIPC,omitempty"`
	SecurityContext               *securityContext   `json:"securityContext,omitempty"`
	ImagePullSecrets              []named            `json:"imagePullSecrets,omitempty"`
	Hostname                      string             `json:"hostname,omitempty"`
	Subdomain                     string             `json:"subdomain,omitempty"`
	Affinity                      json.RawMessage    `json:"affinity,omitempty"`
	SchedulerName                 string             `json:"schedulerName,omitempty"`
	Tolerations                   []toleration       `json:"tolerations,omitempty"`
	HostAliases                   []json.RawMessage  `json:"hostAliases,omitempty"`
	PriorityClassName             string             `json:"priorityClassName,omitempty"`
	Priority                      *int32             `json:"priority,omitempty"`
	ReadinessGates                []json.RawMessage  `json:"readinessGates,omitempty"`
	RuntimeClassName              *string            `json:"runtimeClassName,omitempty"`
	EnableServiceLinks            *bool              `json:"enableServiceLinks,omitempty"`
	PreemptionPolicy              *string            `json:"preemptionPolicy,omitempty"`
	Overhead                      map[string]string  `json:"overhead,omitempty"`
	TopologySpreadConstraints     []json.RawMessage  `json:"topologySpreadConstraints,omitempty"`
	SchedulingGates               []named            `json:"schedulingGates,omitempty"`
	ResourceClaims                []podResourceClaim `json:"resourceClaims,omitempty"`
	Resources                     *resources         `json:"resources,omitempty"`
}

type podResourceClaim struct {
	Name                      string  `json:"name"`
	ResourceClaimName         *string `json:"resourceClaimName,omitempty"`
	ResourceClaimTemplateName *string `json:"resourceClaimTemplateName,omitempty"`
}

type named struct {
	Name string `json:"name,omitempty"`
}

type toleration struct {
	Key               string `json:"key,omitempty"`
	Operator          string `json:"operator,omitempty"`
	Value             string `json:"value,omitempty"`
	Effect            string `json:"effect,omitempty"`
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

type volume struct {
	Name      string          `json:"name"`
	EmptyDir  json.RawMessage `json:"emptyDir,omitempty"`
	ConfigMap json.RawMessage `json:"configMap,omitempty"`
	Secret    json.RawMessage `json:"secret,omitempty"`
	Projected json.RawMessage `json:"projected,omitempty"`
	HostPath  json.RawMessage `json:"hostPath,omitempty"`
	CSI       json.RawMessage `json:"csi,omitempty"`
	Claim     json.RawMessage `json:"persistentVolumeClaim,omitempty"`
}

type container struct {
	Name                     string           `json:"name"`
	Image                    string           `json:"image,omitempty"`
	Command                  []string         `json:"command,omitempty"`
	Args                     []string         `json:"args,omitempty"`
	WorkingDir               string           `json:"workingDir,omitempty"`
	Ports                    []port           `json:"ports,omitempty"`
	EnvFrom                  []envFrom        `json:"envFrom,omitempty"`
	Env                      []envVar         `json:"env,omitempty"`
	Resources                resources        `json:"resources,omitempty"`
	RestartPolicy            *string          `json:"restartPolicy,omitempty"`
	VolumeMounts             []volumeMount    `json:"volumeMounts,omitempty"`
	VolumeDevices            []volumeMount    `json:"volumeDevices,omitempty"`
	LivenessProbe            json.RawMessage  `json:"livenessProbe,omitempty"`
	ReadinessProbe           json.RawMessage  `json:"readinessProbe,omitempty"`
	StartupProbe             json.RawMessage  `json:"startupProbe,omitempty"`
	Lifecycle                json.RawMessage  `json:"lifecycle,omitempty"`
	TerminationMessagePath   string           `json:"terminationMessagePath,omitempty"`
	TerminationMessagePolicy string           `json:"terminationMessagePolicy,omitempty"`
	ImagePullPolicy          string           `json:"imagePullPolicy,omitempty"`
	SecurityContext          *securityContext `json:"securityContext,omitempty"`
	Stdin                    bool             `json:"stdin,omitempty"`
	TTY                      bool             `json:"tty,omitempty"`
}

type securityContext struct {
	Privileged               *bool           `json:"privileged,omitempty"`
	RunAsUser                *int64          `json:"runAsUser,omitempty"`
	RunAsGroup               *int64          `json:"runAsGroup,omitempty"`
	RunAsNonRoot             *bool           `json:"runAsNonRoot,omitempty"`
	FSGroup                  *int64          `json:"fsGroup,omitempty"`
	ReadOnlyRootFilesystem   *bool           `json:"readOnlyRootFilesystem,omitempty"`
	AllowPrivilegeEscalation *bool           `json:"allowPrivilegeEscalation,omitempty"`
	Capabilities             json.RawMessage `json:"capabilities,omitempty"`
	SeccompProfile           json.RawMessage `json:"seccompProfile,omitempty"`
}

type port struct {
	Name          string `json:"name,omitempty"`
	HostPort      int32  `json:"hostPort,omitempty"`
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol,omitempty"`
	HostIP        string `json:"hostIP,omitempty"`
}

type envFrom struct {
	Prefix       string `json:"prefix,omitempty"`
	ConfigMapRef *named `json:"configMapRef,omitempty"`
	SecretRef    *named `json:"secretRef,omitempty"`
}

type envVar struct {
	Name      string          `json:"name"`
	Value     string          `json:"value,omitempty"`
	ValueFrom json.RawMessage `json:"valueFrom,omitempty"`
}

type resources struct {
	Limits   map[string]string `json:"limits,omitempty"`
	Requests map[string]string `json:"requests,omitempty"`
	Claims   []resourceClaim   `json:"claims,omitempty"`
}

type resourceClaim struct {
	Name    string `json:"name"`
	Request string `json:"request,omitempty"`
}

type volumeMount struct {
	Name             string  `json:"name"`
	ReadOnly         bool    `json:"readOnly,omitempty"`
	MountPath        string  `json:"mountPath"`
	SubPath          string  `json:"subPath,omitempty"`
	MountPropagation *string `json:"mountPropagation,omitempty"`
	SubPathExpr      string  `json:"subPathExpr,omitempty"`
}
