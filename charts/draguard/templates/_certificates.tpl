{{- /* Who manages a self-managed certificate: "separate", "embedded", or neither. */ -}}
{{- define "draguard.manager" -}}
{{- if eq .Values.certificates.source "self-managed" -}}{{ .Values.certificates.manager }}{{- end -}}
{{- end -}}

{{- /* The account that may read and write the Secret, the Lease and the webhook configurations. */ -}}
{{- define "draguard.managerAccount" -}}
{{- if eq (include "draguard.manager" .) "embedded" -}}
{{ include "draguard.serviceAccountName" . }}
{{- else -}}
{{ default (include "draguard.managed" .) .Values.certificates.serviceAccountName }}
{{- end -}}
{{- end -}}

{{- /* The manager's pods are none of the Service's, so they have a name of their own. */ -}}
{{- define "draguard.managerSelector" -}}
app.kubernetes.io/name: {{ include "draguard.name" . | trunc 50 | trimSuffix "-" }}-certificates
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "draguard.managerLabels" -}}
{{ include "draguard.selector" . }}
app.kubernetes.io/component: certificate-manager
{{ include "draguard.commonLabels" . }}
{{- end -}}

{{- define "draguard.managerPodLabels" -}}
{{ include "draguard.managerSelector" . }}
app.kubernetes.io/component: certificate-manager
{{ include "draguard.commonLabels" . }}
{{- end -}}

{{- /* The Secret that is mounted, if the certificate is not self-managed. */ -}}
{{- define "draguard.secretName" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{ required "certificates.secret.name: name the Secret that holds the serving certificate" .Values.certificates.secret.name }}
{{- else -}}
{{ include "draguard.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- /*
The Secret and the Lease of a self-managed certificate. Not called as cert-manager's Secret, which is left behind when the
source changes, and is of a type that cannot be changed.
*/ -}}
{{- define "draguard.managed" -}}
{{ include "draguard.fullname" . }}-certificates
{{- end -}}

{{- define "draguard.dnsNames" -}}
{{- $service := include "draguard.fullname" . -}}
- {{ $service }}.{{ .Release.Namespace }}.svc
- {{ $service }}.{{ .Release.Namespace }}.svc.cluster.local
{{- end -}}

{{- /* The volume with certificate and key: kubelet's, or draguard's own, in memory and never on a disk. */ -}}
{{- define "draguard.tlsVolume" -}}
{{- if eq (include "draguard.manager" .) "embedded" -}}
name: tls
emptyDir:
  medium: Memory
  sizeLimit: 1Mi
{{- else if eq (include "draguard.manager" .) "separate" -}}
# Without the authority's key. A pod waits until the manager has filled the Secret.
name: tls
projected:
  defaultMode: 0440
  sources:
  - secret:
      name: {{ include "draguard.managed" . }}
      items:
      - key: tls.crt
        path: tls.crt
      - key: tls.key
        path: tls.key
  - secret:
      name: {{ include "draguard.managed" . }}
      optional: true
      items:
      - key: kubernetes.version
        path: kubernetes.version
{{- else -}}
name: tls
secret:
  secretName: {{ include "draguard.secretName" . | quote }}
  defaultMode: 0440
  items:
  - key: tls.crt
    path: tls.crt
  - key: tls.key
    path: tls.key
{{- end -}}
{{- end -}}

{{- /* The caBundle of a webhook, base64; empty where draguard or cert-manager writes it. */ -}}
{{- define "draguard.caBundle" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{ required "certificates.secret.caBundle: give the authority's certificate, --set-file certificates.secret.caBundle=ca.crt" .Values.certificates.secret.caBundle | b64enc }}
{{- end -}}
{{- end -}}
