{{- define "draguard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* Of the Service, the Deployment, the webhook configurations … */ -}}
{{- define "draguard.fullname" -}}
{{- $name := include "draguard.name" . -}}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $own .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "draguard.selector" -}}
app.kubernetes.io/name: {{ include "draguard.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* The Service must not find the pod of `helm test`, so that pod has a name of its own. */ -}}
{{- define "draguard.testSelector" -}}
app.kubernetes.io/name: {{ include "draguard.name" . | trunc 58 | trimSuffix "-" }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "draguard.labels" -}}
{{ include "draguard.selector" . }}
app.kubernetes.io/component: admission-webhook
{{ include "draguard.commonLabels" . }}
{{- end -}}

{{- /* Labels, and those that one object has besides, which win over commonLabels. Takes: labels as text, the object's own. */ -}}
{{- define "draguard.labelsWith" -}}
{{- merge (dict) (default dict (last .)) (first . | fromYaml) | toYaml -}}
{{- end -}}

{{- define "draguard.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The annotations of an object's metadata, with their key, if there are any. Takes: root, the object's own. */ -}}
{{- define "draguard.annotations" -}}
{{- with merge (dict) (default dict (last .)) (default dict (first .).Values.commonAnnotations) -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "draguard.serviceAccountName" -}}
{{- default (ternary (include "draguard.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- /* A probe: by plain HTTP if there is a port for it, since kubelet has no client certificate. Takes: root, path. */ -}}
{{- define "draguard.probe" -}}
{{- $isPlain := (first .).Values.monitoring.enabled -}}
httpGet:
  path: {{ last . }}
  port: {{ ternary "monitoring" "https" $isPlain }}
  scheme: {{ ternary "HTTP" "HTTPS" $isPlain }}
{{- end -}}

{{- define "draguard.image" -}}
{{- $global := default dict .Values.global -}}
{{- with .Values.image -}}
{{ with default .registry $global.imageRegistry }}{{ . }}/{{ end -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* The newest Kubernetes 1.x release that draguard knows; a later one is judged as this one. */ -}}
{{- define "draguard.newest" -}}38{{- end -}}

{{- /* Whether the certificate manager, which may ask the API server, tells pods the cluster's version. */ -}}
{{- define "draguard.asksVersion" -}}
{{- if and (not .Values.kubernetesVersion) (eq (include "draguard.manager" .) "separate") -}}true{{- end -}}
{{- end -}}

{{- /* The value of --kubernetes-version; empty for the newest. */ -}}
{{- define "draguard.kubernetesVersion" -}}
{{- if eq .Values.kubernetesVersion "newest" -}}
{{- else if .Values.kubernetesVersion -}}
{{ .Values.kubernetesVersion }}
{{- else -}}
{{- /* Some providers report a minor such as "34+". */ -}}
{{- $minor := regexFind "^[0-9]+" .Capabilities.KubeVersion.Minor | int -}}
{{- if le $minor (include "draguard.newest" . | int) -}}
1.{{ $minor }}
{{- end -}}
{{- end -}}
{{- end -}}
