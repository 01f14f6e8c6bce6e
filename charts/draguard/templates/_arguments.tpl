{{- /* The container's arguments, a list: what the values say, in the words of `draguard serve`. */ -}}
{{- define "draguard.arguments" -}}
- serve
- {{ printf "--host=%s" .Values.serve.host | quote }}
- --port={{ .Values.serve.port }}
- --connections-per-address={{ .Values.serve.connectionsPerAddress }}
- --shutdown-delay={{ .Values.serve.shutdownDelay }}
{{- include "draguard.arguments.certificate" . }}
{{- include "draguard.arguments.monitoring" . }}
{{- if include "draguard.asksVersion" . }}
- --kubernetes-version-file=/etc/draguard/tls/kubernetes.version
{{- else }}
{{- with include "draguard.kubernetesVersion" . }}
- --kubernetes-version={{ . }}
{{- end }}
{{- end }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $gate, $on := . }}
{{- $gates = append $gates (printf "%s=%t" $gate $on) }}
{{- end }}
- --feature-gates={{ join "," $gates }}
{{- end }}
{{- include "draguard.arguments.enforce" . }}
- --select-node-by={{ .Values.serve.selectNodeBy }}
- --pods={{ .Values.serve.pods }}
{{- with .Values.serve.bodyLimit }}
- --body-limit={{ int64 . }}
{{- end }}
{{- if .Values.policies }}
- --policies=/etc/draguard/policies
- --on-broken-policies={{ .Values.serve.onBrokenPolicies }}
{{- if .Values.authorizer }}
- --authorizer=/etc/draguard/authorizer/authorizer.yaml
{{- end }}
{{- end }}
{{- range .Values.serve.extraArgs }}
- {{ quote . }}
{{- end }}
{{- end -}}

{{- define "draguard.arguments.certificate" }}
{{- if eq (include "draguard.manager" .) "embedded" }}
- --manage-certificate
- --manage-namespace={{ .Release.Namespace }}
- --manage-secret={{ include "draguard.managed" . }}
- --manage-lease={{ include "draguard.managed" . }}
- --manage-webhooks={{ include "draguard.fullname" . }}
{{- range include "draguard.dnsNames" . | fromYamlArray }}
- --manage-name={{ . }}
{{- end }}
- --manage-directory=/etc/draguard/tls
{{- else }}
- --tls-cert=/etc/draguard/tls/tls.crt
- --tls-key=/etc/draguard/tls/tls.key
{{- end }}
{{- with .Values.serve.clientCA }}
{{- if .name }}
- {{ printf "--client-ca=/etc/draguard/clients/%s" .key | quote }}
{{- range $.Values.serve.clientNames }}
- {{ printf "--client-name=%s" . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "draguard.arguments.monitoring" }}
{{- if .Values.monitoring.enabled }}
{{- if has .Values.monitoring.port (list .Values.serve.port .Values.service.port) }}
{{- fail "monitoring.port: it must be neither serve.port nor service.port" }}
{{- end }}
- --monitoring-port={{ .Values.monitoring.port }}
{{- else if .Values.serve.clientCA.name }}
{{- fail "monitoring.enabled: kubelet has no client certificate, so with serve.clientCA its probes need the port for monitoring" }}
{{- end }}
- --log-format={{ .Values.logging.format }}
- --log-level={{ .Values.logging.level }}
{{- with toString .Values.logging.allowed }}
- --log-allowed={{ . }}
{{- end }}
{{- end }}

{{- define "draguard.arguments.enforce" }}
{{- with .Values.enforce }}
- --enforce={{ .mode }}
{{- with .workloads }}
- --enforce=workloads={{ . }}
{{- end }}
{{- range $rule, $mode := .rules }}
- --enforce={{ $rule }}={{ $mode }}
{{- end }}
{{- range $policy, $mode := .policies }}
- --enforce=policy/{{ $policy }}={{ $mode }}
{{- end }}
{{- end }}
{{- range $option, $patterns := dict "namespace" .Values.exempt.namespaces "user" .Values.exempt.users "group" .Values.exempt.groups }}
{{- range $patterns }}
- {{ printf "--exempt-%s=%s" $option . | quote }}
{{- end }}
{{- end }}
{{- end }}
