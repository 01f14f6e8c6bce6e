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
{{- if eq .Values.certificates.source "self-managed" -}}
name: tls
emptyDir:
  medium: Memory
  sizeLimit: 1Mi
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
